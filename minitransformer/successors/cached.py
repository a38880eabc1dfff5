"""Grouped-query attention one position at a time: the keys are kept turned, one list for each group of heads."""

from minitransformer.backend import Array
from minitransformer.decoding.cached import KEPT, CachedSelfAttention
from minitransformer.successors.grouped_attention import grouped_attention_forward


class CachedGroupedAttention(CachedSelfAttention):
    """keys, values: (B, G, room, d_k)."""

    def placed(self, x) -> Array:
        return self._attention.turn(x, self.positions)[0]

    def heads(self, queries, keys, values, mask) -> Array:
        return grouped_attention_forward(queries, keys, values, mask)[0]


KEPT["grouped"] = CachedGroupedAttention
