"""Multi-head attention and its inputs."""

import numpy as np
import pytest

from minitransformer.layers import MultiHeadAttention

B, T_Q, T_K, D = 2, 3, 4, 6


@pytest.fixture
def attention():
    return MultiHeadAttention(D, 2, np.random.default_rng(0)).astype(np.float64)


def arrays(*lengths):
    rng = np.random.default_rng(1)
    return [rng.standard_normal((B, length, D)) for length in lengths]


def test_one_head_is_the_formula():
    """Against softmax(Q K^T / sqrt(d_k)) V written out with loops."""
    layer = MultiHeadAttention(D, 1, np.random.default_rng(0), d_k=5, d_v=3).astype(np.float64)
    query, key, value = arrays(T_Q, T_K, T_K)
    y, _ = layer.forward(query, key, value)
    q, k, v = (part.forward(x)[0] for part, x in
               ((layer.query, query), (layer.key, key), (layer.value, value)))
    for b in range(B):
        for t in range(T_Q):
            weights = np.exp([q[b, t] @ k[b, s] / np.sqrt(5) for s in range(T_K)])
            head = sum(w * v[b, s] for s, w in enumerate(weights / weights.sum()))
            np.testing.assert_allclose(y[b, t], layer.output.forward(head[None])[0][0], rtol=1e-12)


def test_a_query_that_may_attend_to_nothing(attention):
    """Its output is the output layer's bias, and it neither receives nor sends a gradient."""
    query, key, value = arrays(T_Q, T_K, T_K)
    mask = np.ones((B, 1, T_Q, T_K), bool)
    mask[0, 0, 1] = False
    y, cache = attention.forward(query, key, value, mask)
    np.testing.assert_array_equal(y[0, 1], attention.output.bias.data)
    dy = np.zeros_like(y)
    dy[0, 1] = 1
    for gradient in attention.backward(dy, cache):
        assert not gradient.any()
