"""Grouped-query attention one position at a time: the keys are kept turned, one list for each group of heads."""

from minitransformer.backend import Array
from minitransformer.decoding.cached import KEPT, CachedLayer, CachedSelfAttention, next_position
from minitransformer.replaceable import replaceable
from minitransformer.zoo.modern.grouped_attention import grouped_attention_forward

KERNELS = "minitransformer.zoo.kernels"


class CachedGroupedAttention(CachedSelfAttention):
    """keys, values: (B, G, room, d_k)."""

    def placed(self, x) -> Array:
        return self.attention.turn(x, self.positions)[0]

    def heads(self, queries, keys, values, mask) -> Array:
        return grouped_attention_forward(queries, keys, values, mask)[0]


class CachedGroupedLayer(CachedLayer):
    """A CachedLayer with grouped self-attention."""

    def __init__(self, layer, batch, memory=None):
        super().__init__(layer, batch, memory)
        self.self_attention = CachedGroupedAttention(layer.self_attention, batch)

    def next(self, x, past, memory_mask) -> Array:
        return next_grouped_position(x, self, past, memory_mask)


@replaceable
def next_grouped_position(x, cached, past, memory_mask=None) -> Array:
    """next_position of a CachedGroupedLayer: it has a kernel of its own."""
    return next_position(x, cached, past, memory_mask)


KEPT["grouped"] = CachedGroupedLayer
