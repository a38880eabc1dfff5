"""Initial weights. They come from NumPy's generator, so that a seed means the same model anywhere."""

import math

import numpy as np

from minitransformer.parameter import Parameter


def xavier(rng, d_in, d_out):
    """A (d_in, d_out) weight, uniform in +-sqrt(6 / (d_in + d_out)).

    Keeps the variance of activations and of gradients about equal across layers (Glorot and
    Bengio 2010, https://proceedings.mlr.press/v9/glorot10a.html, equation 16).
    """
    limit = math.sqrt(6 / (d_in + d_out))
    return Parameter(rng.uniform(-limit, limit, (d_in, d_out)).astype(np.float32))


def normal(rng, rows, d_model):
    """A (rows, d_model) table, normal with standard deviation 1 / sqrt(d_model).

    Times sqrt(d_model) in the embedding that is variance 1; as the pre-softmax weight, logits of
    variance 1.
    """
    return Parameter((rng.standard_normal((rows, d_model)) / math.sqrt(d_model)).astype(np.float32))


def zeros(size):
    """A (size,) vector of zeros."""
    return Parameter(np.zeros(size, np.float32))


def ones(size):
    """A (size,) vector of ones."""
    return Parameter(np.ones(size, np.float32))
