"""An activation and the dropout after it, in one pass."""

import numpy as np

from minitransformer.backend import Array
from minitransformer.functional import (
    dropout_backward,
    gelu_backward,
    relu_backward,
)
from minitransformer.functional.activation_dropout import ActivationDropoutCache
from minitransformer.functional.activations import CUBIC, SLOPE, GeluCache, ReluCache
from minitransformer.speed.compiled.dropout import draw, flags_of, is_ours
from minitransformer.speed.exponential import exp
from minitransformer.speed.loops import loop, packed


def relu_dropout_forward_compiled(
    x, dropout_rate=0.0, rng=None
) -> tuple[Array, ActivationDropoutCache]:
    dropout = draw(x, dropout_rate, rng)
    y, positive = np.empty(x.shape, x.dtype), np.empty(x.shape, bool)
    relu_and_drop(packed(x, y.size), *flags_of(dropout, -1), y.reshape(-1), positive.reshape(-1))
    return y, ActivationDropoutCache(ReluCache(positive), dropout)


def relu_dropout_backward_compiled(dy, cache) -> Array:
    (positive,), dropout = cache
    if dy.shape != positive.shape or not is_ours(dropout, dy):
        return relu_backward(dropout_backward(dy, dropout), cache.activation)
    dx = np.empty(positive.shape, dy.dtype)
    relu_and_drop_backward(
        packed(dy, dx.size), packed(positive, dx.size), *flags_of(dropout, -1), dx.reshape(-1)
    )
    return dx


def gelu_dropout_forward_compiled(
    x, dropout_rate=0.0, rng=None
) -> tuple[Array, ActivationDropoutCache]:
    dropout = draw(x, dropout_rate, rng)
    y, tanh = np.empty(x.shape, x.dtype), np.empty(x.shape, x.dtype)
    gelu_and_drop(packed(x, y.size), *flags_of(dropout, -1), y.reshape(-1), tanh.reshape(-1))
    return y, ActivationDropoutCache(GeluCache(x, tanh), dropout)


def gelu_dropout_backward_compiled(dy, cache) -> Array:
    (x, tanh), dropout = cache
    if dy.shape != x.shape or not is_ours(dropout, dy):
        return gelu_backward(dropout_backward(dy, dropout), cache.activation)
    dx = np.empty(x.shape, dy.dtype)
    gelu_and_drop_backward(
        packed(dy, dx.size),
        packed(x, dx.size),
        packed(tanh, dx.size),
        *flags_of(dropout, -1),
        dx.reshape(-1),
    )
    return dx


@loop("vector flags number vector flags")
def relu_and_drop(x, keep, scale, y, positive) -> None:
    """All: (N,), and keep may be empty. Written as products, as in the textbook, so NaN stays NaN."""
    number = x.dtype.type
    for i in range(len(y)):
        positive[i] = x[i] > number(0)
        y[i] = x[i] * (number(1) if positive[i] else number(0))
    if len(keep):
        for i in range(len(y)):
            y[i] *= number(scale) if keep[i] else number(0)


@loop("vector flags flags number vector")
def relu_and_drop_backward(dy, positive, keep, scale, dx) -> None:
    number = dy.dtype.type
    if len(keep):
        for i in range(len(dx)):
            dx[i] = dy[i] * (number(scale) if keep[i] & positive[i] else number(0))
    else:
        for i in range(len(dx)):
            dx[i] = dy[i] * (number(1) if positive[i] else number(0))


@loop("vector flags number vector vector")
def gelu_and_drop(x, keep, scale, y, tanh) -> None:
    """tanh u = (1 - e) / (1 + e) with e = exp(-2 u) for u >= 0, and tanh(-u) = -tanh u."""
    number = x.dtype.type
    for i in range(len(y)):
        u = number(SLOPE) * (x[i] + number(CUBIC) * x[i] * x[i] * x[i])
        e = exp(number(-2) * abs(u))
        size = (number(1) - e) / (number(1) + e)
        tanh[i] = size if u >= number(0) else -size
        y[i] = number(0.5) * x[i] * (number(1) + tanh[i])
    if len(keep):
        for i in range(len(y)):
            y[i] *= number(scale) if keep[i] else number(0)


@loop("vector vector vector flags number vector")
def gelu_and_drop_backward(dy, x, tanh, keep, scale, dx) -> None:
    number = dy.dtype.type
    for i in range(len(dx)):
        slope = number(SLOPE) * (number(1) + number(3 * CUBIC) * x[i] * x[i])
        half = (
            number(0.5) * (number(1) + tanh[i])
            + number(0.5) * x[i] * (number(1) - tanh[i] * tanh[i]) * slope
        )
        dx[i] = dy[i] * half
    if len(keep):
        for i in range(len(dx)):
            dx[i] *= number(scale) if keep[i] else number(0)
