"""The blocks of later language models are their definitions; a model of them decodes with its cache
what it computes without.
"""

import json

import numpy as np
import pytest
from hypothesis import given, strategies as st

from minitransformer import (
    InputError,
    LanguageModel,
    LanguageModelConfig,
    Transformer,
    TransformerConfig,
    beam_search,
    plugged,
)
from minitransformer.decoding import cached
from minitransformer.decoding.cached import CachedStack
from minitransformer.functional import attention_backward, attention_forward, causal_mask
from minitransformer.zoo.modern import (
    GatedFeedForward,
    GroupedQueryAttention,
    RMSNorm,
    grouped_attention_backward,
    grouped_attention_forward,
    rotary_backward,
    rotary_forward,
    silu_forward,
)
from tests.helpers.randomised import randomised

RNG = np.random.default_rng(0)
SIZES = dict(
    vocab_size=13,
    num_layers=2,
    d_model=12,
    num_heads=6,
    d_ff=10,
    d_k=4,
    dropout=0.0,
    pre_norm=True,
    norm="rms",
    activation="swiglu",
    embedding="unscaled",
    share_output=False,
    max_length=40,
)
LLAMA = dict(positions="rotary", kv_heads=2, rotary_base=50.0)
NEAR = dict(rtol=0, atol=1e-12)


def model_of(seed=0, **changes):
    return randomised(LanguageModel(config(**changes), seed), 0.2, seed)


def test_silu_far_from_zero():
    x = np.array([-1000, -3, 0, 3, 1000], np.float32)
    np.testing.assert_allclose(
        silu_forward(x)[0], [0, -3 / (1 + np.exp(3)), 0, 3 / (1 + np.exp(-3)), 1000], rtol=1e-5
    )


@pytest.mark.parametrize("kind", ["swiglu", "geglu"])
def test_the_gate_multiplies(kind):
    layer, x = randomised(GatedFeedForward(5, 4, RNG, kind), 0.2), RNG.standard_normal((2, 5))
    a = x @ layer.gate.weight.data
    gate = (
        a / (1 + np.exp(-a))
        if kind == "swiglu"
        else a * (1 + np.tanh(np.sqrt(2 / np.pi) * (a + 0.044715 * a**3))) / 2
    )
    np.testing.assert_allclose(
        layer.forward(x)[0], gate * (x @ layer.inner.weight.data) @ layer.outer.weight.data, **NEAR
    )


def as_complex(x, layout):
    return (
        x[..., 0::2] + 1j * x[..., 1::2]
        if layout == "interleaved"
        else x[..., :3] + 1j * x[..., 3:]
    )


@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_rotary_positions_multiply_pairs_by_complex_numbers_of_length_one(layout):
    """Also far out, and where the positions come in no order; backward turns back."""
    x, positions = RNG.standard_normal((2, 3, 4, 6)), np.array([7, 0, 100_000, 7])
    y, cache = rotary_forward(x, positions, 50.0, layout)
    angles = positions[:, None] * 50.0 ** (-np.array([0, 2, 4]) / 6)
    np.testing.assert_allclose(
        as_complex(y, layout), as_complex(x, layout) * np.exp(1j * angles), **NEAR
    )
    np.testing.assert_allclose(rotary_backward(y, cache), x, **NEAR)
    np.testing.assert_array_equal(
        rotary_forward(x, layout=layout)[0], rotary_forward(x, np.arange(4), 10000.0, layout)[0]
    )


@pytest.mark.parametrize(
    "given, words",
    [
        (
            dict(positions=np.array([0, 1, -1])),
            "positions are array.*expected whole numbers of at least 0",
        ),
        (
            dict(positions=np.array([0, 1, 2.5])),
            "positions are array.*expected whole numbers of at least 0",
        ),
        (
            dict(positions=np.array([True] * 3)),
            "positions are array.*expected whole numbers of at least 0",
        ),
        (dict(positions=np.array([5])), r"positions has shape \(1,\), expected \(3\)"),
        (dict(positions=[0, 1, 2]), r"positions is a list, expected an array of shape \(3\)"),
        (dict(base=0), "rotary_base is 0, expected a number above 1"),
        (dict(base="10000"), "rotary_base is '10000', expected a number above 1"),
        (dict(layout="x"), "unknown rotary_layout 'x'"),
        (
            dict(x=np.ones((3, 4), int)),
            "rotary_forward: x has dtype int64, expected real numbers",
        ),  # cos and sin would be integers
    ],
)
def test_wrong_positions(given, words):
    """A table of angles would be read from its end, or one position would stand for all."""
    with pytest.raises(InputError, match=words):
        rotary_forward(**{"x": RNG.standard_normal((2, 3, 4)), **given})


