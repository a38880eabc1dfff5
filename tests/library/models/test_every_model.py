"""Every model that writes: padding changes nothing, no position sees a later one, and a search is
its definition.
"""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from minitransformer import InputError, beam_search, greedy
from minitransformer.decoding.state import EXTRA_LENGTH
from minitransformer.functional import cross_entropy_backward, cross_entropy_forward
from minitransformer.data.special import BOS, EOS, PAD
from tests.helpers import decoding as reference
from tests.helpers.models import OTHER_ATTENTION, RECURRENT, V, make_model, random_ids

EITHER = [
    dict(pre_norm=pre_norm, positions=positions, max_length=99)
    for pre_norm in (False, True)
    for positions in ("sinusoidal", "learned")
]
WITH_A_SOURCE = {  # {name: its kind and what is changed}
    **{f"transformer {i}": ("transformer", changes) for i, changes in enumerate(EITHER)},
    **{name: ("transformer", changes) for name, changes in OTHER_ATTENTION.items()},
    **{
        f"{kind}, {ways}": (
            kind,
            {"bidirectional": ways == "both ways", "share_output": ways == "one way"},
        )
        for kind in RECURRENT
        for ways in ("one way", "both ways")
    },
}
MODELS = {
    **WITH_A_SOURCE,
    **{f"language model {i}": ("language-model", changes) for i, changes in enumerate(EITHER)},
}


def make(name, seed=0):
    kind, changes = MODELS[name]
    return make_model(kind, seed, **changes)


def of_each(models, examples=4):
    """A test of each of these models, with hypothesis's seeds, batch sizes and lengths."""
    drawn = dict(
        seed=st.integers(0, 99),
        batch=st.integers(1, 3),
        t_k=st.integers(1, 5),
        t_q=st.integers(1, 6),
        data=st.data(),
    )
    return lambda test: pytest.mark.parametrize("name", models)(
        settings(max_examples=examples)(given(**drawn)(test))
    )


def arguments(name, source, ids):
    return (source, ids) if name in WITH_A_SOURCE else (ids,)


@of_each(MODELS)
def test_causality(name, seed, batch, t_k, t_q, data):
    """Changing the tokens after position t changes no logit up to t, and does change a later one."""
    model, rng = make(name, seed), np.random.default_rng(seed)
    source, ids, t = (
        random_ids(rng, batch, t_k),
        random_ids(rng, batch, t_q),
        data.draw(st.integers(0, t_q - 1)),
    )
    changed = ids.copy()
    changed[:, t + 1 :] = changed[:, t + 1 :] % (V - 1) + 1
    before, after = (model.forward(*arguments(name, source, one))[0] for one in (ids, changed))
    np.testing.assert_allclose(after[:, : t + 1], before[:, : t + 1], rtol=0, atol=1e-12)
    assert t + 1 == t_q or np.abs(after[:, t + 1 :] - before[:, t + 1 :]).max() > 1e-3


@of_each(MODELS)
def test_padding_changes_nothing(name, seed, batch, t_k, t_q, data):
    """Appended padding leaves logits, loss, count and every gradient as they were."""
    model, rng, more = make(name, seed), np.random.default_rng(seed), data.draw(st.integers(1, 3))
    texts, found = [random_ids(rng, batch, length) for length in (t_k, t_q, t_q)], []
    for padding in (0, more):
        source, target, following = (
            np.pad(ids, [(0, 0), (0, padding)], constant_values=PAD) for ids in texts
        )
        model.zero_grad()
        logits, cache = model.forward(*arguments(name, source, target))
        loss, loss_cache = cross_entropy_forward(logits, following, 0.1, padding=PAD)
        model.backward(cross_entropy_backward(1.0, loss_cache), cache)
        found.append((logits[:, :t_q], loss, loss_cache.count, model.flat.grad.copy()))
    for one, other in zip(*found):
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-12 * max(1, np.abs(one).max()))


@pytest.mark.parametrize("name", WITH_A_SOURCE)
def test_a_source_of_padding_alone_gives_no_nan(name):
    model, source = make(name), np.array([[PAD, PAD], [4, 5]])
    logits, cache = model.forward(source, np.array([[1, 2], [3, PAD]]))
    model.backward(np.ones_like(logits), cache)
    assert (
        np.isfinite(logits).all()
        and np.isfinite(model.flat.grad).all()
        and len(greedy(model, source)) == 2
    )


