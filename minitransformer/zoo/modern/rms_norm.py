"""Root mean square normalisation (Zhang and Sennrich 2019, https://arxiv.org/abs/1910.07467, equation 4)."""

from typing import NamedTuple

from minitransformer.backend import Array, module_of
from minitransformer.checks import check_cache, check_floats, check_fraction, check_shape
from minitransformer.layers import initial
from minitransformer.layers.layer import Layer
from minitransformer.dispatch import replaceable


class RMSNormCache(NamedTuple):
    normed: Array    # (..., D) x scaled to mean square 1
    inverse: Array   # (..., 1) 1 / sqrt(mean square + epsilon)
    gamma: Array     # (D,)


@replaceable
def rms_norm_forward(x: Array, gamma: Array, epsilon: float = 1e-5) -> tuple[Array, RMSNormCache]:
    """y = gamma * n with n = x / sqrt(mean(x^2) + epsilon), the mean over the last axis: x (..., D), gamma (D,).

    LayerNorm without its mean and without beta.
    """
    check_shape("RMSNorm: gamma", gamma, *x.shape[-1:])
    mean_square = (x * x).mean(axis=-1, keepdims=True)                    # (..., 1)
    inverse = 1 / module_of(x).sqrt(mean_square + epsilon)                # (..., 1)
    normed = x * inverse                                                  # (..., D)
    return gamma * normed, RMSNormCache(normed, inverse, gamma)


@replaceable
def rms_norm_backward(dy: Array, cache: RMSNormCache) -> tuple[Array, Array]:
    """Returns dx (..., D), dgamma (D,).

    n = x s with s = 1 / sqrt(mean(x^2) + epsilon). From ∂s/∂x_i = -s^3 x_i / D = -s^2 n_i / D:
    ∂n_j/∂x_i = s (δ_ij - n_j n_i / D). Summed over j with dn = dy * gamma: dx = s (dn - n * mean(dn * n)).
    """
    normed, inverse, gamma = cache
    check_shape("RMSNorm: dy", dy, *normed.shape)
    dn = dy * gamma                                                       # (..., D)
    through_scale = (dn * normed).mean(axis=-1, keepdims=True)            # (..., 1) every x moves the mean square
    dx = inverse * (dn - normed * through_scale)
    dgamma = (dy * normed).sum(axis=tuple(range(dy.ndim - 1)))            # (D,) gamma is used in every row
    return dx, dgamma


class RMSNorm(Layer):
    """y = gamma * x / sqrt(mean(x^2) + epsilon), over the last axis of x (..., d_model)."""

    stepwise = True
    epsilon = 1e-5

    def __init__(self, d_model: int, epsilon: float = epsilon):
        check_fraction("epsilon", epsilon)
        self.gamma = initial.ones(d_model)
        if epsilon != self.epsilon:    # print(model) shows what is not the usual one
            self.epsilon = epsilon

    def forward(self, x: Array) -> tuple[Array, RMSNormCache]:
        check_floats("RMSNorm: x", x, ..., self.gamma.data.size)
        return rms_norm_forward(x, self.gamma.data, self.epsilon)

    def backward(self, dy: Array, cache: RMSNormCache) -> Array:
        """dy, dx: (..., d_model)."""
        check_cache(self, cache, RMSNormCache)
        dx, dgamma = rms_norm_backward(dy, cache)
        self.gamma.grad += dgamma
        return dx
