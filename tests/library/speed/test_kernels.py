"""Every kernel equals its textbook function: the same signature, the same numbers, nothing
modified.
"""

import copy
import inspect
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, strategies as st

from minitransformer import InputError
from minitransformer.speed import kernels
from minitransformer.data.special import PAD
from minitransformer.layers import Embedding, Residual
from minitransformer.dispatch import TABLE
from tests.helpers.kernels import (
    INPUTS,
    cast,
    loss_of,
    needs_numba,
    textbook,
    uncompiled,
)

KERNELS = {
    kernel.function.__name__: (entry, kernel)
    for entry in TABLE.values()
    for kernel in entry.kernels
}
BOUNDS = {"float32": 2e-5, "float64": 1e-12}
pytestmark = needs_numba


# No pairs of functions, and tested on their own, below or in test_continuations.py, test_cached.py
# and test_grouped_past.py:
OTHERS = {
    "adam_update",
    "gather_gradients",
    "random_words",
    "Embedding",
    "LinearCrossEntropy",
    "Residual",
    "log_normaliser",
    "continuations",
    "next_position",
    "next_grouped_position",
}
SIZES = st.tuples(*[st.integers(1, 5)] * 5)


def implementations(operation, dtype="float32"):
    """[(forward, backward)]: the textbook's, and those that run inside `with fast():` if they are
    others.
    """
    entries = TABLE[f"{operation}_forward"], TABLE[f"{operation}_backward"]
    textbooks = tuple(entry.textbook for entry in entries)
    fast = tuple(
        next(
            (kernel.function for kernel in entry.kernels if dtype in kernel.dtypes), entry.textbook
        )
        for entry in entries
    )
    return [textbooks] if fast == textbooks else [textbooks, fast]


def run(pair, inputs):
    """[y, the input gradients], the cache, and proof that neither input nor cache was changed."""
    forward, backward = pair
    rng = (
        {"rng": np.random.default_rng(3)} if "rng" in inspect.signature(forward).parameters else {}
    )
    before = copy.deepcopy(inputs)
    y, cache = forward(**inputs, **rng)
    dy = (
        0.7
        if np.ndim(y) == 0
        else np.random.default_rng(1).standard_normal(y.shape).astype(y.dtype)
    )
    kept = copy.deepcopy((dy, cache))
    gradients = backward(dy, cache)
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    for one, other in ((before, inputs), (kept, (dy, cache))):
        np.testing.assert_equal(one, other)
    return [y, *gradients], cache


def assert_near(found, expected, dtype):
    """Arrays of the same shapes and dtypes, up to rounding."""
    for one, other in zip(expected, found, strict=True):
        assert one.dtype == other.dtype == dtype and one.shape == other.shape
        np.testing.assert_allclose(
            other, one, rtol=0, atol=BOUNDS[dtype] * max(1, np.abs(one).max(initial=0))
        )


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("minitransformer.speed.compiled.loss.BLOCK", 1)  # blocks of 64 rows
        yield


def test_every_kernel_is_tested():
    """A new kernel needs inputs here; each row of the table names a textbook that exists."""
    assert {entry.operation for entry, _ in KERNELS.values()} == INPUTS.keys() | OTHERS
    assert {entry.name for entry, _ in KERNELS.values()} == {*kernels.KERNELS}


@pytest.mark.parametrize("name", KERNELS)
def test_signatures_are_the_textbooks(name):
    """Names, defaults and kinds, so that a call of one is a call of the other."""
    entry, kernel = KERNELS[name]
    of_kernel, of_textbook = (
        [one.replace(annotation=one.empty) for one in inspect.signature(f).parameters.values()]
        for f in (kernel.function, entry.textbook)
    )
    assert of_kernel == of_textbook


@pytest.mark.parametrize("context", [nullcontext, uncompiled])
@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("operation", INPUTS)
@given(sizes=SIZES, seed=st.integers(0, 999))
def test_kernels_give_the_same_numbers(operation, dtype, context, sizes, seed):
    inputs = cast(INPUTS[operation](np.random.default_rng(seed), *sizes), dtype)
    with context():
        (expected, expected_cache), *others = (
            run(pair, inputs) for pair in implementations(operation, dtype)
        )
    assert others or dtype == "float64"
    for found, cache in others:
        assert_near(found, expected, dtype)
        assert all(hasattr(cache, name) for name in expected_cache._fields)  # what a reader finds


@pytest.mark.parametrize("context", [nullcontext, uncompiled])
@pytest.mark.parametrize("dtype", BOUNDS)
@given(
    rows=st.sampled_from([1, 63, 64, 65, 128, 129]),  # blocks have 64 here
    smoothing=st.sampled_from([0.0, 0.1]),
    padding=st.sampled_from([PAD, None, 6]),
    scale=st.sampled_from([1, 100]),
    seed=st.integers(0, 99),
)
def test_losses_give_the_same_numbers(context, dtype, rows, smoothing, padding, scale, seed):
    rng = np.random.default_rng(seed)
    x, weight = rng.standard_normal((rows, 3)), scale * rng.standard_normal((7, 3))
    given = weight.astype(dtype), x.astype(dtype), rng.integers(0, 7, rows), smoothing, padding
    with textbook():
        expected = loss_of(*given)
    with context():
        assert_near(loss_of(*given), expected, dtype)


