"""Attention as recurrent models have it, with one head: the score is a small network, or a dot product without the scale."""

from typing import NamedTuple

from minitransformer.backend import Array
from minitransformer.checks import check_cache, check_floats, check_mask
from minitransformer.functional import (
    additive_attention_backward, additive_attention_forward, dot_product_attention_backward, dot_product_attention_forward)
from minitransformer.functional.additive_attention import AdditiveAttentionCache
from minitransformer.functional.dot_product_attention import DotProductAttentionCache
from minitransformer.layers import initial
from minitransformer.layers.layer import Layer
from minitransformer.layers.linear import Linear, LinearCache


class AdditiveCache(NamedTuple):
    query: LinearCache
    key: LinearCache
    attention: AdditiveAttentionCache   # attention.softmax.p: (B, T_q, T_k), who attends to whom


class AdditiveAttention(Layer):
    """y_i = sum_j p_ij memory_j, p_i = softmax_j(w . tanh(x_i W_Q + memory_j W_K)).

    x: (B, T_q, d_model), memory: (B, T_k, d_memory), y: (B, T_q, d_memory); W_Q: (d_model, A), W_K: (d_memory, A), w: (A,).
    """

    def __init__(self, d_model, d_memory, d_attention, rng):
        self.query = Linear(d_model, d_attention, rng)
        self.key = Linear(d_memory, d_attention, rng)
        self.weight = initial.normal_vector(rng, d_attention)

    def forward(self, x, memory, mask=None) -> tuple[Array, AdditiveCache]:
        """mask: None or bool, broadcastable to (B, T_q, T_k), True = may attend."""
        check_floats("AdditiveAttention: x", x, "B", "T_q", self.query.weight.shape[0])
        check_floats("AdditiveAttention: memory", memory, len(x), "T_k", self.key.weight.shape[0])
        check_mask("AdditiveAttention", mask, "(B, T_q, T_k)", (len(x), x.shape[1], memory.shape[1]))
        q, query = self.query.forward(x)
        k, key = self.key.forward(memory)
        y, attention = additive_attention_forward(q, k, memory, self.weight.data, mask)
        return y, AdditiveCache(query, key, attention)

    def backward(self, dy, cache) -> tuple[Array, Array]:
        """Returns dx, dmemory."""
        check_cache(self, cache, AdditiveCache)
        dq, dk, dmemory, dweight = additive_attention_backward(dy, cache.attention)
        self.weight.grad += dweight
        return self.query.backward(dq, cache.query), dmemory + self.key.backward(dk, cache.key)


class DotProductCache(NamedTuple):
    attention: DotProductAttentionCache   # attention.softmax.p: (B, T_q, T_k), who attends to whom


class DotProductAttention(Layer):
    """y_i = sum_j p_ij memory_j, p_i = softmax_j(x_i . memory_j): x (B, T_q, D), memory (B, T_k, D), y (B, T_q, D)."""

    def forward(self, x, memory, mask=None) -> tuple[Array, DotProductCache]:
        """mask: None or bool, broadcastable to (B, T_q, T_k), True = may attend."""
        check_floats("DotProductAttention: x", x, "B", "T_q", "D")
        check_floats("DotProductAttention: memory", memory, len(x), "T_k", x.shape[2])
        check_mask("DotProductAttention", mask, "(B, T_q, T_k)", (len(x), x.shape[1], memory.shape[1]))
        y, attention = dot_product_attention_forward(x, memory, memory, mask)
        return y, DotProductCache(attention)

    def backward(self, dy, cache) -> tuple[Array, Array]:
        """Returns dx, dmemory: the memory was key and value."""
        check_cache(self, cache, DotProductCache)
        dx, dkey, dvalue = dot_product_attention_backward(dy, cache.attention)
        return dx, dkey + dvalue
