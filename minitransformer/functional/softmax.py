"""Softmax over the last axis, with an optional mask."""

from typing import NamedTuple

import numpy as np

from minitransformer.backend import Array, module_of
from minitransformer.checks import check_broadcasts, check_shape
from minitransformer.errors import InputError
from minitransformer.dispatch import replaceable


class SoftmaxCache(NamedTuple):
    p: Array   # (..., K) the probabilities


@replaceable
def softmax_forward(x: Array, mask: Array | None = None) -> tuple[Array, SoftmaxCache]:
    """p_i = exp(x_i) / sum_j exp(x_j) over the last axis.

    x: (..., K); mask: None or bool, broadcastable to x, True where an entry takes part.
    Entries masked out get probability 0; a row whose entries are all masked out is 0 everywhere.
    Returns p, of x's shape. Subtracting the row's maximum changes nothing but avoids overflow.
    Raises InputError for a mask that is not bool.
    """
    xp = module_of(x)
    if mask is not None:
        if mask.dtype != bool:
            raise InputError(f"softmax: mask has dtype {mask.dtype}, expected bool (True = takes part)")
        check_broadcasts("softmax: mask", mask, x.shape)
        x = xp.where(mask, x, -xp.inf)
    peak = x.real.max(axis=-1, keepdims=True)
    if mask is not None:
        peak = xp.where(peak == -xp.inf, 0, peak)       # rows masked out: -inf - -inf is nan
    with np.errstate(under="ignore"):                   # far below the peak, 0 is meant
        p = xp.exp(x - peak)
        total = p.sum(axis=-1, keepdims=True)
        if mask is not None:
            total = xp.where(total == 0, 1, total)      # the same rows: 0 / 0 is nan
        p /= total
    return p, SoftmaxCache(p)


@replaceable
def softmax_backward(dp: Array, cache: SoftmaxCache) -> Array:
    """dx = p (dp - sum_j dp_j p_j).

    The Jacobian is ∂p_i/∂x_j = p_i (δ_ij - p_j); multiplied by dp from the left it collapses
    to one sum per row, so it is never built. Where p = 0 (masked out) dx = 0.
    """
    p = cache.p
    check_shape("softmax: dp", dp, *p.shape)
    mean = (dp * p).sum(axis=-1, keepdims=True)       # (..., 1) the mean of dp, weighted by p
    return p * (dp - mean)
