"""Adam by blocks that stay in the processor's cache through all of its operations."""

import math

import numpy as np

BLOCK = 1 << 14    # numbers


def adam_update(data, grad, m, v, step, rate, beta1, beta2, epsilon, finite):
    if not finite:
        return
    mean_scale, square_scale = 1 / (1 - beta1 ** step), 1 / math.sqrt(1 - beta2 ** step)
    buffer = np.empty(BLOCK, data.dtype)
    for start in range(0, len(data), BLOCK):
        block = slice(start, start + BLOCK)
        d, g, mb, vb = data[block], grad[block], m[block], v[block]
        t = buffer[: len(d)]
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
        t *= rate * mean_scale
        d -= t
