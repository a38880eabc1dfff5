"""Layer normalisation over the last axis (Ba, Kiros and Hinton, https://arxiv.org/abs/1607.06450)."""

from typing import NamedTuple

from minitransformer.backend import Array, module_of
from minitransformer.checks import check_cache_of, check_shape
from minitransformer.dispatch import replaceable


class LayerNormCache(NamedTuple):
    normed: Array    # (..., D) x shifted and scaled to mean 0 and variance 1
    inverse: Array   # (..., 1) 1 / sqrt(variance + epsilon)
    gamma: Array     # (D,)


@replaceable
def layer_norm_forward(x: Array, gamma: Array, beta: Array,
                       epsilon: float = 1e-5) -> tuple[Array, LayerNormCache]:
    """y = gamma * n + beta with n = (x - mean) / sqrt(variance + epsilon).

    x: (..., D); gamma, beta: (D,). The mean and the (biased) variance are taken over the D values of each row.
    """
    check_shape("LayerNorm: gamma", gamma, *x.shape[-1:])
    check_shape("LayerNorm: beta", beta, *x.shape[-1:])
    centred = x - x.mean(axis=-1, keepdims=True)                          # (..., D)
    variance = (centred * centred).mean(axis=-1, keepdims=True)           # (..., 1)
    inverse = 1 / module_of(x).sqrt(variance + epsilon)                   # (..., 1)
    normed = centred * inverse                                            # (..., D)
    return gamma * normed + beta, LayerNormCache(normed, inverse, gamma)


@replaceable
def layer_norm_backward(dy: Array, cache: LayerNormCache) -> tuple[Array, Array, Array]:
    """Returns dx (..., D), dgamma (D,), dbeta (D,).

    n = c s with c = x - mean and s = 1 / sqrt(variance + epsilon). From ∂c_j/∂x_i = δ_ij - 1/D and
    ∂s/∂x_i = -s^3 c_i / D = -s^2 n_i / D (the c_j sum to 0): ∂n_j/∂x_i = s (δ_ij - 1/D - n_j n_i / D).
    Summed over j with dn = dy * gamma: dx = s (dn - mean(dn) - n * mean(dn * n)).
    """
    check_cache_of("layer_norm_backward", cache, LayerNormCache)
    normed, inverse, gamma = cache
    check_shape("LayerNorm: dy", dy, *normed.shape)
    dn = dy * gamma                                                       # (..., D)
    through_mean = dn.mean(axis=-1, keepdims=True)                        # (..., 1) every x moves the mean
    through_variance = (dn * normed).mean(axis=-1, keepdims=True)         # (..., 1) and the variance
    dx = inverse * (dn - through_mean - normed * through_variance)
    rows = tuple(range(dy.ndim - 1))                                      # gamma and beta are used in every row
    dgamma, dbeta = (dy * normed).sum(axis=rows), dy.sum(axis=rows)       # (D,)
    return dx, dgamma, dbeta
