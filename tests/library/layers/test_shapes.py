"""Every layer refuses what has another shape: each argument and each gradient, and whole numbers
are gradients like any other.
"""

import numpy as np
import pytest

from minitransformer import InputError
from minitransformer.checking.blocks import SIZES
from tests.helpers.layers import NAMES, case, changed
from tests.helpers.layers import backward, flat_gradient, forward, upstream


def of_other_shapes(array):
    """{what was done: array}: an axis missing, one too many, one of another size."""
    found = {"an axis too many": array[None]}
    if array.ndim:
        found["an axis missing"] = array[0]
        for axis in range(array.ndim):
            found[f"axis {axis} longer"] = np.concatenate([array, array], axis=axis)
    return found


def one_changed(values, place, new):
    """`values` with `new` at a place: of a tuple, or of a dict."""
    if isinstance(values, dict):
        return {**values, place: new}
    return tuple(new if i == place else value for i, value in enumerate(values))


@pytest.mark.parametrize("name", NAMES)
def test_gradients_of_another_shape(name):
    layer, inputs = case(name)
    y, cache = forward(layer, inputs)
    dy = upstream(y)
    gradients = dy if isinstance(dy, tuple) else (dy,)
    for place, gradient in enumerate(gradients):
        for what, wrong in (
            of_other_shapes(gradient).items() if gradient.ndim else ()
        ):  # a loss: test_refusals.py
            given = one_changed(gradients, place, wrong)
            with pytest.raises(InputError):
                layer.backward(given if isinstance(dy, tuple) else given[0], cache)
                pytest.fail(f"gradient {place}, {what}: {wrong.shape} instead of {gradient.shape}")


@pytest.mark.parametrize("name", NAMES)
def test_arguments_of_another_shape(name):
    layer, inputs = case(name)
    for place in list(inputs) if isinstance(inputs, dict) else range(len(inputs)):
        value = inputs[place]
        for what, wrong in of_other_shapes(value).items() if isinstance(value, np.ndarray) else ():
            if not is_meant(type(layer).__name__, inputs, place, what):
                with pytest.raises(InputError):
                    forward(layer, one_changed(inputs, place, wrong))
                    pytest.fail(f"argument {place}, {what}: {wrong.shape} instead of {value.shape}")


ANY_LEADING = (
    "Linear",
    "OutputProjection",
    "LayerNorm",
    "FeedForward",
    "Embedding",
    "Projection",
    "RMSNorm",
    "GatedFeedForward",
    "UnscaledEmbedding",
)  # (..., d_model), or ids (...)
ANY_WIDTH = ("SinusoidalPositions", "MeanOverTokens", "FirstToken", "RotaryPositions")


def is_meant(name, inputs, place, what):
    """Whether the layer may take such an array: an axis is free if no other argument has its size."""
    values = list(inputs.values()) if isinstance(inputs, dict) else list(inputs)
    value = inputs[place]
    others = [other for other in values if isinstance(other, np.ndarray) and other is not value]
    axis, last = what[5:6], str(value.ndim - 1)
    if value.dtype == bool:
        return (
            what in ("an axis missing", "an axis too many") and name not in ANY_WIDTH
        )  # or it cannot be broadcast
    if name in ANY_LEADING:
        return axis != last or "Embedding" in name
    if what in ("an axis missing", "an axis too many"):
        return False
    if axis == last and value.dtype.kind == "f":
        return name in ANY_WIDTH
    return all(value.shape[int(axis)] not in other.shape for other in others)


@pytest.mark.parametrize("name", NAMES)
def test_a_gradient_of_whole_numbers(name):
    """The gradients are those of the same numbers as floats, or whole numbers are refused."""
    layer, inputs = case(name)
    y, cache = forward(layer, inputs)
    whole = [
        np.asarray(np.round(3 * one)).astype(int)
        for one in (upstream(y) if isinstance(y, tuple) else (upstream(y),))
    ]
    results = []
    for dtype in (int, float):
        layer.zero_grad()
        dy = tuple(one.astype(dtype) for one in whole)
        try:
            results.append(
                (
                    *backward(layer, dy if isinstance(y, tuple) else dy[0], cache),
                    flat_gradient(layer),
                )
            )
        except InputError:
            assert dtype is int
            return
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


def without(name, size):
    """A layer, and its inputs without the axes of that size; None if it has no such axis."""
    layer, inputs = case(name)
    cut = changed(
        inputs,
        lambda value: (
            value[np.ix_(*(range(0 if n == size else n) for n in value.shape))]
            if isinstance(value, np.ndarray)
            else value
        ),
    )
    return layer, cut if repr(changed(cut, np.shape)) != repr(changed(inputs, np.shape)) else None


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_batch(name):
    layer, inputs = without(name, SIZES.batch)
    y, cache = forward(layer, inputs)
    for gradient in backward(layer, upstream(y), cache):
        assert gradient.size == 0
    assert not flat_gradient(layer).any()


MIXES = (
    "Attention",
    "Encoder",
    "Decoder",
    "Convolution",
    "Model",
    "Transformer",
    "Classifier",
    "Token",
    "RNN",
    "GRU",
    "LSTM",
    "Bidirectional",
    "Stack",
    "State",
)


@pytest.mark.parametrize(
    "name, length",
    [
        (name, length)
        for name in NAMES
        for length in ("t_q", "t_k")
        if without(name, getattr(SIZES, length))[1] is not None
    ],
)
def test_no_positions(name, length):
    """What mixes positions refuses to have none; what treats each alone has nothing to do."""
    layer, inputs = without(name, getattr(SIZES, length))
    if any(word in type(layer).__name__ for word in MIXES):
        with pytest.raises(InputError, match=r"has no positions, expected at least one"):
            forward(layer, inputs)
    else:
        y, cache = forward(layer, inputs)
        backward(layer, upstream(y), cache)
