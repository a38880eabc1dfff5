"""The embedding's gradient for tokens that occur once or hundreds of times."""

from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from minitransformer.layers import Embedding
from minitransformer.speed.kernels import kernels_run

V, D = 30, 3


@pytest.mark.parametrize("kernels", [nullcontext, kernels_run], ids=["textbook", "kernels"])
@example(counts=[4] + [1] * (V - 1), seed=0)  # a power of two is one piece
@given(counts=st.lists(st.integers(0, 70), min_size=V, max_size=V), seed=st.integers(0, 99))
def test_every_place_counts_once(kernels, counts, seed):
    """Against a loop over the places."""
    rng = np.random.default_rng(seed)
    layer = Embedding(V, D, rng).astype(np.float64)
    ids = rng.permutation(np.repeat(np.arange(V), counts))
    y, cache = layer.forward(ids)
    dy = rng.standard_normal(y.shape)
    with kernels():
        layer.backward(dy, cache)
    expected = np.zeros((V, D))
    np.add.at(expected, ids, np.sqrt(D) * dy)
    np.testing.assert_allclose(layer.weight.grad, expected, rtol=0, atol=1e-12)
