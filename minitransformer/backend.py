"""The array module: NumPy on the CPU, CuPy on a GPU. The array itself determines which."""

import sys
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minitransformer.errors import InputError

BACKENDS = ("numpy", "cupy", "auto")
# NumPy's; a CuPy array is taken for one, as it has the same methods. Docstrings give the shapes.
Array = NDArray[Any]
Generator = np.random.Generator  # likewise: CuPy's has fewer methods


def module_of(array: Any) -> ModuleType:
    """The module whose functions work on `array`: numpy or cupy."""
    return sys.modules[type(array).__module__.partition(".")[0]]


def get_module(name: str) -> ModuleType:
    """The array module called `name`: "numpy", "cupy", or "auto" (CuPy if a GPU is available).

    Raises InputError if CuPy is requested but cannot run. (CuPy can be imported on a machine
    without a GPU, so importing it proves nothing.)
    """
    if name == "numpy":
        return np
    check_backend(name)
    try:
        import cupy

        if cupy.is_available():
            return cupy
        problem = "CuPy is installed but finds no GPU"
    except ModuleNotFoundError:
        problem = "CuPy is not installed; install it with pip install cupy-cuda12x (for CUDA 13: cupy-cuda13x)"
    except Exception as error:  # a broken driver or a wrong build may raise anything
        problem = f"CuPy cannot be used ({error})"
    if name == "auto":
        return np
    raise InputError(f"{problem}. Use --backend numpy to run on the CPU")


def check_backend(name: str) -> None:
    """Raise InputError unless `name` is one of BACKENDS."""
    if name not in BACKENDS:
        raise InputError(f"unknown array module {name!r}; choose numpy, cupy or auto")


def to_device(array: Array, xp: ModuleType) -> Array:
    """`array` as an array of the module `xp`; the same object if it already is one."""
    return array if module_of(array) is xp else xp.asarray(to_host(array))


def to_host(array: Any) -> np.ndarray:
    """`array` as a NumPy array (waits for the GPU); the same object if it already is one."""
    return array if module_of(array) is np else array.get()


def generator(xp: ModuleType, *entropy: int) -> Generator:
    """A random generator of `xp`, seeded with integers: the same integers give the same random
    numbers.

    `generator(xp, seed, step)` gives each training step a reproducible generator.
    """
    seed = np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0]
    return xp.random.default_rng(int(seed))
