"""The whole model: its size, its masks, its sharing, its dropout."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from minitransformer import InputError, Parameter, Transformer, TransformerConfig
from minitransformer.layers import Residual, initial
from minitransformer.functional import cross_entropy_backward, cross_entropy_forward
from minitransformer.functional.special import PAD

V = 13


def make(seed=0, **changes):
    sizes = dict(num_layers=2, d_model=12, num_heads=3, d_ff=10, dropout=0.0)
    return Transformer(TransformerConfig.named("toy", V, **{**sizes, **changes}), seed).astype(np.float64)


def ids(rng, *shape):
    return rng.integers(1, V, shape)


@pytest.mark.parametrize("name, count", [("base", 63_082_496), ("big", 214_245_376)])
def test_the_sizes_of_base_and_big(name, count, monkeypatch):
    """As in the paper's table 3, with one shared vocabulary of 37,000 tokens; the paper gives 65 and 213 million.

    Each parameter is a single broadcast number: nothing is drawn, and nothing that large is held in memory.
    """
    def counted(*shape):
        zeros = np.broadcast_to(np.float32(0), shape)
        return Parameter(zeros, zeros)

    for kind, shape_of in {"xavier": lambda rng, *shape: shape, "normal": lambda rng, *shape: shape,
                           "zeros": lambda size: (size,), "ones": lambda size: (size,)}.items():
        monkeypatch.setattr(initial, kind, lambda *given, shape_of=shape_of: counted(*shape_of(*given)))
    monkeypatch.setattr(initial, "shrink_ends", lambda num_layers, *sublayers: None)    # writes into them
    assert Transformer(TransformerConfig.named(name, 37_000)).num_parameters() == count


@given(pre_norm=st.booleans(), positions=st.sampled_from(["sinusoidal", "learned"]), seed=st.integers(0, 99),
       batch=st.integers(1, 3), t_k=st.integers(1, 5), t_q=st.integers(1, 6), data=st.data())
@settings(max_examples=8)
def test_causality(pre_norm, positions, seed, batch, t_k, t_q, data):
    """Changing the target after position t changes no logit up to t, and does change a later one."""
    model, rng = make(seed, pre_norm=pre_norm, positions=positions), np.random.default_rng(seed)
    source, target = ids(rng, batch, t_k), ids(rng, batch, t_q)
    t = data.draw(st.integers(0, t_q - 1))
    changed = target.copy()
    changed[:, t + 1:] = changed[:, t + 1:] % (V - 1) + 1
    before, after = model.forward(source, target)[0], model.forward(source, changed)[0]
    np.testing.assert_allclose(after[:, : t + 1], before[:, : t + 1], rtol=0, atol=1e-12)
    if t + 1 < t_q:
        assert np.abs(after[:, t + 1:] - before[:, t + 1:]).max() > 1e-3


@given(pre_norm=st.booleans(), seed=st.integers(0, 99), batch=st.integers(1, 3),
       t_k=st.integers(1, 5), t_q=st.integers(1, 5), more=st.integers(1, 4))
@settings(max_examples=8)
def test_padding_changes_nothing(pre_norm, seed, batch, t_k, t_q, more):
    """Appended padding leaves logits, loss, count and every gradient as they were."""
    model, rng = make(seed, pre_norm=pre_norm), np.random.default_rng(seed)
    source, target, following = ids(rng, batch, t_k), ids(rng, batch, t_q), ids(rng, batch, t_q)
    padding = np.full((batch, more), PAD)
    found = []
    for pad in (False, True):
        s, t, f = (np.concatenate([array, padding], axis=1) if pad else array
                   for array in (source, target, following))
        model.zero_grad()
        logits, cache = model.forward(s, t)
        loss, loss_cache = cross_entropy_forward(logits, f, 0.1, padding=PAD)
        model.backward(cross_entropy_backward(1.0, loss_cache), cache)
        found.append((logits[:, :t_q], loss, loss_cache.count, model.flat.grad.copy()))
    for one, two in zip(*found):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-12)


def test_a_source_of_padding_alone_gives_no_nan():
    model = make()
    logits, cache = model.forward(np.full((2, 3), PAD), np.array([[1, 2], [3, PAD]]))
    model.backward(np.ones_like(logits), cache)
    assert np.isfinite(logits).all() and np.isfinite(model.flat.grad).all()


@pytest.mark.parametrize("share_embeddings", [True, False])
@pytest.mark.parametrize("share_output", [True, False])
def test_each_kind_of_sharing(share_embeddings, share_output):
    model = make(share_embeddings=share_embeddings, share_output=share_output)
    tables = {id(parameter) for parameter in (model.source_embedding.weight, model.target_embedding.weight,
                                              model.output.weight)}
    assert len(tables) == 3 - share_embeddings - share_output
    everything = make(share_embeddings=False, share_output=False).num_parameters()
    assert model.num_parameters() == everything - (share_embeddings + share_output) * V * 12


def test_a_shared_weight_receives_the_sum_of_its_gradients():
    """With equal tables, the shared gradient is the sum of the three separate ones."""
    shared, apart = make(), make(share_embeddings=False, share_output=False)
    weights = {name: p.data for name, p in shared.parameters().items()}
    for name, p in apart.parameters().items():
        p.data[...] = weights.get(name, shared.target_embedding.weight.data)
    rng = np.random.default_rng(0)
    source, target = ids(rng, 2, 4), ids(rng, 2, 3)
    for model in (shared, apart):
        logits, cache = model.forward(source, target)
        model.backward(np.sin(np.arange(logits.size)).reshape(logits.shape), cache)
    total = apart.source_embedding.weight.grad + apart.target_embedding.weight.grad + apart.output.weight.grad
    np.testing.assert_allclose(shared.target_embedding.weight.grad, total, rtol=1e-12, atol=1e-12)


def test_parameter_names_read_like_a_path():
    names = list(make().parameters())
    assert "encoder.layers.0.self_attention.query.weight" in names
    assert "decoder.layers.1.cross_attention_residual.norm.gamma" in names
    assert len(names) == len(set(names))


def test_the_seed_makes_the_model():
    assert np.array_equal(make(1).flat.data, make(1).flat.data)
    assert not np.array_equal(make(1).flat.data, make(2).flat.data)


@pytest.mark.parametrize("changes, words", [
    (dict(d_model=10), "d_model 10 is not divisible by 3 heads"),
    (dict(num_layers=0), "num_layers is 0"),
    (dict(dropout=1.0), "dropout is 1.0"),
    (dict(d_k=-2), "d_k is -2"),
    (dict(d_v=2.5), "d_v is 2.5"),
    (dict(positions="none"), "positions is 'none'"),
    (dict(activation="swish"), "activation is 'swish'"),
    (dict(source_vocab=7), "share_embeddings"),
])
def test_wrong_sizes_are_explained(changes, words):
    with pytest.raises(InputError, match=words):
        make(**changes)


def test_d_k_and_d_v_free_the_width_of_heads():
    for widths in (dict(d_k=5, d_v=2), dict(d_k=5)):
        logits, _ = make(d_model=10, **widths).forward(np.array([[1, 2]]), np.array([[3]]))
        assert logits.shape == (1, 1, V)


def test_an_unknown_configuration_is_named():
    with pytest.raises(InputError, match="unknown configuration 'huge'; choose from base, big"):
        TransformerConfig.named("huge", 10)


@pytest.mark.parametrize("source, target, words", [
    ([[5, 6]], np.ones((1, 2), int), r"source is a list, expected an array of shape \(B, T_k\)"),
    (np.ones(3, int), np.ones((1, 2), int), r"source has shape \(3,\), expected \(B, T_k\)"),
    (np.ones((2, 3), int), np.ones((1, 2), int), r"target has shape \(1, 2\), expected \(2, T_q\)"),
    (np.full((1, 3), V), np.ones((1, 2), int), f"token id {V}, expected 0 to {V - 1}"),
    (np.full((1, 3), -1), np.ones((1, 2), int), "token id -1"),
    (np.ones((1, 3)), np.ones((1, 2), int), "dtype float64, expected an array of integer"),
])
def test_wrong_ids_are_explained(source, target, words):
    with pytest.raises(InputError, match=words):
        make().forward(source, target)


def dropout_places(model):
    """{path: layer} of every layer that drops out, each once."""
    return {path: layer for path, layer in model.sublayers().items() if getattr(layer, "dropout", 0)}


def test_dropout_in_each_of_its_places():
    """Dropout at one place alone changes the output, in whichever place it is."""
    rates = dict(dropout=0.5, attention_dropout=0.5, feed_forward_dropout=0.5)
    places = dropout_places(make(**rates))
    assert len(places) == 2 + 2 * (2 + 2) + 2 * (3 + 3)    # inputs; residuals and sub-layers of each layer
    source, target = np.array([[1, 2, 3, 4]]), np.array([[5, 6, 7]])
    for place in places:
        model = make(**rates)
        for path, layer in dropout_places(model).items():
            layer.dropout = 0.5 if path == place else 0.0
        still, _ = model.forward(source, target)
        dropped, _ = model.forward(source, target, np.random.default_rng(0))
        assert np.abs(dropped - still).max() > 1e-3, place


def test_residual_drops_the_sublayer_before_the_sum():
    """As in section 5.4: y = LayerNorm(x + mask * h), with the mask of the cache."""
    rng = np.random.default_rng(0)
    layer = Residual(6, dropout=0.5).astype(np.float64)
    x, h = rng.standard_normal((2, 2, 3, 6))
    y, cache = layer.forward(x, h, rng)
    np.testing.assert_allclose(y, layer.norm.forward(x + cache.dropout.mask * h)[0], rtol=1e-12)


@pytest.mark.parametrize("changes", [{}, dict(attention="grouped", kv_heads=2, activation="swiglu"), dict(attention="unscaled")])
def test_initial_weights(changes):
    """Xavier's for linear layers, 1 / sqrt(2 N) of it where a sub-layer ends; a standard deviation of 1 / sqrt(d_model) for tables;
    0 and 1 for the rest.
    """
    shares = {**dict.fromkeys(("query", "key", "value", "inner", "gate"), 1), **dict.fromkeys(("output", "outer"), np.sqrt(1 / 6))}
    config = TransformerConfig.named("small", 2000, **changes)
    for name, parameter in Transformer(config).parameters().items():
        data = parameter.data
        if name.endswith("embedding.weight"):
            assert data.std() == pytest.approx(1 / 16, rel=0.01)
        elif name.endswith("weight"):
            limit = shares[name.split(".")[-2]] * np.sqrt(6 / sum(data.shape))
            assert data.min() == pytest.approx(-limit, rel=0.01) and data.max() == pytest.approx(limit, rel=0.01)
        else:
            assert (data == name.endswith("gamma")).all()
