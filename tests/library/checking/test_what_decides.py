"""A layer is checked at the shapes that it was made for: its own values, other values, several
upstream gradients, another batch size. Widths and lengths never decide.
"""

import numpy as np
import pytest

from minitransformer import Parameter, gradcheck
from minitransformer.checking.other_values import at_another_batch_size, at_other_values
from minitransformer.checking.subject import Subject
from minitransformer.layers import Layer

pytestmark = pytest.mark.usefixtures("without_the_doctor")
RNG = np.random.default_rng
X = RNG(3).standard_normal((2, 3, 5))


class Norm(Layer):
    """A LayerNorm whose backward keeps what a mistake may forget or its author may keep."""

    def __init__(self, width, mistake=""):
        self.width, self.mistake = width, mistake
        self.gamma, self.beta = Parameter(np.ones(width)), Parameter(np.zeros(width))

    def forward(self, x):
        c = x - x.mean(-1, keepdims=True)
        r = 1 / np.sqrt((c * c).mean(-1, keepdims=True) + 1e-5)
        return self.gamma.data * c * r + self.beta.data, (c * r, r)

    def backward(self, dy, cache):
        n, r = cache
        self.gamma.grad += (dy * n).reshape(-1, self.width).sum(0)
        self.beta.grad += dy.reshape(-1, self.width).sum(0)
        dn = dy if self.mistake == "no gamma" else dy * self.gamma.data
        mean = dn.sum(-1, keepdims=True) / self.width
        return r * (dn - mean - n * (dn * n).sum(-1, keepdims=True) / self.width)


class Kept(Layer):
    """y = x W along each row, or position, with one of its sizes as it was when it was made."""

    def __init__(self, x, w, axis):
        self.w, self.axis, self.size = Parameter(w), axis, x.shape[axis]

    def forward(self, x):
        return x @ self.w.data, x

    def backward(self, dy, x):
        axis_first = np.moveaxis(dy, self.axis, 0)
        kept = np.moveaxis(axis_first[: self.size], 0, self.axis)
        rows = np.moveaxis(np.moveaxis(x, self.axis, 0)[: self.size], 0, self.axis)
        self.w.grad += np.einsum("bti,btj->ij", rows, kept)
        return dy @ self.w.data.T


def test_a_layer_may_keep_its_width_and_its_length():
    gradcheck(Norm(5), [X]).raise_if_failed()
    for axis in (1, 2):
        gradcheck(Kept(X, RNG(0).standard_normal((5, 5)), axis), [X]).raise_if_failed()


def test_a_layer_may_not_keep_its_batch_size():
    report = gradcheck(Kept(X, RNG(0).standard_normal((5, 5)), 0), [X], name="it")
    assert not report.passed and all(result.passed for result in report.results)
    assert "does not show at the given inputs, but with x of shape (3, 3, 5)" in str(report)


@pytest.mark.parametrize("factor", [lambda dy: len(dy), lambda dy: 2])
def test_twice_and_times_the_batch_of_two(factor):
    right = factor(np.ones(3)) == 2
    square = lambda x: (x * x, x), lambda dy, x: factor(dy) * x * dy
    assert gradcheck(square, [X]).passed == right


def test_a_gamma_of_one_hides_nothing():
    report = gradcheck(Norm(5, "no gamma"), [X], name="it")
    assert all(result.passed for result in report.results)
    assert "it: wrong: x; it does not show at the given inputs, but at other values" in str(report)


class Scaled(Layer):
    """y = x W + b, with W and b as given, and a selectable mistake that such values hide."""

    def __init__(self, w, b, mistake):
        self.w, self.b, self.mistake = Parameter(w), Parameter(b), mistake

    def forward(self, x):
        return np.tanh(x @ self.w.data + self.b.data), (x, np.tanh(x @ self.w.data + self.b.data))

    def backward(self, dy, cache):
        x, y = cache
        if self.mistake == "no bias":
            y = np.tanh(x @ self.w.data)
        da = dy * (1 - y * y)
        self.w.grad += x.T @ da
        self.b.grad += da.sum(0)
        if self.mistake == "assigned" and not self.b.data.any():
            return da @ self.w.data.T
        return da @ (self.w.data if self.mistake == "transposed" else self.w.data.T)


