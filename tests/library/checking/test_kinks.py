"""At a kink no gradient is defined: the check says where, does not fail, and looks beside it. And
what else must not fail.
"""

import numpy as np
import pytest

from minitransformer import gradcheck
from minitransformer import layers as L
from minitransformer.checking.subject import PRIVATE

X = np.random.default_rng(3).standard_normal((2, 3, 5))
HALVES = np.round(2 * X) / 2


def absolute(x):
    sign = np.where(x.real < 0, -1, 1)
    return x * sign, sign


def relu(x):
    return x * (x.real > 0), x.real > 0


def largest(x):
    first = x.real.argmax(axis=-1)[..., None]
    return np.take_along_axis(x, first, -1), (first, x.shape)


def largest_backward(dy, cache):
    dx = np.zeros(cache[1])
    np.put_along_axis(dx, cache[0], dy, -1)
    return dx


def sorted_rows(x):
    order = x.real.argsort(axis=-1)
    return np.take_along_axis(x, order, -1) ** 3, (x, order)


def sorted_rows_backward(dy, cache):
    x, order = cache
    dx = np.zeros(x.shape)
    np.put_along_axis(dx, order, dy, -1)
    return 3 * x * x * dx


def clipped(x):
    inside = (x.real > 0) & (x.real < 0.5)
    return np.where(inside, x, np.clip(x.real, 0, 0.5)), inside


KINKS = {
    "abs": ((absolute, lambda dy, sign: sign * dy), HALVES),
    "relu": ((relu, lambda dy, on: dy * on), np.zeros((2, 3, 5))),
    "max": ((largest, largest_backward), np.round(X / 2)),
    "sort": ((sorted_rows, sorted_rows_backward), HALVES),
    "maximum of complex numbers": (
        (lambda x: (np.maximum(x, 0.5), x.real > 0.5), lambda dy, on: dy * on),
        HALVES,
    ),
    "clip": ((clipped, lambda dy, inside: dy * inside), HALVES),
}


@pytest.mark.parametrize("methods", [("central",), ("complex",), ("central", "complex")])
@pytest.mark.parametrize("projection", [False, True])
@pytest.mark.parametrize("block, x", KINKS.values(), ids=KINKS)
def test_a_right_block_at_a_kink_passes(block, x, projection, methods):
    report = gradcheck(block, [x], name="it", methods=methods, projection=projection)
    assert report.passed, report
    assert methods == ("complex",) or report.results[0].left_out > 0
    assert any(
        said.startswith("it: at a kink at this input: x") for said in report.remarks
    ) or methods == ("complex",)
    assert set(report.remarks) <= set(report.conclusions)


def test_the_report_says_where_the_kink_is():
    x = X.copy()
    x[0, 1, 2] = x[1, 0, 4] = 0
    (said,) = gradcheck(KINKS["abs"][0], [x], name="it").remarks[:1]
    assert said == (
        "it: at a kink at this input: x[0, 1, 2] and 1 more; no gradient is defined there, and at inputs "
        "moved a little all gradients are right"
    )


def test_networks_without_biases_and_with_padding_pass():
    for seed in range(10):
        layer = L.FeedForward(4, 6, np.random.default_rng(seed))
        x = np.random.default_rng(seed).standard_normal((2, 3, 4))
        x[1, 2] = 0
        assert gradcheck(layer, [x]).passed and gradcheck(layer, [0 * x]).passed


@pytest.mark.parametrize(
    "block, wrong, x",
    [
        (absolute, lambda dy, sign: dy, HALVES),
        (absolute, lambda dy, sign: -sign * dy, 0 * X),
        (relu, lambda dy, on: dy, 0 * X),
        (relu, lambda dy, on: 2 * dy * on, 0 * X),
        (largest, lambda dy, cache: dy + np.zeros(cache[1]), np.ones((2, 3, 5))),
        (clipped, lambda dy, inside: dy * ~inside, np.zeros((2, 3, 5))),
    ],
)
@pytest.mark.parametrize("projection", [False, True])
def test_a_wrong_gradient_does_not_hide_at_a_kink(block, wrong, x, projection):
    report = gradcheck((block, wrong), [x], projection=projection)
    assert not report.passed and report.findings


def test_a_gradient_of_nan_at_a_kink_fails():
    report = gradcheck((lambda x: (absolute(x)[0], x), lambda dy, x: dy * x / np.abs(x)), [HALVES])
    assert not report.passed and "NaN" in str(report)


def test_other_sizes_are_not_at_a_kink():
    """A batch of zeros grows into numbers that are not; equal parameters differ then."""

    class Twins(L.Layer):
        def __init__(self):
            self.a, self.b = (L.Linear(5, 4, np.random.default_rng(0)) for _ in "ab")

        def forward(self, x):
            (p, one), (q, other) = self.a.forward(x), self.b.forward(x)
            return np.where(p.real >= q.real, p, q), (one, other, p.real >= q.real)

        def backward(self, dy, cache):
            one, other, first = cache
            return self.a.backward(dy * first, one) + self.b.backward(dy * ~first, other)

    for x in (X, 0 * X, np.ones((2, 3, 5))):
        assert gradcheck(Twins(), [x]).passed


def test_dy_is_not_what_a_reader_draws():
    """With x from the same seed, dy was equal to x, and `dx = 2 * x * x` for `2 * x * dy` looked
    right to the doctor.
    """
    for seed in range(3):
        for drawn in (seed, [seed, 1], [seed, 2]):
            x = np.random.default_rng(drawn).standard_normal((2, 3))
            used = []
            gradcheck(
                (lambda x: (x * x, x), lambda dy, x: used.append(dy) or 2 * x * dy), [x], seed=seed
            )
            assert used and not any(np.array_equal(dy, x) for dy in used)
            report = gradcheck((lambda x: (x * x, x), lambda dy, x: 2 * x * x), [x], seed=seed)
            assert not report.passed and "agree with the complex step" not in str(report)
    assert PRIVATE > 2**64


def test_a_numpy_constant_is_a_remark_in_a_block_of_ones_own():
    block = (lambda x: (np.float64(3) * x, None)), (lambda dy, cache: 3 * dy)
    report = gradcheck(block, [X], name="it")
    assert report.passed and len(report.remarks) == 1
    assert report.remarks[0].startswith(
        "it: a remark: the output that forward returns is float64 for inputs of float32"
    )