@pytest.mark.parametrize("context", [nullcontext, textbook])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_large_logits_that_are_equal(context, smoothing):
    """The loss is log V, though the logarithm of a sum beside 1e20 is lost in float32."""
    weight, x = np.full((7, 1), 1e20, "float32"), np.ones((5, 1), "float32")
    with context():
        loss, *_ = loss_of(weight, x, np.arange(5), smoothing, None)
    assert loss == pytest.approx(5 * np.log(7), rel=1e-6)


@pytest.mark.parametrize("context", [nullcontext, uncompiled])
@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("pre_norm", [True, False])
@given(rate=st.sampled_from([0.0, 0.001, 0.3, 0.9]), sizes=SIZES, seed=st.integers(0, 99))
def test_residuals_give_the_same_numbers(context, dtype, pre_norm, rate, sizes, seed):
    batch, length, width, *_ = sizes
    rng, found = np.random.default_rng(seed), []
    x, h, dy = rng.standard_normal((3, batch, length, width + 1)).astype(dtype)
    for run_it in (textbook, context):
        residual = Residual(width + 1, rate, pre_norm).astype(dtype)
        with run_it():
            y, cache = residual.forward(x, h, np.random.default_rng(1))
            found.append([y, *residual.backward(dy, cache), residual.norm.gamma.grad])
        assert hasattr(cache.dropout, "mask")
    assert_near(found[1], found[0], dtype)


@pytest.mark.parametrize("operation", INPUTS)
def test_a_gradient_of_another_shape_is_refused_by_all(operation):
    """Also one of the same size, with its axes exchanged: a loop that looks at no bounds would take
    it.
    """
    inputs = cast(INPUTS[operation](np.random.default_rng(0), 2, 3, 4, 5, 6), "float32")
    for forward, backward in implementations(operation):
        rng = (
            {"rng": np.random.default_rng(3)}
            if "rng" in inspect.signature(forward).parameters
            else {}
        )
        y, cache = forward(
            **{**inputs, **({"dropout_rate": 0.3} if "dropout_rate" in inputs else {})}, **rng
        )
        for wrong in (y.swapaxes(0, 1), y[..., :-1], np.ones((3, *y.shape[1:]), "float32")):
            with pytest.raises(ValueError):
                backward(wrong, cache)


@pytest.mark.parametrize("dtype", BOUNDS)
@given(size=st.integers(1, 40_000), step=st.integers(1, 50), seed=st.integers(0, 99))
def test_adam_gives_the_same_numbers(dtype, size, step, seed):
    entry = TABLE["adam_update"]
    rng = np.random.default_rng(seed)
    vectors = [rng.standard_normal(size).astype(dtype) for _ in range(3)] + [
        rng.random(size).astype(dtype)
    ]
    expected = copy.deepcopy(vectors)
    entry.textbook(*expected, step, 0.01, 0.5, 0.9, 0.98, 1e-9, np.True_)
    assert entry.kernels
    for kernel in entry.kernels:
        found = copy.deepcopy(vectors)
        kernel.function(*found, step, 0.01, 0.5, 0.9, 0.98, 1e-9, np.True_)
        for one, other in zip(expected, found):
            np.testing.assert_allclose(other, one, rtol=0, atol=BOUNDS[dtype])
    for update in (entry.textbook, *(kernel.function for kernel in entry.kernels)):
        moved = copy.deepcopy(vectors)
        moved[1][0] = np.nan
        update(*moved, step, 0.01, 0.5, 0.9, 0.98, 1e-9, np.False_)
        for kept in (0, 2, 3):
            np.testing.assert_array_equal(moved[kept], vectors[kept])


@pytest.mark.parametrize("dtype", BOUNDS)
def test_adams_moments_without_gradients_become_zero(dtype):
    """They and their products with a learning rate are never denormal: many processors are slow at
    those.
    """
    entry, tiny = TABLE["adam_update"], np.finfo(dtype).tiny
    for update in (entry.textbook, *(kernel.function for kernel in entry.kernels)):
        rng = np.random.default_rng(0)
        data, grad = rng.standard_normal(50).astype(dtype), np.zeros(50, dtype)
        m, v = np.full((2, 50), 1e12 * tiny, dtype)
        m[::2] *= -1
        for step in range(1, 1500):
            grad[30:] = rng.standard_normal(20)
            update(data, grad, m, v, step, 1e-3, 1.0, 0.9, 0.98, 1e-9, np.True_)
            assert all((np.abs(moment[moment != 0]) > 1e6 * tiny).all() for moment in (m, v)), step
        assert not m[:30].any() and not v[:30].any() and m[30:].all() and v[30:].all()


