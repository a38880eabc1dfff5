"""Adam, and the sum of gradients before it, in one pass each: a number is read once and written
once.
"""

import math
from collections.abc import Sequence

import numpy as np

from minitransformer.backend import Array
from minitransformer.speed.loops import Vector, check_writeable, loop

# numbers whose squares are summed before float64 takes over: float32 would lose small ones in a
# long sum
BLOCK = 4096


def gather_gradients_compiled(grad: Array, others: Sequence[Array]) -> Array:
    check_writeable(grad, *others)
    total = 0.0 if others else squares(grad)
    for other in others:
        total = add_and_clear(grad, other.reshape(grad.shape))
    with np.errstate(over="ignore"):  # too large for float32: Adam reports infinity
        return grad.dtype.type(total)


def adam_update_compiled(
    data: Array,
    grad: Array,
    m: Array,
    v: Array,
    step: int,
    learning_rate: float,
    scale: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    finite: bool,
) -> None:
    check_writeable(data, m, v)
    if not finite:
        return
    mean_scale, square_scale = 1 / (1 - beta1**step), 1 / math.sqrt(1 - beta2**step)
    move(
        data,
        grad.reshape(data.shape),
        m.reshape(data.shape),
        v.reshape(data.shape),
        float(scale),
        float(learning_rate * mean_scale),
        square_scale,
        float(beta1),
        float(beta2),
        float(epsilon),
        float(np.finfo(m.dtype).tiny / np.finfo(m.dtype).eps),
    )


@loop
def squares(grad: Vector) -> float:
    """grad: (P,). Returns the sum of squares."""
    total = 0.0
    for start in range(0, len(grad), BLOCK):
        g, part = grad[start : start + BLOCK], grad.dtype.type(0)
        for i in range(len(g)):
            part += g[i] * g[i]
        total += part
    return total


@loop
def add_and_clear(grad: Vector, other: Vector) -> float:
    """grad, other: (P,). Adds to grad, sets other to zero, and returns the sum of grad's squares."""
    zero, total = grad.dtype.type(0), 0.0
    for start in range(0, len(grad), BLOCK):
        g, added, part = grad[start : start + BLOCK], other[start : start + BLOCK], zero
        for i in range(len(g)):
            g[i] += added[i]
            added[i] = zero
            part += g[i] * g[i]
        total += part
    return total


@loop
def move(
    data: Vector,
    grad: Vector,
    m: Vector,
    v: Vector,
    scale: float,
    rate: float,
    square_scale: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    smallest: float,
) -> None:
    """data, grad, m, v: (P,)."""
    number = data.dtype.type
    zero = number(0)
    for i in range(len(data)):
        g = number(scale) * grad[i]
        mean = m[i] + number(1 - beta1) * (g - m[i])
        square = v[i] + number(1 - beta2) * (g * g - v[i])
        m[i] = zero if abs(mean) < number(smallest) else mean
        v[i] = zero if square < number(smallest) else square
        data[i] -= number(rate) * m[i] / (number(square_scale) * np.sqrt(v[i]) + number(epsilon))