@pytest.mark.parametrize(
    "w, b, mistake",
    [
        (np.eye(3), np.zeros(3), "transposed"),
        (np.ones((3, 3)), np.zeros(3), "transposed"),
        (X[0, :, :3] + X[0, :, :3].T, np.zeros(3), "transposed"),
        (1e-20 * np.eye(3), np.zeros(3), "transposed"),
        (X[0, :, :3], np.zeros(3), "no bias"),
        (1e-9 * X[0, :, :3], np.zeros(3), "no bias"),
    ],
)
def test_special_values_hide_nothing(w, b, mistake):
    x = [RNG(5).standard_normal((4, 3))]
    gradcheck(Scaled(w, b, ""), x).raise_if_failed()
    report = gradcheck(Scaled(w, b, mistake), x)
    assert report.findings and all(result.passed for result in report.results)


def test_a_gradient_that_is_zero_here_is_added_elsewhere():
    """`=` instead of `+=` does not show while the other factor is 0."""

    class Product(Layer):
        def __init__(self):
            self.a, self.b = Parameter(np.zeros(5)), Parameter(RNG(1).standard_normal(5))

        def forward(self, x):
            return self.a.data * self.b.data * x, x

        def backward(self, dy, x):
            self.a.grad += (dy * self.b.data * x).sum((0, 1))
            self.b.grad = (dy * self.a.data * x).sum((0, 1))
            return dy * self.a.data * self.b.data

    report = gradcheck(Product(), [X])
    assert not report.passed and "assigned (=), not added" in str(report)


@pytest.mark.parametrize(
    "backward",
    [
        lambda dloss, x: 2 * x * np.abs(dloss),
        lambda dloss, x: np.clip(2 * x * dloss, -100, 100),
        lambda dloss, x: 2 * x * np.clip(dloss, -9, 9),
    ],
)
def test_several_upstream_gradients(backward):
    """Of both signs for a loss, and large."""
    for seed in range(4):
        loss = lambda x: ((x * x).sum(), x), backward
        rows = lambda x: ((x * x), x), backward
        assert not all(gradcheck(one, [X], seed=seed).passed for one in (loss, rows))


