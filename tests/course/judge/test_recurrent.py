"""learn.lab.recurrent: the small recurrent models of the chapter about what came before attention."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from minitransformer import Transformer, TransformerConfig, make_batch
from minitransformer_course.lab import recurrent

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model():
    return recurrent.copier("lstm-attention", steps=120)


def test_it_learns_to_copy_short_words_first(model):
    shares = recurrent.copied(model)
    assert shares[0] > 0.9 and shares == sorted(shares, reverse=True)
    assert recurrent.copied(recurrent.copier("lstm", steps=0))[-1] == pytest.approx(1 / 8, abs=0.1)


@pytest.mark.parametrize("name", ["rnn", "lstm-attention", "transformer"])
def test_the_gradient_is_of_what_the_encoder_reads(monkeypatch, name):
    """By central differences: the first letter's loss when all that is read at one place moves."""
    small = (
        Transformer(TransformerConfig.named("toy", recurrent.LETTERS.size))
        if name == "transformer"
        else recurrent.copier(name, steps=0)
    ).astype(np.float64)
    pairs = recurrent.sentences(np.random.default_rng(1), 1, 4)
    found, batch = recurrent.first_letter_gradient(small, pairs), make_batch(pairs)
    usual, slopes = small.encoder.forward, np.zeros((4, small.config.d_model))

    def loss(place, axis, step):
        def moved(x, *others, **options):
            x = x.copy()
            x[0, place, axis] += step
            return usual(x, *others, **options)

        monkeypatch.setattr(small.encoder, "forward", moved)
        logits = small.forward(*batch.inputs)[0][0, 0]
        return np.log(np.exp(logits).sum()) - logits[batch.next_target[0, 0]]

    for place, axis in np.ndindex(slopes.shape):
        slopes[place, axis] = (loss(place, axis, 1e-5) - loss(place, axis, -1e-5)) / 2e-5
    assert found[::-1] == pytest.approx(
        np.linalg.norm(slopes, axis=1), rel=1e-6
    )  # the last letter comes first


def test_pictures_name_their_axes(model):
    _figure, panels = plt.subplots(1, 2)
    recurrent.show_distance(panels[0], {"RNN": np.array([1.0, 0.5])}, log=True)
    recurrent.show_copied(panels[1], {"lstm": [[1.0, 0.9, 0.5, 0.3]]})
    recurrent.show_attention(model, "beach")
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in (*panels, plt.figure(2).axes[0]))
