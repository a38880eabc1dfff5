"""Examples that are drawn at random, for the toy tasks: as many as you like, and some that are never trained on."""

import numpy as np


class DrawnBatches:
    """An endless iterator of batches of `size` fresh examples of a toy task; the same seed gives the same ones.

    `position`: how many it has given; set it to continue from there.
    """

    def __init__(self, task, size, seed):
        self.task, self.size, self.seed = task, size, seed
        self.position = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.position += 1
        return self.task.make_batch(draw_examples(self.task, [self.seed, self.position], self.size))


def draw_held_out(task, size, seed=0):
    """`size` different examples that no training batch can hold."""
    return draw_examples(task, seed, size, held_out=True)


def draw_examples(task, seed, size, held_out=False):
    """`size` random examples of a toy task, encoded: ones to train on, or different held-out ones."""
    rng = np.random.default_rng(seed)
    examples, seen = [], set()
    while len(examples) < size:
        source, answer = task.draw(rng)
        if task.is_held_out(source) != held_out or (held_out and tuple(source) in seen):
            continue
        seen.add(tuple(source))
        examples.append(task.encode(source, answer))
    return examples
