"""Cached, batched search against decoding by definition, in float64."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitransformer import InputError, Parameter, beam_search, greedy, sample
from minitransformer.data.batches import pad
from minitransformer.decoding.hypothesis import compact_rows
from minitransformer.decoding.state import EXTRA_LENGTH
from minitransformer.layers import OutputProjection
from minitransformer.data.special import BOS, EOS
from tests.helpers import decoding as reference
from tests.helpers.decoding import random_model
from tests.helpers.models import KINDS, make_model


models = st.builds(
    random_model,
    seed=st.integers(0, 50),
    num_layers=st.integers(1, 2),
    pre_norm=st.booleans(),
    positions=st.sampled_from(["sinusoidal", "learned"]),
    d_k=st.sampled_from([None, 5]),
    d_v=st.sampled_from([None, 3]),
    vocab_size=st.integers(4, 12),
    share_output=st.booleans(),
    activation=st.sampled_from(["relu", "gelu"]),
)


def sources(model, rng, count):
    return [
        rng.integers(EOS + 1, len(model.output.weight.data), size=length).tolist()
        for length in rng.integers(1, 7, size=count)
    ]


def batch(found):
    return pad([[*source, EOS] for source in found])


@given(
    models,
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(0, 3),
    st.integers(3, 7),
    st.sampled_from([0.0, 0.6, 1.3]),
    st.integers(0, 100),
)
def test_search_is_its_definition(model, size, width, least, most, alpha, seed):
    """The same tokens in the same order, log-probabilities and scores within 1e-10."""
    some = sources(model, np.random.default_rng(seed), size)
    found = beam_search(model, batch(some), width, alpha, least, most)
    for source, hypotheses in zip(some, found):
        expected = reference.beam_search(model, source, width, alpha, least, most)
        assert [h.ids for h in hypotheses] == [tokens for tokens, _, _ in expected]
        np.testing.assert_allclose(
            [(h.log_probability, h.score) for h in hypotheses],
            [rest for _, *rest in expected],
            rtol=0,
            atol=1e-10,
        )


@settings(max_examples=8)
@given(models, st.integers(1, 4), st.integers(0, 100))
def test_a_beam_of_one_is_greedy(model, size, seed):
    some = sources(model, np.random.default_rng(seed), size)
    expected = [reference.greedy(model, source, len(source) + EXTRA_LENGTH) for source in some]
    assert greedy(model, batch(some)) == expected


class Stutterer:
    """A model that writes token 4 again and again, each time with probability 0.98, or ends (0.02),
    and ends after five.
    """

    def __init__(self):
        self.output = OutputProjection(6, 6, weight=Parameter(np.eye(6)))
        self.limit, self.first, self.written = np.array([50]), np.array([[BOS]]), 0

    def start(self, source):
        return self

    def advance(self, tokens, parents=None):
        log_p = np.full((*tokens.shape, 6), -30.0)
        end = 0.02 if self.written < 5 else 1 - 1e-9
        log_p[..., EOS], log_p[..., 4] = np.log(end), np.log1p(-end)
        self.written += 1
        return log_p

    def keep(self, rows):
        pass


@pytest.mark.parametrize("alpha", [0, 0.6])
@pytest.mark.parametrize("width", [2, 3, 5])
def test_short_outputs_do_not_end_the_search_for_a_likelier_one(width, alpha):
    """Each of them has a probability of at most 0.02, its own is 0.9, and `width` of them are
    finished before it is.
    """
    best, *others = beam_search(Stutterer(), np.array([[3, EOS]]), width, alpha)[0]
    assert (
        best.ids == [4] * 5
        and best.log_probability == pytest.approx(5 * np.log(0.98))
        and len(others) == width - 1
    )


def test_logits_whose_exponential_is_infinite():
    model = random_model(3, share_output=False)
    model.output.weight.data[...] *= 5000
    (source,) = sources(model, np.random.default_rng(0), 1)
    (found,) = beam_search(model, batch([source]), 3, 0.6, 0, 5)
    expected = reference.beam_search(model, source, 3, 0.6, 0, 5)
    assert [h.ids for h in found] == [tokens for tokens, _, _ in expected]
    assert np.isfinite([h.score for h in found]).all()


@pytest.mark.parametrize(
    "search",
    [
        lambda model, source: beam_search(model, source, 2),
        lambda model, source: sample(
            model, source, [np.random.default_rng(seed) for seed in range(2)]
        ),
    ],
    ids=["beam", "sample"],
)
@pytest.mark.parametrize("place", [0, 1])
def test_one_sentence_without_numbers_is_enough(search, place):
    """Only its source contains a token whose embedding is NaN."""
    model = random_model(0, share_embeddings=False)
    model.source_embedding.weight.data[7] = np.nan
    source = np.array([[3, 4, EOS]] * 2)
    search(model, source)
    source[place, 1] = 7
    with np.errstate(all="ignore"), pytest.raises(InputError, match="logits are not finite"):
        search(model, source)


def test_numbers_that_end_after_a_hypothesis_was_found():
    """The empty output is found at the first position; from the second one on, everything is NaN."""
    model, source = random_model(9, positions="learned"), batch([[3, 4]])
    assert [] in [h.ids for h in beam_search(model, source, 2)[0]]
    model.target_input.positions.weight.data[1:] = np.nan
    with np.errstate(all="ignore"), pytest.raises(InputError, match="logits are not finite"):
        beam_search(model, source, 2)


@pytest.mark.parametrize(
    "search",
    [
        lambda model, source: beam_search(model, source, 2, max_length=4),
        greedy,
        lambda model, source: sample(model, source, [np.random.default_rng(0)], max_length=4),
    ],
)
def test_a_model_that_can_never_end_is_explained(search):
    model = random_model(0, share_output=False)
    model.decoder.layers[-1].feed_forward_residual.norm.beta.data[0] = 100
    model.output.weight.data[EOS, 0] = -1e308  # finite, but the logit of EOS is always -inf
    with np.errstate(all="ignore"), pytest.raises(InputError, match="logits are not finite"):
        search(model, batch([[3, 4]]))


def test_the_rows_left_are_the_ones_not_done_and_seldom_move():
    done = np.array([0, 1, 0, 0, 1, 0, 1, 0], bool)
    assert compact_rows(done).tolist() == [0, 5, 2, 3, 7]
    assert compact_rows(~done).tolist() == [4, 1, 6]
    assert compact_rows(np.ones(3, bool)).tolist() == []


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 5])
def test_a_vocabulary_without_words(dtype, width):
    """Of three tokens only EOS can be written: the output is empty."""
    model = random_model(0, vocab_size=3).astype(dtype)
    source = np.array([[2, 2, 0], [2, 2, 2]])
    assert [[h.ids for h in found] for found in beam_search(model, source, width)] == [[[]], [[]]]
    with pytest.raises(
        InputError,
        match="the model has 3 target tokens, expected at least 3 .*, and more for an output that",
    ):
        beam_search(model, source, width, min_length=1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_beam_wider_than_the_candidates(dtype):
    """It finds what one of all outputs would, and does not compute what is not there."""
    model, computed = random_model(0, vocab_size=6).astype(dtype), []
    start, source = model.start, np.array([[3, 4, 2]])

    def counted(*given):
        state = start(*given)
        advance = state.advance
        state.advance = lambda ids, parents=None: (
            computed.append(ids.shape[1]) or advance(ids, parents)
        )
        return state

    model.start = counted
    found = beam_search(model, source, 200, 0.6, max_length=3)
    assert computed == [1, 3, 9, 27]
    expected = reference.beam_search(model.astype(np.float64), [3, 4], 200, 0.6, 0, 3)
    assert [h.ids for h in found[0]] == [tokens for tokens, _, _ in expected] and len(
        found[0]
    ) == 1 + 3 + 9 + 27


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "classifier"])
def test_nothing_to_write(kind):
    """No sentences have no outputs; sentences without a position are refused."""
    for model in (make_model(kind), make_model(kind).astype(np.float32)):
        assert beam_search(model, np.zeros((0, 3), int), 2) == []
        with pytest.raises(InputError, match="has no positions|the prompt is empty"):
            beam_search(model, np.zeros((2, 0), int), 2)
