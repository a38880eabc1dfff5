"""Several processes that train one model hold the same weights, whatever each of them computes."""

from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

from minitransformer.backend import Array, to_host
from minitransformer.errors import InputError
from minitransformer.runs.run import Run
from minitransformer.training.workers import OneWorker


def in_main(workers: OneWorker, work: Callable[[], Any]) -> Any:
    """What work() returns in the main process: others might round it otherwise, and part from it."""
    return workers.gather(work() if workers.is_main else None)[0]


def check_alike(workers: OneWorker, run: Run, step: int) -> None:
    """Raise InputError if the processes hold different weights, since each moves its own."""
    if workers.processes == 1:
        return
    first, *others = workers.gather((step, crc32(to_host(workers.flat.data).data)))
    for rank, other in enumerate(others, 1):
        if other != first:
            raise InputError(
                f"the weights of process {rank} (step {other[0]}) differ from those of process 0 (step {first[0]}); "
                f"run the same programs on all machines, and resume with: {run.resume_command}"
            )


def take_weights(
    workers: OneWorker, run: Run, read: Callable[[], tuple[Mapping[str, Array], int]]
) -> int:
    """Load the weights that read() -> (weights, count) finds in the run folder; returns the count.

    The main process reads them, and the others get them from it: their view of the folder may lag
    behind.
    """
    data, count = workers.flat.data, 0
    if workers.is_main:
        weights, count = read()
        run.set_weights(weights)
    else:
        data[...] = 0
    workers.sum(data)
    return workers.gather(count)[0]
