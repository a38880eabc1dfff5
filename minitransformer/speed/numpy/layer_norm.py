"""Layer normalisation in place, with each sum over a row as a product with a vector."""

import numpy as np

from minitransformer.backend import Array
from minitransformer.checks import check_shape
from minitransformer.functional.layer_norm import (
    LayerNormCache,
    layer_norm_backward,
    layer_norm_forward,
)
from minitransformer.dispatch import replaces


@replaces(layer_norm_forward, "numpy", "float32 float64")
def layer_norm_forward_in_place(x, gamma, beta, epsilon=1e-5) -> tuple[Array, LayerNormCache]:
    size = x.shape[-1]
    rows = x.reshape(-1, size)
    ones = np.ones(size, x.dtype)
    normed = rows - (rows @ ones / size)[:, None]
    variance = (normed * normed) @ ones / size
    inverse = (1 / np.sqrt(variance + epsilon))[:, None]
    normed *= inverse
    y = normed * gamma
    y += beta
    return y.reshape(x.shape), LayerNormCache(
        normed.reshape(x.shape), inverse.reshape(*x.shape[:-1], 1), gamma
    )


@replaces(layer_norm_backward, "numpy", "float32 float64")
def layer_norm_backward_in_place(dy, cache) -> tuple[Array, Array, Array]:
    """dx = (dn - mean(dn) - n mean(dn n)) / sigma with dn = dy gamma: both means and dgamma come
    from dy and dy n.
    """
    normed, inverse, gamma = cache
    check_shape("LayerNorm: dy", dy, *normed.shape)
    size = gamma.size
    dy, normed, inverse = dy.reshape(-1, size), normed.reshape(-1, size), inverse.reshape(-1, 1)
    average, ones = gamma / size, np.ones(len(dy), dy.dtype)
    product = dy * normed
    dgamma, dbeta = ones @ product, ones @ dy
    along = product @ average
    dx = dy * gamma
    dx -= (dy @ average)[:, None]
    dx -= np.multiply(normed, along[:, None], out=product)
    dx *= inverse
    return dx.reshape(cache.normed.shape), dgamma, dbeta
