"""Loops over arrays, compiled by Numba."""

from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import numpy as np
from numba import njit, types

from minitransformer.backend import Array
from minitransformer.errors import InputError
from minitransformer.speed.kernels import LOOPS

# What the compiler may change to do several numbers at once: the order of a sum, and a product and
# a sum rounded once. It may not assume that there is no NaN or infinity: they must reach the loss.
FREEDOM = {"reassoc", "contract"}

FEW = 10  # rows; with more of them, the products of BLAS are faster than loops

# What a loop takes: for mypy an array, for Numba one in memory row by row of this dtype.
_real = types.float32
Vector = Annotated[Array, _real[::1]]
Matrix = Annotated[Array, _real[:, ::1]]
Cube = Annotated[Array, _real[:, :, ::1]]
Flags = Annotated[Array, types.boolean[::1]]
FlagCube = Annotated[Array, types.boolean[:, :, ::1]]
Words = Annotated[Array, types.uint64[::1]]
Ids = Annotated[Array, types.int64[::1]]
IdMatrix = Annotated[Array, types.int64[:, ::1]]
Doubles = Annotated[Array, types.float64[:, ::1]]
WeightAndBias = Annotated[tuple[Array, Array], types.Tuple((_real[:, ::1], _real[::1]))]
GammaAndBeta = Annotated[tuple[Array, Array], types.UniTuple(_real[::1], 2)]
NUMBERS = {float: types.float64, int: types.int64, bool: types.boolean}


def loop(function: Callable) -> Any:
    """Compile a function of numbers and arrays, whose types say which.

        @loop
        def add_bias(x: Matrix, bias: Vector, scale: float) -> None:

    float32 is compiled before the first step, another dtype when it first occurs. The compiled code
    is kept on the disk. A loop needs no GIL, so the threads of a step run at the same time.

    An innermost loop should count from 0: Numba counts a negative index from the end, and if it
    cannot rule one out, the compiler computes one number at a time. For a part of an array, take a
    slice and count in that.
    """
    made = njit(nogil=True, cache=True, error_model="numpy", fastmath=FREEDOM)(function)
    LOOPS.append((made, types_of(function)))
    return made


def part(function: Callable) -> Any:
    """Compile a function of numbers that loops call for each element. Its sums stay in the order
    that is written.
    """
    return njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})(function)


def packed(array: Array, *shape: int) -> np.ndarray:
    """`array` as a loop reads it: row by row in memory, and of this shape. Raises ValueError for an
    array of another size.

    A loop checks no bounds, so every array that it gets was made with its size or has been checked
    here. An array that may not be written to is copied: to Numba it is one of another type, for
    which it would compile the loop again.
    """
    array = np.ascontiguousarray(array)
    return (array if array.flags.writeable else array.copy()).reshape(shape)


def check_writeable(*arrays: Array) -> None:
    """Raise InputError unless all arrays may be written to: a loop that writes is compiled for no
    others.
    """
    if not all(array.flags.writeable for array in arrays):
        raise InputError(
            "an array that is to be changed in place is read-only, expected one that may be written to"
        )


def types_of(function: Callable) -> tuple:
    """The types of a function's parameters, in Numba's words, for float32."""
    hints = get_type_hints(function, include_extras=True)
    hints.pop("return", None)
    return tuple(
        NUMBERS[hint] if hint in NUMBERS else hint.__metadata__[0] for hint in hints.values()
    )
