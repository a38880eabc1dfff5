"""Adam in blocks that stay in the processor's cache through all of its operations."""

import math

import numpy as np

from minitransformer.functional import adam_update
from minitransformer.replaceable import replaces

BLOCK = 1 << 14    # numbers


@replaces(adam_update, "numpy", "float32 float64")
def adam_update_blocked(data, grad, m, v, step, learning_rate, scale, beta1, beta2, epsilon, finite) -> None:
    if not finite:
        grad[...] = 0
        return
    mean_scale, square_scale = 1 / (1 - beta1 ** step), 1 / math.sqrt(1 - beta2 ** step)
    buffers = np.empty((2, BLOCK), data.dtype)
    for start in range(0, len(data), BLOCK):
        block = slice(start, start + BLOCK)
        d, mb, vb = data[block], m[block], v[block]
        g, t = buffers[:, : len(d)]
        np.multiply(grad[block], scale, out=g)
        np.subtract(g, mb, out=t)
        t *= 1 - beta1
        mb += t
        np.multiply(g, g, out=t)
        t -= vb
        t *= 1 - beta2
        vb += t
        np.sqrt(vb, out=t)
        t *= square_scale
        t += epsilon
        np.divide(mb, t, out=t)
        t *= learning_rate * mean_scale
        d -= t
        grad[block] = 0
