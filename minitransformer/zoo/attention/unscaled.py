"""Dot-product attention without the scale (Luong et al. 2015, https://arxiv.org/abs/1508.04025, equation 8, "dot").

It is the paper's attention with queries that are sqrt(d_k) times as large: (sqrt(d_k) q) . k / sqrt(d_k) = q . k.
"""

import math

from minitransformer.backend import Array, Generator
from minitransformer.functional.attention import AttentionCache
from minitransformer.layers.attention import CrossAttention, MultiHeadAttention, SelfAttention
from minitransformer.layers.attention_kinds import ScaledAttention


class UnscaledScores(MultiHeadAttention):
    """score_ij = q_i . k_j, not divided by sqrt(d_k)."""

    def attend(self, q: Array, k: Array, v: Array, mask: Array | None,
               rng: Generator | None) -> tuple[Array, AttentionCache]:
        return super().attend(q * math.sqrt(q.shape[-1]), k, v, mask, rng)

    def attend_backward(self, dheads: Array, cache: AttentionCache) -> tuple[Array, Array, Array]:
        dq, dk, dv = super().attend_backward(dheads, cache)
        return dq * math.sqrt(dq.shape[-1]), dk, dv


class UnscaledSelfAttention(SelfAttention, UnscaledScores):
    """SelfAttention without the division by sqrt(d_k)."""


class UnscaledCrossAttention(CrossAttention, UnscaledScores):
    """CrossAttention without the division by sqrt(d_k)."""


class UnscaledKind(ScaledAttention):
    description = "not divided by sqrt(d_k)"
    layers = UnscaledSelfAttention, UnscaledCrossAttention
