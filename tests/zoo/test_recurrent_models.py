"""Recurrent encoder-decoders: what the decoder knows of the source, decoding by its definition, and what does not fit."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from minitransformer import InputError, beam_search, functional as F, greedy, plugged
from minitransformer.decoding.state import EXTRA_LENGTH
from minitransformer.functional.special import BOS, EOS, PAD
from minitransformer.models import MODELS, Transformer, TransformerConfig
from minitransformer.zoo import baselines as R
from minitransformer.zoo.baselines import RecurrentConfig
from tests.library.decoding import reference
from tests.library.kernels.calls import counting
from tests.library.models.makers import RECURRENT, V, make_batch_for, make_model, random_ids

WITH_ATTENTION = ("lstm-attention",)


@pytest.mark.parametrize("kind, calls", [("lstm", 6), ("lstm-attention", 6 + 1)])
def test_dropout_is_where_it_belongs(kind, calls):
    """On what each layer reads and each stack returns, in encoder and decoder, and on what attention makes of a state."""
    mine = counting(F.dropout_mask)
    with plugged(F.dropout_mask, mine):
        make_model(kind, dropout=0.2, bidirectional=False).loss_forward(make_batch_for(kind), np.random.default_rng(0))
    assert mine.calls == calls


def sources(rng, count):
    found = [[*rng.integers(EOS + 1, V, size).tolist(), EOS] for size in rng.integers(1, 7, count)]
    return found, np.array([ids + [PAD] * (7 - len(ids)) for ids in found])


@pytest.mark.parametrize("kind", RECURRENT)
@given(seed=st.integers(0, 99), width=st.integers(1, 4), bidirectional=st.booleans(),
       share=st.booleans())
@settings(max_examples=4)
def test_search_is_its_definition(kind, seed, width, bidirectional, share):
    """The same tokens in the same order and scores within 1e-10, padded sources included."""
    model = make_model(kind, seed, bidirectional=bidirectional, share_output=share)
    model.flat.data[...] *= 2    # outputs that differ from source to source
    some, batch = sources(np.random.default_rng(seed), 3)
    for source, found in zip(some, beam_search(model, batch, width, 0.6, 0, 5)):
        expected = reference.beam_search(model, source[:-1], width, 0.6, 0, 5)
        assert [h.ids for h in found] == [tokens for tokens, _, _ in expected]
        np.testing.assert_allclose([(h.log_probability, h.score) for h in found], [rest for _, *rest in expected],
                                   rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", RECURRENT)
def test_hypotheses_are_reordered_and_sentences_kept(kind):
    """Each hypothesis continues its parent's, also after another sentence was dropped."""
    model, rng = make_model(kind), np.random.default_rng(0)
    source = random_ids(rng, 3, 4)
    source[1, 2:] = PAD
    state = model.start(source)
    assert state.first.tolist() == [[BOS]] * 3 and state.limit.tolist() == [3 + EXTRA_LENGTH, 1 + EXTRA_LENGTH, 3 + EXTRA_LENGTH]
    state.advance(state.first)
    targets, parents = np.full((3, 1, 1), BOS), np.zeros((3, 2), int)
    for step in range(4):
        ids = random_ids(rng, len(source), 2)
        targets = np.concatenate([np.take_along_axis(targets, parents[:, :, None], axis=1), ids[:, :, None]], axis=2)
        x = state.advance(ids, parents)
        for i, own in enumerate(targets):
            expected, _ = model.hidden(source[[i, i]], own)
            np.testing.assert_allclose(x[i], expected[:, -1], rtol=0, atol=1e-12)
        if step == 1:
            rows = np.array([2, 1])
            state.keep(rows)
            source, targets = source[rows], targets[rows]
        parents = rng.integers(0, 2, (len(source), 2))


@pytest.mark.parametrize("kind", RECURRENT)
@pytest.mark.parametrize("bidirectional", [True, False])
def test_padding_changes_nothing(kind, bidirectional):
    """Appended padding leaves logits, loss and every gradient as they were."""
    model, rng = make_model(kind, bidirectional=bidirectional), np.random.default_rng(0)
    source, target, following = (random_ids(rng, 3, 4) for _ in range(3))
    found = []
    for more in (0, 2):
        s, t, f = (np.pad(ids, [(0, 0), (0, more)], constant_values=PAD) for ids in (source, target, following))
        model.zero_grad()
        logits, cache = model.forward(s, t)
        loss, loss_cache = F.cross_entropy_forward(logits, f, 0.1, padding=PAD)
        model.backward(F.cross_entropy_backward(1.0, loss_cache), cache)
        found.append((logits[:, :4], loss, model.flat.grad.copy()))
    for one, other in zip(*found):
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", RECURRENT)
def test_a_source_of_padding_alone_gives_no_nan(kind):
    model = make_model(kind)
    source = np.array([[PAD, PAD], [4, 5]])
    logits, cache = model.forward(source, np.array([[1, 2], [3, PAD]]))
    model.backward(np.ones_like(logits), cache)
    assert np.isfinite(logits).all() and np.isfinite(model.flat.grad).all()
    assert len(greedy(model, source)) == 2


