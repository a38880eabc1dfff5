"""What every layer has: its parameters, their vectors, and copies with another dtype or device."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

from minitransformer import Adam, InputError, Parameter, Transformer, TransformerConfig
from minitransformer.layers import Embedding, FeedForward, Layer, Linear, SinusoidalPositions
from minitransformer.layers.hooks import hooked
from tests.helpers.models import make


def test_parameters_are_views_of_one_vector():
    model = make()
    data, grad = model.flat
    assert data.size == model.num_parameters()
    data[...] = 3
    grad[...] = 4
    assert all((p.data == 3).all() and (p.grad == 4).all() for p in model.parameters().values())


def test_a_part_of_a_model_cannot_take_its_parameters_away():
    model = make()
    model.flat
    with pytest.raises(
        InputError,
        match="layers.0.self_attention.query.weight is already in the flat vectors of another layer",
    ):
        model.encoder.flat


def test_astype_copies_and_keeps_sharing():
    model = make()
    single = model.astype(np.float32)
    assert single.flat.data.dtype == np.float32
    assert single.source_embedding is single.target_embedding
    assert single.output.weight is single.target_embedding.weight
    for copied in (single, model.to("numpy")):
        for parameter in copied.parameters().values():
            parameter.data[...] = 0
    assert model.flat.data.any()


@pytest.mark.parametrize(
    "make_copy",
    [
        copy.deepcopy,
        lambda model: pickle.loads(pickle.dumps(model)),
        lambda model: model.astype(np.float32),
        lambda model: model.to("numpy"),
    ],
)
@pytest.mark.parametrize("part", [lambda model: model, lambda model: model.encoder])
def test_a_copy_learns_by_itself(make_copy, part):
    """The copy does not share the flat vectors of the model or of a part of it: it makes its own."""
    model = make()
    Adam(part(model))
    before = part(model).flat.data.copy()
    clone = make_copy(model)
    adam = Adam(part(clone))
    for parameter in part(clone).parameters().values():
        parameter.grad += 1
    adam.step(0.1)
    for name, parameter in part(clone).parameters().items():
        assert (parameter.data != part(model).parameters()[name].data).all()
    np.testing.assert_array_equal(part(model).flat.data, before)


def test_parameters_in_lists_tuples_and_dicts_are_found():
    class Holder(Layer):
        def __init__(self):
            rng = np.random.default_rng(0)
            self.listed = [Linear(1, 2, rng)]
            self.several = Linear(1, 2, rng), Linear(1, 2, rng)
            self.named = {"one": Linear(1, 2, rng)}

    assert list(Holder().parameters()) == [
        f"{layer}.{name}"
        for layer in ("listed.0", "several.0", "several.1", "named.one")
        for name in ("weight", "bias")
    ]


def test_what_is_assigned_after_adam_is_trained():
    """`data` and `grad` stay views of the flat vectors; what does not fit them is refused."""
    layer = Linear(2, 3, np.random.default_rng(0))
    adam = Adam(layer)
    layer.weight.data = np.full((2, 3), 5, np.float32)
    layer.weight.grad = np.ones((2, 3), np.float32)
    layer.bias.grad += 2
    assert (layer.flat.data[:6] == 5).all() and layer.flat.grad.tolist() == [1] * 6 + [2] * 3
    adam.step(0.5)
    np.testing.assert_allclose(layer.weight.data, 4.5)
    for wrong, words in [
        (
            np.ones((3, 2), np.float32),
            r"shape \(3, 2\), float32, but .* of shape \(2, 3\), float32",
        ),
        (np.ones((2, 3)), r"shape \(2, 3\), float64"),
        (None, "data is a NoneType, expected a NumPy or CuPy array"),
    ]:
        with pytest.raises(InputError, match=words):
            layer.weight.data = wrong
    with pytest.raises(InputError, match="grad is a NoneType"):
        layer.weight.grad = None


def test_what_is_assigned_before_adam_may_have_any_shape():
    layer = Linear(2, 3, np.random.default_rng(0))
    layer.weight.data, layer.weight.grad = np.ones((4, 3), np.float32), np.zeros((4, 3), np.float32)
    assert layer.flat.data.size == 15


def test_new_parameters_get_new_vectors_and_keep_their_values():
    model = make()
    before = model.flat
    assert model.flat is before
    model.more = Linear(2, 2, np.random.default_rng(0)).astype(np.float64)
    expected = {name: parameter.data.copy() for name, parameter in model.parameters().items()}
    assert model.flat is not before and model.flat.data.size == before.data.size + 6
    model.flat.data[...] *= 2
    for name, parameter in model.parameters().items():
        np.testing.assert_array_equal(parameter.data, 2 * expected[name])


def test_parameters_of_two_dtypes_are_refused():
    layer = Linear(2, 3, np.random.default_rng(0))
    layer.scale = Parameter(np.ones(3))
    with pytest.raises(
        InputError, match=r"scale is float64, but weight is float32; .* model.astype\(\"float32\"\)"
    ):
        Adam(layer)
    assert Adam(layer.astype("float32")).data.dtype == np.float32


def test_the_text_of_a_layer_is_its_tree():
    assert repr(SinusoidalPositions()) == "SinusoidalPositions"
    assert (
        repr(FeedForward(2, 3, np.random.default_rng(0)))
        == """\
