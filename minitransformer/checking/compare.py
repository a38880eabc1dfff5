"""How far arrays are apart, as the gradient check measures it, and whether an array is still the
same.
"""

from collections.abc import Collection
from typing import Any

import numpy as np

from minitransformer.backend import Array

SAME = 1e-12  # arrays this close (relative) are equal up to rounding


def relative_errors(some: Collection[Array], others: Collection[Array]) -> list[float]:
    """The error of each pair of arrays: max|a - b| / max(max|a|, max|b|, G / 10), with G the
    largest number of all arrays.

    It is inf if the shapes differ. NaN and infinity are an error of inf, too, unless both have the
    same one in the same place. `gradcheck` says what the floor G / 10 is for.
    """
    largest = max((size_of(array) for array in (*some, *others)), default=0)
    # 1 *: masks, which cannot be subtracted, as numbers
    return [_relative(1 * a, 1 * b, largest) for a, b in zip(some, others)]


def relative_error(some: Collection[Array], others: Collection[Array]) -> float:
    """The largest of `relative_errors`; inf if there are more arrays on one side."""
    return max(relative_errors(some, others), default=0.0) if len(some) == len(others) else np.inf


def size_of(array: Array) -> float:
    """The largest magnitude in an array, NaN and infinity left out."""
    return np.abs(array, where=np.isfinite(array), out=np.zeros(np.shape(array))).max(initial=0)


def scale_of(a: Array, b: Array, largest: float) -> float:
    """What a difference of two arrays is compared with; `largest` is the largest number of all
    arrays.
    """
    return max(size_of(a), size_of(b), largest / 10)


def _relative(a: Array, b: Array, largest: float) -> float:
    if np.shape(a) != np.shape(b):
        return np.inf
    alike = (a == b) | (np.isnan(a) & np.isnan(b))
    difference = np.abs(np.where(alike, 0, a) - np.where(alike, 0, b)).max(initial=0)
    if not np.isfinite(difference):
        return np.inf
    return float(difference / scale_of(a, b, largest)) if difference else 0.0


def is_same(now: Any, before: Any) -> bool:
    """Whether an array still has the shape and the values of `before`, NaN included; True for
    anything but an array.
    """
    if not isinstance(before, np.ndarray):
        return True
    return isinstance(now, np.ndarray) and np.array_equal(
        now, before, equal_nan=before.dtype.kind in "fc"
    )
