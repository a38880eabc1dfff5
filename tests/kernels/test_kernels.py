"""A fast twin is its textbook function: same name, same signature, same numbers, nothing changed on the way."""

import copy
import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

import minitransformer
from minitransformer import Adam, InputError, Transformer, TransformerConfig, gradcheck, make_batch, training_step
from minitransformer import functional as F
from minitransformer.checking.blocks import blocks

BOUNDS = {"float32": 2e-5, "float64": 1e-12}
ROOT = Path(minitransformer.__file__).parent


def attention_inputs(rng, b, h, t, k, d):
    mask = rng.random((b, 1, t, k)) < 0.7
    mask[0, 0, 0] = False    # may attend to nothing
    scale = rng.choice([1, 40])    # at 40 the scores are further apart than one exponential can hold
    return (scale * rng.standard_normal((b, h, t, d)), rng.standard_normal((b, h, k, d)),
            rng.standard_normal((b, h, k, d + 1)), mask if rng.random() < 0.7 else None, float(rng.choice([0.0, 0.3])))


def layer_norm_inputs(rng, b, h, t, k, d):
    return 3 * rng.standard_normal((b, t, d + 1)) + 1, rng.standard_normal(d + 1), rng.standard_normal(d + 1)


def linear_cross_entropy_inputs(rng, b, h, t, k, d):
    shape = b, 20 * t    # several blocks, as the tests make them small
    return rng.standard_normal((*shape, d)), rng.standard_normal((k + 1, d)), rng.integers(0, k, shape), \
        float(rng.choice([0.0, 0.1]))


INPUTS = {"attention": attention_inputs, "layer_norm": layer_norm_inputs,
          "linear_cross_entropy": linear_cross_entropy_inputs}
SIZES = st.tuples(*[st.integers(1, 5)] * 5)


def cast(inputs, dtype):
    return [value.astype(dtype) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value
            for value in inputs]


def run(pair, inputs, name):
    """y, the input gradients, and proof that neither input nor cache was changed."""
    forward, backward = pair
    rng = {"rng": np.random.default_rng(3)} if name == "attention" else {}
    before = copy.deepcopy(inputs)
    y, cache = forward(*inputs, **rng)
    dy = 0.7 if np.ndim(y) == 0 else np.random.default_rng(1).standard_normal(y.shape).astype(y.dtype)
    kept = copy.deepcopy((dy, cache))
    gradients = backward(dy, cache)
    for one, other in ((before, inputs), (kept, (dy, cache))):
        np.testing.assert_equal(one, other)
    return [y, *gradients], cache


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("minitransformer.fast.cpu.linear_cross_entropy.BLOCK", 1)    # blocks of 64 rows
        yield


def test_every_twin_has_its_textbook():
    """Same files, same names, same signatures, all of them in the table."""
    names = set()
    for path in (ROOT / "fast" / "cpu").glob("[a-z]*.py"):
        fast = sys.modules[f"minitransformer.fast.cpu.{path.stem}"]
        textbook = sys.modules[f"minitransformer.functional.{path.stem}"]
        for name, function in inspect.getmembers(fast, inspect.isfunction):
            if function.__module__ == fast.__name__ and not name.startswith("_"):
                assert inspect.signature(function) == inspect.signature(getattr(textbook, name))
                names.add(name)
    assert names == set(F.TWINS)


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("name", INPUTS)
@given(sizes=SIZES, seed=st.integers(0, 999))
def test_twins_give_the_same_numbers(name, dtype, sizes, seed):
    inputs = cast(INPUTS[name](np.random.default_rng(seed), *sizes), dtype)
    pairs = zip(F.TWINS[f"{name}_forward"], F.TWINS[f"{name}_backward"])
    (textbook, textbook_cache), (fast, fast_cache) = (run(pair, inputs, name) for pair in pairs)
    for one, other in zip(textbook, fast, strict=True):
        assert one.dtype == other.dtype == dtype and one.shape == other.shape
        scale = max(1, np.abs(one).max(initial=0))
        np.testing.assert_allclose(other, one, rtol=0, atol=scale * BOUNDS[dtype])
    if name == "linear_cross_entropy":
        np.testing.assert_allclose(fast_cache.log_likelihood, textbook_cache.log_likelihood, rtol=0,
                                   atol=BOUNDS[dtype] * max(1, np.abs(textbook_cache.log_likelihood).max()))
    else:
        assert type(fast_cache) is type(textbook_cache)


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("which", ["textbook", "fast"])
def test_gradients_of_both(name, which):
    inputs = INPUTS[name](np.random.default_rng(2), 2, 3, 4, 5, 6)
    pair = [F.TWINS[f"{name}_{direction}"][which == "fast"] for direction in ("forward", "backward")]
    report = gradcheck(tuple(pair), inputs, methods=("central",))
    assert report.passed, f"\n{report}"


@pytest.mark.parametrize("name", ["attention", "layer-norm", "decoder-layer", "transformer"])
@pytest.mark.parametrize("use_fast", [True, False])
def test_blocks_are_right_with_either(monkeypatch, name, use_fast):
    monkeypatch.setattr("minitransformer.functional.USE_FAST", use_fast)
    report = gradcheck(*blocks()[name], name=name)
    assert report.passed, f"\n{report}"