@given(
    groups=st.integers(1, 3),
    share=st.integers(1, 3),
    mask=st.sampled_from([None, (4, 5), (2, 1, 1, 5), (1, 1, 4, 5), "heads"]),
    rate=st.sampled_from([0.0, 0.3]),
    seed=st.integers(0, 99),
)
def test_grouped_attention_is_attention_with_repeated_keys(groups, share, mask, rate, seed):
    """Head h sees the keys of group h // R. With dropout, too: the mask is drawn in the order of
    the heads.
    """
    rng, heads = np.random.default_rng(seed), groups * share
    query, dy = rng.standard_normal((2, 2, heads, 4, 3))
    key, value = rng.standard_normal((2, 2, groups, 5, 3))
    if mask is not None:
        mask = rng.random((2, heads, 4, 5) if mask == "heads" else mask) < 0.6
    y, cache = grouped_attention_forward(query, key, value, mask, rate, np.random.default_rng(1))
    repeated = (np.repeat(one, share, axis=1) for one in (key, value))
    expected, full = attention_forward(query, *repeated, mask, rate, np.random.default_rng(1))
    np.testing.assert_allclose(y, expected, **NEAR)
    dquery, dkey, dvalue = attention_backward(dy, full)
    summed = (one.reshape(2, groups, share, 5, 3).sum(axis=2) for one in (dkey, dvalue))
    for one, other in zip(grouped_attention_backward(dy, cache), (dquery, *summed), strict=True):
        np.testing.assert_allclose(one, other, **NEAR)
    assert cache.attention.key is key  # nothing was repeated


def test_a_model_has_the_layers_that_its_configuration_names():
    model = model_of(**LLAMA, norm_epsilon=0.5)
    names = model.parameters()
    assert {name.rpartition(".")[2] for name in names} == {"weight", "gamma"}
    assert names["stack.layers.1.self_attention.key.weight"].shape == (12, 8) and names[
        "output.weight"
    ].shape == (13, 12)
    assert all(
        layer.epsilon == 0.5 for layer in model.sublayers().values() if isinstance(layer, RMSNorm)
    )
    ids = np.array([[3, 4, 3]])
    np.testing.assert_allclose(
        model.input.forward(ids)[0], model.embedding.weight.data[ids], **NEAR
    )
    weights = model.attention_weights(ids)["decoder"][0]
    assert weights.shape == (1, 6, 3, 3) and not np.triu(weights, 1).any()
    np.testing.assert_allclose(weights.sum(axis=-1), 1)
    kept = json.loads(json.dumps(vars(model.config)))
    assert LanguageModelConfig(**kept) == model.config
    assert LanguageModel(config(**LLAMA, share_output=True)).output.weight.shape == (13, 12)
    assert "output.weight" not in LanguageModel(config(**LLAMA, share_output=True)).parameters()


@pytest.mark.parametrize(
    "changes",
    [
        LLAMA,
        {**LLAMA, "rotary_layout": "half", "kv_heads": 6},
        dict(attention="grouped", kv_heads=1),
        dict(positions="learned"),
    ],
)
@pytest.mark.parametrize("piece", [256, 3])
def test_decoding_one_position_at_a_time_is_the_whole_model(changes, piece, monkeypatch):
    """The prompt in pieces; then three hypotheses, in changing order."""
    monkeypatch.setattr(cached, "PIECE", piece)
    model, ids = model_of(**changes), RNG.integers(3, 13, (2, 20))
    expected, state = model.hidden(ids)[0], model.start(ids[:, :8])
    assert isinstance(state, CachedStack)
    for t in range(7, 20):
        parents = np.array([[2, 0, 1]] * 2) if t > 7 else np.zeros((2, 3), int)
        found = state.advance(np.repeat(ids[:, t : t + 1], 3, 1), parents)
        np.testing.assert_allclose(found, np.repeat(expected[:, t : t + 1], 3, 1), **NEAR)
    state.keep(np.array([1]))
    assert state.advance(ids[1:, :1].repeat(3, 1)).shape == (1, 3, 12)


def test_keys_are_kept_once_for_a_group_and_turned():
    model = model_of(**LLAMA)
    state = model.start(np.array([[3, 4, 5, 6]]))
    kept = state._layers[0].self_attention.keys
    assert kept.shape[:2] == (1, 2) and kept.shape[2] <= 16
    layer, (x, _) = model.stack.layers[0], model.input.forward(np.array([[3, 4, 5]]))
    keys, _ = layer.self_attention.key.forward(layer.self_attention_residual.norm.forward(x)[0])
    np.testing.assert_allclose(
        kept[:, :, :3], rotary_forward(layer.self_attention.split(keys), base=50.0)[0], **NEAR
    )


