"""The position-wise feed-forward network (section 3.3 of the paper)."""

from typing import Any, NamedTuple

from minitransformer.backend import Array, Generator
from minitransformer.checks import check_cache, check_fraction
from minitransformer.errors import InputError
from minitransformer.functional.activations import ACTIVATIONS
from minitransformer.functional.dropout import DropoutCache, dropout_backward, dropout_forward
from minitransformer.layers.config import StackConfig
from minitransformer.layers.layer import Layer
from minitransformer.layers.linear import Linear, LinearCache
from minitransformer.lookup import find


class FeedForwardCache(NamedTuple):
    inner: LinearCache
    activation: Any        # the activation's own, such as a ReluCache
    dropout: DropoutCache
    outer: LinearCache


class FeedForward(Layer):
    """y = dropout(activation(x W1 + b1)) W2 + b2, at each position separately: x, y (..., d_model).

    The activation is a name in ACTIVATIONS, to which you may add your own: ACTIVATIONS["mine"] = my_forward, my_backward.
    """

    stepwise = True

    def __init__(self, d_model: int, d_ff: int, rng: Generator | None = None,
                 activation: str = "relu", dropout: float = 0.0):
        check_fraction("the dropout rate", dropout)
        if not isinstance(find(ACTIVATIONS, activation), tuple):
            raise InputError(f"{activation} is no activation of a FeedForward: it has a network of its own")
        self.inner = Linear(d_model, d_ff, rng)
        self.outer = Linear(d_ff, d_model, rng)
        self.activation = activation
        self.dropout = dropout

    @classmethod
    def of(cls, config: StackConfig, rng: Generator | None) -> Any:
        """The network that a StackConfig asks for: this one, or the activation's own."""
        choice = ACTIVATIONS[config.activation]
        network = cls if isinstance(choice, tuple) else choice
        return network(config.d_model, config.d_ff, rng, config.activation, config.feed_forward_dropout)

    def forward(self, x: Array, rng: Generator | None = None) -> tuple[Array, FeedForwardCache]:
        activate, _ = ACTIVATIONS[self.activation]
        h, inner = self.inner.forward(x)                             # (..., d_ff)
        h, activation = activate(h)
        h, dropout = dropout_forward(h, self.dropout, rng)
        y, outer = self.outer.forward(h)                             # (..., d_model)
        return y, FeedForwardCache(inner, activation, dropout, outer)

    def backward(self, dy: Array, cache: FeedForwardCache) -> Array:
        """dy, dx: (..., d_model)."""
        check_cache(self, cache, FeedForwardCache)
        _, activate_backward = ACTIVATIONS[self.activation]
        dh = self.outer.backward(dy, cache.outer)                    # (..., d_ff)
        dh = dropout_backward(dh, cache.dropout)
        dh = activate_backward(dh, cache.activation)
        return self.inner.backward(dh, cache.inner)
