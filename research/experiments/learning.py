"""Optimizers, warm-up and initial weights on short words written backwards, three seeds.

    python research/experiments/learning.py

The first three tables are in chapter 11, the fourth one in research/experiments/initial_weights.md,
whose factors multiply query and key, value, and the weights that end a sub-layer. It takes about
five minutes of one core. Each line ends with the mean loss of a letter in the last 20 of the
steps.
"""

import math

from initial_weights import HALF, ROOT, multiplied

from minitransformer import Adam
from minitransformer_course.lab.training import SGD, reverse, three_layers


def blunt(model) -> Adam:
    """Adam with the settings that one reading of the paper prints."""
    return Adam(model, beta2=0.9, epsilon=0.9)


def row(name, **options) -> None:
    losses = [reverse(seed=seed, **options)[1][-20:].mean() for seed in range(3)]
    print(f"| {name} | {' | '.join(f'{loss:.3g}' for loss in losses)} |", flush=True)


def main() -> None:
    print("optimizers, 200 steps")
    for rate in (0.1, 0.3, 1.0, 3.0):
        row(f"SGD, {rate}", steps=200, optimizer=SGD, learning_rate=lambda step, rate=rate: rate)
    for name, optimizer, rates in (
        ("Adam", Adam, (0.001, 0.002, 0.003, 0.004, 0.006, 0.008)),
        ("beta_2 = epsilon = 0.9", blunt, (0.004, 0.9)),
    ):
        for rate in rates:
            row(
                f"{name}, {rate}",
                steps=200,
                optimizer=optimizer,
                learning_rate=lambda step, rate=rate: rate,
            )
    print("a constant learning rate of 0.006, and one that falls along half a cosine")
    for steps in (200, 600):
        for name, fall in (("constant", 0), ("cosine", 1)):
            row(
                f"{name}, {steps} steps",
                steps=steps,
                learning_rate=lambda step, steps=steps, fall=fall: (
                    0.006 * min(1, step / 20) * (1 + math.cos(fall * math.pi * step / steps)) / 2
                ),
            )
    print("warm-up, three layers, 240 steps")
    for norm, pre_norm in (("post-norm", False), ("pre-norm", True)):
        for warmup in (1, 60):
            for rate in (0.003, 0.012):
                row(
                    f"{norm}, warm-up {warmup}, {rate}",
                    steps=240,
                    config=three_layers(pre_norm),
                    learning_rate=lambda step, rate=rate, warmup=warmup: (
                        rate * min(1, step / warmup)
                    ),
                )
    print("initial weights, two layers, 240 steps")
    for factors in ((1, 1, 1), (ROOT, ROOT, 1), (1, 1, HALF), (ROOT, ROOT, HALF)):
        row(
            ", ".join(f"{factor:.3g}" for factor in factors),
            steps=240,
            optimizer=lambda model, factors=factors: Adam(multiplied(model, *factors)),
        )


if __name__ == "__main__":
    main()
