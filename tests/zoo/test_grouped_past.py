"""The compiled kernel of a layer of RMSNorm, grouped queries and SwiGLU at one position: the
textbook's numbers.
"""

from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from minitransformer import LanguageModel, LanguageModelConfig, plugged
from minitransformer.dispatch import running
from minitransformer.zoo.modern import rms_norm_forward
from tests.helpers.kernels import (
    needs_numba,
    some_steps,
    states,
    textbook,
    uncompiled,
    with_kernels,  # noqa: F401 - a fixture
)

pytestmark = needs_numba
SIZES = dict(
    vocab_size=9,
    d_model=12,
    num_layers=2,
    num_heads=6,
    d_ff=10,
    d_k=4,
    norm="rms",
    activation="swiglu",
    pre_norm=True,
)
STRETCHED = dict(base=50.0, factor=4.0, low=1.0, high=4.0, length=16)


def model_of(seed=0, **changes):
    model = LanguageModel(
        LanguageModelConfig(**LanguageModelConfig.field_values({**SIZES, **changes})), seed=seed
    )
    for i, parameter in enumerate(model.parameters().values()):  # gamma is 1 at first
        parameter.data += 0.3 * np.random.default_rng([seed, i]).standard_normal(
            parameter.data.shape
        ).astype("float32")
    return model


@pytest.mark.parametrize("context", [nullcontext, uncompiled])
@given(
    batch=st.integers(1, 3),
    width=st.integers(1, 3),
    kv_heads=st.sampled_from([1, 3, 6]),
    epsilon=st.sampled_from([1e-6, 0.1]),
    positions=st.sampled_from(["interleaved", "half", None]),
    base=st.sampled_from([50.0, STRETCHED]),
    length=st.integers(1, 6),
    seed=st.integers(0, 99),
)
@settings(max_examples=8)
def test_a_layer_at_one_position_is_the_same(
    context, batch, width, kv_heads, epsilon, positions, base, length, seed
):
    rng = np.random.default_rng(seed)
    rotary = (
        dict(positions="rotary", rotary_layout=positions, rotary_base=base)
        if positions
        else dict(attention="grouped")
    )
    model = model_of(seed, kv_heads=kv_heads, norm_epsilon=epsilon, **rotary)
    source, steps = (
        rng.integers(3, 9, (batch, length)),
        some_steps(rng, batch, width, kept=max(1, batch - 1)),
    )
    with context():
        found = states(model, source, steps)
    with textbook():
        expected = states(model, source, steps)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=3e-5)


@pytest.fixture
def calls(monkeypatch):
    """How often the loop runs."""
    from minitransformer.zoo.modern import compiled as grouped_past

    found, loop = [], grouped_past.turn_and_attend
    monkeypatch.setattr(
        grouped_past, "turn_and_attend", lambda *arguments: [found.append(1), loop(*arguments)][1]
    )
    return found


@pytest.mark.parametrize(
    "changes, rows, runs",
    [
        ({}, 10, 2),
        ({}, 11, 0),
        (dict(activation="geglu"), 1, 0),
        (dict(biases=True), 1, 0),
        (dict(norm="layer"), 1, 0),
        (dict(pre_norm=False), 1, 0),
    ],
)
def test_it_runs_for_few_rows_of_the_layers_that_it_knows(calls, changes, rows, runs):
    model = model_of(positions="rotary", kv_heads=3, **changes)
    found = model.start(np.full((rows, 1), 4)).advance(np.full((rows, 1), 4))
    assert len(calls) == runs
    with textbook():
        np.testing.assert_allclose(
            found,
            model.start(np.full((rows, 1), 4)).advance(np.full((rows, 1), 4)),
            rtol=0,
            atol=3e-5,
        )


def test_it_bypasses_nothing_of_a_readers_own(calls):
    model = model_of(positions="rotary", kv_heads=3)
    with plugged(rms_norm_forward, running()["rms_norm_forward"]):
        model.start(np.array([[4]])).advance(np.array([[4]]))
    assert not calls
