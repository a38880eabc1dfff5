"""Recurrent layers on top of each other."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from minitransformer.backend import Array, Generator, module_of
from minitransformer.checks import check_cache, check_fraction
from minitransformer.errors import InputError
from minitransformer.functional.dropout import DropoutCache, dropout_backward, dropout_forward
from minitransformer.zoo.recurrent.layer import Recurrent


class RecurrentStackCache(NamedTuple):
    layers: list            # the cache of each layer
    dropout: DropoutCache


class RecurrentStack(Recurrent):
    """Each layer reads the hidden states of the one below, and y (B, T, H) are those of the last, after dropout.

    The states of all layers are side by side: state, final (B, S) with S the sum of the layers' state_size.
    """

    stepwise = True

    def __init__(self, layers: Iterable[Recurrent], dropout: float = 0.0):
        self.layers = list(layers)
        if not self.layers or not all(isinstance(layer, Recurrent) for layer in self.layers):
            raise InputError("RecurrentStack: expected one or more recurrent layers, such as [LSTM(8, 16, rng), LSTM(16, 16, rng)]")
        check_fraction("the dropout rate", dropout)
        self.dropout = dropout

    @property
    def hidden_size(self) -> int:
        return self.layers[-1].hidden_size

    @property
    def state_size(self) -> int:
        return sum(layer.state_size for layer in self.layers)

    def read(self, x: Array, state: Array, mask: Array | None,
             rng: Generator | None) -> tuple[tuple[Array, Array], RecurrentStackCache]:
        finals, caches = [], []
        for layer, part in zip(self.layers, self._split(state)):
            (x, final), cache = layer.forward(x, part, mask, rng)
            finals.append(final)
            caches.append(cache)
        y, dropout = dropout_forward(x, self.dropout, rng)
        return (y, module_of(y).concatenate(finals, axis=1)), RecurrentStackCache(caches, dropout)

    def read_backward(self, dy: Array, dfinal: Array,
                      cache: RecurrentStackCache) -> tuple[Array, Array]:
        check_cache(self, cache, RecurrentStackCache)
        dx, dstates = dropout_backward(dy, cache.dropout), []
        for layer, dpart, layer_cache in zip(reversed(self.layers), reversed(self._split(dfinal)), reversed(cache.layers)):
            dx, dstate = layer.backward((dx, dpart), layer_cache)
            dstates.append(dstate)
        return dx, module_of(dx).concatenate(dstates[::-1], axis=1)

    def _split(self, state: Array) -> list[Array]:
        """(B, S) -> the part of each layer. Its inverse, and so its backward, is a concatenation."""
        ends = np.cumsum([layer.state_size for layer in self.layers])
        return [state[:, end - layer.state_size:end] for layer, end in zip(self.layers, ends)]
