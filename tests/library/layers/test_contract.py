"""One contract for every layer: right gradients, nothing kept, nothing changed, always added."""

import copy
import inspect

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from minitransformer import gradcheck
from minitransformer import layers as L, models as M
from minitransformer.errors import InputError
from minitransformer.zoo import baselines as R, modern as S
from tests.library.layers.cases import NAMES, call, cases, changed


def forward(layer, inputs, seed=0):
    """Forward with a fresh generator if the layer takes one, so that dropout repeats."""
    takes_rng = "rng" in inspect.signature(layer.forward).parameters
    return call(layer.forward, inputs, **({"rng": np.random.default_rng(seed)} if takes_rng else {}))


def backward(layer, dy, cache):
    """The input gradients, as a tuple."""
    gradients = layer.backward(dy, cache)
    return gradients if isinstance(gradients, tuple) else () if gradients is None else (gradients,)


def upstream(y, seed=7):
    """A random gradient of y, which a recurrent layer has of two arrays: all hidden states, and the last state."""
    if isinstance(y, tuple):
        return tuple(upstream(one, seed + i) for i, one in enumerate(y))
    return np.asarray(np.random.default_rng(seed).standard_normal(np.shape(y)))


def arrays_of(cache):
    """Every array in a cache, however deep."""
    if isinstance(cache, np.ndarray):
        yield cache
    elif isinstance(cache, (tuple, list)):
        for item in cache:
            yield from arrays_of(item)


def flat_gradient(layer):
    return np.concatenate([p.grad.ravel() for p in layer.parameters().values()] or [np.empty(0)])


def test_every_layer_has_a_case():
    classes = {name for name, value in {**vars(L), **vars(M), **vars(R), **vars(S)}.items()
               if inspect.isclass(value) and issubclass(value, L.Layer)}
    assert classes - {"Layer"} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=4)
@given(data=st.data())
def test_gradients(name, data):
    case = data.draw(cases(name))
    report = gradcheck(case.layer, case.inputs, name=repr(case), methods=("complex",),
                       projection=case.layer.num_parameters() > 600)
    assert report.passed, f"\n{report}"


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=12)
@given(data=st.data())
def test_contract(name, data):
    case = data.draw(cases(name))
    layer, inputs = case.layer, case.inputs
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
@settings(max_examples=1)
@given(data=st.data())
def test_another_cache_is_refused(name, data):
    """backward takes only what its own forward returned: a part's cache, or none, gets one line that names both."""
    case = data.draw(cases(name))
    y, cache = forward(case.layer, case.inputs)
    for other in (None, 3, cache[0], (cache,)):
        with pytest.raises(InputError, match="backward.* cache "):
            case.layer.backward(upstream(y), other)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=6)
@given(data=st.data())
def test_two_uses_in_swapped_order(name, data):
    """Two forwards, then the backwards in either order: a layer keeps nothing of its last use."""
    case = data.draw(cases(name))
    layer, inputs = case.layer, case.inputs
    others = changed(inputs, lambda value: value[..., ::-1].copy()
                     if isinstance(value, np.ndarray) and value.dtype != bool else value)
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
@settings(max_examples=6)
@given(data=st.data())
def test_no_generator_means_no_dropout(name, data):
    case = data.draw(cases(name))
    y, _ = call(case.layer.forward, case.inputs)
    for part in (case.layer, *case.layer.sublayers().values()):
        if hasattr(part, "dropout"):
            part.dropout = 0.0
    without, _ = forward(case.layer, case.inputs)
    np.testing.assert_equal(y, without)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=4)
@given(data=st.data())
def test_dtype_is_kept(name, data):
    case = data.draw(cases(name))
    layer = case.layer.astype(np.float32)
    inputs = changed(case.inputs, lambda value: value.astype(np.float32)
                     if isinstance(value, np.ndarray) and value.dtype == np.float64 else value)
    y, cache = forward(layer, inputs)
    dy = upstream(y)
    gradients = backward(layer, tuple(map(np.float32, dy)) if isinstance(dy, tuple) else np.float32(dy), cache)
    floats = [array for array in arrays_of((y if isinstance(y, tuple) else np.asarray(y), cache, gradients))
              if array.dtype.kind == "f"]
    assert {array.dtype for array in floats} == {np.dtype(np.float32)}