def test_a_rotation_of_the_readers_own_runs_in_decoding_too():
    model, ids = model_of(**LLAMA), np.array([[3, 4, 5, 6]])
    with plugged(rotary_forward, lambda x, positions=None, base=1, layout="": (2 * x, None)):
        found, expected = model.start(ids).advance(ids[:, -1:]), model.hidden(ids)[0]
    np.testing.assert_allclose(found, expected[:, -1:], **NEAR)
    assert abs(expected - model.hidden(ids)[0]).max() > 0.01


def test_a_transformer_of_them_searches_with_its_cache_as_without():
    sizes = {
        name: value
        for name, value in SIZES.items()
        if name not in ("vocab_size", "embedding", "share_output")
    }
    model = randomised(Transformer(TransformerConfig.named("toy", 13, **sizes, **LLAMA)), 0.2, 0)
    source = np.array([[3, 4, 5, 2], [6, 7, 2, 0]])
    found = beam_search(model, source, 3)
    with plugged(causal_mask, causal_mask.__wrapped__):
        assert not isinstance(model.start(source), CachedStack)
        expected = beam_search(model, source, 3)
    assert [[one.ids for one in of] for of in found] == [[one.ids for one in of] for of in expected]


def config(**changes):
    return LanguageModelConfig(**LanguageModelConfig.field_values({**SIZES, **changes}))


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: config(norm="rmsnorm"), "norm is 'rmsnorm'; choose from layer, rms"),
        (
            lambda: config(positions="rotary", attention="scaled"),
            "attention is scaled, but rotary positions need grouped attention",
        ),
        (
            lambda: config(positions="rotary", kv_heads=4),
            "kv_heads is 4, expected a divisor of the 6 heads",
        ),
        (
            lambda: config(positions="rotary", kv_heads=0),
            "kv_heads is 0, expected a whole number of at least 1",
        ),
        (
            lambda: config(kv_heads=2),
            "kv_heads is 2, but only grouped attention has one, and attention is scaled",
        ),
        (
            lambda: config(positions="rotary", d_k=3),
            "a head has 3 numbers, but rotary positions turn pairs: d_k must be even",
        ),
        (
            lambda: config(positions="rotary", d_v=3),
            "d_v is 3, but the values of grouped attention are as wide as its keys, 4",
        ),
        (
            lambda: config(positions="rotary", rotary_base=0),
            "rotary_base is 0, expected a number above 1",
        ),
        (
            lambda: config(positions="rotary", rotary_base={"base": 50.0, "factor": 4.0}),
            r"rotary_base has \['base', 'factor'\], expected \['base', 'factor', 'low', 'high', 'length'\]",
        ),
        (
            lambda: config(
                positions="rotary",
                rotary_base={"base": 50.0, "factor": "8", "low": 1.0, "high": 4.0, "length": 8192},
            ),
            "rotary_base is .*'factor': '8'.*, expected factor, length >= 1, 0 < low < high",
        ),
        (
            lambda: config(positions="rotary", biases="yes"),
            "biases is 'yes', expected True or False",
        ),
        (
            lambda: config(positions="rotary", rotary_layout="halves"),
            "unknown rotary_layout 'halves'; choose from interleaved, half",
        ),
        (
            lambda: config(attention="grouped", rotary_base=50.0),
            "rotary_base given, but positions are sinusoidal, not rotary",
        ),
        (
            lambda: GroupedQueryAttention(6, 3, RNG, 2),
            "kv_heads is 2, expected a divisor of the 3 heads",
        ),
        (
            lambda: config(norm_epsilon=-1),
            "norm_epsilon is -1, expected a number of at least 0 and below 1",
        ),
        (
            lambda: RMSNorm(5).forward(np.ones((2, 4))),
            r"RMSNorm: x has shape \(2, 4\), expected \(..., 5\)",
        ),
    ],
)
def test_what_does_not_fit_is_explained(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_the_weights_that_are_shown_are_those_of_each_head():
    layer, x = GroupedQueryAttention(8, 4, RNG, 2), RNG.standard_normal((3, 5, 8))
    y, cache = layer.forward(x, causal_mask(x))
    v = layer.value.forward(x)[0].reshape(3, 5, 2, 2).swapaxes(1, 2).repeat(2, axis=1)
    heads = layer.attended(cache) @ v
    again = layer.output.forward(heads.swapaxes(1, 2).reshape(3, 5, 8))[0]
    np.testing.assert_allclose(again, y, rtol=1e-5, atol=1e-6)
