"""The Transformer with other attention: decoding, padding, what does not fit."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from minitransformer import InputError, beam_search, greedy
from minitransformer.decoding.state import EXTRA_LENGTH
from minitransformer.functional.special import BOS, EOS, PAD
from minitransformer.models import Transformer, TransformerConfig
from tests.library.decoding import reference
from tests.library.models.makers import V, make_batch_for, make_model, random_ids

MODELS = {"restricted": {"attention": "restricted", "radius": 2}, "alone": {"attention": "restricted", "radius": 0},
          "additive": {"attention": "additive"}, "unscaled": {"attention": "unscaled"}}


def make(name, seed=0):
    return make_model("transformer", seed, **MODELS[name])


@pytest.mark.parametrize("name", MODELS)
@given(seed=st.integers(0, 99), width=st.integers(1, 4))
@settings(max_examples=4)
def test_search_is_its_definition(name, seed, width):
    """The same tokens in the same order and scores within 1e-10, padded sources included."""
    model = make(name, seed)
    model.flat.data[...] *= 1.5    # outputs that differ from source to source
    rng = np.random.default_rng(seed)
    some = [[*rng.integers(EOS + 1, V, size).tolist(), EOS] for size in rng.integers(1, 7, 3)]
    batch = np.array([ids + [PAD] * (7 - len(ids)) for ids in some])
    for source, found in zip(some, beam_search(model, batch, width, 0.6, 0, 5)):
        expected = reference.beam_search(model, source[:-1], width, 0.6, 0, 5)
        assert [h.ids for h in found] == [tokens for tokens, _, _ in expected]
        np.testing.assert_allclose([(h.log_probability, h.score) for h in found], [rest for _, *rest in expected],
                                   rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_an_output_may_be_that_much_longer_than_its_source(name):
    source = np.array([[4, 5, 6, EOS], [4, EOS, PAD, PAD], [EOS, PAD, PAD, PAD]])
    assert make(name).start(source).limit.tolist() == [3 + EXTRA_LENGTH, 1 + EXTRA_LENGTH, 0 + EXTRA_LENGTH]


@pytest.mark.parametrize("name", MODELS)
def test_padding_changes_nothing(name):
    """Appended padding leaves the loss and every gradient as they were, and a source of padding only gives no NaN."""
    model, batch = make(name), make_batch_for("transformer")
    found = []
    for more in (0, 3):
        source, target = (np.pad(ids, [(0, 0), (0, more)], constant_values=PAD) for ids in (batch.source, batch.target))
        model.zero_grad()
        logits, cache = model.forward(source, target)
        real = (np.arange(target.shape[1]) < batch.target.shape[1])[:, None] & (target != PAD)[..., None]
        model.backward(np.sin(np.arange(V)) * real, cache)
        found.append([(logits * real)[:, :batch.target.shape[1]], model.flat.grad.copy()])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-10 * max(1, np.abs(one).max()))
    source = np.array([[PAD, PAD], [4, 5]])
    logits, cache = model.forward(source, np.array([[1, 2], [3, PAD]]))
    model.backward(np.ones_like(logits), cache)
    assert np.isfinite(logits).all() and np.isfinite(model.flat.grad).all() and len(greedy(model, source)) == 2


@pytest.mark.parametrize("name", MODELS)
def test_no_position_sees_a_later_one(name):
    model, rng = make(name), np.random.default_rng(0)
    source, target = random_ids(rng, 2, 4), random_ids(rng, 2, 6)
    logits, _ = model.forward(source, target)
    changed = target.copy()
    changed[:, 3:] = (changed[:, 3:] + 3) % (V - 1) + 1
    other, _ = model.forward(source, changed)
    np.testing.assert_allclose(other[:, :3], logits[:, :3], rtol=0, atol=1e-12)
    assert np.abs(other[:, 3:] - logits[:, 3:]).max() > 1e-3


@pytest.mark.parametrize("name", MODELS)
def test_one_token(name):
    logits, _ = make(name).forward(np.array([[EOS]]), np.array([[BOS]]))
    assert logits.shape == (1, 1, V)


@pytest.mark.parametrize("name", MODELS)
def test_the_weights_of_attention_are_shown(name):
    """Rows of sum 1; nothing on padding, and nothing further away than the radius."""
    model = make(name)
    found = model.attention_weights(np.array([[3, 4, 5, 6, EOS, PAD]]), np.array([[BOS, 5, 7, 8]]))
    assert found.keys() == {"encoder", "decoder", "cross"}
    for layers in found.values():
        assert len(layers) == 2
        for weights in layers:
            np.testing.assert_allclose(weights[..., :5, :].sum(axis=-1), 1)    # a sixth query is padding
            assert weights.shape[-1] == 4 or not weights[..., 5].any()
    if name == "restricted":
        distance = np.arange(6) - np.arange(6)[:, None]
        assert not found["encoder"][0][..., abs(distance) > 2].any()
        assert not found["decoder"][0][..., (abs(distance) > 2)[:4, :4]].any()


def test_the_language_model_and_the_classifier_take_it():
    for kind in ("language-model", "classifier"):
        model = make_model(kind, attention="restricted", radius=1)
        ids = random_ids(np.random.default_rng(0), 2, 5)
        (weights,) = {name: layers[0] for name, layers in model.attention_weights(ids).items()}.values()
        assert weights[..., 2, 1].all() and weights[..., 2, 3].all() == (kind == "classifier") and not weights[..., 2, 0].any()


def test_the_seed_makes_the_same_weights_for_each_attention_without_its_own():
    """What differs in a comparison is the attention."""
    scaled, unscaled, restricted = (
        Transformer(TransformerConfig.named("toy", V, attention=kind, radius=3 if kind == "restricted" else None)).flat.data
        for kind in ("scaled", "unscaled", "restricted"))
    np.testing.assert_array_equal(scaled, unscaled)
    np.testing.assert_array_equal(scaled, restricted)


@pytest.mark.parametrize("changes, words", [
    (dict(attention="additve"), "unknown attention 'additve'; did you mean additive"),
    (dict(attention="restricted"), "radius is None, expected a whole number of at least 0"),
    (dict(attention="restricted", radius=-1), "radius is -1, expected a whole number of at least 0"),
    (dict(radius=3), "radius is 3, but only restricted attention has one, and attention is scaled"),
])
def test_wrong_settings_are_explained(changes, words):
    with pytest.raises(InputError, match=words):
        TransformerConfig.named("toy", **{"vocab_size": V, **changes})
