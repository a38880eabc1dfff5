"""Adam in blocks that stay in the processor's cache through all of its operations."""

import math

import numpy as np

from minitransformer.functional import adam_update
from minitransformer.functional.adam import negligible
from minitransformer.dispatch import replaces

BLOCK = 1 << 15  # numbers


@replaces(adam_update, "numpy", "float32 float64")
def adam_update_blocked(
    data, grad, m, v, step, learning_rate, scale, beta1, beta2, epsilon, finite
) -> None:
    if not finite:
        grad[...] = 0
        return
    rate, square_scale = float(learning_rate / (1 - beta1**step)), 1 / math.sqrt(1 - beta2**step)
    smallest = negligible(m.dtype)
    for start in range(0, len(data), BLOCK):
        n = slice(start, start + BLOCK)
        g = float(scale) * grad[n]
        m[n] += (1 - beta1) * (g - m[n])
        v[n] += (1 - beta2) * (g * g - v[n])
        m[n] *= np.abs(m[n]) >= smallest
        v[n] *= v[n] >= smallest
        data[n] -= rate * m[n] / (square_scale * np.sqrt(v[n]) + epsilon)
        grad[n] = 0
