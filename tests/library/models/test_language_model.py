"""The language model: no position sees a later one, and writing token by token is what `forward` computes."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from minitransformer import InputError
from minitransformer.models import LanguageModelConfig
from minitransformer.functional.special import PAD
from tests.library.models.makers import V, make_model, random_ids

EITHER = [dict(pre_norm=pre_norm, positions=positions) for pre_norm in (False, True)
          for positions in ("sinusoidal", "learned")]


@pytest.mark.parametrize("changes", EITHER, ids=lambda changes: "-".join(map(str, changes.values())))
@given(seed=st.integers(0, 99), batch=st.integers(1, 3), length=st.integers(1, 7), data=st.data())
@settings(max_examples=8)
def test_causality(changes, seed, batch, length, data):
    """Changing the tokens after position t changes no logit up to t, and does change a later one."""
    model = make_model("language-model", seed, **changes)
    ids = random_ids(np.random.default_rng(seed), batch, length)
    t = data.draw(st.integers(0, length - 1))
    changed = ids.copy()
    changed[:, t + 1:] = changed[:, t + 1:] % (V - 1) + 1
    before, after = model.forward(ids)[0], model.forward(changed)[0]
    np.testing.assert_allclose(after[:, :t + 1], before[:, :t + 1], rtol=0, atol=1e-12)
    if t + 1 < length:
        assert np.abs(after[:, t + 1:] - before[:, t + 1:]).max() > 1e-4


def test_an_earlier_token_moves_every_later_position():
    model = make_model("language-model")
    ids = np.array([[3, 4, 5, 6]])
    moved = np.abs(model.forward(np.array([[7, 4, 5, 6]]))[0] - model.forward(ids)[0]).max(axis=-1)
    assert (moved > 1e-4).all()


def test_padding_behind_the_text_changes_nothing():
    model = make_model("language-model")
    ids = random_ids(np.random.default_rng(0), 2, 5)
    np.testing.assert_allclose(model.forward(np.pad(ids, [(0, 0), (0, 3)], constant_values=PAD))[0][:, :5],
                               model.forward(ids)[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("changes", EITHER, ids=lambda changes: "-".join(map(str, changes.values())))
@given(seed=st.integers(0, 99), batch=st.integers(1, 3), read=st.integers(1, 5), written=st.integers(1, 6))
@settings(max_examples=8)
def test_advancing_is_forward(changes, seed, batch, read, written):
    """The state's logits after each token are those of `forward` over the complete text, at that position."""
    model = make_model("language-model", seed, max_length=11, **changes)
    ids = random_ids(np.random.default_rng(seed), batch, read + written)
    expected, _ = model.forward(ids)
    state = model.start(ids[:, :read])
    np.testing.assert_array_equal(state.first, ids[:, read - 1:read])
    for position in range(read - 1, read + written):
        x = state.advance(ids[:, position:position + 1])
        logits, _ = state.output.forward(x)
        np.testing.assert_allclose(logits[:, 0], expected[:, position], rtol=0, atol=1e-12)


@given(seed=st.integers(0, 99), width=st.integers(1, 3), data=st.data())
@settings(max_examples=8)
def test_hypotheses_are_reordered_and_sentences_kept(seed, width, data):
    """Each hypothesis continues its parent's text, also after other sentences were dropped."""
    model = make_model("language-model", seed, pre_norm=True)
    rng = np.random.default_rng(seed)
    prompt = random_ids(rng, 3, 2)
    state = model.start(prompt)
    state.advance(state.first)
    texts = prompt[:, None, :]                                     # (B, width, T)
    parents = np.zeros((3, width), int)
    for step in range(4):
        tokens = random_ids(rng, len(texts), width)
        texts = np.concatenate([np.take_along_axis(texts, parents[:, :, None], axis=1), tokens[:, :, None]], axis=2)
        x = state.advance(tokens, parents)
        for row, some in enumerate(texts):
            expected, _ = model.hidden(some)
            np.testing.assert_allclose(x[row], expected[:, -1], rtol=0, atol=1e-12)
        if step == 1:
            rows = np.array([0, 2]) if data.draw(st.booleans()) else np.array([2, 1])
            state.keep(rows)
            texts = texts[rows]
        parents = rng.integers(0, width, (len(texts), width))


@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_the_limit_is_what_the_positions_leave(positions):
    """A prompt of three tokens ends at position 2; eight positions leave five more, and no others were trained."""
    state = make_model("language-model", positions=positions, max_length=8).start(np.array([[3, 4, 5]] * 2))
    assert state.limit.tolist() == [8 - 3] * 2


@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_a_prompt_may_fill_all_positions_but_no_more(positions):
    model = make_model("language-model", positions=positions, max_length=4)
    assert model.start(np.ones((1, 4), int)).limit.tolist() == [0]
    with pytest.raises(InputError, match="the prompt has 5 tokens, but the model has 4 positions"):
        model.start(np.ones((1, 5), int))


def test_an_empty_prompt_is_explained():
    with pytest.raises(InputError, match="the prompt is empty, expected at least one token"):
        make_model("language-model").start(np.empty((1, 0), int))


def test_the_output_has_the_embeddings_weight():
    model = make_model("language-model")
    assert model.output.weight is model.embedding.weight is model.loss.weight
    assert next(iter(model.parameters())) == "embedding.weight"
    assert model.num_parameters() == sum(p.data.size for p in {id(p): p for p in model.parameters().values()}.values())


def test_attention_looks_back_only():
    weights = make_model("language-model").attention_weights(np.array([[3, 4, 5]]))
    assert weights.keys() == {"decoder"} and [w.shape for w in weights["decoder"]] == [(1, 3, 3, 3)] * 2
    for layer in weights["decoder"]:
        assert (np.triu(layer, 1) == 0).all() and (np.tril(layer) > 0).sum() == 3 * 6


@pytest.mark.parametrize("changes, words", [
    (dict(vocab_size=0), "vocab_size is 0"), (dict(positions="none"), "positions is 'none'"),
])
def test_wrong_settings_are_explained(changes, words):
    with pytest.raises(InputError, match=words):
        LanguageModelConfig.named("toy", **{"vocab_size": V, **changes})


def test_wrong_ids_are_explained():
    with pytest.raises(InputError, match=r"LanguageModel: ids has shape \(3,\), expected \(B, T\)"):
        make_model("language-model").forward(np.array([1, 2, 3]))
