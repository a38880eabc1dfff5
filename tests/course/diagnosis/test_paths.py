"""What a backward leaves out of its own forward, counts wrongly or derives as something else, and
how far it is right.
"""

import numpy as np
import pytest

from minitransformer import Layer, Parameter, gradcheck
from minitransformer.checking.report import EVIDENCE, NAMED
from tests.helpers.finding import finding, written

rng = np.random.default_rng(8)
X = rng.standard_normal((3, 5, 4))


class Scaled(Layer):
    def __init__(self):
        self.gain = Parameter(rng.uniform(0.5, 1.5, 4))

    def forward(self, x):
        root = np.sqrt((x * x).mean(axis=-1, keepdims=True)) + 1e-3
        n = x / root
        return n * self.gain.data, (x, root, n)

    def backward(self, dy, cache):
        x, root, n = cache
        self.gain.grad += (dy * n).sum(axis=(0, 1))
        dn = dy * self.gain.data
        droot = -(dn * n).sum(axis=-1, keepdims=True) / root
        return dn / root + droot * x / 4 / (root - 1e-3)


class Gate(Layer):
    """The value that a gate lets through, and how far it was open."""

    def __init__(self):
        self.weight = Parameter(rng.standard_normal((4, 4)))

    def forward(self, x):
        s = 1 / (1 + np.exp(-(x @ self.weight.data)))
        return (s * x, s.sum(axis=1)), (x, s)

    def backward(self, dys, cache):
        x, s = cache
        dy, dsum = dys
        dz = (dy * x + dsum[:, None]) * s * (1 - s)
        self.weight.grad += np.einsum("bti,bto->io", x, dz)
        return dy * s + dz @ self.weight.data.T


class Recurrent(Layer):
    def __init__(self):
        self.weight = Parameter(rng.standard_normal((4, 4)))

    def forward(self, x):
        h, kept = np.zeros_like(x[:, 0]), []
        for t in range(x.shape[1]):
            f = 1 / (1 + np.exp(-(x[:, t] @ self.weight.data)))
            kept.append((h, f))
            h = f * h + x[:, t]
        return h, (x, kept)

    def backward(self, dh, cache):
        x, kept = cache
        dx = np.zeros_like(x)
        for t in reversed(range(x.shape[1])):
            h, f = kept[t]
            dz = dh * h * f * (1 - f)
            dx[:, t] = dh + dz @ self.weight.data.T
            self.weight.grad += x[:, t].T @ dz
            dh = dh * f
        return dx


class Highest(Layer):
    def forward(self, x):
        y = x.max(axis=1)
        return y, x == y[:, None]

    def backward(self, dy, is_largest):
        return dy[:, None] * is_largest


@pytest.mark.parametrize("layer", [Scaled, Gate, Recurrent, Highest])
def test_the_layers_below_are_right(layer):
    assert gradcheck(layer(), [X]).passed


@pytest.mark.parametrize(
    "layer, right, wrong, words",
    [
        (
            Scaled,
            "dn / root + droot * x / 4 / (root - 1e-3)",
            "dn / root",
            "backward takes `(x * x).mean(axis=-1, keepdims=True)` in `root = ",
        ),
        (
            Gate,
            "dy * x + dsum[:, None]",
            "dy * x",
            "the upstream gradient of output 2, `s.sum(axis=1)`, is not used",
        ),
        (
            Gate,
            "self.weight.grad += np.einsum",
            "dx = 0 * x\n        self.weight.grad += 2 * np.einsum",
            "the gradient of weight is exactly 2 times the true one",
        ),
        (Gate, "dy * s + dz", "dz", "the path through `x` in `return"),
        (
            Recurrent,
            "            dh = dh * f\n",
            "",
            "the gradient that passes back to `h` lacks the factor `f`, by which it is multiplied",
        ),
        (
            Recurrent,
            "            dh = dh * f\n",
            "            dh = 0 * dh\n",
            "the path through",
        ),
        (
            Highest,
            "dy[:, None] * is_largest",
            "0 * is_largest + dy[:, None] / is_largest.shape[1]",
            "is spread over all of the numbers, as for a mean",
        ),
    ],
)
def test_what_a_backward_leaves_out_is_named(layer, right, wrong, words):
    found = finding(written(layer, right, wrong)(), [X])
    assert found.kind == NAMED and words in found.sentence, found


class Strange(Layer):
    def forward(self, x):
        middle = x * x
        wave = np.sin(middle)
        return wave * 3, (x, middle)

    def backward(self, dy, cache):
        x, middle = cache
        dwave = dy * 3
        dmiddle = dwave * np.cos(middle * 1.3) + 0.1 * np.tanh(dwave * x)
        return dmiddle * 2 * x


def test_without_a_proof_it_says_how_far_backward_is_right():
    found = finding(Strange(), [X])
    assert found.kind == EVIDENCE
    assert "right up to `dwave = dy * 3`, which is the gradient of `wave`" in found.sentence
    assert "is not the gradient of `middle`: dmiddle[" in found.sentence
