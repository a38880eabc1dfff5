"""A backward of the reader's own: the doctor finds the change of its source that makes all
gradients right, at every size.
"""

import numpy as np
import pytest

from minitransformer import Layer, Parameter, functional as F, gradcheck
from minitransformer.checking.blocks import blocks
from minitransformer.checking.report import EVIDENCE, NAMED
from minitransformer.dispatch import plugged
from tests.helpers.finding import finding, written

rng = np.random.default_rng(4)
X = rng.standard_normal((3, 5, 4))


def softmax(x):
    e = np.exp(x - x.real.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


class Attention(Layer):
    """One head, of the reader's own."""

    def __init__(self, d=4, k=6):
        self.wq, self.wk, self.wv = (Parameter(rng.standard_normal((d, k))) for _ in "qkv")

    def forward(self, x):
        q, k, v = x @ self.wq.data, x @ self.wk.data, x @ self.wv.data
        p = softmax(q @ k.swapaxes(1, 2) / q.shape[-1] ** 0.5)
        return np.tanh(p @ v), (x, q, k, v, p, np.tanh(p @ v))

    def backward(self, dy, cache):
        x, q, k, v, p, h = cache
        do = dy * (1 - h * h)
        dp = do @ v.swapaxes(1, 2)
        ds = p * (dp - (dp * p).sum(axis=-1, keepdims=True)) / q.shape[-1] ** 0.5
        dq, dk, dv = ds @ k, ds.swapaxes(1, 2) @ q, p.swapaxes(1, 2) @ do
        for w, d in ((self.wq, dq), (self.wk, dk), (self.wv, dv)):
            w.grad += np.einsum("btd,btk->dk", x, d)
        return dq @ self.wq.data.T + dk @ self.wk.data.T + dv @ self.wv.data.T


MISTAKES = [
    (
        written(Attention, " / q.shape[-1] ** 0.5\n        dq", "\n        dq"),
        "is exactly the true one times sqrt(6)",
    ),
    (
        written(Attention, "(dp - (dp * p).sum(axis=-1, keepdims=True))", "dp"),
        "the Jacobian of a softmax subtracts",
    ),
    (written(Attention, " + dk @ self.wk.data.T", ""), "the path through `x @ self.wk.data`"),
    (
        written(Attention, "1 - h * h", "1 - h"),
        "`h` is not squared: `1 - h * h` belongs where `1 - h` is",
    ),
    (
        written(Attention, "ds.swapaxes(1, 2) @ q", 'np.einsum("bij,bjk->bik", ds, q)'),
        "the indices i and j of `ds` are swapped",
    ),
]


def test_ones_own_attention_is_right():
    assert gradcheck(Attention(), [X]).passed


@pytest.mark.parametrize("layer, words", MISTAKES)
def test_a_mistake_in_ones_own_attention_is_named(layer, words):
    found = finding(layer(), (X,), ("central", "complex"))
    assert found.kind == NAMED and words in found.sentence, found


@pytest.mark.parametrize("layer, words", MISTAKES[1:])
def test_also_at_ordinary_sizes(layer, words):
    report = gradcheck(layer(16, 24), [rng.standard_normal((16, 24, 16))], name="it")
    found = report.findings["it"]
    assert (
        found.kind == NAMED
        and words in found.sentence
        and "seen at smaller sizes" in found.sentence
    ), found
    assert "the error falls" not in str(found) or found.before > 0


def recurrent(dy, cache):
    x, hs = cache
    dx, carry = np.zeros_like(x), 0
    for t in range(x.shape[1]):
        carry = (dy[:, t] + carry) * (1 - hs[t] * hs[t])
        dx[:, t] = carry
    return dx


def repeated(dy, ids):
    dtable = np.zeros((7, dy.shape[-1]))
    dtable[ids] += dy
    return dtable


def states(x):
    h, hs = 0, []
    for t in range(x.shape[1]):
        h = np.tanh(x[:, t] + h)
        hs.append(h)
    return np.stack(hs, axis=1), (x, hs)


IDS = np.array([[1, 4, 1], [2, 4, 4]])


@pytest.mark.parametrize(
    "block, inputs, words",
    [
        ((states, recurrent), [X], "runs in the wrong direction: it must run in reverse order"),
        (
            (lambda table, ids: (table[ids], ids), repeated),
            [rng.standard_normal((7, 4)), IDS],
            "+= keeps only one of the numbers",
        ),
    ],
)
def test_loops_and_indices(block, inputs, words):
    found = finding(block, inputs)
    assert found.kind == NAMED and words in found.sentence, found


def own_layer_norm_backward(dy, cache):
    n, s, gamma = cache
    d = n.shape[-1]
    dn = dy * gamma
    dx = (
        s
        / d
        * (d * d * dn - dn.sum(axis=-1, keepdims=True) - n * (dn * n).sum(axis=-1, keepdims=True))
    )
    return dx, (dy * n).sum(axis=(0, 1)), dy.sum(axis=(0, 1))


def test_a_backward_of_ones_own_in_a_block_of_the_library():
    """The library's forward, and a wrong backward of the reader's own that is no change of the
    library's.
    """
    with plugged(F.layer_norm_backward, own_layer_norm_backward):
        for block in ("layer-norm", "encoder-layer"):
            found = finding(*blocks()[block])
            assert (
                found.kind == NAMED and "`d` is squared, but belongs there once" in found.sentence
            ), found


def test_what_is_wrong_with_a_library_block_is_said_by_its_right_line():
    found = finding(
        (F.gelu_forward, lambda dy, c: dy * (0.5 * (1 + c.tanh) + 0.5 * c.x * (1 - c.tanh))), [X]
    )
    assert found.kind == EVIDENCE  # two mistakes: the square, and u'
    found = finding(
        (
            F.softmax_forward,
            lambda dp, c: c.p * c.p * (dp - (dp * c.p).sum(axis=-1, keepdims=True)),
        ),
        [X],
    )
    assert found.kind == NAMED and found.sentence.endswith("`return p * (dp - mean)` is right"), (
        found
    )


def test_a_block_of_one_size_is_tried_with_other_numbers():
    matrix = rng.standard_normal((4, 4))

    def forward(x):
        return np.tanh(x @ matrix), np.tanh(x @ matrix)

    def backward(dy, h):
        return (dy * (1 - h * h)) @ matrix

    found = finding((forward, backward), [rng.standard_normal((3, 4))])
    assert found.kind == NAMED and "`matrix` is not transposed" in found.sentence


def test_no_sentence_comes_from_an_error_that_was_not_computed():
    def forward(x):
        return np.sin(x) * np.cos(x), x

    def backward(dy, x):
        return np.cosh(x) * dy

    for shape in ((4, 5), (40, 40)):
        said = finding((forward, backward), [rng.standard_normal(shape)])
        assert said.kind == EVIDENCE and "float32 rounding" not in said.sentence


def test_a_factor_is_named_at_every_size():
    for shape in ((4, 5), (40, 40), (300, 7)):
        found = finding(
            (lambda x: (x * x, x), lambda dy, x: 3 * x * dy), [rng.standard_normal(shape)]
        )
        assert found.kind == NAMED and "exactly 1.5 times the true one" in found.sentence, found


def test_the_readers_objects_stay_as_they_are():
    layer = MISTAKES[3][0]()
    before = {name: parameter.data.copy() for name, parameter in layer.parameters().items()}
    backward = type(layer).backward
    gradcheck(layer, [X])
    assert type(layer).backward is backward and "backward" not in vars(layer)
    assert (
        all(
            np.array_equal(parameter.data, before[name]) and parameter.data.flags.writeable
            for name, parameter in layer.parameters().items()
        )
        and X.flags.writeable
    )
