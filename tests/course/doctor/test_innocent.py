"""The doctor accuses nobody who is innocent, names a size only if it is unique, and reports what it
observed as a fact.
"""

import numpy as np
import pytest

from minitransformer import functional as F, layers as L
from minitransformer.checking.report import EVIDENCE, NAMED, OBSERVED
from minitransformer.dispatch import plugged
from minitransformer.zoo.baselines import LSTM, depthwise_convolution_backward
from minitransformer_course.doctor.known_mistakes import mistakes_of
from minitransformer_course.doctor.mistakes import of_exercises
from tests.helpers.finding import ALL, X, finding

rng = np.random.default_rng(0)


@pytest.mark.parametrize("layer", ["lstm", "bidirectional"])
def test_what_contains_a_recurrent_layer_does_not_hear_of_its_input(layer):
    """Its step is a tuple of functions among forward's arguments."""

    class Halved(L.Layer):
        def __init__(self):
            self.inner = ALL[layer][0]

        def forward(self, x, state, mask):
            return self.inner.forward(x, state, mask)

        def backward(self, dy, cache):
            dx, dstate = self.inner.backward(dy, cache)
            return dx / 2, dstate

    found = finding(Halved(), ALL[layer][1])
    assert (
        "the gradient of x is exactly half" in found.sentence and "in place" not in found.sentence
    )


def divided(layer, size):
    class Divided(type(layer)):
        def backward(self, dy, cache):
            return super().backward(dy, cache) / size(self, dy)

    layer.__class__ = Divided
    return layer


def test_the_two_sizes_of_a_square_matrix_are_said_to_coincide():
    found = finding(divided(L.Linear(5, 5, rng), lambda self, dy: self.weight.shape[1]), (X,))
    assert (
        found.kind == NAMED
        and "the width (last axis) of weight (5)" in found.sentence
        and "coincide here" in found.sentence
    )
    found = finding(divided(L.Linear(5, 4, rng), lambda self, dy: self.weight.shape[0]), (X,))
    assert (
        "the width (last axis) of x (5)" in found.sentence and "of weight (4)" not in found.sentence
    )


def test_heads_and_layers_are_not_taken_for_each_other():
    class Two(L.Layer):
        def __init__(self):
            self.layers, self.num_heads = [L.Linear(5, 5, rng), L.Linear(5, 5, rng)], 2

        def forward(self, x):
            caches = []
            for layer in self.layers:
                x, cache = layer.forward(x)
                caches.append(cache)
            return x, caches

        def backward(self, dy, caches):
            for layer, cache in zip(reversed(self.layers), reversed(caches)):
                dy = layer.backward(dy, cache)
            return dy / self.num_heads

    found = finding(Two(), (np.random.default_rng(1).standard_normal((3, 4, 5)),))
    assert "the number of heads" in found.sentence and "the number of layers" not in found.sentence


def test_sizes_that_cannot_be_told_apart_are_said_to_coincide():
    def forward(x):
        return (x * x).reshape(len(x), -1, x.shape[-1]) if x.shape[1] == x.shape[2] else 1 / 0, x

    found = finding(
        (forward, lambda dy, x: 2 * x * dy / x.shape[2]), (rng.standard_normal((2, 5, 5)),)
    )
    assert (
        "the length (T = 5) and the width (last axis) of x (5) (these sizes coincide here)"
        in found.sentence
    )


def test_a_single_number_has_no_factor():
    found = finding(
        (lambda x: ((x * x * x).sum(), x), lambda dy, x: 3 * x * x * dy * np.float64(1.2345678)),
        (np.array([[2.0]]),),
    )
    assert "times the true ones" not in str(found)


def test_nothing_is_named_that_does_not_lower_the_error():
    def gelu_backward(dy, cache, slope=0.79788456):
        x, t = cache
        return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope * (1 + 3 * 0.044715 * x * x))

    found = finding((F.gelu_forward, gelu_backward), (X,))
    assert (
        found.kind == EVIDENCE
        and "times the true" not in str(found)
        and "a constant with too few digits" in str(found)
    )


def test_a_factor_close_to_one_is_printed_as_it_is():
    found = finding(
        (F.relu_forward, lambda dy, cache: dy * cache.positive * (1 + 1e-9)),
        (X,),
        ("central", "complex"),
    )
    assert (
        found.kind == NAMED
        and "exactly 1 + 1e-09 times the true one" in found.sentence
        and "imaginary" not in str(found)
    )


class Two(L.Layer):
    def __init__(self):
        self.first, self.second = (
            L.Linear(5, 5, np.random.default_rng(0)),
            L.Linear(5, 5, np.random.default_rng(1)),
        )

    def forward(self, x):
        h, first = self.first.forward(x)
        y, second = self.second.forward(np.tanh(h))
        return y, (first, second, h)


