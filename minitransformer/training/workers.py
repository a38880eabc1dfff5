"""Workers, which compute a training step: here the calling thread alone. Threads and processes
share the work (speed/).
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from minitransformer.backend import Array, generator, module_of
from minitransformer.checks import check_kind
from minitransformer.functional import gather_gradients
from minitransformer.layers.layer import Layer
from minitransformer.models.model import AnyBatch

Value = TypeVar("Value")


class OneWorker:
    """All of the work of each update of `model`, and the questions that several workers answer
    together.

    It is written for any number of processes and threads: those of speed/ change only
    `processes`, `rank` and `models`.
    """

    processes, rank = 1, 0

    def __init__(self, model: Layer):
        check_kind(hasattr(model, "flat"), "model", model, "a Layer")
        self.flat = model.flat  # what is summed and moved
        self.models = [model]  # one for each thread; the others are its replicas

    @property
    def is_main(self) -> bool:
        """Whether this process writes the files."""
        return self.rank == 0

    def shard(
        self, batches: Sequence[AnyBatch], seed: Sequence[int] | None = None
    ) -> list[tuple[Layer, list, Any]]:
        """What each thread of this process computes: [(model, its part of each of the batches, its
        generator)].

        A thread without any part is left out. The generators are made from the integers `seed`;
        None: no dropout.
        """
        count, xp = len(self.models), module_of(self.flat.data)
        parts: list[list[AnyBatch]] = [[] for _ in range(self.processes * count)]
        for batch in batches:
            for part, share in zip(parts, batch.split(len(parts))):
                part.append(share)
        mine = list(enumerate(parts))[self.rank * count : (self.rank + 1) * count]
        return [
            (model, part, None if seed is None else generator(xp, *seed, number))
            for model, (number, part) in zip(self.models, mine)
            if part
        ]

    def run(self, work: Callable[..., Any], shares: Sequence[tuple]) -> list:
        """[work(*share) for share in shares]. If one fails, all gradients are set to zero."""
        try:
            return [work(*share) for share in shares]
        except BaseException:
            self.flat.grad[...] = 0
            raise

    def sum_gradients(self) -> Array:
        """The gradients of all workers, summed into the model's; returns the square of its norm."""
        return gather_gradients(self.flat.grad, [])

    def each_piece(self, work: Callable[[slice], Any]) -> list:
        """[work(slice)] for the slices of the flat vectors, one for each thread."""
        return [work(slice(None))]

    def sum(self, vector: Array) -> None:
        """Add up `vector` in place over the processes: here there is one."""

    def gather(self, value: Value) -> list[Value]:
        """`value` of each process, in the order of their ranks."""
        return [value]

    def agree(self, flag: bool) -> bool:
        """Whether `flag` is set in any process."""
        return any(self.gather(flag))
