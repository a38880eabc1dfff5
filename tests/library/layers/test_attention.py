"""Multi-head attention and its inputs."""

import numpy as np

from minitransformer.layers import MultiHeadAttention

B, T_Q, T_K, D = 2, 3, 4, 6


def arrays(*lengths):
    rng = np.random.default_rng(1)
    return [rng.standard_normal((B, length, D)) for length in lengths]


def test_one_head_is_the_formula():
    """Against softmax(Q K^T / sqrt(d_k)) V written out with loops."""
    layer = MultiHeadAttention(D, 1, np.random.default_rng(0), d_k=5, d_v=3).astype(np.float64)
    query, key, value = arrays(T_Q, T_K, T_K)
    y, _ = layer.forward(query, key, value)
    q, k, v = (
        part.forward(x)[0]
        for part, x in ((layer.query, query), (layer.key, key), (layer.value, value))
    )
    for b in range(B):
        for t in range(T_Q):
            weights = np.exp([q[b, t] @ k[b, s] / np.sqrt(5) for s in range(T_K)])
            head = sum(w * v[b, s] for s, w in enumerate(weights / weights.sum()))
            np.testing.assert_allclose(y[b, t], layer.output.forward(head[None])[0][0], rtol=1e-12)
