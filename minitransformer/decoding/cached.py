"""Run a stack of layers one position at a time, with a key-value (KV) cache: earlier positions are
not computed again.
"""

from typing import Any

import numpy as np

from minitransformer.backend import Array, module_of, to_device
from minitransformer.decoding.cached_layer import KEPT, CachedLayer, kept_of
from minitransformer.decoding.state import DecodingState
from minitransformer.decoding.stepwise import has_at, is_stepwise, says_stepwise
from minitransformer.functional import dropout_forward
from minitransformer.layers.attention import CrossAttention
from minitransformer.layers.decoder import Decoder, DecoderLayer
from minitransformer.layers.encoder import Encoder, EncoderLayer
from minitransformer.layers.exactly import exactly
from minitransformer.layers.input import Input
from minitransformer.layers.layer import Layer

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
