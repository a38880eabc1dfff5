"""Dot-product attention without the scale (Luong et al. 2015, https://arxiv.org/abs/1508.04025, equation 8, "dot").

It is the paper's attention with queries that are sqrt(d_k) times as large: (sqrt(d_k) q) . k / sqrt(d_k) = q . k.
"""

import math
from typing import NamedTuple

from minitransformer.backend import Array
from minitransformer.checks import check_cache, check_floats, check_mask, check_sequence
from minitransformer.functional.attention import AttentionCache, attention_backward, attention_forward
from minitransformer.layers.attention import CrossAttention, MultiHeadAttention, SelfAttention
from minitransformer.layers.attention_kinds import ATTENTIONS, ScaledAttention
from minitransformer.layers.layer import Layer


class DotProductCache(NamedTuple):
    attention: AttentionCache   # attention.softmax.p: (B, T_q, T_k), the attention weights


class DotProductAttention(Layer):
    """y_i = sum_j p_ij memory_j, p_i = softmax_j(x_i . memory_j): one head, for recurrent models.

    x: (B, T_q, D), memory: (B, T_k, D), y: (B, T_q, D).
    """

    def forward(self, x, memory, mask=None) -> tuple[Array, DotProductCache]:
        """mask: None or bool, (T_q, T_k) or with three axes that broadcast to (B, T_q, T_k); True = may attend."""
        check_sequence("DotProductAttention: x", x, "B", "T_q", "D")
        check_sequence("DotProductAttention: memory", memory, len(x), "T_k", x.shape[2])
        check_mask("DotProductAttention", mask, "(B, T_q, T_k)", (len(x), x.shape[1], memory.shape[1]))
        y, attention = attention_forward(x * math.sqrt(x.shape[2]), memory, memory, mask)
        return y, DotProductCache(attention)

    def backward(self, dy, cache) -> tuple[Array, Array]:
        """Returns dx, dmemory: the memory was key and value."""
        check_cache(self, cache, DotProductCache)
        check_floats("DotProductAttention: dy", dy, *cache.attention.query.shape)
        dquery, dkey, dvalue = attention_backward(dy, cache.attention)
        return dquery * math.sqrt(dy.shape[2]), dkey + dvalue


class UnscaledScores(MultiHeadAttention):
    """score_ij = q_i . k_j, not divided by sqrt(d_k)."""

    def attend(self, q, k, v, mask, rng) -> tuple[Array, AttentionCache]:
        return super().attend(q * math.sqrt(q.shape[-1]), k, v, mask, rng)

    def attend_backward(self, dheads, cache) -> tuple[Array, Array, Array]:
        dq, dk, dv = super().attend_backward(dheads, cache)
        return dq * math.sqrt(dq.shape[-1]), dk, dv


class UnscaledSelfAttention(SelfAttention, UnscaledScores):
    """SelfAttention without the division by sqrt(d_k)."""


class UnscaledCrossAttention(CrossAttention, UnscaledScores):
    """CrossAttention without the division by sqrt(d_k)."""


class UnscaledKind(ScaledAttention):
    description = "not divided by sqrt(d_k)"
    layers = UnscaledSelfAttention, UnscaledCrossAttention


ATTENTIONS["unscaled"] = UnscaledKind
