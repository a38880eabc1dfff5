"""LayerNorm as a layer: gamma and beta around the function pair."""

from minitransformer.backend import Array
from minitransformer.checks import check_floats, check_fraction
from minitransformer.functional.layer_norm import LayerNormCache, layer_norm_backward, layer_norm_forward
from minitransformer.layers import initial
from minitransformer.layers.layer import Layer
from minitransformer.lookup import Table


class LayerNorm(Layer):
    """y = gamma * (x - mean) / sqrt(variance + epsilon) + beta, over the last axis of x (..., d_model)."""

    stepwise = True
    epsilon = 1e-5

    def __init__(self, d_model: int, epsilon: float = epsilon):
        check_fraction("epsilon", epsilon)
        self.gamma = initial.ones(d_model)
        self.beta = initial.zeros(d_model)
        self.epsilon = epsilon

    def forward(self, x: Array) -> tuple[Array, LayerNormCache]:
        check_floats("LayerNorm: x", x, ..., self.gamma.data.size)
        return layer_norm_forward(x, self.gamma.data, self.beta.data, self.epsilon)

    def backward(self, dy: Array, cache: LayerNormCache) -> Array:
        """dy, dx: (..., d_model)."""
        dx, dgamma, dbeta = layer_norm_backward(dy, cache)
        self.gamma.grad += dgamma
        self.beta.grad += dbeta
        return dx


NORMS = Table("norm", {"layer": LayerNorm})
