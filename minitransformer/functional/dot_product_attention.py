"""Dot-product attention without the scale (Luong et al. 2015, https://arxiv.org/abs/1508.04025, equation 8, "dot")."""

from typing import NamedTuple

from minitransformer.backend import Array
from minitransformer.functional.softmax import SoftmaxCache, softmax_backward, softmax_forward
from minitransformer.replaceable import replaceable


class DotProductAttentionCache(NamedTuple):
    query: Array              # (..., T_q, d_k)
    key: Array                # (..., T_k, d_k)
    value: Array              # (..., T_k, d_v)
    softmax: SoftmaxCache     # softmax.p: (..., T_q, T_k), who attends to whom


@replaceable
def dot_product_attention_forward(query, key, value, mask=None) -> tuple[Array, DotProductAttentionCache]:
    """y = softmax(query key^T) value: functional/attention.py without the division by sqrt(d_k).

    query: (..., T_q, d_k); key: (..., T_k, d_k); value: (..., T_k, d_v); mask: None or bool, broadcastable to
    (..., T_q, T_k), True = may attend. Returns y (..., T_q, d_v).
    A query that may attend to nothing gives 0, and neither receives nor passes on a gradient.
    """
    p, softmax = softmax_forward(query @ key.swapaxes(-1, -2), mask)
    return p @ value, DotProductAttentionCache(query, key, value, softmax)


@replaceable
def dot_product_attention_backward(dy, cache) -> tuple[Array, Array, Array]:
    """Returns dquery, dkey, dvalue. y = P V gives dP = dy V^T and dV = P^T dy; S = Q K^T gives dQ = dS K and dK = dS^T Q."""
    query, key, value, softmax = cache
    dscores = softmax_backward(dy @ value.swapaxes(-1, -2), softmax)
    return dscores @ key, dscores.swapaxes(-1, -2) @ query, softmax.p.swapaxes(-1, -2) @ dy
