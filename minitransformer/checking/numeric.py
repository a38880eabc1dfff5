"""Two ways to differentiate a function by evaluating it: central differences and the complex step.

Each takes `evaluate() -> y`, a vector, the upstream gradient `dy`, and an `array` that evaluate
depends on, and returns the slope of sum(dy * y) as array[where] moves along `v`. The array is then
restored.
"""

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.checked_block import drawing

CENTRAL_STEP = 3e-6  # balances the rounding error, of order 1e-16 / step, against step^2
COMPLEX_STEP = 1e-20  # nothing is subtracted, so it can be arbitrarily small


def central(evaluate, dy, array, where, v, step=CENTRAL_STEP) -> float:
    """(f(x + h v) - f(x - h v)) / 2h: error of order h^2, plus rounding."""
    plus = _moved(evaluate, array, where, step * v)
    minus = _moved(evaluate, array, where, -step * v)
    return (dy * (plus - minus)).sum() / (2 * step)


def kink(evaluate, array, where, v) -> bool:
    """Whether array[where] is exactly at a kink along `v`: the slopes of some number of y differ on
    its two sides.

    They differ by as much at a step a tenth as long. If the function is smooth their distance
    shrinks with the step; at a jump it grows.
    """
    middle, gaps = np.array(evaluate()), []
    for step in (CENTRAL_STEP, CENTRAL_STEP / 10):
        left = (middle - _moved(evaluate, array, where, -step * v)) / step
        right = (_moved(evaluate, array, where, step * v) - middle) / step
        gaps.append(np.abs(right - left))
    far, near = gaps
    least = 1e-6 * max(
        np.abs(left).max(initial=0), np.abs(right).max(initial=0), np.abs(middle).max(initial=0)
    )
    return bool(((near > least) & (0.5 * far < near) & (near < 2 * far)).any())


def complex_step(evaluate, dy, array, where, v) -> float:
    """Im f(x + i h v) / h: from f(x + ih) = f(x) + ih f'(x) + O(h^2), with no cancellation.

    Squire and Trapp 1998, https://doi.org/10.1137/S003614459631241X
    """
    return (dy * slopes(evaluate, array, where, v)).sum()


def of_each(method, evaluate, dy, array) -> Array:
    """The slope for each number of an array, by one of these two methods."""
    return np.array(
        [method(evaluate, dy, array, where, 1.0) for where in np.ndindex(array.shape)]
    ).reshape(array.shape)


def slopes(evaluate, array, where, v) -> Array:
    """The slope of every number of y as array[where] moves along `v`, by the complex step."""
    return _moved(evaluate, array, where, 1j * COMPLEX_STEP * v).imag / COMPLEX_STEP


def error_along(moving, dy, gradients, names) -> float:
    """How far the gradients of `names` are from the slope along a random direction of all these
    arrays at once.

    moving: the CheckedBlock in complex128; dy: flat; gradients: {name: array}, of which all give
    the scale.
    """
    rng = drawing(6)
    directions = {name: rng.standard_normal(gradients[name].shape) for name in names}
    numeric = float((dy * moving.moved(directions, 1j * COMPLEX_STEP).imag).sum() / COMPLEX_STEP)
    analytic = sum(float((gradients[name] * v).sum()) for name, v in directions.items())
    sizes = [np.sqrt((g * g).sum()) for g in gradients.values()]
    scale = max(
        np.sqrt(sum((gradients[name] ** 2).sum() for name in names)),
        abs(numeric),
        max(sizes, default=0) / 10,
    )
    return abs(analytic - numeric) / scale if scale else 0.0


def _moved(evaluate, array, where, step) -> Array:
    saved = array[where].copy()
    array[where] = saved + step
    y = np.array(evaluate())  # a copy: a forward may return its input itself
    array[where] = saved
    return y
