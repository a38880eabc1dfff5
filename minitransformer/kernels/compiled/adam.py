"""Adam in one pass: a number is read once and written once."""

import math

import numpy as np

from minitransformer.functional import adam_update
from minitransformer.functional.adam import negligible
from minitransformer.kernels.loops import check_writeable, loop
from minitransformer.replaceable import replaces


@replaces(adam_update, "numpy", "float32 float64")
def adam_update_compiled(data, grad, m, v, step, learning_rate, scale, beta1, beta2, epsilon, finite) -> None:
    check_writeable(data, grad, m, v)
    if not finite:
        grad[...] = 0
        return
    mean_scale, square_scale = 1 / (1 - beta1 ** step), 1 / math.sqrt(1 - beta2 ** step)
    move(data, grad.reshape(data.shape), m.reshape(data.shape), v.reshape(data.shape), float(scale),
         float(learning_rate * mean_scale), square_scale, float(beta1), float(beta2), float(epsilon), negligible(m.dtype))


@loop("vector vector vector vector number number number number number number number")
def move(data, grad, m, v, scale, rate, square_scale, beta1, beta2, epsilon, smallest) -> None:
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
        grad[i] = zero