@of_each([name for name in WITH_A_SOURCE if not name.startswith("transformer")], 2)
def test_search_is_its_definition(name, seed, batch, t_k, t_q, data):
    """The same tokens in the same order and scores within 1e-10, padded sources included; of the
    Transformer: test_beam.py.
    """
    model, rng = make(name, seed), np.random.default_rng(seed)
    model.flat.data[...] *= 1.5  # outputs that differ from source to source
    some = [[*rng.integers(EOS + 1, V, size).tolist(), EOS] for size in rng.integers(1, 7, 3)]
    padded, width = (
        np.array([ids + [PAD] * (7 - len(ids)) for ids in some]),
        data.draw(st.integers(1, 4)),
    )
    for source, found in zip(some, beam_search(model, padded, width, 0.6, 0, 5)):
        expected = reference.beam_search(model, source[:-1], width, 0.6, 0, 5)
        assert [h.ids for h in found] == [tokens for tokens, _, _ in expected]
        np.testing.assert_allclose(
            [(h.log_probability, h.score) for h in found],
            [rest for _, *rest in expected],
            rtol=0,
            atol=1e-10,
        )


@of_each(MODELS)
def test_one_position_at_a_time_is_all_at_once(name, seed, batch, t_k, t_q, data):
    """Hidden states, while hypotheses continue any of the previous ones and a sentence is dropped."""
    model, rng, width = make(name, seed), np.random.default_rng(seed), data.draw(st.integers(1, 3))
    source = random_ids(rng, 3, 4)
    if name in WITH_A_SOURCE:
        source[1, 2:] = PAD
    state = model.start(source)
    texts, ids, parents = (
        (np.full((3, 1, 0), BOS) if name in WITH_A_SOURCE else source[:, None, :-1]),
        state.first,
        None,
    )
    assert state.first.tolist() == (
        [[BOS]] * 3 if name in WITH_A_SOURCE else source[:, -1:].tolist()
    )
    for step in range(5):
        before = (
            texts if parents is None else np.take_along_axis(texts, parents[:, :, None], axis=1)
        )
        texts = np.concatenate([before, ids[:, :, None]], axis=2)
        x = state.advance(ids, parents)
        for i, own in enumerate(texts):
            expected, _ = model.hidden(*arguments(name, source[[i] * len(own)], own))
            np.testing.assert_allclose(x[i], expected[:, -1], rtol=0, atol=1e-12)
        if step == 2:
            rows = np.array(data.draw(st.sampled_from([[0, 2], [2, 1]])))
            state.keep(rows)
            source, texts = source[rows], texts[rows]
        parents = rng.integers(0, texts.shape[1], (len(texts), width))
        ids = random_ids(rng, len(texts), width)


@pytest.mark.parametrize("name", WITH_A_SOURCE)
def test_the_limit_is_what_the_source_leaves(name):
    """So many tokens more than the source has, without EOS and padding."""
    source = np.array([[4, 5, 6, EOS], [4, EOS, PAD, PAD], [EOS, PAD, PAD, PAD]])
    assert make(name).start(source).limit.tolist() == [
        3 + EXTRA_LENGTH,
        1 + EXTRA_LENGTH,
        EXTRA_LENGTH,
    ]


@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_a_prompt_may_fill_all_positions_but_no_more(positions):
    """A prompt of three tokens leaves one of four positions; no others were trained."""
    model = make_model("language-model", positions=positions, max_length=4)
    assert [model.start(np.ones((2, length), int)).limit.tolist() for length in (3, 4)] == [
        [1, 1],
        [0, 0],
    ]
    with pytest.raises(InputError, match="the prompt has 5 tokens, but the model has 4 positions"):
        model.start(np.ones((1, 5), int))


def test_the_output_of_a_language_model_has_the_embeddings_weight():
    model = make_model("language-model")
    assert model.output.weight is model.embedding.weight
    assert next(iter(model.parameters())) == "embedding.weight"
    assert model.num_parameters() == sum(
        p.data.size for p in {id(p): p for p in model.parameters().values()}.values()
    )
