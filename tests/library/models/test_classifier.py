"""The classifier: padding changes nothing, every real position counts, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from minitransformer.data.batches import pad
from minitransformer.data.special import PAD
from tests.helpers.models import CLASSES, make_model, random_ids


@pytest.mark.parametrize("pooling", ["mean", "first"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@given(
    pre_norm=st.booleans(),
    seed=st.integers(0, 99),
    lengths=st.lists(st.integers(1, 7), min_size=2, max_size=4),
)
@settings(max_examples=8)
def test_a_sentence_alone_and_in_a_batch(pooling, positions, pre_norm, seed, lengths):
    """The same logits, no matter how much padding the longest sentence in the batch causes."""
    model = make_model("classifier", seed, pooling=pooling, positions=positions, pre_norm=pre_norm)
    rng = np.random.default_rng(seed)
    sentences = [random_ids(rng, length).tolist() for length in lengths]
    together, _ = model.forward(np.pad(pad(sentences), [(0, 0), (0, 2)], constant_values=PAD))
    for logits, sentence in zip(together, sentences):
        alone, _ = model.forward(np.array([sentence]))
        np.testing.assert_allclose(logits, alone[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_every_position_counts_in_either_direction(pooling):
    """There is no causal mask: a changed token changes the logits wherever it is, even at the first
    position.
    """
    model = make_model("classifier", pooling=pooling)
    ids = np.array([[3, 4, 5, 6]])
    before, _ = model.forward(ids)
    for place in range(4):
        changed = ids.copy()
        changed[0, place] += 4
        assert np.abs(model.forward(changed)[0] - before).max() > 1e-4


def test_a_sentence_of_padding_alone_gives_no_nan():
    for pooling in ("mean", "first"):
        model = make_model("classifier", pooling=pooling)
        logits, cache = model.forward(np.array([[PAD, PAD], [3, PAD]]))
        model.backward(np.ones_like(logits), cache)
        assert (
            logits.shape == (2, CLASSES)
            and np.isfinite(logits).all()
            and np.isfinite(model.flat.grad).all()
        )