class MixedUp(Two):
    def backward(self, dy, cache):
        dh = self.second.backward(dy, cache[0]) * (1 - np.tanh(cache[2]) ** 2)
        return self.first.backward(dh, cache[1])


class Forgotten(Two):
    def backward(self, dy, cache):
        dh = dy @ self.second.weight.data.T * (1 - np.tanh(cache[2]) ** 2)
        return self.first.backward(dh, cache[0])


def spoilt(dx, dy):
    return dx + 0.1 * np.sin(dy)


class Spoilt(Two):
    def backward(self, dy, cache):
        dh = self.second.backward(dy, cache[1]) * (1 - np.tanh(cache[2]) ** 2)
        return spoilt(self.first.backward(dh, cache[0]), dy)


@pytest.mark.parametrize(
    "layer, words",
    [
        (MixedUp, "`second.backward` received the cache of `first.forward`"),
        (Forgotten, "`second.forward` ran, `second.backward` never did"),
        (
            Spoilt,
            "in `spoilt`: in `return dx + 0.1 * np.sin(dy)`, the term `0.1 * np.sin(dy)` does not belong there",
        ),
    ],
)
def test_what_was_observed_needs_no_proof(layer, words):
    found = finding(layer(), (X,))
    assert (
        found.kind in (NAMED, OBSERVED)
        and words in str(found)
        and "no mistake is proven" not in str(found)
    )


def test_the_softmax_is_named_only_where_there_is_one():
    found = finding(
        (lambda x: (x.cumsum(axis=1), x), lambda dy, x: 0.7 * dy.cumsum(axis=1) + 0.3 * dy), (X,)
    )
    assert found.kind == EVIDENCE


def test_one_factor_on_several_paths(monkeypatch):
    def halved(self, dheads, cache):
        dq, dk, dv = F.attention_backward(dheads, cache)
        return dq / 2, dk / 2, dv

    monkeypatch.setattr(L.MultiHeadAttention, "attend_backward", halved)
    found = finding(*ALL["multi-head-attention"])
    assert (
        found.kind == NAMED
        and "query, key, query.weight and others is exactly half" in found.sentence
    )


def test_an_exercises_mistakes_teach_the_doctor_and_none_is_written_twice():
    taught = {one.of for one in of_exercises()}
    assert taught == {"Linear", "Embedding", "softmax", "layer_norm", "attention", "cross_entropy"}
    assert not {(one.of, one.sentence) for one in of_exercises()} & {
        (one.of, one.sentence) for one in mistakes_of(taught)
    }
    with plugged(
        F.softmax_backward,
        lambda dp, cache: cache.p * (dp - (dp * cache.p).sum(axis=-1, keepdims=True) * cache.p),
    ):
        found = finding(*ALL["softmax"])
    assert (
        found.kind == NAMED and "the second term has the factor p once too often" in found.sentence
    )


def test_a_state_of_an_lstm_is_tried_at_another_width():
    layer = LSTM(5, 4, np.random.default_rng(0))
    found = finding(divided_state(layer), (X, rng.standard_normal((2, 8))))
    assert found.kind == NAMED and "the gradient of state is exactly half" in found.sentence


def divided_state(layer):
    class Divided(LSTM):
        def backward(self, dy, cache):
            dx, dstate = super().backward(dy, cache)
            return dx, dstate / 2

    layer.__class__ = Divided
    return layer


def test_a_gradient_of_zeros_is_called_so():
    """Although a mistake of the softmax exercise gives zeros, too."""
    with plugged(
        F.attention_backward,
        lambda dy, cache: (0 * cache.query, 0 * cache.key, cache.weights.swapaxes(-1, -2) @ dy),
    ):
        found = finding(*ALL["attention"])
    assert (
        found.kind == NAMED
        and "the gradient of query, key is missing: it is zero" in found.sentence
    )


def test_the_first_axis_of_a_weight_is_no_batch():
    def shifted(dy, cache):
        dx, dweight = depthwise_convolution_backward.__wrapped__(dy, cache)
        return dx, np.concatenate([0 * dweight[:1], dweight[:-1]])

    with plugged(depthwise_convolution_backward, shifted):
        found = finding(*ALL["separable-convolution"])
    assert (
        "is shifted along axis 0 by one place: each of its numbers stands one place too late"
        in found.sentence
    )


def test_a_function_may_use_the_cache_of_another_one():
    """dropout's cache is that of x + dropout(h), too: whoever uses it so is innocent."""

    class Summed(L.Layer):
        def forward(self, x, rng):
            h, cache = F.dropout_forward(np.sin(x), 0.4, rng)
            return x + h, (x, cache)

        def backward(self, dy, cache):
            dh = F.dropout_backward(dy, cache[1])
            return dy + dh * np.cos(cache[0]) ** 2

    assert "received the cache" not in str(finding(Summed(), (X,)))