def test_a_training_step_is_the_same_with_either(monkeypatch):
    """Weights after three steps in float64, dropout everywhere."""
    batch = make_batch([([4, 5, 6], [6, 5]), ([7], [8, 9, 4, 4])])
    weights = []
    for use_fast in (True, False):
        monkeypatch.setattr("minitransformer.functional.USE_FAST", use_fast)
        config = TransformerConfig.named("toy", 12, dropout=0.2, attention_dropout=0.2, feed_forward_dropout=0.2)
        model = Transformer(config).astype(np.float64)
        adam = Adam(model)
        for step in range(3):
            training_step(model, adam, batch, 0.001, np.random.default_rng(step), 0.1)
        weights.append(adam.data)
    np.testing.assert_allclose(*weights, rtol=0, atol=1e-10)


@pytest.mark.parametrize("dtype", BOUNDS)
@given(size=st.integers(1, 40_000), step=st.integers(1, 50), seed=st.integers(0, 99))
def test_adam_gives_the_same_numbers(dtype, size, step, seed):
    rng = np.random.default_rng(seed)
    vectors = [rng.standard_normal(size).astype(dtype) for _ in range(3)] + [rng.random(size).astype(dtype)]
    one, other = copy.deepcopy(vectors), copy.deepcopy(vectors)
    for update, moved in zip(F.TWINS["adam_update"], (one, other)):
        update(*moved, step, 0.01, 0.5, 0.9, 0.98, 1e-9, np.True_)
    for a, b in zip(one, other):
        np.testing.assert_allclose(b, a, rtol=0, atol=BOUNDS[dtype])
    for update in F.TWINS["adam_update"]:
        moved = copy.deepcopy(vectors)
        moved[1][0] = np.nan
        update(*moved, step, 0.01, 0.5, 0.9, 0.98, 1e-9, np.False_)
        np.testing.assert_array_equal(moved[0], vectors[0])


@pytest.mark.parametrize("mask", [np.zeros((3, 3), "float32"), np.ones((3, 3), int)])
def test_a_mask_must_be_boolean_for_both(mask):
    """An additive mask, multiplied, would attend to the future."""
    for forward in F.TWINS["attention_forward"]:
        with pytest.raises(InputError, match="expected bool"):
            forward(*[np.ones((2, 3, 4))] * 3, mask)


def test_a_constant_row_is_normed_to_zero_by_both():
    for forward in F.TWINS["layer_norm_forward"]:
        y, _ = forward(np.full((2, 300), 100, "float32"), np.ones(300, "float32"), np.zeros(300, "float32"))
        assert not y.any()


def test_what_decides_between_them():
    """float32 and float64 of NumPy, by position or by keyword; a number of NumPy's makes no float64 of float32."""
    x, weight, targets = np.ones((2, 3), "float32"), np.ones((4, 3), "float32"), np.array([1, 2])
    loss, cache = F.linear_cross_entropy_forward(x=x, weight=weight, targets=targets)
    dx, dweight = F.linear_cross_entropy_backward(dloss=np.float64(0.5), cache=cache)
    assert hasattr(cache, "dx") and dx.dtype == dweight.dtype == np.float32
    for dtype in ("float16", "complex128"):
        _, cache = F.linear_cross_entropy_forward(x.astype(dtype), weight.astype(dtype), targets)
        assert not hasattr(cache, "dx")


def test_targets_are_checked_by_both():
    for forward in F.TWINS["linear_cross_entropy_forward"]:
        with pytest.raises(InputError, match="token id 9, expected 0 to 4"):
            forward(np.ones((2, 3)), np.ones((5, 3)), np.array([1, 9]))
        with pytest.raises(InputError, match=r"targets has shape \(3,\), expected \(2,\)"):
            forward(np.ones((2, 3)), np.ones((5, 3)), np.array([1, 1, 1]))


@pytest.mark.parametrize("value, runs", [("0", False), ("1", True)])
def test_the_environment_turns_them_off(value, runs):
    code = ("import numpy as np; from minitransformer import functional as F; from minitransformer.cli.info import collect; "
            "y, cache = F.linear_cross_entropy_forward(np.ones((2, 3)), np.ones((4, 3)), np.array([1, 2])); "
            "print(hasattr(cache, 'dx'), 'adam_update' in collect()['fast_twins'])")
    out = subprocess.run([sys.executable, "-c", code], env={"MINITRANSFORMER_FAST": value, "OPENBLAS_NUM_THREADS": "1"},
                         capture_output=True, text=True, check=True).stdout
    assert out.split() == [str(runs)] * 2


@pytest.mark.parametrize("file", sorted({fast.__module__ for _, fast in F.TWINS.values()}))
def test_a_twin_can_be_imported_first(file):
    subprocess.run([sys.executable, "-c", f"import {file}"], env={"OPENBLAS_NUM_THREADS": "1"}, check=True)
