"""Multi-head self-attention restricted to a neighbourhood (section 4 of the paper)."""

from typing import NamedTuple

from minitransformer.backend import Array
from minitransformer.checks import check_cache, check_floats, check_mask, check_shape, check_whole
from minitransformer.errors import InputError
from minitransformer.functional import restricted_attention_backward, restricted_attention_forward
from minitransformer.functional.restricted_attention import RestrictedAttentionCache, all_pairs
from minitransformer.layers.attention import MultiHeadAttention
from minitransformer.layers.linear import LinearCache


class RestrictedSelfAttentionCache(NamedTuple):
    query: LinearCache
    key: LinearCache
    value: LinearCache
    attention: RestrictedAttentionCache   # attention.attention.softmax.p: (B, H, N, c, w), block for block who attends to whom
    output: LinearCache


class RestrictedSelfAttention(MultiHeadAttention):
    """SelfAttention in which position t may attend to t - radius ... t + radius, or ... t with causal=True.

    x, y: (B, T, d_model). Time and memory grow with T radius, not with T^2: the T x T scores are never made
    (functional/restricted_attention.py). With radius 0 each position attends to itself alone.
    """

    def __init__(self, d_model, num_heads, rng, radius, causal=False, d_k=None, d_v=None, dropout=0.0):
        check_whole("radius", radius, 0)
        super().__init__(d_model, num_heads, rng, d_k, d_v, dropout)
        self.radius = radius
        self.causal = causal

    def forward(self, x, mask=None, rng=None) -> tuple[Array, RestrictedSelfAttentionCache]:
        """mask: None or bool, (B, 1, 1, T) as padding_mask makes it, True = may be attended to. Who is near is known here."""
        self._check_input(x, mask)
        q, query = self.query.forward(x)
        k, key = self.key.forward(x)
        v, value = self.value.forward(x)
        heads, attention = restricted_attention_forward(
            self.split(q), self.split(k), self.split(v), self.radius, self.causal, None if mask is None else mask[:, 0, 0],
            self.dropout, rng)
        y, output = self.output.forward(self.merge(heads))
        return y, RestrictedSelfAttentionCache(query, key, value, attention, output)

    def backward(self, dy, cache) -> Array:
        """x was query, key and value: it gets the sum of three gradients."""
        check_cache(self, cache, RestrictedSelfAttentionCache)
        dheads = self.split(self.output.backward(dy, cache.output))
        dq, dk, dv = restricted_attention_backward(dheads, cache.attention)
        return (self.query.backward(self.merge(dq), cache.query) + self.key.backward(self.merge(dk), cache.key)
                + self.value.backward(self.merge(dv), cache.value))

    def attended(self, cache) -> Array:
        """Who attends to whom: (B, H, T, T), for a look at a short sentence; it is zero beyond the radius."""
        return all_pairs(cache.attention)

    def _check_input(self, x, mask) -> None:
        check_floats("RestrictedSelfAttention: x", x, "B", "T", self.query.weight.shape[0])
        batch, length, _ = x.shape
        if not length:
            raise InputError("RestrictedSelfAttention: x has no positions, expected at least one")
        if mask is not None:
            check_shape("RestrictedSelfAttention: mask", mask, batch, 1, 1, length)
            check_mask("RestrictedSelfAttention", mask, "(B, 1, 1, T)", mask.shape)
