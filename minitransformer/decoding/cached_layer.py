"""A layer at its newest position, and what its attentions keep of earlier positions and of the
memory.
"""

from typing import Any

from minitransformer.backend import Array
from minitransformer.dispatch import replaceable
from minitransformer.functional import attention_forward
from minitransformer.layers.attention import MultiHeadAttention, SelfAttention
from minitransformer.layers.decoder import DecoderLayer
from minitransformer.layers.encoder import EncoderLayer
from minitransformer.layers.exactly import exactly
from minitransformer.layers.layer import Layer
from minitransformer.lookup import Table


class CachedLayer:
    """An EncoderLayer or a DecoderLayer, and what its attentions keep of earlier positions and of
    the memory.
    """

    layer: Any  # a DecoderLayer if there is a memory
    prepared: Any = None  # the layer's parameters in the form that a kernel takes

    def __init__(
        self,
        kept: "type[CachedSelfAttention]",
        layer: EncoderLayer | DecoderLayer,
        batch: int,
        memory: Array | None = None,
    ):
        """kept: a class of KEPT."""
        self.layer = layer
        self.self_attention = kept(layer.self_attention, batch)
        self.cross_attention = (
            None if memory is None else CachedCrossAttention(self.layer.cross_attention, memory)
        )


@replaceable
def next_position(
    x: Array, cached: CachedLayer, past: Array, memory_mask: Array | None = None
) -> Array:
    """A CachedLayer's output (B, width, d_model) at the newest position, from its input there: x
    (B, width, d_model).

    Or, for one hypothesis of each sentence, at its `width` newest positions.
    past: (B, 1, width, list) bool, which entries of the list belong to which hypothesis, this
    position included.
    """
    layer = cached.layer
    h, _ = layer.self_attention_residual.enter(x)
    x, _ = layer.self_attention_residual.forward(x, cached.self_attention.attend(h, past))
    if cached.cross_attention:
        h, _ = layer.cross_attention_residual.enter(x)
        x, _ = layer.cross_attention_residual.forward(
            x, cached.cross_attention.attend(h, memory_mask)
        )
    h, _ = layer.feed_forward_residual.enter(x)
    h, _ = layer.feed_forward.forward(h)
    return layer.feed_forward_residual.forward(x, h)[0]


class CachedCrossAttention:
    """One layer's cross-attention; the memory's keys and values (B, H, T_k, d) are computed once."""

    def __init__(self, attention: MultiHeadAttention, memory: Array):
        self._attention = attention
        self.keys, self.values = (
            # each head's are contiguous
            attention.xp.ascontiguousarray(attention.split(linear.forward(memory)[0]))
            for linear in (attention.key, attention.value)
        )

    def attend(self, x: Array, mask: Array | None) -> Array:
        queries = self._attention.split(self._attention.query.forward(x)[0])
        heads, _ = attention_forward(queries, self.keys, self.values, mask)
        return self._attention.output.forward(self._attention.merge(heads))[0]


class CachedSelfAttention:
    """One layer's self-attention; the keys and values of earlier positions, `length` of them for
    each sentence, are kept.

    keys, values: (B, H, room, d); with several heads in a group, one of each for a group.
    """

    of: type = SelfAttention  # what it was written for
    # what computes the layer: of another kind, it has another kernel
    next_position = staticmethod(next_position)
    length: int
    positions: Any  # (width,): where in the text the x to come is

    def __init__(self, attention: SelfAttention, batch: int):
        self.xp = attention.xp
        self.attention = attention
        self.keys, self.values = (
            attention.split(self.xp.empty((batch, 0, part.weight.shape[1]), part.weight.data.dtype))
            for part in (attention.key, attention.value)
        )

    def attend(self, x: Array, past: Array) -> Array:
        """x: (B, width, d_model), one position of `width` hypotheses. Returns the attention's
        output, of the same shape.
        """
        attention = self.attention
        queries, keys, values = (
            attention.split(part.forward(x)[0])
            for part in (attention.query, attention.key, attention.value)
        )
        queries, keys = self.placed(queries), self.placed(keys)
        start, self.length = self.length, self.length + keys.shape[2]
        self.keys[:, :, start : self.length] = keys
        self.values[:, :, start : self.length] = values
        y = self.heads(
            queries, self.keys[:, :, : self.length], self.values[:, :, : self.length], past
        )
        return attention.output.forward(attention.merge(y))[0]

    def placed(self, x: Array) -> Array:
        """Queries or keys (B, H, width, d_k) at their positions: the paper's do not change with
        them.
        """
        return x

    def heads(self, queries: Array, keys: Array, values: Array, mask: Array | None) -> Array:
        return attention_forward(queries, keys, values, mask)[0]

    def make_room(self, places: Array, room: int) -> None:
        """New lists with that much room, filled with the entries at `places` (B, length) of the old
        ones.
        """
        xp, (batch, heads, *_) = self.xp, self.keys.shape
        self.length = places.shape[1]
        # of each sentence and head
        entries = (xp.arange(batch)[:, None, None], xp.arange(heads)[:, None], places[:, None])
        for name, old in ("keys", self.keys), ("values", self.values):
            new = xp.empty((batch, heads, room, old.shape[3]), old.dtype)
            new[:, :, : self.length] = old[entries]
            setattr(self, name, new)


# {a class of self-attention: what keeps its keys and values}
KEPT = Table("kept attention", {"SelfAttention": CachedSelfAttention})


def kept_of(attention: Layer) -> type[CachedSelfAttention] | None:
    """What keeps the keys and values of a layer's self-attention; None if nothing was written for it."""
    kept = KEPT.get(type(attention).__name__)
    return kept if kept and exactly(attention, kept.of) else None
