"""Two ways to differentiate a function by evaluating it: central differences and the complex step.

Each takes `evaluate() -> y`, a vector, the upstream gradient `dy`, and an `array` that evaluate depends on,
and returns the slope of sum(dy * y) as array[where] moves along `v`. The array is then restored.
"""

import numpy as np

from minitransformer.backend import Array

CENTRAL_STEP = 3e-6     # balances the rounding error, of order 1e-16 / step, against step^2
COMPLEX_STEP = 1e-20    # nothing is subtracted, so it can be arbitrarily small


def central(evaluate, dy, array, where, v, step=CENTRAL_STEP) -> float:
    """(f(x + h v) - f(x - h v)) / 2h: error of order h^2, plus rounding."""
    plus = _moved(evaluate, array, where, step * v)
    minus = _moved(evaluate, array, where, -step * v)
    return (dy * (plus - minus)).sum() / (2 * step)


def kink(evaluate, dy, array, where, v, analytic, tolerance) -> bool:
    """Whether central differences and `analytic` disagree only because of a kink near x.

    Either the kink is within the step, and a step a tenth as long agrees (as it does if the function
    is smooth but curves too much for the step); or x is exactly at the kink: then the
    slopes on its two sides are equally far apart at both steps (if the function is smooth their distance shrinks
    with the step, at a jump it grows), and the analytic slope is between them.
    """
    if abs(central(evaluate, dy, array, where, v, CENTRAL_STEP / 10) - analytic) <= tolerance:
        return True
    middle = np.array(evaluate())
    sides = []
    for step in (CENTRAL_STEP, CENTRAL_STEP / 10):
        left = (dy * (middle - _moved(evaluate, array, where, -step * v))).sum() / step
        right = (dy * (_moved(evaluate, array, where, step * v) - middle)).sum() / step
        sides.append((min(left, right), max(left, right)))
    (low, high), (low_near, high_near) = sides
    same_gap = 0.5 < (high_near - low_near) / max(high - low, tolerance) < 2
    return same_gap and low - tolerance <= analytic <= high + tolerance


def complex_step(evaluate, dy, array, where, v) -> float:
    """Im f(x + i h v) / h: from f(x + ih) = f(x) + ih f'(x) + O(h^2), with no cancellation.

    Squire and Trapp 1998, https://doi.org/10.1137/S003614459631241X
    """
    return (dy * slopes(evaluate, array, where, v)).sum()


def of_each(method, evaluate, dy, array) -> Array:
    """The slope for each number of an array, by one of these two methods."""
    return np.array([method(evaluate, dy, array, where, 1.0) for where in np.ndindex(array.shape)]).reshape(array.shape)


def slopes(evaluate, array, where, v) -> Array:
    """The slope of every number of y as array[where] moves along `v`, by the complex step."""
    return _moved(evaluate, array, where, 1j * COMPLEX_STEP * v).imag / COMPLEX_STEP


def error_along(moving, dy, gradients, names) -> float:
    """How far the gradients of `names` are from the slope along a random direction of all these arrays at once.

    moving: the CheckedBlock in complex128; dy: flat; gradients: {name: array}, of which all give the scale.
    """
    rng = np.random.default_rng(1)
    directions = {name: rng.standard_normal(gradients[name].shape) for name in names}
    numeric = float((dy * moving.moved(directions, 1j * COMPLEX_STEP).imag).sum() / COMPLEX_STEP)
    analytic = sum(float((gradients[name] * v).sum()) for name, v in directions.items())
    sizes = [np.sqrt((g * g).sum()) for g in gradients.values()]
    scale = max(np.sqrt(sum((gradients[name] ** 2).sum() for name in names)), abs(numeric), max(sizes, default=0) / 10)
    return abs(analytic - numeric) / scale if scale else 0.0


def _moved(evaluate, array, where, step) -> Array:
    saved = array[where].copy()
    array[where] = saved + step
    y = np.array(evaluate())    # a copy: a forward may return its input itself
    array[where] = saved
    return y
