"""ReLU and GELU in one pass each."""

import numpy as np

from minitransformer.backend import Array
from minitransformer.checks import check_shape
from minitransformer.functional.activations import (
    CUBIC,
    SLOPE,
    GeluCache,
    ReluCache,
)
from minitransformer.speed.exponential import exp
from minitransformer.speed.loops import Flags, Vector, loop, packed


def relu_forward_compiled(x: Array) -> tuple[Array, ReluCache]:
    y, positive = np.empty(x.shape, x.dtype), np.empty(x.shape, bool)
    relu(packed(x, y.size), y.reshape(-1), positive.reshape(-1))
    return y, ReluCache(positive)


def relu_backward_compiled(dy: Array, cache: ReluCache) -> Array:
    check_shape("ReLU: dy", dy, *cache.positive.shape)
    dx = np.empty(dy.shape, dy.dtype)
    relu_back(packed(dy, dx.size), packed(cache.positive, dx.size), dx.reshape(-1))
    return dx


def gelu_forward_compiled(x: Array) -> tuple[Array, GeluCache]:
    y, tanh = np.empty(x.shape, x.dtype), np.empty(x.shape, x.dtype)
    gelu(packed(x, y.size), y.reshape(-1), tanh.reshape(-1))
    return y, GeluCache(x, tanh)


def gelu_backward_compiled(dy: Array, cache: GeluCache) -> Array:
    check_shape("GELU: dy", dy, *cache.x.shape)
    dx = np.empty(dy.shape, dy.dtype)
    arrays = (packed(array, dx.size) for array in (dy, cache.x, cache.tanh))
    gelu_back(*arrays, dx.reshape(-1))
    return dx


@loop
def relu(x: Vector, y: Vector, positive: Flags) -> None:
    """All: (N,). Written as a product, as in the textbook, so NaN stays NaN."""
    number = x.dtype.type
    for i in range(len(y)):
        positive[i] = x[i] > number(0)
        y[i] = x[i] * (number(1) if positive[i] else number(0))


@loop
def relu_back(dy: Vector, positive: Flags, dx: Vector) -> None:
    number = dy.dtype.type
    for i in range(len(dx)):
        dx[i] = dy[i] * (number(1) if positive[i] else number(0))


@loop
def gelu(x: Vector, y: Vector, tanh: Vector) -> None:
    """tanh u = (1 - e) / (1 + e) with e = exp(-2 u) for u >= 0, and tanh(-u) = -tanh u."""
    number = x.dtype.type
    for i in range(len(y)):
        u = number(SLOPE) * (x[i] + number(CUBIC) * x[i] * x[i] * x[i])
        e = exp(number(-2) * abs(u))
        size = (number(1) - e) / (number(1) + e)
        tanh[i] = size if u >= number(0) else -size
        y[i] = number(0.5) * x[i] * (number(1) + tanh[i])


@loop
def gelu_back(dy: Vector, x: Vector, tanh: Vector, dx: Vector) -> None:
    number = dy.dtype.type
    for i in range(len(dx)):
        slope = number(SLOPE) * (number(1) + number(3 * CUBIC) * x[i] * x[i])
        half = (
            number(0.5) * (number(1) + tanh[i])
            + number(0.5) * x[i] * (number(1) - tanh[i] * tanh[i]) * slope
        )
        dx[i] = dy[i] * half