FeedForward(activation='relu'), 17 parameters
  inner: Linear (2, 3), (3,)
  outer: Linear (3, 2), (2,)"""
    )


def test_the_text_of_a_model_names_what_is_shared_once_and_joins_equal_layers():
    model = Transformer(TransformerConfig(source_vocab=8, target_vocab=8))
    lines = repr(model).splitlines()
    assert len(lines) <= 50 and max(map(len, lines)) <= 100
    assert lines[0] == f"Transformer, {model.num_parameters():,} parameters"
    assert "    layers.0 to 5, each: EncoderLayer, 3,152,384 parameters" in lines
    indented = {line.strip() for line in lines}
    assert {
        "self_attention: SelfAttention(num_heads=8), 1,050,624 parameters",
        "query: Linear (512, 512), (512,)",
        "norm: LayerNorm(epsilon=1e-05) (512,), (512,)",
    } <= indented
    assert lines[-2].strip() == "output: OutputProjection = target_embedding.weight"


def test_layers_that_differ_have_lines_of_their_own():
    class Holder(Layer):
        def __init__(self):
            rng = np.random.default_rng(0)
            self.listed = [
                Linear(1, 2, rng),
                Linear(1, 2, rng),
                Linear(2, 1, rng),
                Linear(1, 2, rng),
            ]
            self.other = [Linear(1, 2, rng)]

    heads = [line.partition(":")[0].strip() for line in repr(Holder()).splitlines() if ":" in line]
    assert heads == ["listed.0 to 1, each", "listed.2", "listed.3", "other.0"]


def test_a_layer_of_one_parameter_has_flat_vectors():
    layer = Embedding(5, 3, np.random.default_rng(0))
    adam, before = Adam(layer), layer.weight.data.copy()
    assert layer.flat.data.shape == (15,) and np.shares_memory(layer.flat.data, layer.weight.data)
    layer.weight.grad += 1
    adam.step(0.5)
    np.testing.assert_allclose(layer.weight.data, before - 0.5, rtol=0, atol=1e-6)


def test_watching_leaves_nothing_behind():
    model, seen = make(), []
    before = {path: dict(vars(layer)) for path, layer in model.sublayers().items()}
    with hooked(
        model,
        lambda path, _, method, *arguments, **more: seen.append(path) or method(*arguments, **more),
    ):
        model.encode(np.array([[3, 4]]))
    assert "encoder.layers.0.self_attention.query" in seen
    assert {path: dict(vars(layer)) for path, layer in model.sublayers().items()} == before


RELOADED = """
from importlib import reload
from minitransformer import Adam, Transformer, TransformerConfig
from minitransformer.layers import layer
reload(layer)
Adam(Transformer(TransformerConfig.named("toy", 20)))
"""


def test_a_model_of_reloaded_modules_has_no_parameters_and_says_why():
    done = subprocess.run([sys.executable, "-c", RELOADED], capture_output=True, text=True)
    assert "if modules of minitransformer were reloaded, restart Python" in done.stderr
