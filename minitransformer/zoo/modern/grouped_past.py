"""Grouped-query attention one position at a time: the keys are kept turned, one list for each group of heads."""

from minitransformer.backend import Array
from minitransformer.decoding.cached_layer import CachedLayer, CachedSelfAttention, next_position
from minitransformer.dispatch import replaceable
from minitransformer.zoo.modern.grouped_attention import GroupedQueryAttention, grouped_attention_forward


@replaceable
def next_grouped_position(x: Array, cached: CachedLayer, past: Array,
                          memory_mask: Array | None = None) -> Array:
    """next_position of a layer with grouped self-attention: it has a kernel of its own."""
    return next_position(x, cached, past, memory_mask)


KERNEL = ("zoo.modern.compiled:next_grouped_position_compiled", "float32", "b")


class CachedGroupedAttention(CachedSelfAttention):
    """keys, values: (B, G, room, d_k)."""

    of = GroupedQueryAttention
    attention: GroupedQueryAttention
    next_position = staticmethod(next_grouped_position)

    def placed(self, x: Array) -> Array:
        return self.attention.turn(x, self.positions)[0]

    def heads(self, queries: Array, keys: Array, values: Array, mask: Array | None) -> Array:
        return grouped_attention_forward(queries, keys, values, mask)[0]
