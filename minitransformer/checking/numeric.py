"""Two ways to differentiate a function by evaluating it: central differences and the complex step.

Each takes `evaluate() -> y`, the upstream gradient `dy`, and an `array` that evaluate depends on,
and returns the slope of sum(dy * y) when array[where] moves along `v`. The array is put back.
"""

import numpy as np

CENTRAL_STEP = 3e-6     # balances the rounding error, of order 1e-16 / step, against step^2
COMPLEX_STEP = 1e-20    # nothing is subtracted, so it can be as small as one likes


def central(evaluate, dy, array, where, v):
    """(f(x + h v) - f(x - h v)) / 2h: error of order h^2, plus rounding."""
    plus = _moved(evaluate, array, where, CENTRAL_STEP * v)
    minus = _moved(evaluate, array, where, -CENTRAL_STEP * v)
    return (dy * (plus - minus)).sum() / (2 * CENTRAL_STEP)


def one_sided(evaluate, dy, array, where, v):
    """The slopes to the left and to the right of x; they differ only where the function bends."""
    middle = np.array(evaluate())
    plus = _moved(evaluate, array, where, CENTRAL_STEP * v)
    minus = _moved(evaluate, array, where, -CENTRAL_STEP * v)
    return (dy * (middle - minus)).sum() / CENTRAL_STEP, (dy * (plus - middle)).sum() / CENTRAL_STEP


def complex_step(evaluate, dy, array, where, v):
    """Im f(x + i h v) / h: from f(x + ih) = f(x) + ih f'(x) + O(h^2), with no cancellation.

    Squire and Trapp 1998, https://doi.org/10.1137/S003614459631241X
    """
    return (dy * _moved(evaluate, array, where, 1j * COMPLEX_STEP * v).imag).sum() / COMPLEX_STEP


def _moved(evaluate, array, where, step):
    saved = array[where].copy()
    array[where] = saved + step
    y = np.array(evaluate())    # a copy: a forward may return its input itself
    array[where] = saved
    return y
