"""A block that breaks the contract gets one sentence that says how, and so does the part of a model
that does.
"""

import numpy as np
import pytest

from minitransformer import functional as F
from minitransformer import gradcheck
from minitransformer import layers as L
from minitransformer.checking.report import CONTRACT
from minitransformer.dispatch import plugged
from tests.helpers.finding import ALL, X, finding

LAST = {}
product = lambda dy, x: dy @ x  # the shapes do not fit


def random_mask(x):
    mask = np.random.random(x.shape) > 0.5
    return x * mask, mask


def counting(x):
    LAST["x"] = x
    return x * x, None


class Forgetful(L.FeedForward):
    """Keeps its cache on self."""

    def forward(self, x, rng=None):
        y, self.cache = super().forward(x, rng)
        return y, None

    def backward(self, dy, cache):
        return super().backward(dy, self.cache)


class ReadsGrad(L.Linear):
    """Takes its step inside backward, before dx is computed."""

    def backward(self, dy, cache):
        self.weight.grad += cache.x.reshape(-1, 5).T @ dy.reshape(-1, 4)
        self.bias.grad += dy.sum(axis=(0, 1))
        return dy @ (self.weight.data - 0.1 * self.weight.grad).T


class Assigned(L.Linear):
    def backward(self, dy, cache):
        dx = super().backward(dy, cache)
        self.bias.grad[...] = dy.sum(axis=(0, 1))
        return dx


@pytest.mark.parametrize(
    "block, words",
    [
        (
            (lambda x: (np.multiply(x, 2, out=x), None), lambda dy, cache: 2 * dy),
            "forward changes its input x in place",
        ),
        (
            (F.relu_forward, lambda dy, cache: np.multiply(dy, cache.positive, out=dy)),
            "backward changes dy in place",
        ),
        (
            (lambda x: (x * x, x), lambda dy, x: np.multiply(x, 2 * dy, out=x)),
            "backward changes its",
        ),
        ((random_mask, lambda dy, mask: dy * mask), "draws its own random numbers"),
        (
            (lambda x: (x * x, x), lambda dy, x: 2 * x * dy * np.random.random(x.shape)),
            "random numbers",
        ),
        (
            (F.relu_forward, lambda dy, cache: (dy, dy)),
            "backward returned 2 gradients, expected 1: one each for x",
        ),
        ((F.relu_forward, lambda dy, cache: None), "backward returned 0 gradients, expected 1"),
        (
            (F.relu_forward, lambda dy, cache: dy[0]),
            r"gradient for x has shape \(3, 5\), expected \(2, 3, 5\)",
        ),
        ((lambda x: (np.log(x), x), lambda dy, x: dy / x), "forward returns NaN"),
        (
            (lambda x: (x * x, x), lambda dy, x: 2 * x * dy * np.where(x > 0, 1, np.nan)),
            "gradient of x is NaN",
        ),
        (
            (lambda x: ((x * x).astype("f4"), x), lambda dy, x: 2 * x * dy),
            "forward returns float32",
        ),
        (
            (lambda x: (x * x, x), lambda dy, x: (2 * x * dy).astype("f4")),
            "is float32, expected float64",
        ),
        (
            (lambda x: (x * x, x), product),
            rf"backward raises ValueError: .*test_doctor_contract.py, line {product.__code__.co_firstlineno}\)",
        ),
        ((lambda x: x @ x, lambda dy, x: dy @ x), "forward raises ValueError"),
        ((lambda x: x * x, lambda dy, x: dy), "expected `return y, cache`"),
        (
            (lambda x: (x * x, x), lambda dy, x: np.stack([2 * x[0] * dy[0], 2 * x[1] * dy[1]])),
            "right at the given inputs only: with x of shape",
        ),
        (
            (lambda x: (x * x, x), lambda dy, x: [2 * x * dy]),
            "backward returns a list, expected a tuple",
        ),
        (
            (lambda x: (x * x, x), lambda dy, x: (2 * x * dy).T),
            r"shape \(5, 3, 2\), expected \(2, 3, 5\); it is transposed",
        ),
        (
            (lambda x: (x / x.std(), x), lambda dy, x: dy / x.std()),
            r"drops the imaginary part \(no abs, var, std or norm",
        ),
        ((counting, lambda dy, cache: 2 * LAST["x"] * dy), "kept on self and not in the cache"),
        (Forgetful(5, 4, np.random.default_rng(0)), "kept on self and not in the cache"),
        (
            ReadsGrad(5, 4, np.random.default_rng(0)),
            r"gradient of x \(dx\) while weight.grad holds the first one",
        ),
        (
            Assigned(5, 4, np.random.default_rng(0)),
            r"gradient of bias is assigned \(=\), not added",
        ),
    ],
)
def test_a_contract_not_kept_is_one_sentence(block, words):
    report = gradcheck(block, (X.copy(),), name="it", methods=("complex",))
    assert not report.passed
    found = report.findings["it"]
    assert found.kind == CONTRACT
    with pytest.raises(AssertionError, match=words):
        report.raise_if_failed()
    assert "\n" not in str(found) and "Traceback" not in str(report)


def test_the_part_of_a_model_that_breaks_the_contract_is_named():
    def in_place(dy, cache):
        if cache.mask is not None:
            dy *= cache.mask
        return dy

    with plugged(F.dropout_backward, in_place):
        found = finding(*ALL["encoder-layer"])
    assert found.kind == CONTRACT and "in place" in found.sentence and "dropout" in found.place


def test_the_part_that_makes_a_nan_is_named():
    with plugged(
        F.softmax_backward,
        lambda dp, cache: (
            cache.p * (dp - (dp * cache.p).sum(axis=-1, keepdims=True)) / (cache.p > 0)
        ),
    ):
        found = finding(*ALL["transformer"])
    assert found.kind == CONTRACT and found.place.endswith("softmax") and "NaN" in found.sentence


def test_a_part_that_computes_in_float32_is_named():
    def single(dy, cache):
        return F.gelu_backward.textbook(dy.astype("f4"), cache).astype("f4")

    with plugged(F.gelu_backward, single):
        found = finding(*ALL["encoder-layer-pre-norm"])
    assert found.kind == CONTRACT and found.place.endswith("gelu") and "float32" in found.sentence


@pytest.mark.parametrize("name", ["gelu", "transformer-pre-norm"])
def test_a_forward_that_leaves_float32_is_named(name):
    def gelu_forward(x):
        y, cache = F.gelu_forward.textbook(x)
        return y * np.float64(1), cache

    with plugged(F.gelu_forward, gelu_forward):
        found = finding(*ALL[name])
    assert (
        found.kind == CONTRACT
        and "forward returns is float64 for inputs of float32" in found.sentence
    )
