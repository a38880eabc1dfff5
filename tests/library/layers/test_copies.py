"""A layer's copy is its own, and a layer may have a single parameter."""

import numpy as np

from minitransformer import Adam
from minitransformer.layers import LearnedPositions
from tests.library.models.test_transformer import make


def test_to_copies():
    """On the CPU, too: training the copy must not change the original model."""
    model = make()
    before = {name: parameter.data.copy() for name, parameter in model.parameters().items()}
    there = model.to("numpy")
    for parameter in there.parameters().values():
        parameter.data[...] = 7
    assert all((parameter.data == before[name]).all() for name, parameter in model.parameters().items())


def test_one_parameter_is_enough():
    layer = LearnedPositions(3, 2, np.random.default_rng(0))
    adam, before = Adam(layer), layer.weight.data.copy()
    layer.weight.grad += 1
    adam.step(0.5)
    np.testing.assert_allclose(layer.weight.data, before - 0.5, rtol=0, atol=1e-6)
