"""The update of Adam (Kingma and Ba, https://arxiv.org/abs/1412.6980, algorithm 1), and the sum of gradients before it."""

import math
from collections.abc import Sequence

import numpy as np

from minitransformer.backend import Array, module_of
from minitransformer.dispatch import replaceable


@replaceable
def gather_gradients(grad: Array, others: Sequence[Array]) -> Array:
    """Add the vectors `others` to the vector grad (P,) in place and set them to zero; returns the square of grad's norm."""
    for other in others:
        grad += other
        other[...] = 0
    return grad @ grad


@replaceable
def adam_update(data: Array, grad: Array, m: Array, v: Array, step: int,
                learning_rate: float, scale: float | Array, beta1: float,
                beta2: float, epsilon: float, finite: np.bool | Array) -> None:
    """Move the vectors data, m, v (P,) in place by their gradient g = scale * grad (P,), at step = 1, 2, ....

        m = beta1 m + (1 - beta1) g          the mean of the gradient
        v = beta2 v + (1 - beta2) g^2        the mean of its square
        data = data - learning_rate * m' / (sqrt(v') + epsilon)

    with m' = m / (1 - beta1^step) and v' = v / (1 - beta2^step), which undo the start from zero. If not
    `finite` (a 0-d array: it may be on a GPU, where looking at it would wait), the three do not change.
    """
    xp = module_of(data)
    g = scale * grad
    m += xp.where(finite, (1 - beta1) * (g - m), 0)
    v += xp.where(finite, (1 - beta2) * (g * g - v), 0)
    limits = np.finfo(m.dtype)
    for moment in m, v:    # without gradients it would shrink to a denormal number and stay one, and each step would be slower
        moment *= xp.abs(moment) >= limits.tiny / limits.eps
    mean_scale, square_scale = 1 / (1 - beta1 ** step), 1 / math.sqrt(1 - beta2 ** step)
    change = learning_rate * mean_scale * m / (square_scale * xp.sqrt(v) + epsilon)
    data -= xp.where(finite, change, 0)
