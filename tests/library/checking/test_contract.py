"""Each breach of the contract of a layer fails the check, and the report says what was observed."""

import numpy as np
import pytest

from minitransformer import Layer, Parameter, gradcheck
from minitransformer.layers import FeedForward


class Gain(Layer):
    """y = w * x, as it should be."""

    def __init__(self):
        self.w = Parameter(np.arange(1.0, 4.0))

    def forward(self, x):
        return self.w.data * x, [x.copy()]

    def backward(self, dy, cache):
        self.w.grad += (dy * cache[0]).sum(axis=0)
        return dy * self.w.data


class KeptOnItself(Gain):
    def forward(self, x):
        self.x = x
        return self.w.data * x, None

    def backward(self, dy, cache):
        return super().backward(dy, [self.x])


class ReusedBuffer(Gain):
    buffer = np.zeros((4, 3))

    def forward(self, x):
        y, cache = super().forward(x)
        if x.dtype == self.buffer.dtype and x.shape == self.buffer.shape:
            self.buffer[...] = x
            cache = [self.buffer]
        return y, cache


class Assigned(Gain):
    def backward(self, dy, cache):
        self.w.grad = (dy * cache[0]).sum(axis=0)
        return dy * self.w.data


class AddedTwiceAtTheSecondCall(Gain):
    def backward(self, dy, cache):
        self.w.grad += self.w.grad
        return super().backward(dy, cache)


class ReadsWhatWasAdded(Gain):
    def backward(self, dy, cache):
        seen = self.w.grad.copy()
        return super().backward(dy, cache) + seen


class OwnRandomNumbers(Gain):
    rng = np.random.default_rng(0)

    def forward(self, x):
        y, cache = super().forward(x)
        return y * self.rng.uniform(1, 2), cache


class ChangesItsInput(Gain):
    def forward(self, x):
        y, cache = super().forward(x)
        x *= 2
        return y, cache


class ChangesItsParameter(Gain):
    def backward(self, dy, cache):
        dx = super().backward(dy, cache)
        self.w.data *= 2
        return dx


class ChangesItsCache(Gain):
    def backward(self, dy, cache):
        dx = super().backward(dy, cache)
        cache[0] *= 2
        return dx


class ChangesDy(Gain):
    def backward(self, dy, cache):
        dx = super().backward(dy, cache)
        dy *= 2
        return dx


@pytest.mark.parametrize(
    ("layer", "sentence"),
    [
        (KeptOnItself, "the gradient of .* depends on a later forward: something is kept on self"),
        (ReusedBuffer, "the gradient of .* depends on a later forward: .* a buffer"),
        (Assigned, "the gradient of w is assigned .=., not added"),
        (AddedTwiceAtTheSecondCall, "called a second time .* reads what was accumulated"),
        (ReadsWhatWasAdded, "called a second time .* while w.grad holds the first one"),
        (OwnRandomNumbers, "forward draws its own random numbers"),
        (ChangesItsInput, "forward changes its input x in place"),
        (ChangesItsParameter, "backward changes its parameter w in place"),
        (ChangesItsCache, "backward changes its cache in place .cache.0."),
        (ChangesDy, "backward changes dy in place"),
    ],
)
def test_what_breaks_the_contract_fails(layer, sentence):
    report = gradcheck(layer(), [np.random.default_rng(0).standard_normal((4, 3))])
    assert not report.passed
    (finding,) = report.findings.values()
    assert finding.kind == "contract"
    with pytest.raises(AssertionError, match=sentence):
        report.raise_if_failed()


def test_a_layer_that_draws_gets_an_equal_generator_each_time():
    x = np.random.default_rng(0).standard_normal((4, 3))
    layer = FeedForward(3, 5, np.random.default_rng(1), dropout=0.5)
    gradcheck(layer, [x]).raise_if_failed()


def test_what_keeps_it_passes():
    gradcheck(Gain(), [np.random.default_rng(0).standard_normal((4, 3))]).raise_if_failed()
