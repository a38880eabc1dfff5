"""The layers of Table 1, and the paper's terms for each with the constants that follow from its formula."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from minitransformer.layers import SelfAttention
from minitransformer.rivals import RNN, Convolution, RestrictedSelfAttention, SeparableConvolution

KERNEL = 3     # positions that a convolution sees
RADIUS = 32    # positions to each side that restricted attention sees


class Kind(NamedTuple):
    make: Callable[[int], Any]               # of d: the layer
    operations: Callable[[int, int], int]    # of n and d: the multiplications of a forward pass, as derived below
    in_paper: str                            # the term of Table 1


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


# For one sequence of n vectors of width d, as docs/why_self_attention.md derives them:
KINDS = {
    # 4 projections of d x d at each position; n x n scores of d terms each, and as many for the values.
    "self-attention": Kind(lambda d: SelfAttention(d, 1, _rng()), lambda n, d: 4 * n * d * d + 2 * n * n * d, "n^2 d"),
    # A product with d x d for the input, and another one for the state.
    "recurrent": Kind(lambda d: RNN(d, d, _rng()), lambda n, d: 2 * n * d * d, "n d^2"),
    # A product with d x d for each of k positions.
    "convolutional": Kind(lambda d: Convolution(d, d, _rng(), KERNEL), lambda n, d: KERNEL * n * d * d, "k n d^2"),
    # k numbers for each of d dimensions, then a product with d x d.
    "separable": Kind(lambda d: SeparableConvolution(d, d, _rng(), KERNEL), lambda n, d: KERNEL * n * d + n * d * d,
                      "k n d + n d^2"),
    # As self-attention, with 2 r + 1 keys for each query.
    "restricted": Kind(lambda d: RestrictedSelfAttention(d, 1, _rng(), RADIUS),
                       lambda n, d: 4 * n * d * d + 2 * n * (2 * RADIUS + 1) * d, "r n d"),
}
