"""Speed: the kernels, and the machine this process runs on: its cores, its BLAS, how its C library
treats freed memory.
"""

import ctypes
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from minitransformer.speed.kernels import kernels_run, say_if_none_is_compiled
from minitransformer.memory import read_if_there

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX = -1, -3, -4, -8  # malloc.h
KEEP = {M_MMAP_MAX: 0, M_TRIM_THRESHOLD: 2**31 - 1}
# glibc's defaults, except for the thresholds: glibc adapts them, and these are their final values
# in a process that frees large arrays.
USUAL = {M_MMAP_MAX: 65_536, M_MMAP_THRESHOLD: 2**25, M_TRIM_THRESHOLD: 2**26}


def available_cores() -> int:
    """The number of cores that this process may use. In a container with a quota of 1.5 cores, it
    is two.
    """
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return min([cores, *map(math.ceil, quotas())])


def quotas(own=Path("/proc/self/cgroup"), root=Path("/sys/fs/cgroup")) -> Iterator[float]:
    """The CPU quota, in cores, of each Linux control group that this process is in, if it has one.

    A group is bound by the quotas of the groups around it, too. A container may name a path of its
    host; then `root` is its group.
    """
    for line in read_if_there(
        own
    ).splitlines():  # 4:cpu,cpuacct:/path in version 1 of control groups, 0::/path in version 2
        controllers, _, path = line.partition(":")[2].partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        group, files = (
            (root / "cpu", ("cpu.cfs_quota_us", "cpu.cfs_period_us"))
            if controllers
            else (root, ("cpu.max",))
        )
        group /= path.strip("/")
        for folder in (group, *group.parents):
            numbers = " ".join(read_if_there(folder / file) for file in files).split()
            if len(numbers) == 2 and all(
                number.isdecimal() and int(number) for number in numbers
            ):  # no quota: -1 or max
                yield int(numbers[0]) / int(numbers[1])


@contextmanager
def fast() -> Iterator[None]:
    """Within the block, your own training steps are as fast as the command's, even on a busy
    machine.

        with fast():
            for step in range(1, 101):
                training_step(model, adam, batch, learning_rate)

    Kernels that Numba compiles run in place of the textbook functions that have one
    (docs/speed.md). Without Numba, the textbook runs, and one line on standard error says so. Keep
    a forward and its backward in one block. BLAS gets one thread: at these sizes, its
    threads mostly wait for each other and, on a busy machine, for other work (use several `Threads`
    instead). The C library, if it is glibc, keeps freed memory for the next arrays; otherwise each
    large array gets new pages from the system, which fills them with zeros one by one (a step of
    the copy benchmark took 59 ms on one thread that way, and 36 ms with this setting).

    All of this applies to all threads of the process until the last one leaves: blocks may be
    nested and may overlap. At the end, the textbook runs again, BLAS gets its threads back, and the
    kept memory is returned to the system. One effect cannot be undone: glibc stops adapting the
    size from which an array gets its own pages. It stays at 32 MiB, the maximum that glibc adapts
    it to.
    """
    say_if_none_is_compiled()
    with kernels_run(), one_blas_thread, _freed_memory_kept:
        yield


def keep_freed_memory() -> None:
    """Apply `fast`'s memory settings permanently, for a process that is ours, whose threads may
    also share one arena.
    """
    _mallopt({M_ARENA_MAX: 1, **KEEP})


class _Shared:
    """A context that can be entered repeatedly, even from several threads: the last to leave undoes
    what the first one did.
    """

    def __init__(self, make):
        self._make, self._lock, self._inside = make, Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._context = self._make()
                self._context.__enter__()
            self._inside += 1

    def __exit__(self, *error) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._context.__exit__(None, None, None)


@contextmanager
def _limit_blas() -> Iterator[None]:
    from threadpoolctl import (
        ThreadpoolController,
    )  # here: it is slow, and the command must be ready earlier

    blas = ThreadpoolController().select(user_api="blas")
    with blas.limit(limits=1):
        try:
            yield
        # newer versions let only the thread that did this undo it, and another may be the last to
        # leave
        finally:
            for library in blas.lib_controllers:
                if hasattr(library, "clear_controlling_thread"):
                    library.clear_controlling_thread(force=True)


@contextmanager
def _keep_freed_memory() -> Iterator[None]:
    _mallopt(KEEP)
    try:
        yield
    finally:
        _mallopt(USUAL)
        if trim := getattr(ctypes.pythonapi, "malloc_trim", None):
            trim(0)


def _mallopt(settings) -> None:
    """Set {parameter: value} of glibc's malloc; other C libraries have no equivalent."""
    if mallopt := getattr(ctypes.pythonapi, "mallopt", None):
        for parameter, value in settings.items():
            mallopt(parameter, value)


one_blas_thread = _Shared(_limit_blas)  # `with one_blas_thread:`
_freed_memory_kept = _Shared(_keep_freed_memory)
