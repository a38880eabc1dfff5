"""What the tests of kernels share: their inputs, the textbook beside them, and which function ran."""

import sys
from contextlib import contextmanager

import numpy as np
import pytest

from minitransformer import functional as F
from minitransformer import plugged
from minitransformer.layers import LinearCrossEntropy, OutputProjection
from minitransformer.layers.parameter import Parameter
from minitransformer.speed import kernels
from minitransformer.speed.kernels import kernels_run

list(kernels.KERNELS.values())  # which imports the zoo's textbooks
kernels.load_all()
needs_numba = pytest.mark.skipif(
    bool(kernels.state.problem), reason=f"no kernels: {kernels.state.problem}"
)


class Counting:
    """Calls of `function`, counted."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *arguments, **options):
        self.calls += 1
        return self.function(*arguments, **options)


def counting(function):
    """The textbook of a replaceable function, counted, to plug in."""
    return Counting(function.textbook)


def textbook():
    """Within the block no kernel runs: something is plugged in, which is the textbook itself."""
    return plugged(F.adam_update, F.adam_update.textbook)


LOSS = LinearCrossEntropy()


def output_layer(dtype="float32"):
    return OutputProjection(4, 3, weight=Parameter(np.ones((4, 3), dtype)))


def loss_cache(dtype="float32", **options):
    x, targets = np.ones((2, 3), dtype), np.array([1, 2])
    return LOSS.forward(x, output_layer(dtype), targets, padding=None, **options)[1]


def kernel_runs(cache):
    return hasattr(cache, "dx")


def attention_inputs(rng, b, h, t, k, d):
    mask = rng.random((b, rng.choice([1, h]), t, k)) < 0.7  # one for all heads, or one for each
    mask[0, 0, 0] = False  # may attend to nothing
    scale = np.sqrt(
        rng.choice([1, 40])
    )  # at 40 the scores are further apart than one exponential can hold
    return {
        "query": scale * rng.standard_normal((b, h, t, d)),
        "key": scale * rng.standard_normal((b, h, k, d)),
        "value": rng.standard_normal((b, h, k, d + 1)),
        "mask": mask if rng.random() < 0.7 else None,
        "dropout_rate": float(rng.choice([0.0, 0.3])),
    }


def dropout_inputs(rng, b, h, t, k, d):
    return {
        "x": rng.standard_normal((b, t, d)),
        "dropout_rate": float(rng.choice([0.0, 0.001, 0.3, 0.9])),
    }


def activation_inputs(rng, b, h, t, k, d):
    return {"x": rng.standard_normal((b, t, d))}


def layer_norm_inputs(rng, b, h, t, k, d):
    return {
        "x": 3 * rng.standard_normal((b, t, d + 1)) + 1,
        "gamma": rng.standard_normal(d + 1),
        "beta": rng.standard_normal(d + 1),
    }


INPUTS = {
    "attention": attention_inputs,
    "dropout": dropout_inputs,
    "relu": activation_inputs,
    "gelu": activation_inputs,
    "layer_norm": layer_norm_inputs,
}


@contextmanager
def uncompiled():
    """Within it the compiled kernels' loops run as Python, line by line: coverage sees them, and
    mistakes of the compiler show.
    """
    with (
        pytest.MonkeyPatch.context() as patch,
        np.errstate(over="ignore"),
    ):  # NumPy's scalars warn where words overflow
        for module in [
            module
            for name, module in sys.modules.items()
            if name.startswith("minitransformer.speed.")
        ]:
            for name, value in vars(module).items():
                if hasattr(value, "py_func"):
                    patch.setattr(module, name, value.py_func)
        yield


def cast(inputs, dtype):
    return {
        name: value.astype(dtype)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f"
        else value
        for name, value in inputs.items()
    }


def loss_of(weight, x, targets, smoothing, padding):
    """[loss, dx, dweight, log_likelihood] with the logits x W^T."""
    output = OutputProjection(*weight.shape, weight=Parameter(weight))
    loss, cache = LOSS.forward(x, output, targets, smoothing, padding=padding)
    dx = LOSS.backward(0.7, output, cache)
    return [loss, dx, output.weight.grad, cache.log_likelihood]


def states(model, source, steps):
    """The hidden states of each step: [(ids, parents)], and in the middle only some sentences are
    kept.
    """
    state, found = model.start(source), []
    for i, (ids, parents) in enumerate(steps):
        found.append(state.advance(ids, parents))
        if i == 2:
            state.keep(np.arange(len(source))[::-1][: len(steps[3][0])])
    return found


def some_steps(rng, batch, width, kept):
    """Token ids and parents of six positions: one hypothesis at first, `width` later."""
    steps = [
        (rng.integers(3, 9, (batch, 1)), None),
        (rng.integers(3, 9, (batch, width)), np.zeros((batch, width), int)),
    ]
    for count in (batch, kept, kept, kept):
        steps.append((rng.integers(3, 9, (count, width)), rng.integers(0, width, (count, width))))
    return steps


@pytest.fixture(autouse=True, scope="module")
def with_kernels():
    with kernels_run():
        yield
