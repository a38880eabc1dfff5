"""Samples follow the model's distribution, restricted as requested, and depend only on the
sentence's own generator.
"""

import numpy as np
import pytest

from minitransformer import greedy, sample
from minitransformer.data.batches import pad
from minitransformer.decoding.sampling import draw
from minitransformer.data.special import EOS
from tests.helpers import decoding as reference
from tests.helpers.decoding import random_model

SOURCES = [[3, 4, 5], [8], [5, 5, 7, 3]]


def batch(sources):
    return pad([[*source, EOS] for source in sources])


def rngs(seeds=range(3)):
    return [np.random.default_rng(seed) for seed in seeds]


def first_tokens(model, **options):
    """How often, out of 4,000, each token was drawn first; an output without tokens counts as EOS."""
    (found,) = sample(model, batch(SOURCES[:1]), rngs([7]), count=4000, max_length=1, **options)
    return (
        np.bincount([(h.ids or [EOS])[0] for h in found], minlength=model.config.target_vocab)
        / 4000
    )


@pytest.mark.parametrize(
    "temperature, cut",
    [(1.0, dict()), (0.5, dict(top_k=3)), (2.0, dict(top_p=0.7)), (2.0, dict(top_k=4, top_p=0.5))],
)
def test_frequencies_are_the_models(temperature, cut):
    model = random_model(1)
    log_p = reference.log_probabilities(model, SOURCES[0], [])[0]
    log_p[:EOS] = -np.inf
    p = np.exp(log_p / temperature)
    order = np.argsort(-p)
    p[order[cut.get("top_k", len(p)) :]] = 0
    p /= p.sum()
    kept = np.cumsum(p[order]) - p[order] < cut.get("top_p", 1)
    p[order[~kept]] = 0
    p /= p.sum()
    frequencies = first_tokens(model, temperature=temperature, **cut)
    assert np.abs(frequencies - p).max() < 4.5 * 0.5 / np.sqrt(4000)  # standard deviations
    assert not frequencies[p == 0].any()


def test_tokens_that_reach_top_p_exactly_are_enough():
    logits, draws = np.zeros((4, 2)), np.array([0, 0.3, 0.6, 0.9])
    assert draw(logits, draws, 1.0, 0, 1.0)[0].tolist() == [0, 0, 1, 1]
    assert draw(logits, draws, 1.0, 0, 0.5)[0].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("cut", [dict(top_k=1), dict(top_p=1e-9), dict(temperature=1e-3)])
def test_the_narrowest_cut_is_greedy(cut):
    model = random_model(2)
    found = sample(model, batch(SOURCES), rngs(), **cut)
    assert [best.ids for (best,) in found] == greedy(model, batch(SOURCES))


def test_log_probabilities_are_those_of_teacher_forcing():
    model = random_model(2)
    for source, hypotheses in zip(
        SOURCES, sample(model, batch(SOURCES), rngs(), 4, 1.5, top_k=4, max_length=8)
    ):
        assert len(hypotheses) == 4
        for h in hypotheses:
            assert h.log_probability == pytest.approx(
                reference.rescore(model, source, h.ids), abs=1e-10
            )


def test_the_likeliest_comes_first():
    """And many of them differ."""
    for found in sample(random_model(2), batch(SOURCES), rngs(), 20):
        scores = [h.score for h in found]
        assert scores == sorted(scores, reverse=True) and len(set(scores)) > 5
        assert scores == [h.log_probability for h in found]


def test_a_least_length_is_kept():
    model = random_model(2)
    for least, shortest in ((0, 0), (4, 4)):
        samples = sample(
            model, batch(SOURCES), rngs(), 20, temperature=50, min_length=least, max_length=6
        )
        assert min(len(h.ids) for found in samples for h in found) == shortest


def test_a_draw_does_not_depend_on_the_batch():
    model = random_model(2)
    together = sample(model, batch(SOURCES), rngs(), 2)
    alone = [
        sample(model, batch([source]), rngs([seed]), 2)[0] for seed, source in enumerate(SOURCES)
    ]
    assert [[h.ids for h in found] for found in together] == [
        [h.ids for h in found] for found in alone
    ]
    assert len({tuple(h.ids) for found in together for h in found}) > 3
