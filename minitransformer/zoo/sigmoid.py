"""The sigmoid of gates."""

import numpy as np

from minitransformer.backend import Array, module_of


@np.errstate(under="ignore")
def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), of any shape, and for x < 0 as exp(x) / (1 + exp(x)): nothing overflows,
    the complex step passes through.

    A closed gate stays above 0, however small, and so can open again. The derivative is y (1 - y).
    """
    xp, negative = module_of(x), x.real < 0
    e = xp.exp(xp.where(negative, x, -x))
    return xp.where(negative, e, 1) / (1 + e)
