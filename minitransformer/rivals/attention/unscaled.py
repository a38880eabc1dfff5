"""Dot-product attention without the scale (Luong et al. 2015, https://arxiv.org/abs/1508.04025, equation 8, "dot")."""

from typing import NamedTuple

from minitransformer.backend import Array
from minitransformer.checks import check_cache, check_floats, check_mask, check_positions
from minitransformer.functional.softmax import SoftmaxCache, softmax_backward, softmax_forward
from minitransformer.layers.attention import CrossAttention, MultiHeadAttention, SelfAttention
from minitransformer.layers.attention_kinds import ATTENTIONS
from minitransformer.layers.layer import Layer
from minitransformer.replaceable import replaceable
from minitransformer.rivals.attention.without_dropout import WithoutDropout


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


class DotProductCache(NamedTuple):
    attention: DotProductAttentionCache   # attention.softmax.p: (B, T_q, T_k), who attends to whom


class DotProductAttention(Layer):
    """y_i = sum_j p_ij memory_j, p_i = softmax_j(x_i . memory_j): one head, for recurrent models.

    x: (B, T_q, D), memory: (B, T_k, D), y: (B, T_q, D).
    """

    def forward(self, x, memory, mask=None) -> tuple[Array, DotProductCache]:
        """mask: None or bool, broadcastable to (B, T_q, T_k), True = may attend."""
        check_floats("DotProductAttention: x", x, "B", "T_q", "D")
        check_floats("DotProductAttention: memory", memory, len(x), "T_k", x.shape[2])
        check_positions("DotProductAttention: x", x)
        check_positions("DotProductAttention: memory", memory)
        check_mask("DotProductAttention", mask, "(B, T_q, T_k)", (len(x), x.shape[1], memory.shape[1]))
        y, attention = dot_product_attention_forward(x, memory, memory, mask)
        return y, DotProductCache(attention)

    def backward(self, dy, cache) -> tuple[Array, Array]:
        """Returns dx, dmemory: the memory was key and value."""
        check_cache(self, cache, DotProductCache)
        check_floats("DotProductAttention: dy", dy, *cache.attention.query.shape)
        dx, dkey, dvalue = dot_product_attention_backward(dy, cache.attention)
        return dx, dkey + dvalue


class UnscaledScores(MultiHeadAttention):
    """score_ij = q_i . k_j, not divided by sqrt(d_k)."""

    def __init__(self, d_model, num_heads, rng=None, d_k=None, d_v=None):
        super().__init__(d_model, num_heads, rng, d_k, d_v)

    def attend(self, q, k, v, mask, rng) -> tuple[Array, DotProductAttentionCache]:
        return dot_product_attention_forward(q, k, v, mask)

    def attend_backward(self, dheads, cache) -> tuple[Array, Array, Array]:
        return dot_product_attention_backward(dheads, cache)


class UnscaledSelfAttention(SelfAttention, UnscaledScores):    # type: ignore[misc]    # it takes what the first base takes
    """SelfAttention without the division by sqrt(d_k)."""


class UnscaledCrossAttention(CrossAttention, UnscaledScores):    # type: ignore[misc]    # it takes what the first base takes
    """CrossAttention without the division by sqrt(d_k)."""


@ATTENTIONS.register("unscaled")
class UnscaledKind(WithoutDropout):
    description = "not divided by sqrt(d_k)"
    kinds = UnscaledSelfAttention, UnscaledCrossAttention