@pytest.mark.parametrize("context", [nullcontext, uncompiled])
@pytest.mark.parametrize("dtype", BOUNDS)
@given(size=st.integers(1, 6000), count=st.integers(0, 3), seed=st.integers(0, 99))
def test_gradients_are_gathered_alike(dtype, context, size, count, seed):
    entry, rng = TABLE["gather_gradients"], np.random.default_rng(seed)
    vectors = [rng.standard_normal(size).astype(dtype) for _ in range(count + 1)]
    with context():
        for gather in (entry.textbook, *(kernel.function for kernel in entry.kernels)):
            grad, *others = copy.deepcopy(vectors)
            square = gather(grad, others)
            assert square.dtype == dtype and square == pytest.approx(
                float(sum(vectors) @ sum(vectors)), rel=10 * BOUNDS[dtype]
            )
            np.testing.assert_allclose(grad, sum(vectors), rtol=0, atol=BOUNDS[dtype])
            assert not np.any(others)


@pytest.mark.parametrize("context", [nullcontext, uncompiled])
@given(key=st.integers(0, 2**62 - 1), count=st.integers(0, 40))
def test_random_words_are_the_same_bits(context, key, count):
    entry, key = TABLE["random_words"], np.array([key], "uint64")
    with context():
        for kernel in entry.kernels:
            np.testing.assert_array_equal(kernel.function(key, count), entry.textbook(key, count))


@pytest.mark.parametrize("context", [nullcontext, uncompiled])
@pytest.mark.parametrize("dtype", BOUNDS)
@given(sizes=SIZES, seed=st.integers(0, 99))
def test_embeddings_give_the_same_gradient(dtype, context, sizes, seed):
    """Tokens are repeated, and the gradient is added to one that is not zero."""
    batch, length, vocab_size, d_model, _ = sizes
    rng, found = np.random.default_rng(seed), []
    ids, dy = (
        rng.integers(0, vocab_size, (batch, length)),
        rng.standard_normal((batch, length, d_model)).astype(dtype),
    )
    for run_it in (textbook, context):
        layer = Embedding(vocab_size, d_model, np.random.default_rng(0)).astype(dtype)
        layer.weight.grad[...] = 1
        with run_it():
            _, cache = layer.forward(ids)
            layer.backward(dy, cache)
        found.append(layer.weight.grad)
    np.testing.assert_allclose(*found, rtol=0, atol=BOUNDS[dtype] * max(1, np.abs(found[0]).max()))


@pytest.mark.parametrize("mask", [np.zeros((3, 3), "float32"), np.ones((3, 3), int)])
def test_a_mask_must_be_boolean_for_all(mask):
    """An additive mask, multiplied, would attend to the future."""
    for forward, _ in implementations("attention"):
        with pytest.raises(InputError, match="expected bool"):
            forward(*[np.ones((2, 3, 4))] * 3, mask)


@pytest.mark.parametrize("lead", [(), (2,), (2, 3), (2, 1, 3)])
def test_attention_takes_any_leading_axes(lead):
    """Heads are merged without a copy only where there are a batch and heads."""
    rng = np.random.default_rng(0)
    inputs = {
        name: rng.standard_normal((*lead, length, 3))
        for name, length in (("query", 4), ("key", 5), ("value", 5))
    }
    inputs["mask"] = rng.random((4, 5)) < 0.7
    expected, *others = [
        run(pair, cast(inputs, "float32"))[0] for pair in implementations("attention")
    ]
    assert others
    for found in others:
        assert_near(found, expected, "float32")


@pytest.mark.parametrize("operation", INPUTS)
def test_a_backward_takes_the_textbooks_cache(operation):
    """A half that a reader plugs in, or that exists for another dtype, leaves the cache to the
    other implementation's backward.
    """
    rng = np.random.default_rng(0)
    inputs = cast(INPUTS[operation](rng, 2, 2, 3, 4, 5), "float32")
    if "dropout_rate" in inputs:
        inputs["dropout_rate"] = 0.3
    (forward, backward), *others = implementations(operation)
    expected, _ = run((forward, backward), inputs)
    assert others
    for _, other in others:
        assert_near(run((forward, other), inputs)[0], expected, "float32")


def test_a_constant_row_is_normed_to_zero_by_all():
    for forward, _ in implementations("layer_norm"):
        y, _ = forward(
            np.full((2, 300), 100, "float32"), np.ones(300, "float32"), np.zeros(300, "float32")
        )
        assert not y.any()


@pytest.mark.parametrize("context", [nullcontext, textbook])
def test_targets_are_checked_by_all(context):
    x, weight = np.ones((2, 3), "float32"), np.ones((5, 3), "float32")
    with context():
        with pytest.raises(InputError, match="token id 9, expected 0 to 4"):
            loss_of(weight, x, np.array([1, 9]), 0.0, None)
        with pytest.raises(InputError, match=r"targets has shape \(3,\), expected \(2,\)"):
            loss_of(weight, x, np.array([1, 1, 1]), 0.0, None)
