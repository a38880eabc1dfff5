"""One contract for every layer: right gradients, nothing kept, nothing changed, always added."""

import copy

import numpy as np
import pytest

from minitransformer import gradcheck
from minitransformer.errors import InputError
from minitransformer.layers import Layer
from tests import campaign_but
from tests.helpers.layers import NAMES, call, case, changed, table, sizes_of
from tests.helpers.layers import forward, backward, upstream, flat_gradient


def arrays_of(cache):
    """Every array in a cache, however deep."""
    if isinstance(cache, np.ndarray):
        yield cache
    elif isinstance(cache, (tuple, list)):
        for item in cache:
            yield from arrays_of(item)


DRAWS = range(4)


ALONE = [
    name
    for name in table(sizes_of(0))
    if name.startswith(("transformer-", "classifier-")) and not name.endswith("-loss")
]


@pytest.mark.parametrize("draw", [3, pytest.param(1, marks=pytest.mark.campaign)])
@pytest.mark.parametrize(
    "name", campaign_but(table(sizes_of(0)), *(table(sizes_of(0)).keys() - ALONE))
)  # with a loss, all are
def test_gradients(name, draw):
    """Of pairs of functions and of the models' losses, too; those of many numbers along random
    lines.
    """
    block, inputs = table(sizes_of(draw))[name]
    projection = True if isinstance(block, Layer) and block.num_parameters() > 300 else None
    report = gradcheck(block, inputs, name=name, projection=projection)
    assert report.passed, f"\n{report}"
    if isinstance(block, Layer):
        assert set(block.parameters()) <= {result.wrt for result in report.results}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("draw", campaign_but(DRAWS, 0, 3))
def test_contract(name, draw):
    given = case(name, draw)
    layer, inputs = given.layer, given.inputs
    originals = copy.deepcopy(inputs)

    y, cache = forward(layer, inputs)
    dy = upstream(y)
    before = [array.copy() for array in arrays_of(cache)]
    first = backward(layer, dy, cache)
    gradient = flat_gradient(layer)

    # inputs, upstream gradient and cache are as they were
    np.testing.assert_equal(inputs, originals)
    np.testing.assert_equal(dy, upstream(y))
    for old, new in zip(before, arrays_of(cache), strict=True):
        np.testing.assert_array_equal(old, new)

    # the cache is a NamedTuple: its fields have names
    assert hasattr(cache, "_fields")

    # from zeroed gradients: the same bits; without zeroing: twice the gradient
    layer.zero_grad()
    again = backward(layer, dy, cache)
    np.testing.assert_array_equal(flat_gradient(layer), gradient)
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, two)
    backward(layer, dy, cache)
    np.testing.assert_allclose(flat_gradient(layer), 2 * gradient, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_another_cache_is_refused(name):
    """backward takes only what its own forward returned: a part's cache, or none, gets one line
    that names both.
    """
    given = case(name)
    y, cache = forward(given.layer, given.inputs)
    for other in (None, 3, cache[0], (cache,)):
        with pytest.raises(InputError, match="backward.* cache "):
            given.layer.backward(upstream(y), other)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("draw", [0, 2])
def test_two_uses_in_swapped_order(name, draw):
    """Two forwards, then the backwards in either order: a layer keeps nothing of its last use."""
    given = case(name, draw)
    layer, inputs = given.layer, given.inputs
    others = changed(
        inputs,
        lambda value: (
            value[..., ::-1].copy()
            if isinstance(value, np.ndarray) and value.dtype != bool
            else value
        ),
    )
    results = []
    for swap in (False, True):
        layer.zero_grad()
        uses = [forward(layer, inputs, seed=1), forward(layer, others, seed=2)]
        gradients = {}
        for i in (1, 0) if swap else (0, 1):
            y, cache = uses[i]
            gradients[i] = backward(layer, upstream(y), cache)
        results.append((gradients, flat_gradient(layer)))
    (ordered, total), (swapped, swapped_total) = results
    for i in (0, 1):
        for one, two in zip(ordered[i], swapped[i], strict=True):
            np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(total, swapped_total, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_no_generator_means_no_dropout(name):
    given = case(name)
    y, _ = call(given.layer.forward, given.inputs)
    for part in (given.layer, *given.layer.sublayers().values()):
        if hasattr(part, "dropout"):
            part.dropout = 0.0
    without, _ = forward(given.layer, given.inputs)
    np.testing.assert_equal(y, without)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("draw", [0, 1])
def test_dtype_is_kept(name, draw):
    given = case(name, draw)
    layer = given.layer.astype(np.float32)
    inputs = changed(
        given.inputs,
        lambda value: (
            value.astype(np.float32)
            if isinstance(value, np.ndarray) and value.dtype == np.float64
            else value
        ),
    )
    y, cache = forward(layer, inputs)
    dy = upstream(y)
    gradients = backward(
        layer, tuple(map(np.float32, dy)) if isinstance(dy, tuple) else np.float32(dy), cache
    )
    floats = [
        array
        for array in arrays_of((y if isinstance(y, tuple) else np.asarray(y), cache, gradients))
        if array.dtype.kind == "f"
    ]
    assert {array.dtype for array in floats} == {np.dtype(np.float32)}
