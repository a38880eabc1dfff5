"""Threads that share a batch compute what one computes, the same bits every time."""

import numpy as np
import pytest

from minitransformer import Adam, Transformer, TransformerConfig, make_batch, training_step
from minitransformer.data.batches import split
from minitransformer.functional import PAD
from minitransformer.training.team import Team

RNG = np.random.default_rng(0)
PAIRS = [(RNG.integers(3, 12, m).tolist(), RNG.integers(3, 12, n).tolist()) for m, n in [(2, 3), (5, 1), (4, 4), (7, 6), (1, 2)]]


def trained(step, dropout=0.0, steps=3):
    """Weights and losses after some steps; `step` makes one from (model, adam, number)."""
    model = Transformer(TransformerConfig.named("toy", 12, d_model=16, d_ff=24, dropout=dropout), seed=1)
    model = model.astype(np.float64)
    adam = Adam(model)
    take = step(model)
    losses = [take(adam, number) for number in range(1, steps + 1)]
    return adam.data, np.array(losses)


def by_team(threads):
    def step(model):
        team, batch = Team(model, threads), make_batch(PAIRS)
        return lambda adam, number: team.training_step(adam, [batch], 0.01, (7, number), smoothing=0.1, clip=0.5)
    return step


def by_one(model):
    batch = make_batch(PAIRS)
    return lambda adam, number: training_step(model, adam, batch, 0.01, smoothing=0.1, clip=0.5)


@pytest.mark.parametrize("threads", [1, 2, 3, 9])
def test_a_team_computes_what_one_computes(threads):
    one, team = trained(by_one), trained(by_team(threads))
    np.testing.assert_allclose(team[0], one[0], rtol=0, atol=1e-10)
    np.testing.assert_allclose(team[1], one[1], rtol=1e-12)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_same_bits_for_the_same_number_of_threads(threads):
    first, again = (trained(by_team(threads), dropout=0.3) for _ in range(2))
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])


def test_each_thread_has_a_generator_of_its_own():
    """Two threads with the same sentences must not drop the same numbers."""
    model = Transformer(TransformerConfig.named("toy", 12, dropout=0.3))
    team, batch = Team(model, 2), make_batch(PAIRS[:1] * 2)
    (_, one), (_, other) = team.parts([batch], (0, 1))
    assert one.integers(1 << 40) != other.integers(1 << 40)


def test_parts_hold_every_sentence_without_needless_padding():
    batch = make_batch(sorted(PAIRS, key=lambda pair: len(pair[1])))
    parts = split(batch, 2)
    assert sum(part.tokens for part in parts) == batch.tokens
    assert [len(part.source) for part in parts] == [3, 2]
    for name in ("source", "target", "next_target"):
        whole, rows = getattr(batch, name), [row for part in parts for row in getattr(part, name)]
        for row, shorter in zip(whole, rows):
            np.testing.assert_array_equal(row[row != PAD], shorter[shorter != PAD])
        assert all((getattr(part, name) != PAD).any(axis=0).all() for part in parts)


def test_an_error_in_a_thread_is_raised():
    model = Transformer(TransformerConfig.named("toy", 12))
    team, batch = Team(model, 2), make_batch([([4], [5]), ([4], [99])])
    with pytest.raises(ValueError, match="99"):
        team.training_step(Adam(model), [batch], 0.01, (0, 1))


@pytest.mark.parametrize("bad", [0, 1])
def test_after_an_error_no_gradient_is_left(bad):
    """Neither in the model nor in a replica, whichever thread it was."""
    model = Transformer(TransformerConfig.named("toy", 12))
    pairs = [([4], [5]), ([4], [5])]
    pairs[bad] = ([4], [99])
    team, adam = Team(model, 2), Adam(model)
    with pytest.raises(ValueError, match="99"):
        team.training_step(adam, [make_batch(pairs)], 0.01, (0, 1))
    assert not any(each.flat.grad.any() for each in (model, *team.replicas))


def test_parts_keep_padding_that_is_not_at_the_end():
    ids = np.array([[0, 0, 5, 2], [3, 4, 5, 2]])
    first, second = split(make_batch(PAIRS[:2])._replace(source=ids), 2)
    np.testing.assert_array_equal(first.source, ids[:1])
    np.testing.assert_array_equal(second.source, ids[1:])
