"""Loops over arrays, compiled by Numba."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, types

from minitransformer.errors import InputError
from minitransformer.speed.kernels import LOOPS

# What the compiler may change to do several numbers at once: the order of a sum, and a product and
# a sum rounded once. It may not assume that there is no NaN or infinity: they must reach the loss.
FREEDOM = {"reassoc", "contract"}

FEW = 10  # rows; with more of them, the products of BLAS are faster than loops


def loop(arguments) -> Callable[[Callable], Any]:
    """Compile a function of arrays that are in memory row by row.

        @loop("matrix vector number")
        def add_bias(x, bias, scale): ...

    `arguments` names the type of each: a vector, matrix or cube of the dtype that is trained, a
    linear (the matrix and the vector of a Linear), a norm (the two vectors of a LayerNorm), flags
    (a vector of bool), a flag_cube, words (a vector of uint64), ids (one of int64), an id_matrix,
    doubles (a matrix of float64), a number (float), a whole (int) or a flag (bool). float32 is
    compiled before the first step, another dtype when it first occurs. The compiled code is kept on
    the disk. A loop needs no GIL, so the threads of a step run at the same time.

    An innermost loop should count from 0: Numba counts a negative index from the end, and if it
    cannot rule one out, the compiler computes one number at a time. For a part of an array, take a
    slice and count in that.
    """

    def compiled(function) -> Any:
        made = njit(nogil=True, cache=True, error_model="numpy", fastmath=FREEDOM)(function)
        LOOPS.append((made, types_of(arguments)))
        return made

    return compiled


def part(function) -> Any:
    """Compile a function of numbers that loops call for each element. Its sums stay in the order
    that is written.
    """
    return njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})(function)


def packed(array, *shape) -> np.ndarray:
    """`array` as a loop reads it: row by row in memory, and of this shape. Raises ValueError for an
    array of another size.

    A loop checks no bounds, so every array that it gets was made with its size or has been checked
    here. An array that may not be written to is copied: to Numba it is one of another type, for
    which it would compile the loop again.
    """
    array = np.ascontiguousarray(array)
    return (array if array.flags.writeable else array.copy()).reshape(shape)


def check_writeable(*arrays) -> None:
    """Raise InputError unless all arrays may be written to: a loop that writes is compiled for no
    others.
    """
    if not all(array.flags.writeable for array in arrays):
        raise InputError(
            "an array that is to be changed in place is read-only, expected one that may be written to"
        )


def types_of(arguments) -> tuple:
    """The types that `loop` names, in Numba's words, for float32."""
    real = types.float32
    known = {
        "vector": real[::1],
        "matrix": real[:, ::1],
        "cube": real[:, :, ::1],
        "linear": types.Tuple((real[:, ::1], real[::1])),
        "norm": types.UniTuple(real[::1], 2),
        "flags": types.boolean[::1],
        "flag_cube": types.boolean[:, :, ::1],
        "words": types.uint64[::1],
        "ids": types.int64[::1],
        "id_matrix": types.int64[:, ::1],
        "doubles": types.float64[:, ::1],
        "number": types.float64,
        "whole": types.int64,
        "flag": types.boolean,
    }
    return tuple(known[name] for name in arguments.split())
