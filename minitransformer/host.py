"""The machine this process runs on: its cores, and what its C library does with freed memory."""

import ctypes
import os


def available_cores():
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def keep_freed_memory():
    """Let the C library keep what is freed for the next arrays, where it is one that can (glibc).

    Otherwise each large array gets fresh pages from the system, which come filled with zeros one by one:
    a step of the copy benchmark took 59 ms on one thread that way, and 36 ms with this.
    """
    M_ARENA_MAX, M_MMAP_MAX, M_TRIM_THRESHOLD = -8, -4, -1    # malloc.h
    mallopt = getattr(ctypes.pythonapi, "mallopt", None)
    if mallopt:
        mallopt(M_ARENA_MAX, 1)
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, 2 ** 31 - 1)
