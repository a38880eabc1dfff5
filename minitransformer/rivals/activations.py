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
    """1 / (1 + exp(-x)), of any shape, as (1 + tanh(x / 2)) / 2: nothing overflows, and the complex step passes through.

    Its derivative is y (1 - y).
    """
    return 0.5 + 0.5 * module_of(x).tanh(0.5 * x)
