"""Adam in one pass: each number is read once and written once."""

import math

import numpy as np

from minitransformer.functional import adam_update
from minitransformer.kernels.loops import loop, packed
from minitransformer.replaceable import replaces


@replaces(adam_update, "numpy", "float32 float64")
def adam_update_compiled(data, grad, m, v, step, learning_rate, scale, beta1, beta2, epsilon, finite) -> None:
    if finite:
        mean_scale, square_scale = 1 / (1 - beta1 ** step), 1 / math.sqrt(1 - beta2 ** step)
        size = data.size
        move(data, packed(grad, size), m.reshape(size), v.reshape(size), float(scale), float(learning_rate * mean_scale),
             square_scale, float(beta1), float(beta2), float(epsilon))


@loop("vector vector vector vector number number number number number number")
def move(data, grad, m, v, scale, rate, square_scale, beta1, beta2, epsilon) -> None:
    """data, grad, m, v: (P,). Changes all but grad."""
    number = data.dtype.type
    for i in range(len(data)):
        g = number(scale) * grad[i]
        m[i] += number(1 - beta1) * (g - m[i])
        v[i] += number(1 - beta2) * (g * g - v[i])
        data[i] -= number(rate) * m[i] / (number(square_scale) * np.sqrt(v[i]) + number(epsilon))
