"""The contract check for your own layers: right ones pass, and each way to break the contract has its own sentence."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from minitransformer import InputError, Layer, check_contract
from minitransformer.checking.blocks import blocks
from minitransformer.layers import Linear

X = np.random.default_rng(0).standard_normal((2, 3, 4))


class ScaleCache(NamedTuple):
    x: Any


class Scale(Linear):
    """y = x w, with w the first column of a Linear's weight."""

    def forward(self, x):
        return x * self.weight.data[:, 0], ScaleCache(x)

    def backward(self, dy, cache):
        self.weight.grad[:, 0] += (dy * cache.x).sum(axis=(0, 1))
        return dy * self.weight.data[:, 0]


class KeepsItsCache(Scale):
    """Its gradients are right as long as it is used only once."""

    def forward(self, x):
        y, self.cache = super().forward(x)
        return y, self.cache


class KeepsInAPlaceForIt(KeepsItsCache):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.cache = None


class KeepsInBackward(Scale):
    def backward(self, dy, cache):
        self.last = dy
        return super().backward(dy, cache)


class KeepsBelow(Layer):
    def __init__(self, rng):
        self.part = KeepsItsCache(4, 4, rng)

    def forward(self, x):
        return self.part.forward(x)

    def backward(self, dy, cache):
        return self.part.backward(dy, cache)


class Widens(Scale):
    """By a NumPy scalar, which float64 does not reveal."""

    def forward(self, x):
        y, cache = super().forward(x)
        return y * np.float64(1), cache


class WidensBackward(Scale):
    def backward(self, dy, cache):
        return super().backward(dy, cache) * np.float64(1)


class ChangesItsInput(Scale):
    def forward(self, x):
        x *= 1.5
        return super().forward(x)


class ChangesItsCache(Scale):
    def backward(self, dy, cache):
        dx = super().backward(dy, cache)
        cache.x[...] = 0
        return dx


class ChangesItsUpstream(Scale):
    def backward(self, dy, cache):
        dy *= 2
        return super().backward(dy, cache)


class Assigns(Scale):
    def backward(self, dy, cache):
        self.weight.grad = np.zeros_like(self.weight.grad)
        return super().backward(dy, cache)


@pytest.mark.parametrize("kind, words", [
    (KeepsItsCache, "forward keeps something on the layer: self.cache; a layer that is used twice would mix up the two uses"),
    (KeepsInAPlaceForIt, "forward keeps something on the layer: self.cache"),
    (KeepsInBackward, "backward keeps something on the layer: self.last"),
    (Widens, "the output that forward returns is float64 for inputs of float32"),
    (WidensBackward, "the gradient of x that backward returns is float64 for inputs of float32"),
    (ChangesItsInput, "forward changes its input x in place"),
    (ChangesItsCache, "backward changes its"),
    (ChangesItsUpstream, "backward changes dy in place"),
    (Assigns, r"the gradient of weight is assigned \(=\), not added"),
])
def test_each_breach_has_its_sentence(kind, words):
    with pytest.raises(InputError, match=words):
        check_contract(kind(4, 4, np.random.default_rng(0)), [X])


def test_a_part_that_keeps_something_is_named():
    with pytest.raises(InputError, match="self.part.cache"):
        check_contract(KeepsBelow(np.random.default_rng(0)), [X])


def test_a_right_layer_passes_and_stays_as_it_is():
    layer = Scale(4, 4, np.random.default_rng(0))
    before = layer.weight.data.copy()
    assert check_contract(layer, [X]) is None
    assert check_contract(layer, {"x": X.astype(np.float32)}) is None
    assert layer.weight.data.dtype == np.float32 and not layer.weight.grad.any()
    np.testing.assert_array_equal(layer.weight.data, before)


@pytest.mark.parametrize("name", ["linear", "decoder-layer", "lstm", "transformer-loss"])
def test_the_librarys_layers_pass(name):
    check_contract(*blocks()[name])


def test_what_is_no_layer_is_refused():
    with pytest.raises(InputError, match="check_contract: a tuple is not a Layer"):
        check_contract((np.sin, np.cos), [X])
