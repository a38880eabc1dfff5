"""The position-wise feed-forward network (section 3.3 of the paper)."""

from typing import NamedTuple

from minitransformer.backend import Array
from minitransformer.checks import check_cache, check_fraction
from minitransformer.functional import gelu_dropout_backward, gelu_dropout_forward, relu_dropout_backward, relu_dropout_forward
from minitransformer.functional.activation_dropout import ActivationDropoutCache
from minitransformer.functional.activations import GeluCache, ReluCache
from minitransformer.functional.dropout import DropoutCache
from minitransformer.layers.layer import Layer
from minitransformer.layers.linear import Linear, LinearCache
from minitransformer.lookup import Table

WITH_DROPOUT = {"relu": (relu_dropout_forward, relu_dropout_backward), "gelu": (gelu_dropout_forward, gelu_dropout_backward)}


class FeedForwardCache(NamedTuple):
    inner: LinearCache
    activation: ReluCache | GeluCache
    dropout: DropoutCache
    outer: LinearCache


class FeedForward(Layer):
    """y = dropout(activation(x W1 + b1)) W2 + b2, at each position separately: x, y (..., d_model)."""

    stepwise = True

    def __init__(self, d_model, d_ff, rng=None, activation="relu", dropout=0.0):
        check_fraction("the dropout rate", dropout)
        self.inner = Linear(d_model, d_ff, rng)
        self.outer = Linear(d_ff, d_model, rng)
        self.activation = activation
        self.dropout = dropout

    def forward(self, x, rng=None) -> tuple[Array, FeedForwardCache]:
        activate, _ = WITH_DROPOUT[self.activation]
        h, inner = self.inner.forward(x)                             # (..., d_ff)
        h, (activation, dropout) = activate(h, self.dropout, rng)
        y, outer = self.outer.forward(h)                             # (..., d_model)
        return y, FeedForwardCache(inner, activation, dropout, outer)

    def backward(self, dy, cache) -> Array:
        """dy, dx: (..., d_model)."""
        check_cache(self, cache, FeedForwardCache)
        _, activate_backward = WITH_DROPOUT[self.activation]
        dh = self.outer.backward(dy, cache.outer)                    # (..., d_ff)
        dh = activate_backward(dh, ActivationDropoutCache(cache.activation, cache.dropout))
        return self.inner.backward(dh, cache.inner)


FEED_FORWARDS = Table("activation", {"relu": FeedForward, "gelu": FeedForward})    # {an activation: the network around it}
