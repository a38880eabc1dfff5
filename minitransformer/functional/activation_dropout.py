"""An activation and the dropout after it, as inside the feed-forward network."""

from typing import NamedTuple

from minitransformer.backend import Array
from minitransformer.functional.activations import GeluCache, ReluCache, gelu_backward, gelu_forward, relu_backward, relu_forward
from minitransformer.functional.dropout import DropoutCache, dropout_backward, dropout_forward
from minitransformer.dispatch import replaceable


class ActivationDropoutCache(NamedTuple):
    activation: ReluCache | GeluCache
    dropout: DropoutCache


@replaceable
def relu_dropout_forward(x, dropout_rate=0.0, rng=None) -> tuple[Array, ActivationDropoutCache]:
    """y = dropout(relu(x)), of any shape."""
    h, activation = relu_forward(x)
    y, dropout = dropout_forward(h, dropout_rate, rng)
    return y, ActivationDropoutCache(activation, dropout)


@replaceable
def relu_dropout_backward(dy, cache) -> Array:
    """Returns dx: the backward of dropout, then that of ReLU."""
    dh = dropout_backward(dy, cache.dropout)
    return relu_backward(dh, cache.activation)


@replaceable
def gelu_dropout_forward(x, dropout_rate=0.0, rng=None) -> tuple[Array, ActivationDropoutCache]:
    """y = dropout(gelu(x)), of any shape."""
    h, activation = gelu_forward(x)
    y, dropout = dropout_forward(h, dropout_rate, rng)
    return y, ActivationDropoutCache(activation, dropout)


@replaceable
def gelu_dropout_backward(dy, cache) -> Array:
    """Returns dx: the backward of dropout, then that of GELU."""
    dh = dropout_backward(dy, cache.dropout)
    return gelu_backward(dh, cache.activation)
