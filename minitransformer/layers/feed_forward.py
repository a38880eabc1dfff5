"""The position-wise feed-forward network (section 3.3 of the paper)."""

from collections.abc import Callable
from typing import NamedTuple

from minitransformer.backend import Array
from minitransformer.checks import check_cache, check_share
from minitransformer.errors import InputError
from minitransformer.functional import (
    dropout_backward, dropout_forward, gelu_backward, gelu_forward, relu_backward, relu_forward)
from minitransformer.functional.activations import GeluCache, ReluCache
from minitransformer.functional.dropout import DropoutCache
from minitransformer.layers.layer import Layer
from minitransformer.layers.linear import Linear, LinearCache

ACTIVATIONS: dict[str, tuple[Callable, Callable]] = {"relu": (relu_forward, relu_backward), "gelu": (gelu_forward, gelu_backward)}


class FeedForwardCache(NamedTuple):
    inner: LinearCache
    activation: ReluCache | GeluCache
    dropout: DropoutCache
    outer: LinearCache


class FeedForward(Layer):
    """y = dropout(activation(x W1 + b1)) W2 + b2, at each position separately: x, y (..., d_model)."""

    def __init__(self, d_model, d_ff, rng, activation="relu", dropout=0.0):
        check_share("the dropout rate", dropout)
        if activation not in list(ACTIVATIONS):
            raise InputError(f"unknown activation {activation!r}; choose {' or '.join(ACTIVATIONS)}")
        self.inner = Linear(d_model, d_ff, rng)
        self.outer = Linear(d_ff, d_model, rng)
        self.activation = activation
        self.dropout = dropout

    def forward(self, x, rng=None) -> tuple[Array, FeedForwardCache]:
        activate, _ = ACTIVATIONS[self.activation]
        h, inner = self.inner.forward(x)                             # (..., d_ff)
        h, activation = activate(h)
        h, dropout = dropout_forward(h, self.dropout, rng)
        y, outer = self.outer.forward(h)
        return y, FeedForwardCache(inner, activation, dropout, outer)

    def backward(self, dy, cache) -> Array:
        check_cache(self, cache, FeedForwardCache)
        _, activate_backward = ACTIVATIONS[self.activation]
        dh = self.outer.backward(dy, cache.outer)
        dh = dropout_backward(dh, cache.dropout)
        dh = activate_backward(dh, cache.activation)
        return self.inner.backward(dh, cache.inner)
