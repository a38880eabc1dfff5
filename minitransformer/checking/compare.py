"""How far arrays are apart, as the gradient check measures it, and whether an array is still the same."""

import numpy as np


def relative_errors(some, others) -> list[float]:
    """Of each array against its other one: max|a - b| / max(max|a|, max|b|, G / 10), with G the largest number of all of them.

    It is inf for another shape, and for NaN or infinity. `gradcheck` says what the floor G / 10 is for.
    """
    largest = max((np.abs(array).max(initial=0) for array in (*some, *others)), default=0)
    return [_relative(a, b, largest / 10) for a, b in zip(some, others)]


def relative_error(some, others) -> float:
    """The largest of `relative_errors`."""
    return max(relative_errors(some, others), default=0.0)


def _relative(a, b, floor) -> float:
    if np.shape(a) != np.shape(b):
        return np.inf
    difference = np.abs(1 * a - 1 * b).max(initial=0)    # 1 *: of masks, which cannot be subtracted, numbers
    if not np.isfinite(difference):
        return np.inf
    return float(difference / max(np.abs(a).max(initial=0), np.abs(b).max(initial=0), floor)) if difference else 0.0


def is_same(now, before) -> bool:
    """Whether an array still has the shape and the values of `before`, NaN included; True for anything but an array."""
    if not isinstance(before, np.ndarray):
        return True
    return isinstance(now, np.ndarray) and np.array_equal(now, before, equal_nan=before.dtype.kind in "fc")
