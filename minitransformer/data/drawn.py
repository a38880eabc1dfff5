"""Random examples for the toy tasks: an unlimited number to train on, and held-out ones."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minitransformer.errors import InputError

if TYPE_CHECKING:
    from minitransformer.tasks.toy import ToyTask

MOST_MISSES = 10_000  # after this many draws without a new example, there are no more


class DrawnBatches(Iterator[Any]):
    """An endless iterator of batches of `size` new examples of a toy task; the same seed gives the
    same batches.

    `position`: the number of batches drawn so far; set it to continue from there.
    """

    def __init__(self, task: "ToyTask", size: int, seed: int):
        self.task, self.size, self.seed = task, size, seed
        self.position = 0

    def __next__(self) -> Any:
        self.position += 1
        return self.task.make_batch(draw_examples(self.task, [self.seed, self.position], self.size))


def draw_held_out(task: "ToyTask", size: int, seed: int = 0) -> list:
    """`size` different examples that no training batch can contain."""
    return draw_examples(task, seed, size, held_out=True)


def draw_examples(
    task: "ToyTask", seed: int | Sequence[int], size: int, held_out: bool = False
) -> list:
    """`size` random examples of a toy task, encoded: either for training, or distinct and held out.

    Raises InputError for a task that has too few.
    """
    rng = np.random.default_rng(seed)
    examples, seen, misses = [], set(), 0
    while len(examples) < size:
        source, answer = task.draw(rng)
        if task.is_held_out(source) != held_out or (held_out and tuple(source) in seen):
            misses += 1
            if misses == MOST_MISSES:
                raise InputError(
                    f"the task {task.name} has only {len(examples):,} different examples "
                    f"{'to hold out' if held_out else 'to train on'}, expected {size:,}"
                )
            continue
        misses = 0
        seen.add(tuple(source))
        examples.append(task.encode(source, answer))
    return examples
