"""Scaled dot-product attention (section 3.2.1 of the paper)."""

import math
from typing import NamedTuple

import numpy as np

from minitransformer.backend import Array, Generator
from minitransformer.checks import check_shape
from minitransformer.functional.dropout import DropoutCache, dropout_backward, dropout_forward
from minitransformer.functional.softmax import SoftmaxCache, softmax_backward, softmax_forward
from minitransformer.dispatch import replaceable


class AttentionCache(NamedTuple):
    query: Array              # (..., T_q, d_k)
    key: Array                # (..., T_k, d_k)
    value: Array              # (..., T_k, d_v)
    softmax: SoftmaxCache     # softmax.p: (..., T_q, T_k), the attention weights
    dropout: DropoutCache
    weights: Array            # (..., T_q, T_k) softmax.p after dropout


@replaceable
def attention_forward(query: Array, key: Array, value: Array,
                      mask: Array | None = None, dropout_rate: float = 0.0,
                      rng: Generator | None = None) -> tuple[Array, AttentionCache]:
    """y = dropout(softmax(query key^T / sqrt(d_k))) value.

    query: (..., T_q, d_k); key: (..., T_k, d_k); value: (..., T_k, d_v); mask: None or bool,
    broadcastable to (..., T_q, T_k), True = may attend. Returns y (..., T_q, d_v).
    A query that may attend to nothing gives 0, and neither receives nor passes on a gradient.
    """
    check_heads(query, key, value)
    scores = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])    # (..., T_q, T_k)
    p, softmax = softmax_forward(scores, mask)                            # (..., T_q, T_k), 0 where masked
    with np.errstate(under="ignore"):                                     # of weights near 0
        weights, dropout = dropout_forward(p, dropout_rate, rng)
        y = weights @ value                                               # (..., T_q, d_v)
    return y, AttentionCache(query, key, value, softmax, dropout, weights)


@replaceable
def attention_backward(dy: Array, cache: AttentionCache) -> tuple[Array, Array, Array]:
    """Returns dquery, dkey, dvalue: the forward read from its last line to its first.

    y = A V gives dA = dy V^T and dV = A^T dy; S = Q K^T / sqrt(d_k) gives dQ = dS K / sqrt(d_k)
    and dK = dS^T Q / sqrt(d_k).
    """
    query, key, value, softmax, dropout, weights = cache
    check_shape("attention: dy", dy, *query.shape[:-1], value.shape[-1])
    dweights = dy @ value.swapaxes(-1, -2)                                # (..., T_q, T_k)
    dvalue = weights.swapaxes(-1, -2) @ dy                                # (..., T_k, d_v) a sum over the queries
    dp = dropout_backward(dweights, dropout)
    dscores = softmax_backward(dp, softmax) / math.sqrt(query.shape[-1])
    dquery = dscores @ key                                                # (..., T_q, d_k) a sum over the keys
    dkey = dscores.swapaxes(-1, -2) @ query                               # (..., T_k, d_k) a sum over the queries
    return dquery, dkey, dvalue


def check_heads(query: Array, key: Array, value: Array) -> None:
    """Raise InputError unless each sentence and head has its own keys and values: NumPy would repeat those of one."""
    for name, array in ("key", key), ("value", value):
        if array.shape[:-2] != query.shape[:-2]:
            check_shape(f"attention: {name}", array, *query.shape[:-2], "T_k", "d")
