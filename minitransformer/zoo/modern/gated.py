"""The gated feed-forward network, without biases (Shazeer 2020, https://arxiv.org/abs/2002.05202, equation 6)."""

from collections.abc import Callable
from typing import Any, NamedTuple

from minitransformer.backend import Array, Generator, module_of
from minitransformer.checks import check_cache, check_fraction, check_shape
from minitransformer.functional.activations import gelu_backward, gelu_forward
from minitransformer.functional.dropout import DropoutCache, dropout_backward, dropout_forward
from minitransformer.layers.layer import Layer
from minitransformer.layers.linear import LinearCache
from minitransformer.dispatch import replaceable
from minitransformer.zoo.modern.projection import Projection


class SiluCache(NamedTuple):
    x: Array         # (...)
    sigmoid: Array   # (...) 1 / (1 + exp(-x))


@replaceable
def silu_forward(x: Array) -> tuple[Array, SiluCache]:
    """y = x sigmoid(x), of any shape; sigmoid(x) = (1 + tanh(x / 2)) / 2 never overflows."""
    sigmoid = 0.5 + 0.5 * module_of(x).tanh(0.5 * x)
    return x * sigmoid, SiluCache(x, sigmoid)


@replaceable
def silu_backward(dy: Array, cache: SiluCache) -> Array:
    """With s = sigmoid(x) and s' = s (1 - s): ∂y/∂x = s + x s' = s (1 + x (1 - s))."""
    x, sigmoid = cache
    check_shape("SiLU: dy", dy, *x.shape)
    return dy * sigmoid * (1 + x * (1 - sigmoid))


GATES: dict[str, tuple[Callable, Callable]] = {
    "swiglu": (silu_forward, silu_backward),
    "geglu": (gelu_forward, gelu_backward),
}


class GatedFeedForwardCache(NamedTuple):
    gate: LinearCache
    inner: LinearCache
    activation: Any          # of the gate
    g: Array                 # (..., d_ff) activation(x W_gate)
    u: Array                 # (..., d_ff) x W_inner
    dropout: DropoutCache
    outer: LinearCache


class GatedFeedForward(Layer):
    """y = dropout(g * u) W_outer with g = activation(x W_gate), u = x W_inner: x, y (..., d_model), g, u (..., d_ff).

    The gate g says, for each number of u, how much of it passes.
    """

    stepwise = True

    def __init__(self, d_model: int, d_ff: int, rng: Generator | None = None,
                 activation: str = "swiglu", dropout: float = 0.0):
        check_fraction("the dropout rate", dropout)
        self.gate = Projection(d_model, d_ff, rng)
        self.inner = Projection(d_model, d_ff, rng)
        self.outer = Projection(d_ff, d_model, rng)
        self.activation = activation
        self.dropout = dropout

    @replaceable
    def forward(self, x: Array,
                rng: Generator | None = None) -> tuple[Array, GatedFeedForwardCache]:
        activate, _ = GATES[self.activation]
        g, gate = self.gate.forward(x)
        g, activation = activate(g)                                  # (..., d_ff)
        u, inner = self.inner.forward(x)                             # (..., d_ff)
        h, dropout = dropout_forward(g * u, self.dropout, rng)
        y, outer = self.outer.forward(h)                             # (..., d_model)
        return y, GatedFeedForwardCache(gate, inner, activation, g, u, dropout, outer)

    def backward(self, dy: Array, cache: GatedFeedForwardCache) -> Array:
        """h = g u gives dg = dh u and du = dh g; x, which made both, receives two gradients. dy, dx: (..., d_model)."""
        check_cache(self, cache, GatedFeedForwardCache)
        _, activate_backward = GATES[self.activation]
        dh = self.outer.backward(dy, cache.outer)                    # (..., d_ff)
        dh = dropout_backward(dh, cache.dropout)
        dx = self.inner.backward(dh * cache.g, cache.inner)
        dg = activate_backward(dh * cache.u, cache.activation)
        return dx + self.gate.backward(dg, cache.gate)
