"""Multi-head attention (section 3.2.2 of the paper) and its two uses, self-attention and cross-attention (3.2.3)."""

from typing import Any, NamedTuple

from minitransformer.backend import Array, Generator
from minitransformer.checks import check_cache, check_floats, check_fraction, check_integer, check_mask, check_sequence
from minitransformer.errors import InputError, counted
from minitransformer.functional import attention_backward, attention_forward
from minitransformer.layers.layer import Layer
from minitransformer.layers.linear import Linear, LinearCache
from minitransformer.dispatch import replaceable


class MultiHeadAttentionCache(NamedTuple):
    query: LinearCache
    key: LinearCache
    value: LinearCache
    attention: Any              # what `attend` returns: an AttentionCache, with softmax.p (B, H, T_q, T_k), the attention weights
    output: LinearCache


class MultiHeadAttention(Layer):
    """y = Concat(head_1 .. head_H) W_O, head_i = Attention(query W_Q_i, key W_K_i, value W_V_i).

    Unlike in the paper, each of these projections also has a bias, as in PyTorch.
    query: (B, T_q, d_model); key, value: (B, T_k, d_model); y: (B, T_q, d_model). The heads' weights
    are side by side in one matrix, W_Q: (d_model, H d_k). d_k and d_v default to d_model / H (d_v to d_k
    if that is not a whole number).
    """

    def __init__(self, d_model: int, num_heads: int, rng: Generator | None = None,
                 d_k: int | None = None, d_v: int | None = None, dropout: float = 0.0):
        d_k, d_v = head_sizes(d_model, num_heads, d_k, d_v)
        check_fraction("the dropout rate", dropout)
        self.query = Linear(d_model, num_heads * d_k, rng)
        self.key = Linear(d_model, num_heads * d_k, rng)
        self.value = Linear(d_model, num_heads * d_v, rng)
        self.output = Linear(num_heads * d_v, d_model, rng)
        self.num_heads = num_heads
        self.dropout = dropout

    @replaceable
    def forward(self, query: Array, key: Array, value: Array, mask: Array | None = None,
                rng: Generator | None = None) -> tuple[Array, MultiHeadAttentionCache]:
        """mask: None or bool, (T_q, T_k) or with four axes that broadcast to (B, H, T_q, T_k); True = may attend."""
        self._check(query, key, value, mask)
        q, query_cache = self.query.forward(query)                                                # (B, T_q, H d_k)
        k, key_cache = self.key.forward(key)                                                      # (B, T_k, H d_k)
        v, value_cache = self.value.forward(value)                                                # (B, T_k, H d_v)
        heads, attention = self.attend(self.split(q), self.split(k), self.split(v), mask, rng)    # (B, H, T_q, d_v)
        y, output = self.output.forward(self.merge(heads))                                        # (B, T_q, d_model)
        return y, MultiHeadAttentionCache(query_cache, key_cache, value_cache, attention, output)

    @replaceable
    def backward(self, dy: Array, cache: MultiHeadAttentionCache) -> tuple[Array, Array, Array]:
        """Returns dquery, dkey, dvalue."""
        check_cache(self, cache, MultiHeadAttentionCache)
        dheads = self.split(self.output.backward(dy, cache.output))                               # (B, H, T_q, d_v)
        dq, dk, dv = self.attend_backward(dheads, cache.attention)                                # as q, k, v, split
        dquery = self.query.backward(self.merge(dq), cache.query)                                 # (B, T_q, d_model)
        dkey = self.key.backward(self.merge(dk), cache.key)                                       # (B, T_k, d_model)
        dvalue = self.value.backward(self.merge(dv), cache.value)                                 # (B, T_k, d_model)
        return dquery, dkey, dvalue

    def attend(self, q: Array, k: Array, v: Array, mask: Array | None,
               rng: Generator | None) -> tuple[Array, Any]:
        """The heads' attention: q (B, H, T_q, d_k), k (B, H, T_k, d_k), v (B, H, T_k, d_v) -> (B, H, T_q, d_v), cache."""
        return attention_forward(q, k, v, mask, self.dropout, rng)

    def attend_backward(self, dheads: Array, cache: Any) -> tuple[Array, Array, Array]:
        """Returns dq, dk, dv."""
        return attention_backward(dheads, cache)

    def attended(self, cache: MultiHeadAttentionCache) -> Array:
        """The attention weights (B, H, T_q, T_k) in a forward's cache."""
        return cache.attention.softmax.p

    @replaceable
    def split(self, x: Array) -> Array:
        """(B, T, H d) -> (B, H, T, d). Its inverse, and so its backward, is merge."""
        batch, length, width = x.shape
        return x.reshape(batch, length, self.num_heads, width // self.num_heads).swapaxes(1, 2)

    @replaceable
    def merge(self, x: Array) -> Array:
        """(B, H, T, d) -> (B, T, H d)."""
        batch, heads, length, d = x.shape
        return x.swapaxes(1, 2).reshape(batch, length, heads * d)

    def _check(self, query: Array, key: Array, value: Array, mask: Array | None) -> None:
        name, d_model = type(self).__name__, self.query.weight.shape[0]
        check_sequence(f"{name}: query", query, "B", "T_q", d_model)
        check_sequence(f"{name}: key", key, query.shape[0], "T_k", d_model)
        check_floats(f"{name}: value", value, query.shape[0], key.shape[1], d_model)
        check_mask(name, mask, "(B, H, T_q, T_k)", (query.shape[0], self.num_heads, query.shape[1], key.shape[1]))


class SelfAttention(MultiHeadAttention):
    """Query, key and value are one sequence x (B, T, d_model), which receives the sum of three gradients."""

    def forward(self, x: Array, mask: Array | None = None,
                rng: Generator | None = None) -> tuple[Array, MultiHeadAttentionCache]:
        return super().forward(x, x, x, mask, rng)

    def backward(self, dy: Array, cache: MultiHeadAttentionCache) -> Array:
        dquery, dkey, dvalue = super().backward(dy, cache)
        return dquery + dkey + dvalue    # x was all three


class CrossAttention(MultiHeadAttention):
    """The decoder's x (B, T_q, d_model) is the query; the encoder's memory (B, T_k, d_model) provides key and value."""

    def forward(self, x: Array, memory: Array, mask: Array | None = None,
                rng: Generator | None = None) -> tuple[Array, MultiHeadAttentionCache]:
        return super().forward(x, memory, memory, mask, rng)

    def backward(self, dy: Array, cache: MultiHeadAttentionCache) -> tuple[Array, Array]:
        """Returns dx, dmemory."""
        dquery, dkey, dvalue = super().backward(dy, cache)
        return dquery, dkey + dvalue


def head_sizes(d_model: int, num_heads: int, d_k: int | None, d_v: int | None) -> tuple[int, int]:
    """d_k and d_v, with their defaults. Raises InputError for sizes that make no heads."""
    check_integer("num_heads", num_heads)
    check_integer("d_model", d_model)
    for name, size in (("d_k", d_k), ("d_v", d_v)):
        if size is not None:
            check_integer(name, size)
    if d_model % num_heads == 0:
        width = d_model // num_heads
    elif d_k is not None:
        width = d_k
    else:
        raise InputError(f"d_model {d_model} is not divisible by {counted(num_heads, 'head')}: choose a divisor of "
                         f"{d_model} for num_heads, or give d_k")
    return d_k or width, d_v or width
