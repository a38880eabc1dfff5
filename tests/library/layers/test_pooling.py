"""From the positions of a sentence to one vector: padding has no effect. Their gradients:
test_contract.py.
"""

import numpy as np

from minitransformer.layers import FirstToken, MeanOverTokens

X = np.random.default_rng(0).standard_normal((3, 4, 5))
REAL = np.array([[True, True, False, False], [True] * 4, [False] * 4])


def test_the_mean_is_over_real_positions():
    y, _ = MeanOverTokens().forward(X, REAL)
    np.testing.assert_allclose(
        y, [X[0, :2].mean(axis=0), X[1].mean(axis=0), np.zeros(5)], rtol=1e-12
    )
    y, _ = MeanOverTokens().forward(
        np.ones((1, 300, 2)), np.ones((1, 300), bool)
    )  # more than a byte can count
    np.testing.assert_allclose(y, 1, rtol=1e-12)


def test_the_first_position_stands_for_the_sentence():
    np.testing.assert_array_equal(FirstToken().forward(X, REAL)[0], X[:, 0])
