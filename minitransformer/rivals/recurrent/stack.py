"""Recurrent layers on top of each other."""

from typing import NamedTuple

from minitransformer.backend import Array, module_of
from minitransformer.checks import check_cache, check_floats, check_share
from minitransformer.errors import InputError
from minitransformer.functional import dropout_backward, dropout_forward
from minitransformer.functional.dropout import DropoutCache
from minitransformer.layers.layer import Layer
from minitransformer.rivals.recurrent.bidirectional import Bidirectional
from minitransformer.rivals.recurrent.layer import Recurrent, check_pair


class RecurrentStackCache(NamedTuple):
    layers: list            # the cache of each layer
    dropout: DropoutCache
    begun: bool             # whether forward was given a state
    size: tuple             # (B, T)


class RecurrentStack(Layer):
    """Each layer reads the hidden states of the one below, and y (B, T, H) are those of the last, after dropout.

    The states of all layers are side by side: state, final (B, S) with S the sum of the layers' state_size.
    """

    def __init__(self, layers, dropout=0.0):
        self.layers = list(layers)
        if not self.layers or not all(isinstance(layer, (Recurrent, Bidirectional)) for layer in self.layers):
            raise InputError("RecurrentStack: expected one or more recurrent layers, such as [LSTM(8, 16, rng), LSTM(16, 16, rng)]")
        check_share("the dropout rate", dropout)
        self.dropout = dropout

    @property
    def hidden_size(self) -> int:
        return self.layers[-1].hidden_size

    @property
    def state_size(self) -> int:
        return sum(layer.state_size for layer in self.layers)

    def forward(self, x, state=None, mask=None, rng=None) -> tuple[tuple[Array, Array], RecurrentStackCache]:
        """As Recurrent.forward: ((y, final), cache)."""
        check_floats("RecurrentStack: x", x, "B", "T", "d_in")
        if state is not None:
            check_floats("RecurrentStack: state", state, len(x), self.state_size)
        finals, caches = [], []
        for layer, part in zip(self.layers, self._split(state)):
            (x, final), cache = layer.forward(x, part, mask, rng)
            finals.append(final)
            caches.append(cache)
        y, dropout = dropout_forward(x, self.dropout, rng)
        return (y, module_of(y).concatenate(finals, axis=1)), RecurrentStackCache(caches, dropout, state is not None, x.shape[:2])

    def backward(self, dy, cache) -> Array | tuple[Array, Array]:
        """dy: the pair (dy, dfinal). Returns dx, and dstate if forward was given a state."""
        check_cache(self, cache, RecurrentStackCache)
        dy, dfinal = check_pair(self, dy, *cache.size)
        dx, dstates = dropout_backward(dy, cache.dropout), []
        for layer, dpart, layer_cache in zip(reversed(self.layers), reversed(self._split(dfinal)), reversed(cache.layers)):
            dx = layer.backward((dx, dpart), layer_cache)
            if cache.begun:
                dx, dstate = dx
                dstates.append(dstate)
        return (dx, module_of(dx).concatenate(dstates[::-1], axis=1)) if cache.begun else dx

    def _split(self, state) -> list:
        """(B, S) -> the part of each layer."""
        if state is None:
            return [None] * len(self.layers)
        parts, start = [], 0
        for layer in self.layers:
            parts.append(state[:, start:start + layer.state_size])
            start += layer.state_size
        return parts
