"""Functions that break the contract rather than the mathematics."""

import numpy as np

from minitransformer.functional import softmax_forward
from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes.right import attention, changed, given, linear, norm, norm_forward, softmax
from tests.course.doctor.mistakes.words import ASSIGNED, COMPLEX, IN_PLACE, RAISES

LAST = {}

layer_norm_forward_with_norm = norm_forward(
    variance=lambda c, x, axis: np.linalg.norm(c, axis=axis, keepdims=True) ** 2 / x.shape[-1])


def softmax_grows(dp, cache):
    """Adds up over calls: `total` was meant to be local."""
    LAST[dp.shape] = LAST.get(dp.shape, 0) + softmax()(dp, cache)
    return LAST[dp.shape].copy()


def attention_overwrites_value(dy, cache):
    dquery, dkey, cache.value[...] = attention()(dy, cache)
    return dquery, dkey, cache.value


MISTAKES = [
    makers.norm("contract-layer-norm-two-returned", changed(norm(), lambda dx, dgamma, *_: (dx, dgamma)),
            ("two", "2 ", "3 ", "three", "too few", "unpack", "number of", "missing", *RAISES)),
    makers.softmax("contract-softmax-grows", softmax_grows,
            ("second", "call", "state", "determin", "again", "accumul", "twice", "keeps", "grows", "same cache"),
            comment="right once; every later call adds to it"),
    makers.linear("contract-linear-new-grad", ("grad +=", "grad ="), (*ASSIGNED, "new array", "view", "rebound"), in_model=""),
    makers.linear("contract-linear-normalises-dy", given(linear(), lambda self, dy, cache: (self, dy / np.linalg.norm(dy), cache)),
            ("norm", "factor", "linear in", "not linear", "scale", "length", "proportional", "times", "constant", "divid")),
    makers.linear("contract-linear-weight-decay", ("+= rows.T", "+= 0.1 * self.weight.data + rows.T"), ("weight", "dW"),
            ("decay", "added", "regular", "even without", "dy = 0", "dy is 0", "zero dy", "not depend", "multiple of", "+ ", "l2", "linear in", "offset")),
    makers.linear_forward("contract-linear-forward-rounds", ("return y.", "return y.round(2)."),
            ("round", "step", "constant", "jump", "smooth", "discontinu", "differentiab", "stair", "complex", "noise", "piecewise"),
            in_model=""),
    makers.norm_forward("contract-layer-norm-forward-with-norm", layer_norm_forward_with_norm, (*COMPLEX, "norm("), in_model="",
            comment="right for real numbers; the norm takes the absolute value of complex ones"),
    makers.softmax_forward("contract-softmax-forward-of-real-part", lambda x, mask=None: softmax_forward.textbook(x.real, mask),
            (*COMPLEX, "imag", "real"), in_model="", comment="right for real numbers; the complex step's part is lost"),
    makers.attention("contract-attention-overwrites-value", attention_overwrites_value, IN_PLACE, in_model=""),
]
