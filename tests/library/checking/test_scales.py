"""Steps and bounds follow the size of each array, in float64, from 1e-30 to 1e30; what only float32
cannot hold is a remark.
"""

import numpy as np
import pytest

from minitransformer import Parameter, gradcheck
from minitransformer.layers import Layer

pytestmark = pytest.mark.usefixtures("without_the_doctor")
SCALES = [1e-30, 1e-20, 1e-8, 1e8, 1e20, 1e30]
X = np.random.default_rng(3).standard_normal((2, 3))


class Own(Layer):
    """y = x W + b; wrong: the name of an array whose gradient is too large by 1 in 1,000."""

    def __init__(self, w, b, wrong=""):
        self.w, self.b, self.wrong = Parameter(w), Parameter(b), wrong

    def forward(self, x):
        return x @ self.w.data + self.b.data, x

    def backward(self, dy, x):
        factor = {name: 1.001 if name == self.wrong else 1 for name in ("w", "b", "x")}
        self.w.grad += factor["w"] * (x.T @ dy)
        self.b.grad += factor["b"] * dy.sum(0)
        return factor["x"] * (dy @ self.w.data.T)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("methods", [("central", "complex"), ("central",), ("complex",)])
def test_three_times_x(scale, methods):
    right = lambda x: (3 * x, None), lambda dy, cache: 3 * dy
    wrong = right[0], lambda dy, cache: 3.001 * dy
    gradcheck(right, [scale * X], methods=methods).raise_if_failed()
    assert not gradcheck(wrong, [scale * X], methods=methods).passed


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("of", ["x", "w", "b", "x and 1 / w"])
def test_a_linear_layer(scale, of):
    """Each array's gradient counts, though another one is 1e40 times as large."""
    w = np.random.default_rng(0).standard_normal((3, 4))
    b = np.random.default_rng(1).standard_normal(4) if of == "b" else np.zeros(4)
    x = X * scale if of.startswith("x") else X
    w = w * scale if of == "w" else w / scale if "w" in of else w
    b = b * scale
    gradcheck(Own(w, b), [x]).raise_if_failed()
    for wrong in ("x", "w", "b"):
        assert not gradcheck(Own(w, b, wrong), [x]).passed, wrong


@pytest.mark.parametrize("scale", [1e-20, 1e-8, 1, 1e8])
def test_a_gradient_of_zero_is_compared_with_rounding(scale):
    """A shift of all scores: its gradient is 0, and computed it is what rounding leaves."""

    def forward(x, shift):
        s = x + shift[:, None]
        e = np.exp(s - s.real.max(-1, keepdims=True))
        p = e / e.sum(-1, keepdims=True)
        return p, p

    def backward(dy, p):
        dx = p * (dy - (dy * p).sum(-1, keepdims=True))
        return dx, dx.sum(-1)

    shift = np.random.default_rng(0).standard_normal(2)
    x = scale * np.random.default_rng(1).standard_normal((2, 4))
    for given in (shift, 0 * shift):
        gradcheck((forward, backward), [x, given]).raise_if_failed()
    noisy = lambda dy, p: (backward(dy, p)[0], backward(dy, p)[1] + 1e-9)
    assert not gradcheck((forward, noisy), [x, shift]).passed


@pytest.mark.parametrize("offset", [1e3, 1e5, 1e8, 1e10])
def test_numbers_that_cancel(offset):
    """The deviations from a large mean have few digits left, and so have their gradients."""

    def forward(x):
        c = x - x.mean(-1, keepdims=True)
        r = 1 / np.sqrt((c * c).mean(-1, keepdims=True) + 1e-5)
        return c * r, (c * r, r)

    def backward(dy, cache, share=1):
        n, r = cache
        return r * (dy - share * dy.mean(-1, keepdims=True) - n * (dy * n).mean(-1, keepdims=True))

    x = np.random.default_rng(0).standard_normal((3, 5)) + offset
    gradcheck((forward, backward), [x]).raise_if_failed()
    assert not gradcheck((forward, lambda dy, cache: backward(dy, cache, 0.99)), [x]).passed


def test_numbers_of_all_sizes_in_one_array():
    x = np.array([[1e-8, 1e8, 1.0], [1e-3, 1e5, -2.0]])
    block = (lambda x: (x / (1 + x * x), x)), lambda dy, x: dy * (1 - x * x) / (1 + x * x) ** 2
    gradcheck(block, [x]).raise_if_failed()
    kinks = (lambda x: (x * (x.real > 0), x.real > 0)), lambda dy, on: dy * on
    gradcheck(kinks, [np.concatenate([1e-20 * X, X])]).raise_if_failed()


def test_a_backward_that_computes_in_float32_is_no_rounding():
    wrong = lambda dy, x: (2 * x * dy).astype(np.float32).astype(np.float64)
    assert not gradcheck((lambda x: (x * x, x), wrong), [X]).passed


def test_what_only_float32_cannot_hold_is_a_remark():
    report = gradcheck((lambda x: (x * x, x), lambda dy, x: 2 * x * dy), [1e30 * X], name="it")
    assert report.passed
    (said,) = report.remarks
    assert said.startswith(
        "it: a remark: the output that forward returns is finite in float64, but"
    )

    def for_float64_only(x):
        assert x.dtype != np.float32
        return x * x, x

    report = gradcheck((for_float64_only, lambda dy, x: 2 * x * dy), [X], name="it")
    assert report.passed and "AssertionError" in report.remarks[0]