@pytest.mark.parametrize("kind", RECURRENT)
def test_a_source_and_a_target_of_one_token(kind):
    logits, _ = make_model(kind).forward(np.array([[EOS]]), np.array([[BOS]]))
    assert logits.shape == (1, 1, V)


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
    """With that of another source, an LSTM writes what it would write of the other; one with attention does not."""
    source, target = random_ids(np.random.default_rng(0), 2, 4), np.full((2, 3), BOS)
    for kind in RECURRENT:
        model = make_model(kind)
        expected, _ = model.forward(source[::-1], target)
        assert np.allclose(with_two_context_vectors(model, source, target), expected) == (kind not in WITH_ATTENTION)


@pytest.mark.parametrize("kind", WITH_ATTENTION)
def test_the_weights_of_attention_are_shown(kind):
    model = make_model(kind)
    (weights,) = model.attention_weights(np.array([[3, 4, EOS, PAD]]), np.array([[BOS, 5]]))["cross"]
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
    """The same first weights with and without attention: what differs in a comparison is the attention."""
    config = RecurrentConfig.named("toy", V)
    plain, attending = (MODELS[kind](config, 3).parameters() for kind in ("lstm", "lstm-attention"))
    for name, parameter in plain.items():
        np.testing.assert_array_equal(parameter.data, attending[name].data)
    assert {name.partition(".")[0] for name in attending.keys() - plain.keys()} == {"readout"}


def test_the_size_for_multi30k_is_that_of_the_transformer():
    """Within 3 %, so that a comparison at equal size is a matter of two names."""
    sizes = [MODELS["lstm-attention"](RecurrentConfig.named("tiny", 6000)).num_parameters(),
             Transformer(TransformerConfig.named("tiny", 6000)).num_parameters()]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.03)


@pytest.mark.parametrize("changes, words", [
    (dict(num_layers=0), "num_layers is 0, expected a whole number of at least 1"),
    (dict(d_model=2.0), "d_model is 2.0, expected a whole"),
    (dict(d_model=7), "d_model is 7, expected an even number: half of it for each direction"),
    (dict(dropout=1.0), "dropout is 1.0, expected a number of at least 0 and below 1"),
    (dict(source_vocab=5), "share_embeddings needs one vocabulary"),
])
def test_wrong_settings_are_explained(changes, words):
    with pytest.raises(InputError, match=words):
        RecurrentConfig.named("toy", **{"vocab_size": V, **changes})


@pytest.mark.parametrize("call, words", [
    (lambda: RecurrentConfig.named("base", V), "unknown configuration 'base' of a recurrent model; choose from toy, tiny"),
    (lambda: make_model("lstm").forward(np.ones(3, int), np.ones((1, 2), int)), r"LSTMModel: source has shape \(3,\), expected"),
    (lambda: make_model("gru").forward(np.ones((2, 3), int), np.ones((1, 2), int)), r"GRUModel: target has shape \(1, 2\), exp"),
    (lambda: make_model("rnn").forward(np.full((1, 3), V), np.ones((1, 2), int)), f"token id {V}, expected 0 to {V - 1}"),
    (lambda: make_model("rnn").backward(np.ones((1, 2, V)), ()), "the cache is a tuple, expected the LogitsCache"),
])
def test_what_does_not_fit_is_explained(call, words):
    with pytest.raises(InputError, match=words):
        call()


@pytest.mark.parametrize("kind", [RecurrentConfig, TransformerConfig])
def test_changes_are_checked_before_the_vocabulary_is_known(kind):
    kind.check_changes("toy", num_layers=3)
    with pytest.raises(InputError, match="unknown configuration 'tony'"):
        kind.check_changes("tony")
    with pytest.raises(InputError, match="num_layers is 0"):
        kind.check_changes("toy", num_layers=0)
