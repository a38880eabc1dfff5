"""Several processes, on one machine or many, that train one model: MPI adds up their gradients, or
NCCL if they are on GPUs.
"""

import platform
from collections.abc import Callable
from importlib.metadata import version
from itertools import islice
from types import ModuleType
from typing import Any

import numpy as np

from minitransformer import __version__
from minitransformer.files import reason
from minitransformer.backend import Array, module_of
from minitransformer.errors import InputError
from minitransformer.layers.layer import Layer
from minitransformer.models.model import Model
from minitransformer.speed.launcher import completes, launched, world
from minitransformer.speed.local import local_workers
from minitransformer.speed.threads import Threads
from minitransformer.training.workers import Value

SAMPLED_BATCHES = 10  # the largest of these shows whether there are enough sentences


class Processes(Threads):
    """The threads of one of the processes that mpiexec started: `train(...,
    make_workers=Processes)`.

    Each process holds the complete model, draws the same batches and computes its part of each. One
    all-reduce of the flat gradient adds up the parts. Its order depends only on the number of
    processes and their ranks, and every process gets the same bits, so all of them make the same
    update and nothing else is sent.

    Raises InputError like launcher.world.
    """

    def __init__(self, model: Layer, count: int = 1):
        super().__init__(model, count)
        self._world = world()
        self.processes, self.rank = self._world.size, self._world.rank
        if model.xp is not np:
            from cupyx.distributed import NCCLBackend

            self._nccl = NCCLBackend(self.processes, self.rank, use_mpi=True)

    def sum(self, vector: Array) -> None:
        if module_of(vector) is np:
            from mpi4py.MPI import IN_PLACE

            completes(self._world.Iallreduce(IN_PLACE, vector))
        else:
            self._nccl.all_reduce(vector, vector)

    def gather(self, value: Value) -> list[Value]:
        return gather(value)

    def agree(self, flag: bool) -> bool:
        count = np.array([flag], np.int32)
        self.sum(count)
        return bool(count[0])


def gather(value: Value) -> list[Value]:
    """`value` of each process, in the order of their ranks."""
    completes(world().Ibarrier())
    return world().allgather(value)


class Job:
    """The processes of one command before there is a model: what they check and agree on. Without a
    launcher there is only one.
    """

    def __init__(self, workers: str | None = None):
        """workers: "threads", or "processes" for local ones; None: the faster."""
        self._kind, place = workers, launched()
        self.processes, self.rank, self._rank_here = place.processes, place.rank, place.rank_here
        self.is_main = self.rank == 0
        if workers == "processes" and self.processes > 1:
            raise InputError(
                "workers is processes, but the launcher has already started several; leave it out"
            )

    def workers(self, model: Model, count: int = 1) -> Threads:
        return (
            Processes(model, count)
            if self.processes > 1
            else local_workers(model, count, self._kind)
        )

    def gather(self, value: Value) -> list[Value]:
        """`value` of each process, in the order of their ranks."""
        return [value] if self.processes == 1 else gather(value)

    def together(self, work: Callable[[], Any]) -> Any:
        """What work() returns. If it fails in any process, all raise InputError, so none waits for
        the one that failed.
        """
        if self.processes == 1:
            return work()
        found = problem = None
        try:
            found = work()
        except InputError as error:
            problem = str(error)
        except OSError as error:
            problem = reason(error)
        for rank, other in enumerate(self.gather(problem)):
            if other is not None:
                raise InputError(f"process {rank}: {other}" if rank else other)
        return found

    def check_alike(self, settings: dict[str, Any]) -> None:
        """Raise InputError if a setting of {name: setting}, or a version, differs between
        processes.
        """
        versions = {
            "python": platform.python_version(),
            "minitransformer": __version__,
            "numpy": version("numpy"),
        }
        first, *others = self.gather(versions | settings)
        for rank, other in enumerate(others, 1):
            for name in {**first, **other}:
                found, expected = (settings.get(name) for settings in (other, first))
                if found != expected:
                    raise InputError(
                        f"the processes differ: {name} is {expected} in process 0 and {found} in process {rank}"
                    )

    def check_sentences(self, batches: Any) -> None:
        """Raise InputError if no batch has a sentence for each process; the iterator `batches` is
        left as it was.
        """
        if self.processes == 1:
            return
        position = batches.position
        most = max(len(batch.split(self.processes)) for batch in islice(batches, SAMPLED_BATCHES))
        batches.position = position
        if most < self.processes:
            raise InputError(
                f"{self.processes} processes share each batch, but no batch has so many sentences (the largest: "
                f"{most}); start at most {most}, or choose a larger --batch"
            )

    def choose_gpu(self, xp: ModuleType) -> None:
        """Let each process on this machine use a different GPU, in turn if there are fewer GPUs
        than processes.
        """
        if xp is not np and self.processes > 1:
            xp.cuda.Device(self._rank_here % xp.cuda.runtime.getDeviceCount()).use()
