"""The compiled kernel of a layer at one position: the textbook's numbers, and when it steps back."""

from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitransformer import (
    LanguageModel,
    LanguageModelConfig,
    Transformer,
    TransformerConfig,
    plugged,
)
from minitransformer.functional import layer_norm_forward
from minitransformer.layers import FeedForward
from minitransformer.layers.hooks import hooked
from minitransformer.dispatch import running
from minitransformer.functional import dropout_forward
from minitransformer.data.special import EOS, PAD
from tests.helpers.kernels import needs_numba, some_steps, states, textbook, uncompiled

pytestmark = needs_numba
SIZES = dict(d_model=12, num_layers=2, num_heads=3, d_ff=10)


def source_of(rng, batch):
    source = rng.integers(3, 9, (batch, 5))
    source[:, -1] = EOS
    source[0, 3:] = EOS, PAD
    return source


@pytest.mark.parametrize("context", [nullcontext, uncompiled])
@given(
    batch=st.integers(1, 3),
    width=st.integers(1, 3),
    decoder=st.booleans(),
    activation=st.sampled_from(["relu", "gelu"]),
    pre_norm=st.booleans(),
    d_k=st.sampled_from([None, 5]),
    d_v=st.sampled_from([None, 3]),
    seed=st.integers(0, 99),
)
def test_a_layer_at_one_position_is_the_same(
    context, batch, width, decoder, activation, pre_norm, d_k, d_v, seed
):
    rng = np.random.default_rng(seed)
    changes = dict(SIZES, activation=activation, pre_norm=pre_norm, d_k=d_k, d_v=d_v)
    if decoder:
        model = Transformer(TransformerConfig(source_vocab=9, target_vocab=9, **changes), seed=seed)
    else:
        model = LanguageModel(LanguageModelConfig(vocab_size=9, **changes), seed=seed)
    for parameter in model.parameters().values():  # biases are 0 at first, and gamma is 1
        parameter.data += 0.3 * rng.standard_normal(parameter.data.shape).astype("float32")
    source = source_of(rng, batch) if decoder else rng.integers(3, 9, (batch, 2))
    steps = some_steps(rng, batch, width, kept=max(1, batch - 1))
    with context():
        found = states(model, source, steps)
    with textbook():
        expected = states(model, source, steps)
    for one, other in zip(found, expected):
        np.testing.assert_allclose(
            one, other, rtol=0, atol=2e-5 * abs(other).max()
        )  # as all errors of a gradient check


class Doubled(FeedForward):
    """A reader's own network."""

    def forward(self, x, rng=None):
        y, cache = super().forward(x, rng)
        return 2 * y, cache


@pytest.fixture
def calls(monkeypatch):
    """The names of the loops that run."""
    from minitransformer.speed.compiled import cached

    found = []
    for name in ("attend_to_past", "attend_to_memory", "feed_forward"):
        loop = getattr(cached, name)
        monkeypatch.setattr(
            cached,
            name,
            lambda *arguments, name=name, loop=loop: [found.append(name), loop(*arguments)],
        )
    return found


def advance(model, batch=1, width=1):
    rng = np.random.default_rng(0)
    return model.start(source_of(rng, batch)).advance(np.full((batch, width), 4))


def test_it_runs_for_few_rows(calls):
    model = Transformer(TransformerConfig(source_vocab=9, target_vocab=9, **SIZES))
    advance(model, 2, 5)
    assert calls == 2 * ["attend_to_past", "attend_to_memory", "feed_forward"]
    calls.clear()
    advance(model, 11)
    assert not calls


class Recomputed(Transformer):
    """One whose `hidden` is its own: nothing is cached."""

    def hidden(self, *ids, rng=None):
        return super().hidden(*ids, rng=rng)


def test_a_plugged_in_dropout_is_called_wherever_a_whole_forward_calls_it():
    def clipped(x, rate, rng=None):
        return x.clip(0), None

    config = TransformerConfig(source_vocab=9, target_vocab=9, **SIZES)
    with plugged(dropout_forward, clipped):
        found = advance(Transformer(config, 3))
        expected = advance(Recomputed(config, 3))
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5)


def test_it_bypasses_nothing_of_a_readers_own(calls, monkeypatch):
    model = Transformer(TransformerConfig(source_vocab=9, target_vocab=9, **SIZES))
    with plugged(layer_norm_forward, running()["layer_norm_forward"]):
        advance(model)
    assert not calls
    watched = []

    def around(path, direction, method, *arguments, **options):
        watched.append(path)
        return method(*arguments, **options)

    with hooked(model, around):
        advance(model)
    assert not calls and "decoder.layers.0.feed_forward" in watched
    layer = model.decoder.layers[1]
    layer.feed_forward = Doubled(12, 10, np.random.default_rng(0))
    found = advance(model)
    assert not calls  # of a layer that may mix positions, nothing is cached
    with textbook():
        np.testing.assert_allclose(found, advance(model), rtol=0, atol=2e-5)
    monkeypatch.setattr(Doubled, "stepwise", True, raising=False)
    found = advance(model)
    assert calls == ["attend_to_past", "attend_to_memory", "feed_forward"]  # the other layer's
    with textbook():
        np.testing.assert_allclose(found, advance(model), rtol=0, atol=2e-5)
