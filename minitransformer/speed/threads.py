"""What shares the work of a training step: threads (NumPy releases the GIL while it computes), and
processes (processes.py).
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import Any

from minitransformer.backend import Array
from minitransformer.checks import check_integer
from minitransformer.errors import InputError
from minitransformer.functional import gather_gradients
from minitransformer.layers.layer import Layer
from minitransformer.models.model import AnyBatch
from minitransformer.training.workers import OneWorker

MAX_THREADS = 1024


class Threads(OneWorker):
    """`count` threads that share each update of `model`; with one, the calling thread does all of
    it.

    Each thread takes its part of the sentences and adds up the gradient in a vector of its own: the
    model's, or that of a replica, which shares the weights. Then each takes its piece of these
    vectors, sums the gradients in a fixed order, and updates the parameters of that piece. So the
    same seed and number of threads give the same bits. BLAS should have one thread for each of
    ours: `with fast():` (host.py).

    What changes in the model between two steps, a setting, a layer or a parameter, changes in all
    threads: the replicas are made anew.

    The threads wait for work until `close`, the end of a `with` block, or until nothing refers to
    them any more. A fork does not copy them: the new process starts its own.

    Several processes can share an update, too (processes.py): a subclass knows how many there are
    and which one this is, sums a vector over all of them, and gathers values. Each process then
    draws the same batches and takes its part.
    """

    _pool: Any  # None with one thread, which never submits anything to it

    def __init__(self, model: Layer, count: int = 1):
        check_integer("Threads: count", count, 1, MAX_THREADS)
        super().__init__(model)
        self.models = [model] * count
        self._make_replicas()
        self._pool, self._closed, self._process = (
            ThreadPoolExecutor(count - 1) if count > 1 else None,
            False,
            os.getpid(),
        )

    def _make_replicas(self) -> None:
        model, count = self.models[0], len(self.models)
        self.flat = model.flat
        self.models = [model, *(model.replica() for _ in range(count - 1))]
        self._gradients = [model.flat.grad for model in self.models]
        self._structure = structure(model)
        size = self.flat.data.size
        ends = [size * i // count for i in range(count + 1)]
        self._pieces = list(map(slice, ends, ends[1:]))

    def shard(
        self, batches: Sequence[AnyBatch], seed: Sequence[int] | None = None
    ) -> list[tuple[Layer, list, Any]]:
        """As OneWorker's, of a model that may have changed since the last step."""
        if self._model_has_changed():
            self._make_replicas()
        return super().shard(batches, seed)

    def _model_has_changed(self) -> bool:
        try:
            return self._structure != structure(self.models[0])
        except ValueError:  # of arrays that are others
            return True

    def close(self) -> None:
        """End the threads. A step with them afterwards is refused."""
        self._closed = True
        if self._pool:
            self._pool.shutdown()

    def __enter__(self) -> "Threads":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def run(self, work: Callable[..., Any], shares: Sequence[tuple]) -> list:
        """A thread for each share."""
        if self._closed:
            raise InputError(
                "these Threads were closed; make new ones, or close them after the last step"
            )
        jobs = [self._submit(work, *share) for share in shares[1:]]
        try:
            return [work(*share) for share in shares[:1]] + [job.result() for job in jobs]
        except BaseException:  # the other threads' sums must not enter a later step
            wait(jobs)
            for gradient in self._gradients:
                gradient[...] = 0
            raise

    def sum_gradients(self) -> Array:
        others = self._gradients[1:]
        squares = self.each_piece(
            lambda piece: gather_gradients(
                self.flat.grad[piece], [other[piece] for other in others]
            )
        )
        if self.processes == 1:
            return sum(squares)
        grad = self.flat.grad
        self.sum(grad)
        start, end = (grad.size * rank // self.processes for rank in (self.rank, self.rank + 1))
        # BLAS may round it otherwise on another processor: all processes clip by the same bits
        square = (grad[start:end] @ grad[start:end]).reshape(1)
        self.sum(square)
        return square[0]

    def each_piece(self, work: Callable[[slice], Any]) -> list:
        jobs = [self._submit(work, piece) for piece in self._pieces[1:]]
        return [work(self._pieces[0]), *(job.result() for job in jobs)]

    def _submit(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """The job of one of the threads."""
        if self._process != os.getpid():  # forked
            self._pool, self._process = ThreadPoolExecutor(len(self.models) - 1), os.getpid()
        return self._pool.submit(copy_context().run, work, *arguments)


def structure(layer: Layer) -> list[Any]:
    """What a layer computes but for the numbers in arrays: the classes and attributes of it and of all layers below."""
    found: list[Any] = []
    for part in (layer, *layer.sublayers().values()):
        found.append(type(part))
        for name, value in vars(part).items():
            if isinstance(value, dict):
                found += [name, *value, *value.values()]
            else:
                found += [name, *value] if isinstance(value, (list, tuple)) else [name, value]
    return found
