"""Restricted self-attention is full attention under a band mask, without the T x T scores; other
scores are their definition.
"""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from minitransformer import InputError
from minitransformer.layers import SelfAttention
from minitransformer.zoo.baselines import (
    AdditiveSelfAttention,
    RestrictedSelfAttention,
    UnscaledSelfAttention,
)
from tests.helpers.randomised import randomised

D, H, D_K, D_V = 6, 3, 2, 4


def make(radius, causal=False, kind=RestrictedSelfAttention):
    own = (radius, causal) if kind is RestrictedSelfAttention else ()
    return randomised(kind(D, H, np.random.default_rng(0), *own, D_K, D_V))


def band(length, radius, causal):
    distance = np.arange(length) - np.arange(length)[:, None]
    return (abs(distance) <= radius) & ((distance <= 0) | (not causal))


@given(
    length=st.integers(1, 23),
    radius=st.integers(0, 30),
    causal=st.booleans(),
    padded=st.booleans(),
    seed=st.integers(0, 99),
)
@settings(max_examples=20)
def test_it_is_full_attention_under_a_band(length, radius, causal, padded, seed):
    """Outputs, weights and every gradient, to rounding."""
    restricted, full = make(radius, causal), make(None, kind=SelfAttention)
    rng = np.random.default_rng(seed)
    x, dy = rng.standard_normal((2, 2, length, D))
    real = rng.random((2, 1, 1, length)) < 0.6 if padded else np.ones((2, 1, 1, length), bool)
    y, cache = restricted.forward(x, real if padded else None)
    expected, full_cache = full.forward(x, band(length, radius, causal) & real)
    near = dict(rtol=0, atol=1e-13)
    np.testing.assert_allclose(y, expected, **near)
    np.testing.assert_allclose(restricted.attended(cache), full.attended(full_cache), **near)
    np.testing.assert_allclose(
        restricted.backward(dy, cache), full.backward(dy, full_cache), **near
    )
    for one, other in zip(
        restricted.parameters().values(), full.parameters().values(), strict=True
    ):
        np.testing.assert_allclose(one.grad, other.grad, rtol=0, atol=1e-12)


def test_memory_grows_with_the_length_and_not_with_its_square():
    """At four times the length four times the memory, forward and backward; the T x T scores alone
    would take sixteen.
    """
    layer = RestrictedSelfAttention(8, 1, np.random.default_rng(0), 16)

    def peak(length):
        x = np.ones((1, length, 8), np.float32)
        tracemalloc.start()
        y, cache = layer.forward(x)
        layer.backward(y, cache)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(64)  # what is made once
    assert peak(4096) / peak(1024) == pytest.approx(4, rel=0.05)
    assert peak(4096) < 4096 * 4096 * 4 / 4


@pytest.mark.parametrize("kind", [AdditiveSelfAttention, UnscaledSelfAttention])
def test_the_scores_of_each_head(kind):
    """w . tanh(q + k), and q . k without the division, head by head."""
    layer, x = make(None, kind=kind), np.random.default_rng(0).standard_normal((1, 4, D))
    _, cache = layer.forward(x)
    q, k = (part.forward(x)[0][0].reshape(4, H, D_K) for part in (layer.query, layer.key))
    for h, i in np.ndindex(H, 4):
        scores = [
            q[i, h] @ k[j, h]
            if kind is UnscaledSelfAttention
            else layer.weight.data @ np.tanh(q[i, h] + k[j, h])
            for j in range(4)
        ]
        np.testing.assert_allclose(
            layer.attended(cache)[0, h, i], np.exp(scores) / np.exp(scores).sum(), rtol=1e-12
        )


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: make(-1), "radius is -1, expected a whole number of at least 0"),
        (lambda: make(1.5), "radius is 1.5, expected a whole number of at least 0"),
        (
            lambda: make(1).forward(np.ones((2, 5, D)), np.ones((2, 1, 1, 5))),
            "mask has dtype float64, expected bool",
        ),
    ],
)
def test_what_does_not_fit_is_explained(call, words):
    with pytest.raises(InputError, match=words):
        call()
