"""Run a stack of layers one position at a time, with a key-value (KV) cache: earlier positions are
not computed again.
"""

from typing import Any

import numpy as np

from minitransformer.backend import Array, module_of, to_device
from minitransformer.decoding.state import DecodingState
from minitransformer.decoding.stepwise import has_at, is_stepwise, says_stepwise
from minitransformer.functional import attention_forward, dropout_forward
from minitransformer.layers.attention import CrossAttention, MultiHeadAttention, SelfAttention
from minitransformer.layers.decoder import Decoder, DecoderLayer
from minitransformer.layers.encoder import Encoder, EncoderLayer
from minitransformer.layers.exactly import exactly
from minitransformer.layers.input import Input
from minitransformer.dispatch import replaceable
from minitransformer.layers.layer import Layer
from minitransformer.lookup import Table

POSITIONS = 8  # a list has room for at least as many more
PIECE = 256  # positions of a prompt that are read at once: it limits the memory for their scores


class CachedStack(DecodingState):
    """The decoding state of a stack of layers.

    The keys and values of cross-attention are computed from the memory once. Those of
    self-attention are appended at each position, and stay in place: the hypotheses of a sentence
    share one list of keys and values, and each hypothesis has the places of its past in it. When a
    search drops one hypothesis and splits another, only the places change. When the list is full, a
    new list is made without the entries that no longer belong to any hypothesis.
    """

    def __init__(
        self,
        stack: Encoder | Decoder,
        input: Input,
        output: Layer,
        first: Array,
        limit: Array,
        memory: Array | None = None,
        memory_mask: Array | None = None,
    ):
        """stack: a Decoder with the memory (B, T_k, d_model) it attends to, or an Encoder; input:
        its Input.
        """
        self.output, self.first, self.limit = output, first, limit
        self._stack, self._input, self._memory_mask = stack, input, memory_mask
        self._positions: Any = input.positions  # they have `at`: can_be_cached has asked
        self._layers = [
            CachedLayer(KEPT[type(layer.self_attention).__name__], layer, len(first), memory)
            for layer in stack.layers
        ]
        self._xp = stack.xp
        self._past: Any = None  # (B, width, T): the places in the list of each hypothesis's entries
        self._length = 0  # entries in the list
        self._room = 0  # its capacity
        self._position = 0

    def read(self, ids: Array) -> None:
        """Read ids (B, T), the beginning of one hypothesis of each sentence, many positions at
        once.
        """
        batch, length = ids.shape
        self._past = np.zeros((batch, 1, 0), int)
        self._make_room(length)
        x, _ = self._input.embedding.forward(ids)
        x, _ = self._input.positions.forward(x)  # (B, T, d_model)
        for start in range(0, length, PIECE):
            positions = np.arange(start, min(start + PIECE, length))
            causal = np.tri(len(positions), positions[-1] + 1, start, bool)
            causal = np.broadcast_to(causal, (batch, 1, *causal.shape))
            self._through_layers(
                x[:, start : start + PIECE], positions, to_device(causal, module_of(x))
            )
        self._past = np.broadcast_to(np.arange(length), (batch, 1, length))
        self._position = self._length = length

    def advance(self, ids: Array, parents: Array | None = None) -> Array:
        batch, width = ids.shape
        if self._position == 0:
            self._past = np.zeros((batch, width, 0), int)
        elif parents is not None:
            self._past = self._past[np.arange(batch)[:, None], parents]
        if self._length + width > self._room:
            self._make_room()
        own = np.broadcast_to(self._length + np.arange(width)[:, None], (batch, width, 1))
        self._past = np.concatenate([self._past, own], axis=2)
        self._length += width
        x, _ = self._input.embedding.forward(ids)
        x = self._positions.at(x, self._position)  # (B, width, d_model)
        past = to_device(self._mask(), module_of(x))
        x = self._through_layers(x, np.full(width, self._position), past)
        if self._stack.norm:
            x, _ = self._stack.norm.forward(x)
        self._position += 1
        return x

    def _through_layers(self, x: Array, positions: Array, past: Array) -> Array:
        """x (B, N, d_model) at `positions` (N,), before the input's dropout."""
        # it leaves x as it is, but a plugged-in one may not
        x, _ = dropout_forward(x, self._input.dropout)
        for layer in self._layers:
            layer.self_attention.positions = positions
            x = layer.self_attention.next_position(x, layer, past, self._memory_mask)
        return x

    def keep(self, rows: Array) -> None:
        moved = np.flatnonzero(rows != np.arange(len(rows)))
        self._past = _kept(self._past, rows, moved)
        xp = self._xp
        rows, moved = to_device(rows, xp), to_device(moved, xp)
        if self._memory_mask is not None:
            self._memory_mask = _kept(self._memory_mask, rows, moved)
        for attention in [
            one
            for layer in self._layers
            for one in (layer.self_attention, layer.cross_attention)
            if one
        ]:
            attention.keys = _kept(attention.keys, rows, moved)
            attention.values = _kept(attention.values, rows, moved)

    def _mask(self) -> np.ndarray:
        """(B, 1, width, list): which entries belong to which hypothesis."""
        mask = np.zeros((*self._past.shape[:2], self._length), bool)
        np.put_along_axis(mask, self._past, True, axis=2)
        return mask[:, None]

    def _make_room(self, more: int = 0) -> None:
        """Make new lists of the entries that belong to a hypothesis, with as much free space again,
        or for some positions.

        There is room for at least `more` entries.
        """
        batch, width, positions = self._past.shape
        past, live = (
            self._past.reshape(batch, width * positions),
            np.zeros((batch, self._length), bool),
        )
        np.put_along_axis(live, past, True, axis=1)
        self._past = np.take_along_axis(live.cumsum(axis=1) - 1, past, axis=1).reshape(
            self._past.shape
        )
        self._length = int(live.sum(axis=1).max(initial=0))
        places = np.argsort(~live, axis=1, kind="stable")[:, : self._length]
        self._room = self._length + max(self._length, POSITIONS * width, more)
        places = to_device(places, self._xp)
        for layer in self._layers:
            layer.self_attention.make_room(places, self._room)


def _kept(array: Array, places: Array, moved: Array) -> Array:
    """array[places] without copying entries that stay in place; changes `array`."""
    array[moved] = array[places[moved]]
    return array[: len(places)]


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


def can_be_cached(stack: Layer, input: Layer) -> bool:
    """Whether a CachedStack computes what the stack and its input do: it calls neither of them, nor
    their layers' attention, and everything else one position at a time.
    """
    if not (exactly(stack, Decoder) or exactly(stack, Encoder)) or not exactly(input, Input):
        return False
    return (
        is_stepwise(input.embedding)
        and has_at(input.positions)
        and (not stack.norm or is_stepwise(stack.norm))
        and all(map(_layer_can_be_cached, stack.layers))
    )


def _layer_can_be_cached(layer: Layer) -> bool:
    if not exactly(layer, EncoderLayer) and not exactly(layer, DecoderLayer):
        return False
    cross = getattr(layer, "cross_attention", None)
    attentions = [layer.self_attention, *([cross] if cross else [])]
    return (
        kept_of(layer.self_attention) is not None
        and (cross is None or exactly(cross, CrossAttention))
        and all(part in attentions or says_stepwise(part) for part in layer.sublayers().values())
    )
