"""Attention whose scores become weights in place, and whose heads are written where the next layer
reads them.
"""

import math

import numpy as np

from minitransformer.backend import Array
from minitransformer.functional.attention import (
    AttentionCache,
    attention_backward,
    attention_forward,
)
from minitransformer.functional.dropout import DropoutCache, dropout_mask
from minitransformer.functional.softmax import SoftmaxCache, softmax_forward
from minitransformer.dispatch import replaces

SPREAD = 60.0  # e^-60 is still a normal float32


@replaces(attention_forward, "numpy", "float32 float64", "b")
@np.errstate(under="ignore")
def attention_forward_in_place(
    query, key, value, mask=None, dropout_rate=0.0, rng=None
) -> tuple[Array, AttentionCache]:
    scores = query @ key.swapaxes(-1, -2)
    scores *= 1 / math.sqrt(query.shape[-1])
    p = _softmax(scores, mask)
    dropout = (
        None
        if rng is None or dropout_rate == 0
        else dropout_mask(p.shape, dropout_rate, rng, p.dtype)
    )
    weights = p if dropout is None else p * dropout
    return merged_matmul(weights, value), AttentionCache(
        query, key, value, SoftmaxCache(p), DropoutCache(dropout), weights
    )


@replaces(attention_backward, "numpy", "float32 float64", "b")
def attention_backward_in_place(dy, cache) -> tuple[Array, Array, Array]:
    query, key, value, (p,), kept, weights = cache
    dropout = kept.mask  # a compiled forward's cache has one, too
    dvalue = merged_matmul(weights.swapaxes(-1, -2), dy)
    dscores = dy @ value.swapaxes(-1, -2)
    if dropout is not None:
        dscores *= dropout
    dscores -= _row_sums(dscores * p)
    dscores *= p
    dscores *= 1 / math.sqrt(query.shape[-1])
    return merged_matmul(dscores, key), merged_matmul(dscores.swapaxes(-1, -2), query), dvalue


def _softmax(scores, mask) -> Array:
    """Overwrites `scores`. If no exponential can vanish, one maximum serves all rows, and the mask
    is applied after it.
    """
    peak = scores.max(initial=-np.inf)
    together = peak - scores.min(initial=np.inf) <= SPREAD  # False for nan
    if not together or (mask is not None and mask.dtype != bool):
        return softmax_forward(scores, mask)[0]
    scores -= peak
    p = np.exp(scores, out=scores)
    if mask is not None:
        p *= mask
    total = _row_sums(p)
    total[total == 0] = 1  # nothing to attend to
    p /= total
    return p


def _row_sums(x) -> Array:
    """(..., K) -> (..., 1)."""
    return (x.reshape(-1, x.shape[-1]) @ np.ones(x.shape[-1], x.dtype)).reshape(*x.shape[:-1], 1)


def merged_matmul(a, b) -> Array:
    """a @ b (B, H, T, d), stored in the order (B, T, H, d), so that merging the heads copies
    nothing.
    """
    if a.ndim != 4:
        return a @ b
    batch, heads, length, _ = a.shape
    y = np.empty((batch, length, heads, b.shape[-1]), np.result_type(a, b)).swapaxes(1, 2)
    return np.matmul(a, b, out=y)
