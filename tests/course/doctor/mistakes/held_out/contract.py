"""Functions that break the contract rather than the mathematics."""

import numpy as np

from minitransformer.functional import softmax_forward
from minitransformer.layers.linear import LinearCache
from tests.course.doctor.mistakes.mistake import Mistake
from tests.course.doctor.mistakes.right import attention, changed, given, linear, norm, norm_forward, over_rows, product, softmax
from tests.course.doctor.mistakes.words import ASSIGNED, COMPLEX, IN_PLACE, RAISES

LAST = {}

layer_norm_two_returned = changed(norm(), lambda dx, dgamma, *_: (dx, dgamma))
layer_norm_forward_with_norm = norm_forward(
    variance=lambda c, x, axis: np.linalg.norm(c, axis=axis, keepdims=True) ** 2 / x.shape[-1])
linear_normalises_dy = given(linear(), lambda self, dy, cache: (self, dy / np.linalg.norm(dy), cache))


def softmax_grows(dp, cache):
    """Adds up over calls: `total` was meant to be local."""
    LAST[dp.shape] = LAST.get(dp.shape, 0) + softmax()(dp, cache)
    return LAST[dp.shape].copy()


def linear_new_grad(self, dy, cache):
    self.weight.grad = product(cache.x, dy)
    self.bias.grad = over_rows(dy)
    return dy @ self.weight.data.T


def linear_weight_decay(self, dy, cache):
    self.weight.grad += 0.1 * self.weight.data
    return linear()(self, dy, cache)


def linear_forward_rounds(self, x):
    return np.round(x @ self.weight.data + self.bias.data, 2), LinearCache(x)


def softmax_forward_of_real_part(x, mask=None):
    p, cache = softmax_forward.textbook(x.real, mask)
    return p, cache


def attention_overwrites_value(dy, cache):
    dquery, dkey, cache.value[...] = attention()(dy, cache)
    return dquery, dkey, cache.value


MISTAKES = [
    Mistake("contract-layer-norm-two-returned", "layer_norm_backward", layer_norm_two_returned, "layer-norm",
            (("two", "2 ", "3 ", "three", "too few", "unpack", "number of", "missing", *RAISES),)),
    Mistake("contract-softmax-grows", "softmax_backward", softmax_grows, "softmax",
            (("second", "call", "state", "determin", "again", "accumul", "twice", "keeps", "grows", "same cache"),),
            comment="right once; every later call adds to it"),
    Mistake("contract-linear-new-grad", "Linear.backward", linear_new_grad, "linear", ((*ASSIGNED, "new array", "view", "rebound"),), in_model=""),
    Mistake("contract-linear-normalises-dy", "Linear.backward", linear_normalises_dy, "linear",
            (("norm", "factor", "linear in", "not linear", "scale", "length", "proportional", "times", "constant", "divid"),)),
    Mistake("contract-linear-weight-decay", "Linear.backward", linear_weight_decay, "linear",
            (("weight", "dW"), ("decay", "added", "regular", "even without", "dy = 0", "dy is 0", "zero dy", "not depend", "multiple of", "+ ", "l2", "linear in", "offset"))),
    Mistake("contract-linear-forward-rounds", "Linear.forward", linear_forward_rounds, "linear",
            (("round", "step", "constant", "jump", "smooth", "discontinu", "differentiab", "stair", "complex", "noise", "piecewise"),), in_model=""),
    Mistake("contract-layer-norm-forward-with-norm", "layer_norm_forward", layer_norm_forward_with_norm, "layer-norm",
            ((*COMPLEX, "norm("),), in_model="", comment="right for real numbers; the norm takes the absolute value of complex ones"),
    Mistake("contract-softmax-forward-of-real-part", "softmax_forward", softmax_forward_of_real_part, "softmax",
            ((*COMPLEX, "imag", "real"),), in_model="", comment="right for real numbers; the complex step's part is lost"),
    Mistake("contract-attention-overwrites-value", "attention_backward", attention_overwrites_value, "attention", (IN_PLACE,), in_model=""),
]
