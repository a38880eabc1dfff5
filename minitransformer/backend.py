"""The array module: NumPy on the CPU, CuPy on a GPU. The array itself decides which."""

import ctypes
import os
import sys

import numpy as np

from minitransformer.errors import InputError


def module_of(array):
    """The module whose functions work on `array`: numpy or cupy."""
    return sys.modules[type(array).__module__.partition(".")[0]]


def get_module(name):
    """The array module called `name`: "numpy", "cupy", or "auto" (CuPy where a GPU answers).

    Raises InputError where CuPy is asked for and cannot run: it can be imported on a machine
    without a GPU, so importing it is not enough.
    """
    if name == "numpy":
        return np
    if name not in ("cupy", "auto"):
        raise InputError(f"unknown array module {name!r}; choose numpy, cupy or auto")
    try:
        import cupy
        if cupy.is_available():
            return cupy
        problem = "CuPy is installed, but finds no GPU"
    except ModuleNotFoundError:
        problem = 'CuPy is not installed; install it with pip install cupy-cuda12x'
    except Exception as error:    # a broken driver or a wrong build raises what it likes
        problem = f"CuPy cannot be used ({error})"
    if name == "auto":
        return np
    raise InputError(f"{problem}. Use --backend numpy to run on the CPU")


def to_device(array, xp):
    """`array` as an array of the module `xp`; the same object if it already is one."""
    return array if module_of(array) is xp else xp.asarray(to_host(array))


def to_host(array):
    """`array` as a NumPy array (waits for the GPU); the same object if it already is one."""
    return array if module_of(array) is np else array.get()


def generator(xp, *entropy):
    """A random generator of `xp`, made from integers: the same integers, the same numbers.

    `generator(xp, seed, step)` gives each training step a generator that can be remade.
    """
    seed = np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0]
    return xp.random.default_rng(int(seed))


def available_cores():
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def keep_freed_memory():
    """Let the C library keep what is freed for the next arrays, where it is one that can (glibc).

    Else each large array gets fresh pages from the system, which come filled with zeros one by one:
    a step of the copy benchmark took 59 ms so on one thread, and 36 ms without.
    """
    M_ARENA_MAX, M_MMAP_MAX, M_TRIM_THRESHOLD = -8, -4, -1    # malloc.h
    mallopt = getattr(ctypes.pythonapi, "mallopt", None)
    if mallopt:
        mallopt(M_ARENA_MAX, 1)
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, 2 ** 31 - 1)


def check_ids(name, ids, size):
    """Raise InputError unless every id in `ids` is one of 0 .. size-1.

    Token ids stay on the host, wherever the model is: looking at them on a GPU would wait for it, and
    not looking would let an id out of range wrap around silently.
    """
    if not isinstance(ids, np.ndarray):
        raise InputError(f"{name} is a {type(ids).__module__}.{type(ids).__name__}, expected a NumPy array: "
                         "token ids stay on the host")
    if ids.dtype.kind not in "iu":
        raise InputError(f"{name} has dtype {ids.dtype}, expected an array of integer token ids")
    if ids.size and not (0 <= ids.min() and ids.max() < size):
        wrong = ids[(ids < 0) | (ids >= size)][0]
        raise InputError(f"{name} holds the token id {wrong}, expected 0 to {size - 1}")
