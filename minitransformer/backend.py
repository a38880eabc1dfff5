"""The array module: NumPy on the CPU, CuPy on a GPU. The array itself decides which."""

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
