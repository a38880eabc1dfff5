"""Decoding with the reader's own multi-head attention: the cache is not used, and the outputs stay
the same.
"""

import numpy as np
import pytest

from minitransformer import beam_search, generate, plugged
from minitransformer.functional import causal_mask, padding_mask, sinusoids
from minitransformer.layers import MultiHeadAttention
from minitransformer.data.special import PAD
from tests.helpers.models import make_model, random_ids


def own_attention(calls):
    """The textbook's forward, and a note of each call: whether it was the encoder's, or wrote
    position T.
    """

    def forward(layer, query, key, value, mask=None, rng=None):
        calls.append(query.shape[1])
        return MultiHeadAttention.forward.textbook(layer, query, key, value, mask, rng)

    return forward


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@pytest.mark.parametrize("width", [1, 3])
def test_beam_search_is_that_of_the_cache(positions, width):
    model = make_model("transformer", positions=positions, max_length=9)
    source = random_ids(np.random.default_rng(0), 4, 5)
    source[1, 3:] = source[2, 1:] = PAD  # sentences end at different positions, so rows are dropped
    expected, calls = beam_search(model, source, width, max_length=7), []
    with plugged(MultiHeadAttention.forward, own_attention(calls)):
        found = beam_search(model, source, width, max_length=7)
    assert max(calls) == max(len(best.ids) for best, *_ in expected) + 1 or max(calls) == 8
    for ours, theirs in zip(found, expected):
        assert [h.ids for h in ours] == [h.ids for h in theirs]
        np.testing.assert_allclose([h.score for h in ours], [h.score for h in theirs], rtol=1e-10)


def test_generation_is_that_of_the_cache():
    model = make_model("language-model", positions="learned", max_length=6)
    expected = list(generate(model, [3, 4, 5], 12, np.random.default_rng(0)))
    calls = []
    with plugged(MultiHeadAttention.forward, own_attention(calls)):
        assert list(generate(model, [3, 4, 5], 12, np.random.default_rng(0))) == expected
    assert max(calls) == 6  # it reads as many positions as there are, and no more


@pytest.mark.parametrize(
    "function, own",
    [
        (
            causal_mask,
            lambda ids: np.tri(ids.shape[1], dtype=bool) & ~np.tri(ids.shape[1], k=-2, dtype=bool),
        ),
        (padding_mask, lambda ids: ((ids != PAD) & (ids != 5))[:, None, None, :]),
        (
            sinusoids,
            lambda length, d_model, xp=np, dtype="float64": np.full(
                (length, d_model), 1 / length, dtype
            ),
        ),
    ],
)
@pytest.mark.parametrize("kind", ["transformer", "language-model"])
def test_masks_and_positions_of_your_own_hold_in_decoding_too(function, own, kind):
    """The state's hidden states are those that training would compute."""
    model = make_model(kind)
    source, ids = np.array([[3, 5, 4]]), np.array([[1, 7, 5, 8, 9]])
    inputs = (source, ids) if kind == "transformer" else (ids,)
    usual, _ = model.hidden(*inputs)
    with plugged(function, own):
        expected, _ = model.hidden(*inputs)
        state = model.start(source if kind == "transformer" else ids[:, :1])
        found = np.concatenate([state.advance(ids[:, [t]]) for t in range(ids.shape[1])], axis=1)
    assert np.abs(expected - usual).max() > 1e-3
    np.testing.assert_allclose(found[:, -1], expected[:, -1], rtol=1e-10)
