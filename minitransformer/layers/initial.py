"""Initial weights, drawn from NumPy's generator, so that a seed gives the same model on every device."""

import math

import numpy as np

from minitransformer.checks import check_rng, check_whole
from minitransformer.parameter import Parameter


def xavier(rng, d_in, d_out) -> Parameter:
    """A (d_in, d_out) weight, uniform in +-sqrt(6 / (d_in + d_out)).

    This keeps the variance of activations and of gradients about equal across layers (Glorot and
    Bengio 2010, https://proceedings.mlr.press/v9/glorot10a.html, equation 16).
    """
    check_rng(rng)
    _check_sizes(d_in, d_out)
    limit = math.sqrt(6 / (d_in + d_out))
    return Parameter(rng.uniform(-limit, limit, (d_in, d_out)).astype(np.float32))


def normal(rng, rows, d_model) -> Parameter:
    """A (rows, d_model) table, normal with standard deviation 1 / sqrt(d_model).

    After the multiplication by sqrt(d_model) in the embedding, its variance is 1; as the pre-softmax weight,
    it gives logits of variance 1.
    """
    check_rng(rng)
    _check_sizes(rows, d_model)
    return Parameter((rng.standard_normal((rows, d_model)) / math.sqrt(d_model)).astype(np.float32))


def normal_vector(rng, size) -> Parameter:
    """A (size,) vector, normal with standard deviation 1 / sqrt(size): a product with numbers of size 1 is of size 1."""
    check_rng(rng)
    _check_sizes(size)
    return Parameter((rng.standard_normal(size) / math.sqrt(size)).astype(np.float32))


def xavier_kernel(rng, kernel_size, d_in, d_out) -> Parameter:
    """A (kernel_size, d_in, d_out) weight: Xavier's, for outputs that see kernel_size d_in numbers."""
    check_rng(rng)
    _check_sizes(kernel_size, d_in, d_out)
    limit = math.sqrt(6 / (kernel_size * (d_in + d_out)))
    return Parameter(rng.uniform(-limit, limit, (kernel_size, d_in, d_out)).astype(np.float32))


def normal_kernel(rng, kernel_size, d_model) -> Parameter:
    """A (kernel_size, d_model) weight, normal with standard deviation 1 / sqrt(kernel_size): the sums are as large as the terms."""
    check_rng(rng)
    _check_sizes(kernel_size, d_model)
    return Parameter((rng.standard_normal((kernel_size, d_model)) / math.sqrt(kernel_size)).astype(np.float32))


def orthogonal(rng, size, count=1) -> Parameter:
    """A (size, count size) weight: `count` random orthogonal matrices side by side.

    A product with one keeps the length of a vector, however often it is repeated (Saxe et al. 2014,
    https://arxiv.org/abs/1312.6120).
    """
    check_rng(rng)
    _check_sizes(size, count)
    q, r = np.linalg.qr(rng.standard_normal((count, size, size)))
    q *= np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]    # else QR's own signs would not be random
    return Parameter(np.concatenate(list(q), axis=1).astype(np.float32))


def zeros(size) -> Parameter:
    """A (size,) vector of zeros."""
    _check_sizes(size)
    return Parameter(np.zeros(size, np.float32))


def ones(size) -> Parameter:
    """A (size,) vector of ones."""
    _check_sizes(size)
    return Parameter(np.ones(size, np.float32))


def _check_sizes(*sizes) -> None:
    for size in sizes:
        check_whole("a size of the layer", size)
