"""Additive attention (Bahdanau et al. 2015, https://arxiv.org/abs/1409.0473, appendix A.1.2): with one head, and with several."""

from typing import NamedTuple

import numpy as np

from minitransformer.backend import Array, Generator, module_of
from minitransformer.checks import (
    check_cache, check_floats, check_mask, check_sequence, check_shape)
from minitransformer.functional.attention import check_heads
from minitransformer.functional.dropout import DropoutCache, dropout_backward, dropout_forward
from minitransformer.functional.softmax import SoftmaxCache, softmax_backward, softmax_forward
from minitransformer.layers.attention import CrossAttention, MultiHeadAttention, SelfAttention
from minitransformer.layers.attention_kinds import ScaledAttention
from minitransformer.layers.layer import Layer
from minitransformer.layers.linear import Linear, LinearCache
from minitransformer.dispatch import replaceable
from minitransformer.zoo import initial


class AdditiveAttentionCache(NamedTuple):
    value: Array              # (..., T_k, d_v)
    weight: Array             # (A,)
    tanh: Array               # (..., T_q, T_k, A) tanh(query + key) of each pair
    softmax: SoftmaxCache     # softmax.p: (..., T_q, T_k), the attention weights
    dropout: DropoutCache
    weights: Array            # (..., T_q, T_k) softmax.p after dropout


@replaceable
def additive_attention_forward(query: Array, key: Array, value: Array, weight: Array,
                               mask: Array | None = None, dropout_rate: float = 0.0,
                               rng: Generator | None = None,
                               ) -> tuple[Array, AdditiveAttentionCache]:
    """y = dropout(softmax(scores)) value, with scores_ij = w . tanh(query_i + key_j): one hidden layer for each pair.

    query: (..., T_q, A); key: (..., T_k, A); value: (..., T_k, d_v); weight w: (A,); mask: None or bool, broadcastable to
    (..., T_q, T_k), True = may attend. Returns y (..., T_q, d_v).
    A query that may attend to nothing gives 0, and neither receives nor passes on a gradient.
    """
    check_heads(query, key, value)
    tanh = module_of(query).tanh(query[..., :, None, :] + key[..., None, :, :])
    p, softmax = softmax_forward(tanh @ weight, mask)
    with np.errstate(under="ignore"):    # of weights near 0
        weights, dropout = dropout_forward(p, dropout_rate, rng)
        y = weights @ value
    return y, AdditiveAttentionCache(value, weight, tanh, softmax, dropout, weights)


@replaceable
def additive_attention_backward(dy: Array,
                                cache: AdditiveAttentionCache) -> tuple[Array, Array, Array, Array]:
    """Returns dquery, dkey, dvalue, dweight.

    y = A V gives dA = dy V^T and dV = A^T dy. With S_ij = w . t_ij and t = tanh(a): dw = sum_ij dS_ij t_ij and
    da_ij = dS_ij w (1 - t_ij^2). Query i was added to every key, and key j to every query: their gradients are sums of da.
    """
    value, weight, tanh, softmax, dropout, weights = cache
    check_shape("additive attention: dy", dy, *tanh.shape[:-2], value.shape[-1])
    dvalue = weights.swapaxes(-1, -2) @ dy
    dp = dropout_backward(dy @ value.swapaxes(-1, -2), dropout)
    dscores = softmax_backward(dp, softmax)
    dweight = dscores.reshape(-1) @ tanh.reshape(-1, len(weight))
    da = (1 - tanh * tanh) * weight * dscores[..., None]
    return da.sum(axis=-2), da.sum(axis=-3), dvalue, dweight


class AdditiveCache(NamedTuple):
    query: LinearCache
    key: LinearCache
    attention: AdditiveAttentionCache   # attention.softmax.p: (B, T_q, T_k), the attention weights


class AdditiveAttention(Layer):
    """y_i = sum_j p_ij memory_j, p_i = softmax_j(w . tanh(x_i W_Q + memory_j W_K)): one head, for recurrent models.

    x: (B, T_q, d_model), memory: (B, T_k, d_memory), y: (B, T_q, d_memory); W_Q: (d_model, A), W_K: (d_memory, A), w: (A,).
    """

    stepwise = True

    def __init__(self, d_model: int, d_memory: int, d_attention: int, rng: Generator | None = None):
        self.query = Linear(d_model, d_attention, rng)
        self.key = Linear(d_memory, d_attention, rng)
        self.weight = initial.normal(rng, d_attention)

    def forward(self, x: Array, memory: Array,
                mask: Array | None = None) -> tuple[Array, AdditiveCache]:
        """mask: None or bool, (T_q, T_k) or with three axes that broadcast to (B, T_q, T_k); True = may attend."""
        check_sequence("AdditiveAttention: x", x, "B", "T_q", self.query.weight.shape[0])
        check_sequence("AdditiveAttention: memory", memory, len(x), "T_k", self.key.weight.shape[0])
        check_mask("AdditiveAttention", mask, "(B, T_q, T_k)", (len(x), x.shape[1], memory.shape[1]))
        q, query = self.query.forward(x)
        k, key = self.key.forward(memory)
        y, attention = additive_attention_forward(q, k, memory, self.weight.data, mask)
        return y, AdditiveCache(query, key, attention)

    def backward(self, dy: Array, cache: AdditiveCache) -> tuple[Array, Array]:
        """Returns dx, dmemory."""
        check_cache(self, cache, AdditiveCache)
        p, value = cache.attention.softmax.p, cache.attention.value
        check_floats("AdditiveAttention: dy", dy, *p.shape[:2], value.shape[2])
        dq, dk, dmemory, dweight = additive_attention_backward(dy, cache.attention)
        self.weight.grad += dweight
        return self.query.backward(dq, cache.query), dmemory + self.key.backward(dk, cache.key)


class AdditiveScores(MultiHeadAttention):
    """score_ij = w . tanh(q_i + k_j), with one w (d_k,) for all heads: each has its own projections before it."""

    def __init__(self, d_model: int, num_heads: int, rng: Generator | None = None,
                 d_k: int | None = None, d_v: int | None = None, dropout: float = 0.0):
        super().__init__(d_model, num_heads, rng, d_k, d_v, dropout)
        self.weight = initial.normal(rng, self.query.weight.shape[1] // num_heads)

    def attend(self, q: Array, k: Array, v: Array, mask: Array | None,
               rng: Generator | None) -> tuple[Array, AdditiveAttentionCache]:
        return additive_attention_forward(q, k, v, self.weight.data, mask, self.dropout, rng)

    def attend_backward(self, dheads: Array,
                        cache: AdditiveAttentionCache) -> tuple[Array, Array, Array]:
        dq, dk, dv, dweight = additive_attention_backward(dheads, cache)
        self.weight.grad += dweight
        return dq, dk, dv


class AdditiveSelfAttention(SelfAttention, AdditiveScores):    # type: ignore[misc]    # it takes what the first base takes
    """SelfAttention with additive scores."""


class AdditiveCrossAttention(CrossAttention, AdditiveScores):    # type: ignore[misc]    # it takes what the first base takes
    """CrossAttention with additive scores."""


class AdditiveKind(ScaledAttention):
    description = "a small network for each pair"
    layers = AdditiveSelfAttention, AdditiveCrossAttention
