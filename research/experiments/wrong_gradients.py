"""What two wrong gradients cost: the copy task of chapters 1 and 2, three seeds.

    python research/experiments/wrong_gradients.py

A linear layer whose bias gets the gradient of the first row alone, and an embedding that loses
repeated tokens.
"""

import math

import numpy as np

from minitransformer import layers, plugged
from minitransformer.backend import Array
from minitransformer_course.judge.plug import train


def forgetful(self, dy, cache) -> Array:
    rows, drows = cache.x.reshape(-1, cache.x.shape[-1]), dy.reshape(-1, dy.shape[-1])
    self.weight.grad += rows.T @ drows
    self.bias.grad += drows[0]
    return (drows @ self.weight.data.T).reshape(cache.x.shape)


def lossy(self, dy, cache) -> None:
    self.weight.grad[cache.ids] += math.sqrt(dy.shape[-1]) * dy


def main() -> None:
    kinds = {
        "right": (),
        "forgetful bias": (layers.Linear.backward, forgetful),
        "lost repeats": (layers.Embedding.backward, lossy),
    }
    print("mean loss for each token, steps 81 to 100 and 181 to 200")
    for seed in range(3):
        for name, pair in kinds.items():
            losses = np.array(train(plugged(*pair) if pair else None, steps=200, seed=seed).losses)
            print(
                f"seed {seed}, {name}: {losses[80:100].mean():.2f}, {losses[180:].mean():.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