def softmax(x):
    e = np.exp(x - x.real.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def cross_entropy(logits, shares):
    p = softmax(logits)
    return -(shares * np.log(p)).sum(-1), (p, shares)


def cross_entropy_backward(dy, cache):
    """dlogits = p - shares is right because the shares add up to 1."""
    p, shares = cache
    return (p - shares) * dy[:, None], -np.log(p) * dy[:, None]


LOG = (lambda x: (np.log(x), x)), lambda dy, x: dy / x
RIGHT_WITHIN_BOUNDS = {
    "one-hot targets": (
        (cross_entropy, cross_entropy_backward),
        [RNG(0).standard_normal((4, 3)), np.eye(3)[[0, 2, 1, 1]]],
    ),
    "probabilities": (
        (cross_entropy, cross_entropy_backward),
        [RNG(0).standard_normal((4, 3)), softmax(RNG(1).standard_normal((4, 3)))],
    ),
    "positive": (LOG, [np.abs(X)]),
    "tiny and positive": (LOG, [1e-25 * np.abs(X)]),
    "below one": ((lambda p: (np.log(1 - p), p), lambda dy, p: dy / (p - 1)), [1 - 1e-3 * X * X]),
    "inverse cosine of numbers near 1": (
        (lambda x: (np.arctanh(x), x), lambda dy, x: dy / (1 - x * x)),
        [1 - 1e-6 * np.abs(X)],
    ),
    "a square root at the end of its domain": (
        (lambda x: (np.sqrt(x - 1), x), lambda dy, x: 0.5 * dy / np.sqrt(x - 1)),
        [1 + 1e-3 * np.abs(X)],
    ),
    "an additive mask": (
        (
            lambda x, mask: (softmax(x + mask),) * 2,
            lambda dy, p: (p * (dy - (dy * p).sum(-1, keepdims=True)),) * 2,
        ),
        [X[0], np.where(np.tri(3, 5), 0, -np.inf)],
    ),
}


@pytest.mark.parametrize("block, inputs", RIGHT_WITHIN_BOUNDS.values(), ids=RIGHT_WITHIN_BOUNDS)
def test_other_values_keep_to_what_was_given(block, inputs):
    gradcheck(block, inputs).raise_if_failed()


def test_other_values():
    """Of the same signs, no larger; zeros become numbers of the array's size."""
    given = {
        "signed": X,
        "positive": np.array([[0.0, 3, 5], [1, 0, 4]]),
        "zeros": np.zeros((2, 4)),
        "tiny": 1e-20 * X,
        "shares": np.eye(3)[[0, 2]],
    }
    total = lambda signed, positive, zeros, tiny, shares: (signed.sum() + shares.sum(), None)
    others = list(at_other_values(Subject((total, total), given)))
    assert len(others) == 2
    sizes = [np.abs(other.arguments["zeros"]).max() for other in others]
    assert 0 < sizes[0] < 1e-19 and 0.1 < sizes[1] < 10
    for other in others:
        now = other.arguments
        assert not any(np.isin(now[name], array).any() for name, array in given.items())
        for name in ("signed", "tiny"):
            assert (np.sign(now[name]) == np.sign(given[name])).all()
            assert (np.abs(now[name]) < np.abs(given[name])).all()
        assert (now["positive"] > 0).all()
        np.testing.assert_allclose(now["shares"].sum(-1), 1)


@pytest.mark.parametrize(
    "shapes, larger",
    [
        ([(2, 3), (2, 4)], [(3, 3), (3, 4)]),
        ([(2, 3), (2,)], [(3, 3), (3,)]),
        ([(1, 3)], [(2, 3)]),
        ([(2, 3), ()], [(3, 3), ()]),
        ([(2, 3), (3, 3)], "the inputs do not share their first axis"),
        ([(7,)], "no input has a batch and another axis"),
    ],
)
def test_another_batch_size(shapes, larger):
    block = (lambda *xs: (sum(x.sum() for x in xs), None)), lambda dy, cache: dy
    other = at_another_batch_size(Subject(block, [np.ones(shape) for shape in shapes]))
    if isinstance(larger, str):
        assert other == larger
    else:
        assert [array.shape for array in other.variables.values()] == larger


def test_ids_and_masks_grow_with_the_batch_and_the_report_says_what_was_not_tried():
    x, ids, causal = X, np.array([[1, 2, 3], [3, 1, 2]]), np.tri(3, dtype=bool)
    total = lambda x, ids, mask: (x.sum() + ids.sum() + mask.sum(), None)
    block = total, lambda dy, cache: dy
    other = at_another_batch_size(Subject(block, [x, ids, causal]))
    assert [other.arguments[name].shape for name in ("x", "ids", "mask")] == [
        (3, 3, 5),
        (3, 3),
        (3, 3),
    ]
    assert other.arguments["ids"].tolist() == [[1, 2, 3], [3, 1, 2], [1, 2, 3]]
    fixed = (lambda x: (x.reshape(2, 15), None)), lambda dy, cache: dy.reshape(2, 3, 5)
    report = gradcheck(fixed, [X], name="it")
    assert report.passed
    assert report.remarks == ("it: not tried with another batch size: forward does not run there",)
    assert report.conclusions[-2] == report.remarks[0]


def test_a_pair_of_groups_is_tried_with_twice_the_batch():
    """forward wants an even batch; backward has the batch of four as a constant."""
    halves = lambda x: (x.reshape(-1, 2, 5).sum(1), None)
    x = RNG(0).standard_normal((4, 5))
    right = lambda dy, cache: np.repeat(dy, 2, axis=0)
    assert gradcheck((halves, right), [x]).passed
    assert not gradcheck((halves, lambda dy, cache: np.repeat(dy, 2, axis=0)[:4]), [x]).passed
