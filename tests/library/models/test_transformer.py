"""The whole model: its size, its masks, its sharing, its dropout."""

import numpy as np
import pytest

from minitransformer import Parameter, Transformer, TransformerConfig
from minitransformer.layers import Residual, initial
from tests.helpers.models import make

V = 13


def ids(rng, *shape):
    return rng.integers(1, V, shape)


@pytest.mark.parametrize("name, count", [("base", 63_082_496), ("big", 214_245_376)])
def test_the_sizes_of_base_and_big(name, count, monkeypatch):
    """As in the paper's table 3, with one shared vocabulary of 37,000 tokens; the paper gives 65
    and 213 million.

    Each parameter is a single broadcast number: nothing is drawn, and nothing that large is held in
    memory.
    """

    def counted(*shape):
        zeros = np.broadcast_to(np.float32(0), shape)
        return Parameter(zeros, zeros)

    for kind, shape_of in {
        "xavier": lambda rng, *shape: shape,
        "normal": lambda rng, *shape: shape,
        "zeros": lambda size: (size,),
        "ones": lambda size: (size,),
    }.items():
        monkeypatch.setattr(
            initial, kind, lambda *given, shape_of=shape_of: counted(*shape_of(*given))
        )
    monkeypatch.setattr(
        initial, "shrink_ends", lambda num_layers, *sublayers: None
    )  # writes into them
    assert Transformer(TransformerConfig.named(name, 37_000)).num_parameters() == count


@pytest.mark.parametrize("share_embeddings", [True, False])
@pytest.mark.parametrize("share_output", [True, False])
def test_each_kind_of_sharing(share_embeddings, share_output):
    model = make(share_embeddings=share_embeddings, share_output=share_output)
    tables = {
        id(parameter)
        for parameter in (
            model.source_embedding.weight,
            model.target_embedding.weight,
            model.output.weight,
        )
    }
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
    total = (
        apart.source_embedding.weight.grad
        + apart.target_embedding.weight.grad
        + apart.output.weight.grad
    )
    np.testing.assert_allclose(shared.target_embedding.weight.grad, total, rtol=1e-12, atol=1e-12)


def test_the_seed_makes_the_model():
    assert np.array_equal(make(1).flat.data, make(1).flat.data)
    assert not np.array_equal(make(1).flat.data, make(2).flat.data)


def test_d_k_and_d_v_free_the_width_of_heads():
    for widths in (dict(d_k=5, d_v=2), dict(d_k=5)):
        logits, _ = make(d_model=10, **widths).forward(np.array([[1, 2]]), np.array([[3]]))
        assert logits.shape == (1, 1, V)


def dropout_places(model):
    """{path: layer} of every layer that drops out, each once."""
    return {
        path: layer for path, layer in model.sublayers().items() if getattr(layer, "dropout", 0)
    }


def test_dropout_in_each_of_its_places():
    """Dropout at one place alone changes the output, in whichever place it is."""
    rates = dict(dropout=0.5, attention_dropout=0.5, feed_forward_dropout=0.5)
    places = dropout_places(make(**rates))
    assert len(places) == 2 + 2 * (2 + 2) + 2 * (
        3 + 3
    )  # inputs; residuals and sub-layers of each layer
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


@pytest.mark.parametrize(
    "changes",
    [{}, dict(attention="grouped", kv_heads=2, activation="swiglu"), dict(attention="unscaled")],
)
def test_initial_weights(changes):
    """Xavier's for linear layers, 1 / sqrt(2 N) of it where a sub-layer ends; a standard deviation
    of 1 / sqrt(d_model) for tables; 0 and 1 for the rest.
    """
    shares = {
        **dict.fromkeys(("query", "key", "value", "inner", "gate"), 1),
        **dict.fromkeys(("output", "outer"), np.sqrt(1 / 6)),
    }
    config = TransformerConfig.named("small", 2000, **changes)
    for name, parameter in Transformer(config).parameters().items():
        data = parameter.data
        if name.endswith("embedding.weight"):
            assert data.std() == pytest.approx(1 / 16, rel=0.01)
        elif name.endswith("weight"):
            limit = shares[name.split(".")[-2]] * np.sqrt(6 / sum(data.shape))
            assert data.min() == pytest.approx(-limit, rel=0.01) and data.max() == pytest.approx(
                limit, rel=0.01
            )
        else:
            assert (data == name.endswith("gamma")).all()
