"""Recurrent encoder-decoders: what the decoder knows of the source, decoding by its definition, and
what does not fit.
"""

import numpy as np
import pytest

from minitransformer import InputError, functional as F, greedy, plugged
from minitransformer.data.special import BOS, EOS, PAD
from minitransformer.models import MODELS, TransformerConfig
from minitransformer.zoo import baselines as R
from minitransformer.zoo.baselines import RecurrentConfig
from tests.helpers.kernels import Counting
from tests.helpers.models import RECURRENT, V, make_batch_for, make_model, random_ids

WITH_ATTENTION = ("lstm-attention",)


@pytest.mark.parametrize("kind, calls", [("lstm", 6), ("lstm-attention", 6 + 1)])
def test_dropout_is_where_it_belongs(kind, calls, monkeypatch):
    """On what each layer reads and each stack returns, in encoder and decoder, and on what
    attention makes of a state.
    """
    mine = Counting(F.dropout_mask)
    monkeypatch.setattr("minitransformer.functional.dropout.dropout_mask", mine)
    make_model(kind, dropout=0.2, bidirectional=False).loss_forward(
        make_batch_for(kind), np.random.default_rng(0)
    )
    assert mine.calls == calls


def with_two_context_vectors(model, source, target):
    """Logits, when the decoder begins from the context vector of another source."""
    (_, other, _), (memory, _, cache) = model.encode(source[::-1]), model.encode(source)
    encode = model.encode
    model.encode = lambda source, rng=None: (memory, other, cache)
    try:
        return model.forward(source, target)[0]
    finally:
        model.encode = encode


def test_the_context_vector_is_all_that_the_decoder_knows():
    """With that of another source, an LSTM writes what it would write of the other; one with
    attention does not.
    """
    source, target = random_ids(np.random.default_rng(0), 2, 4), np.full((2, 3), BOS)
    for kind in RECURRENT:
        model = make_model(kind)
        expected, _ = model.forward(source[::-1], target)
        assert np.allclose(with_two_context_vectors(model, source, target), expected) == (
            kind not in WITH_ATTENTION
        )


@pytest.mark.parametrize("kind", WITH_ATTENTION)
def test_the_weights_of_attention_are_shown(kind):
    model = make_model(kind)
    (weights,) = model.attention_weights(np.array([[3, 4, EOS, PAD]]), np.array([[BOS, 5]]))[
        "cross"
    ]
    assert weights.shape == (1, 1, 2, 4) and not weights[..., 3].any()
    np.testing.assert_allclose(weights.sum(axis=-1), 1)


def test_a_step_of_your_own_runs_in_training_and_in_decoding():
    """No kernel, and no shortcut of decoding, bypasses it."""
    model, calls = make_model("lstm"), []
    batch = make_batch_for("lstm")

    def own(z, state, weight):
        calls.append(1)
        return R.lstm_step_forward.textbook(z, state, weight)

    expected = model.loss_forward(batch)[0].loss, greedy(model, batch.source)
    with plugged(R.lstm_step_forward, own):
        sums, cache = model.loss_forward(batch)
        model.loss_backward(1.0, cache)
        trained = len(calls)
        assert (pytest.approx(sums.loss, rel=1e-12), greedy(model, batch.source)) == expected
    assert trained and len(calls) > trained


def test_the_seed_makes_the_model_and_attention_adds_to_it():
    """The same first weights with and without attention: what differs in a comparison is the
    attention.
    """
    config = RecurrentConfig.named("toy", V)
    plain, attending = (MODELS[kind](config, 3).parameters() for kind in ("lstm", "lstm-attention"))
    for name, parameter in plain.items():
        np.testing.assert_array_equal(parameter.data, attending[name].data)
    assert {name.partition(".")[0] for name in attending.keys() - plain.keys()} == {"readout"}


@pytest.mark.parametrize("kind", [RecurrentConfig, TransformerConfig])
def test_changes_are_checked_before_the_vocabulary_is_known(kind):
    kind.smallest("toy", num_layers=3)
    with pytest.raises(InputError, match="unknown configuration 'tony'"):
        kind.smallest("tony")
    with pytest.raises(InputError, match="num_layers is 0"):
        kind.smallest("toy", num_layers=0)
