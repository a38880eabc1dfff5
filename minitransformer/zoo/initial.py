"""Initial weights of recurrent layers and convolutions, drawn as in layers/initial.py."""

import math

import numpy as np

from minitransformer.backend import Generator
from minitransformer.checks import check_rng
from minitransformer.layers.initial import check_sizes
from minitransformer.layers.parameter import Parameter


def normal(rng: Generator | None, size: int, *shape: int) -> Parameter:
    """A (size, ...) weight, normal with standard deviation 1 / sqrt(size): a sum over `size`
    products is as large as its terms.
    """
    rng = check_rng(rng)
    check_sizes(size, *shape)
    return Parameter((rng.standard_normal((size, *shape)) / math.sqrt(size)).astype(np.float32))


def xavier_kernel(rng: Generator | None, kernel_size: int, d_in: int, d_out: int) -> Parameter:
    """A (kernel_size, d_in, d_out) weight: Xavier's, for outputs that see kernel_size d_in numbers."""
    rng = check_rng(rng)
    check_sizes(kernel_size, d_in, d_out)
    limit = math.sqrt(6 / (kernel_size * (d_in + d_out)))
    return Parameter(rng.uniform(-limit, limit, (kernel_size, d_in, d_out)).astype(np.float32))


def orthogonal(rng: Generator | None, size: int, count: int = 1) -> Parameter:
    """A (size, count size) weight: `count` random orthogonal matrices side by side.

    A product with one keeps the length of a vector, however often it is repeated (Saxe et al. 2014,
    https://arxiv.org/abs/1312.6120).
    """
    rng = check_rng(rng)
    check_sizes(size, count)
    q, r = np.linalg.qr(rng.standard_normal((count, size, size)))
    # else QR's own signs would not be random
    q *= np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]
    return Parameter(np.concatenate(list(q), axis=1).astype(np.float32))
