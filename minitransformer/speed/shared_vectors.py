"""Vectors in memory that several processes of this machine share."""

import os
from mmap import mmap

import numpy as np
from numpy.typing import DTypeLike

from minitransformer.backend import Array
from minitransformer.memory import available_memory

PAGE = 4096  # bytes: each vector begins on a page of its own


def shared_vectors(data: Array, count: int) -> tuple[list, int]:
    """(`count` vectors like `data` in memory without a name, the first a copy of it; the memory's
    descriptor). Raises OSError if the system does not have it, or too little.
    """
    if not hasattr(os, "memfd_create"):
        raise OSError("this system has no memory without a name, unlike Linux")
    size = count * -(-data.nbytes // PAGE) * PAGE
    if size > (available_memory() or size):
        raise OSError(f"{size:,} bytes of shared memory are not available")
    memory = os.memfd_create("vectors")
    try:
        # all of it now: if there is none left, a later write would end the process
        os.posix_fallocate(memory, 0, size)
    except BaseException:
        os.close(memory)
        raise
    vectors = views(memory, data.size, data.dtype)
    vectors[0][...] = data
    return vectors, memory


def views(memory: int, size: int, dtype: DTypeLike) -> list:
    """The vectors of `size` numbers in the shared memory with this descriptor."""
    numbers = np.frombuffer(mmap(memory, 0), dtype)
    distance = -(-size * numbers.itemsize // PAGE) * PAGE // numbers.itemsize
    return [numbers[start : start + size] for start in range(0, len(numbers), distance)]
