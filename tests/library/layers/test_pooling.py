"""From the positions of a sentence to one vector: padding has no effect."""

import numpy as np

from minitransformer.layers import FirstToken, MeanOverTokens

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4, 5))
REAL = np.array([[True, True, False, False], [True] * 4, [False] * 4])


def test_the_mean_is_over_real_positions():
    y, cache = MeanOverTokens().forward(X, REAL)
    np.testing.assert_allclose(y, [X[0, :2].mean(axis=0), X[1].mean(axis=0), np.zeros(5)], rtol=1e-12)
    dy = RNG.standard_normal(y.shape)
    dx = MeanOverTokens().backward(dy, cache)
    np.testing.assert_allclose(dx[0], [dy[0] / 2, dy[0] / 2, np.zeros(5), np.zeros(5)])
    np.testing.assert_allclose(dx[1], [dy[1] / 4] * 4)
    assert not dx[2].any()


def test_a_long_sentence_has_a_mean_too():
    """More positions than a byte can count."""
    y, _ = MeanOverTokens().forward(np.ones((1, 300, 2)), np.ones((1, 300), bool))
    np.testing.assert_allclose(y, 1, rtol=1e-12)


def test_the_first_position_stands_for_the_sentence():
    y, cache = FirstToken().forward(X, REAL)
    np.testing.assert_array_equal(y, X[:, 0])
    dx = FirstToken().backward(y, cache)
    np.testing.assert_array_equal(dx[:, 0], y)
    assert dx.shape == X.shape and not dx[:, 1:].any()
