"""`with fast():` kernels, one BLAS thread, and a C library that keeps freed memory."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

from minitransformer.cores import Shared, one_blas_thread
from minitransformer.speed.kernels import kernels_run, say_if_none_is_compiled

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX = -1, -3, -4, -8  # malloc.h
KEEP = {M_MMAP_MAX: 0, M_TRIM_THRESHOLD: 2**31 - 1}
# glibc's defaults, except for the thresholds: glibc adapts them, and these are their final values
# in a process that frees large arrays.
USUAL = {M_MMAP_MAX: 65_536, M_MMAP_THRESHOLD: 2**25, M_TRIM_THRESHOLD: 2**26}


@contextmanager
def fast() -> Iterator[None]:
    """Within the block, your own training steps are as fast as the command's, even on a busy
    machine.

        with fast():
            for step in range(1, 101):
                training_step(model, adam, batch, learning_rate)

    Kernels that Numba compiles run in place of the textbook functions that have one
    (docs/speed.md). Without Numba, the textbook runs, and one line on standard error says so. Keep
    a forward and its backward in one block. BLAS gets one thread: at these sizes, its threads
    mostly wait for each other and, on a busy machine, for other work (use several `Threads`
    instead). The C library, if it is glibc, keeps freed memory for the next arrays; otherwise each
    large array gets new pages from the system, which fills them with zeros one by one. (On one
    thread, a step of copy takes 1.27 times as long that way, one of tiny 1.02 times.)

    All of this applies to the whole process, with all its threads, until the last one leaves:
    blocks may be nested and may overlap. At the end, the textbook runs again, BLAS gets its threads
    back, and the kept memory is returned to the system. One effect cannot be undone: glibc stops
    adapting the size from which an array gets its own pages. It stays at 32 MiB, the maximum that
    glibc adapts it to.
    """
    say_if_none_is_compiled()
    with kernels_run(), one_blas_thread, _freed_memory_kept:
        yield


def keep_freed_memory() -> None:
    """Apply `fast`'s memory settings permanently, for a process that is ours, whose threads may
    also share one arena.
    """
    _mallopt({M_ARENA_MAX: 1, **KEEP})


@contextmanager
def _keep_freed_memory() -> Iterator[None]:
    _mallopt(KEEP)
    try:
        yield
    finally:
        _mallopt(USUAL)
        if trim := getattr(ctypes.pythonapi, "malloc_trim", None):
            trim(0)


def _mallopt(settings: dict[int, int]) -> None:
    """Set {parameter: value} of glibc's malloc; other C libraries have no equivalent."""
    if mallopt := getattr(ctypes.pythonapi, "mallopt", None):
        for parameter, value in settings.items():
            mallopt(parameter, value)


_freed_memory_kept = Shared(_keep_freed_memory)
