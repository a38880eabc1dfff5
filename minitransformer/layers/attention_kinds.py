"""Multi-head attention with other scores than the paper's, and which kind a configuration asks for.

A kind of scores is a class with `attend` and `attend_backward`. With SelfAttention, or CrossAttention, in front of it among
the bases, super().forward there is that class's: query, key and value come from one sequence, or from two.
"""

from typing import Any

import numpy as np

from minitransformer.backend import Array
from minitransformer.checks import check_cache
from minitransformer.functional import (
    additive_attention_backward, additive_attention_forward, causal_mask, dot_product_attention_backward,
    dot_product_attention_forward, padding_mask)
from minitransformer.layers import initial
from minitransformer.layers.attention import CrossAttention, MultiHeadAttention, MultiHeadAttentionCache, SelfAttention
from minitransformer.layers.restricted_attention import RestrictedSelfAttention


class OtherScores(MultiHeadAttention):
    """MultiHeadAttention with the heads' attention left to a subclass."""

    def __init__(self, d_model, num_heads, rng, d_k=None, d_v=None):
        super().__init__(d_model, num_heads, rng, d_k, d_v)

    def attend(self, query, key, value, mask) -> tuple[Array, Any]:
        """query (B, H, T_q, d_k), key (B, H, T_k, d_k), value (B, H, T_k, d_v) -> y (B, H, T_q, d_v), cache."""
        raise NotImplementedError

    def attend_backward(self, dy, cache) -> tuple[Array, Array, Array]:
        """Returns dquery, dkey, dvalue."""
        raise NotImplementedError

    def forward(self, query, key, value, mask=None, rng=None) -> tuple[Array, MultiHeadAttentionCache]:
        """mask: None or bool, broadcastable to (B, H, T_q, T_k), True = may attend."""
        self._check(query, key, value, mask)
        q, query_cache = self.query.forward(query)
        k, key_cache = self.key.forward(key)
        v, value_cache = self.value.forward(value)
        heads, attention = self.attend(self.split(q), self.split(k), self.split(v), mask)
        y, output = self.output.forward(self.merge(heads))
        return y, MultiHeadAttentionCache(query_cache, key_cache, value_cache, attention, output)

    def backward(self, dy, cache) -> tuple[Array, Array, Array]:
        """Returns dquery, dkey, dvalue."""
        check_cache(self, cache, MultiHeadAttentionCache)
        dheads = self.split(self.output.backward(dy, cache.output))
        dq, dk, dv = self.attend_backward(dheads, cache.attention)
        return (self.query.backward(self.merge(dq), cache.query),
                self.key.backward(self.merge(dk), cache.key),
                self.value.backward(self.merge(dv), cache.value))


class AdditiveScores(OtherScores):
    """score_ij = w . tanh(q_i + k_j), with one w (d_k,) for all heads: each has its own projections before it."""

    def __init__(self, d_model, num_heads, rng, d_k=None, d_v=None):
        super().__init__(d_model, num_heads, rng, d_k, d_v)
        self.weight = initial.normal_vector(rng, self.query.weight.shape[1] // num_heads)

    def attend(self, query, key, value, mask) -> tuple[Array, Any]:
        return additive_attention_forward(query, key, value, self.weight.data, mask)

    def attend_backward(self, dy, cache) -> tuple[Array, Array, Array]:
        dquery, dkey, dvalue, dweight = additive_attention_backward(dy, cache)
        self.weight.grad += dweight
        return dquery, dkey, dvalue


class UnscaledScores(OtherScores):
    """score_ij = q_i . k_j, not divided by sqrt(d_k)."""

    def attend(self, query, key, value, mask) -> tuple[Array, Any]:
        return dot_product_attention_forward(query, key, value, mask)

    def attend_backward(self, dy, cache) -> tuple[Array, Array, Array]:
        return dot_product_attention_backward(dy, cache)


class AdditiveSelfAttention(SelfAttention, AdditiveScores):    # type: ignore[misc]    # it takes what the first base takes
    """SelfAttention with additive scores."""


class AdditiveCrossAttention(CrossAttention, AdditiveScores):    # type: ignore[misc]    # it takes what the first base takes
    """CrossAttention with additive scores."""


class UnscaledSelfAttention(SelfAttention, UnscaledScores):    # type: ignore[misc]    # it takes what the first base takes
    """SelfAttention without the division by sqrt(d_k)."""


class UnscaledCrossAttention(CrossAttention, UnscaledScores):    # type: ignore[misc]    # it takes what the first base takes
    """CrossAttention without the division by sqrt(d_k)."""


SELF: dict[str, type[SelfAttention]] = {"additive": AdditiveSelfAttention, "unscaled": UnscaledSelfAttention}
CROSS: dict[str, type[CrossAttention]] = {"additive": AdditiveCrossAttention, "unscaled": UnscaledCrossAttention}


def make_self_attention(config, rng, causal) -> SelfAttention | RestrictedSelfAttention:
    """The self-attention that a StackConfig asks for; the restricted kind has to know whether it is `causal`."""
    heads = config.d_model, config.num_heads, rng
    if config.attention == "restricted":
        return RestrictedSelfAttention(*heads, config.radius, causal, config.d_k, config.d_v, config.attention_dropout)
    if config.attention in SELF:
        return SELF[config.attention](*heads, config.d_k, config.d_v)
    return SelfAttention(*heads, config.d_k, config.d_v, config.attention_dropout)


def make_cross_attention(config, rng) -> CrossAttention:
    """The cross-attention that a StackConfig asks for: the restricted kind is for self-attention alone."""
    sizes = config.d_model, config.num_heads, rng, config.d_k, config.d_v
    if config.attention in CROSS:
        return CROSS[config.attention](*sizes)
    return CrossAttention(*sizes, config.attention_dropout)


def causal_self_mask(config, ids) -> np.ndarray:
    """The mask of self-attention that sees no later position of ids (B, T), and no padding."""
    real = padding_mask(ids)
    return real if config.attention == "restricted" else causal_mask(ids) & real
