"""Layers and models to test with: zeros and ones (biases, gamma) hide mistakes."""

import numpy as np


def randomised(layer, scale=0.3, seed=0, dtype=np.float64):
    """The layer in float64, or another dtype, with noise in every parameter."""
    layer = layer.astype(dtype)
    rng = np.random.default_rng([seed, 1])
    for parameter in layer.parameters().values():
        parameter.data += scale * rng.standard_normal(parameter.shape).astype(dtype)
    return layer
