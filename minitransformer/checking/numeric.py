"""Two ways to differentiate a function by evaluating it: central differences and the complex step.

Each takes a line, `line(step) -> y`, a vector, which evaluates the function with its variables
moved by a step along some direction; the upstream gradient `dy`; and the unit, the size of what is
moved. It returns the slope of sum(dy * y) along the line.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from minitransformer.backend import Array

Line = Callable[[complex], Array]

CENTRAL_STEP = 3e-6  # of a unit: balances the rounding error, of order 1e-16 / step, against step^2
# Nothing is subtracted, so it can be arbitrarily small: about 1e-60, far below any number that is
# moved. The power of two changes no digit of a result.
COMPLEX_STEP = 1e-20 / 2**133
# central differences and the complex step further apart than this belong to different functions
DROPPED = 1e-4
SURE = 1e-2  # of a slope: if it changes by more with the step, it is rounding or curvature


def central(line: Line, dy: Array, unit: float = 1.0) -> float:
    """(f(x + h v) - f(x - h v)) / 2h: error of order h^2, plus rounding."""
    step = CENTRAL_STEP * unit
    return (dy * (line(step) - line(-step))).sum() / (2 * step)


def complex_step(line: Line, dy: Array, unit: float = 1.0) -> float:
    """Im f(x + i h v) / h: from f(x + ih) = f(x) + ih f'(x) + O(h^2), with no cancellation.

    Squire and Trapp 1998, https://doi.org/10.1137/S003614459631241X
    """
    return (dy * slopes(line)).sum()


def slopes(line: Line) -> Array:
    """The slope of every number of y along the line, by the complex step."""
    return line(1j * COMPLEX_STEP).imag / COMPLEX_STEP


def line_of(evaluate: Callable[[], Array], array: Array, where: Any) -> Line:
    """The line along which array[where] moves by the step; the array is then restored."""

    def line(step: complex) -> Array:
        saved = array[where].copy()
        array[where] = saved + step
        y = np.array(evaluate())  # a copy: a forward may return its input itself
        array[where] = saved
        return y

    return line


def of_each(
    method: Callable[..., float],
    evaluate: Callable[[], Array],
    dy: Any,
    array: Array,
    unit: float = 1.0,
) -> Array:
    """The slope for each number of an array, by one of these two methods."""
    return np.array(
        [method(line_of(evaluate, array, where), dy, unit) for where in np.ndindex(array.shape)]
    ).reshape(array.shape)


def contradict(line: Line, dy: Array, slope: float, unit: float) -> bool:
    """Whether central differences show another slope: the same with steps of three lengths, and not
    because of a kink.
    """
    found = np.array([central(line, dy, part * unit) for part in (1, 0.1, 0.01)])
    spread, least = np.ptp(found), np.abs(found).min()
    off = np.abs(found - slope).min()
    are_sure = spread < SURE * least  # not if y does not move, or less than by rounding
    return bool(are_sure and off > max(DROPPED * max(least, abs(slope)), 3 * spread)) and not kink(
        line, unit
    )


def kink(line: Line, unit: float = 1.0) -> bool:
    """Whether the line begins exactly at a kink: the slopes of some number of y differ on its two
    sides.

    They differ by as much at a step a tenth as long. If the function is smooth their distance
    shrinks with the step; at a jump it grows.
    """
    middle, gaps, steepest = line(0), [], 0.0
    for step in (CENTRAL_STEP * unit, CENTRAL_STEP * unit / 10):
        left, right = (middle - line(-step)) / step, (line(step) - middle) / step
        gaps.append(np.abs(right - left))
        steepest = max(np.abs(left).max(initial=0), np.abs(right).max(initial=0))
    far, near = gaps
    least = 1e-6 * max(steepest, np.abs(middle).max(initial=0) / unit)
    return bool(((near > least) & (0.5 * far < near) & (near < 2 * far)).any())
