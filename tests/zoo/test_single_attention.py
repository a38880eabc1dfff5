"""Additive attention against its definition."""

import numpy as np
import pytest

from minitransformer import InputError
from minitransformer.zoo.baselines import AdditiveAttention, AttentionalState

RNG = np.random.default_rng(0)
X, MEMORY = RNG.standard_normal((2, 3, 4)), RNG.standard_normal((2, 5, 4))
SOME = np.array([[1, 0, 1, 1, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], bool)  # (T_q, T_k)


def additive(d_memory=4):
    layer = AdditiveAttention(4, d_memory, 6, np.random.default_rng(1)).astype(np.float64)
    layer.query.bias.data += 0.3
    return layer


def by_definition(score, mask):
    """The memory's mean, weighted by exp(score), for each query; zeros without anything to attend
    to.
    """
    y = np.zeros((2, 3, 4))
    for b, i in np.ndindex(2, 3):
        weights = np.array([np.exp(score(X[b, i], MEMORY[b, j])) * mask[i, j] for j in range(5)])
        y[b, i] = weights @ MEMORY[b] / max(weights.sum(), 1e-300)
    return y


@pytest.mark.parametrize("mask", [SOME, np.ones((3, 5), bool)])
def test_the_definition(mask):
    layer = additive()
    q, k, w = layer.query, layer.key, layer.weight.data
    np.testing.assert_allclose(
        layer.forward(X, MEMORY, mask)[0],
        by_definition(
            lambda x, m: (
                w @ np.tanh(x @ q.weight.data + q.bias.data + m @ k.weight.data + k.bias.data)
            ),
            mask,
        ),
        rtol=1e-12,
    )


def test_nothing_to_attend_to_gives_zeros():
    layer = additive()
    y, cache = layer.forward(X, MEMORY, SOME)
    assert not y[:, 1].any() and y[:, [0, 2]].all()
    dx, dmemory = layer.backward(np.ones_like(y), cache)
    assert not dx[:, 1].any() and np.isfinite(dmemory).all()
    y, cache = layer.forward(X, MEMORY, np.zeros((2, 1, 5), bool))
    dx, dmemory = layer.backward(np.ones_like(y), cache)
    assert not (y.any() or dx.any() or dmemory.any())


@pytest.mark.parametrize(
    "layer",
    [additive(), AttentionalState(additive(), 4, 4, np.random.default_rng(0)).astype(np.float64)],
)
def test_a_mask_of_numbers_is_refused(layer):
    with pytest.raises(
        InputError, match=r"mask has dtype float64, expected bool \(True = may attend\)"
    ):
        layer.forward(X, MEMORY, SOME.astype(float))


def test_the_vector_of_additive_attention_begins_with_scores_of_size_one():
    """tanh is at most 1, and the sum of d_attention such numbers, weighted by the vector, is to be
    of that size, too.
    """
    assert AdditiveAttention(
        4, 4, 400, np.random.default_rng(0)
    ).weight.data.std() == pytest.approx(1 / 20, rel=0.1)
