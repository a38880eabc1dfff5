"""Any layer's weights as a file, and back."""

import os

import numpy as np
import pytest

from minitransformer import Adam, InputError, Layer, Parameter, load_weights, save_weights
from minitransformer.layers import FeedForward, Linear
from tests.helpers.models import KINDS, make_model


class Mine(Layer):
    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.parts = {"first": Linear(2, 3, rng), "second": FeedForward(3, 4, rng)}
        self.scale = Parameter(rng.standard_normal((2, 3)).astype(np.float32).T)  # not contiguous


def values(layer):
    return {name: parameter.data.copy() for name, parameter in layer.parameters().items()}


@pytest.mark.parametrize(
    "make", [Mine, *(lambda seed, kind=kind: make_model(kind, seed) for kind in KINDS)]
)
def test_weights_are_saved_and_loaded(make, tmp_path):
    saved, other = make(0), make(1)
    adam = Adam(other)  # its vectors must hold what is loaded
    save_weights(saved, tmp_path / "mine.safetensors")
    load_weights(other, str(tmp_path / "mine.safetensors"))
    np.testing.assert_equal(values(other), values(saved))
    assert adam.data is other.flat.data
    assert [path.name for path in tmp_path.iterdir()] == ["mine.safetensors"]


@pytest.mark.parametrize(
    "other, words",
    [
        (
            Linear(2, 4, np.random.default_rng(0)),
            r"does not fit the Linear: bias: found \(3,\), expected \(4,\)",
        ),
        (
            FeedForward(2, 3, np.random.default_rng(0)),
            "does not fit the FeedForward: bias: found .* expected no such array",
        ),
        (
            Linear(2, 3, np.random.default_rng(0)).astype("float64"),
            r"bias is float32, but the layer's is float64; .* astype\(\"float32\"\)",
        ),
    ],
)
def test_weights_of_another_layer_are_refused(other, words, tmp_path):
    save_weights(Linear(2, 3, np.random.default_rng(1)), tmp_path / "linear")
    before = values(other)
    with pytest.raises(InputError, match=words):
        load_weights(other, tmp_path / "linear")
    np.testing.assert_equal(values(other), before)


def test_wrong_files(tmp_path):
    layer = Linear(2, 3, np.random.default_rng(0))
    (tmp_path / "text").write_text("no weights", encoding="utf-8")
    with pytest.raises(InputError, match="text: not a safetensors file"):
        load_weights(layer, tmp_path / "text")
    with pytest.raises(InputError, match="missing: No such file or directory"):
        load_weights(layer, tmp_path / "missing")
    with pytest.raises(InputError, match="No such file or directory"):
        save_weights(layer, tmp_path / "no" / "folder")
    with pytest.raises(InputError, match="bias is complex128|weight is complex128"):
        save_weights(layer.astype("complex128"), tmp_path / "complex")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")
@pytest.mark.parametrize("function", [load_weights, save_weights])
def test_a_pipe_is_neither_waited_for_nor_replaced(function, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe: neither a file nor a folder, expected"):
        function(Linear(2, 3, np.random.default_rng(0)), tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()
