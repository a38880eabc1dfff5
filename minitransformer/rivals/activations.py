"""tanh, and the sigmoid of gates."""

from typing import NamedTuple

from minitransformer.backend import Array, module_of
from minitransformer.replaceable import replaceable


class TanhCache(NamedTuple):
    y: Array   # (...)


@replaceable
def tanh_forward(x) -> tuple[Array, TanhCache]:
    """y = tanh(x), of any shape."""
    y = module_of(x).tanh(x)
    return y, TanhCache(y)


@replaceable
def tanh_backward(dy, cache) -> Array:
    """∂y/∂x = 1 - y^2."""
    return dy * (1 - cache.y * cache.y)


def sigmoid(x) -> Array:
    """1 / (1 + exp(-x)), of any shape, and for x < 0 as exp(x) / (1 + exp(x)): nothing overflows, the complex step passes through.

    A closed gate stays above 0, however small, and so can open again. The derivative is y (1 - y).
    """
    xp, negative = module_of(x), x.real < 0
    e = xp.exp(xp.where(negative, x, -x))
    return xp.where(negative, e, 1) / (1 + e)
