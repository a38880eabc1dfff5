"""Grouped-query attention one position at a time: the keys are kept turned, one list for each group of heads."""

from minitransformer.backend import Array
from minitransformer.decoding.cached import KEPT, CachedSelfAttention
from minitransformer.replaceable import replaceable
from minitransformer.successors.grouped_attention import grouped_attention_forward


class CachedGroupedAttention(CachedSelfAttention):
    """keys, values: (B, G, room, d_k)."""

    def attended(self, queries, keys, values, past) -> Array:
        return next_heads(queries, keys, values, self, past)

    def placed(self, x) -> Array:
        return self.attention.turn(x, self.positions)[0]

    def heads(self, queries, keys, values, mask) -> Array:
        return grouped_attention_forward(queries, keys, values, mask)[0]


@replaceable
def next_heads(queries, keys, values, cached, past) -> Array:
    """The heads' outputs (B, width, H d_k) of a CachedGroupedAttention at its newest positions, which it keeps; past: next_position's."""
    return CachedSelfAttention.attended(cached, queries, keys, values, past)


KEPT["grouped"] = CachedGroupedAttention
