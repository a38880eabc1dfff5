"""ReLU (section 3.3 of the paper) and GELU."""

import math
from typing import NamedTuple

from minitransformer.backend import Array, module_of
from minitransformer.checks import check_shape
from minitransformer.dispatch import replaceable
from minitransformer.lookup import Table


class ReluCache(NamedTuple):
    positive: Array   # (...) bool: where x > 0


@replaceable
def relu_forward(x: Array) -> tuple[Array, ReluCache]:
    """y = max(0, x), of any shape. Written as a product, so that the complex step passes through."""
    positive = x.real > 0
    return x * positive, ReluCache(positive)


@replaceable
def relu_backward(dy: Array, cache: ReluCache) -> Array:
    """∂y/∂x is 1 where x > 0 and 0 elsewhere (at the kink x = 0 too)."""
    check_shape("ReLU: dy", dy, *cache.positive.shape)
    return dy * cache.positive


class GeluCache(NamedTuple):
    x: Array      # (...)
    tanh: Array   # (...) tanh(u), with u as below


SLOPE = math.sqrt(2 / math.pi)
CUBIC = 0.044715


@replaceable
def gelu_forward(x: Array) -> tuple[Array, GeluCache]:
    """y = x (1 + tanh u) / 2 with u = sqrt(2/pi) (x + 0.044715 x^3), of any shape.

    The tanh form of Hendrycks and Gimpel, https://arxiv.org/abs/1606.08415, section 2.
    """
    tanh = module_of(x).tanh(SLOPE * (x + CUBIC * x * x * x))
    return 0.5 * x * (1 + tanh), GeluCache(x, tanh)


@replaceable
def gelu_backward(dy: Array, cache: GeluCache) -> Array:
    """∂y/∂x = (1 + tanh u) / 2 + x (1 - tanh^2 u) u' / 2 with u' = sqrt(2/pi) (1 + 3 * 0.044715 x^2)."""
    x, tanh = cache
    check_shape("GELU: dy", dy, *x.shape)
    u_prime = SLOPE * (1 + 3 * CUBIC * x * x)
    return dy * (0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * u_prime)


# {a name: its forward and backward; or the class of a feed-forward network that an activation is a part of}
ACTIVATIONS = Table("activation", {"relu": (relu_forward, relu_backward), "gelu": (gelu_forward, gelu_backward)})
