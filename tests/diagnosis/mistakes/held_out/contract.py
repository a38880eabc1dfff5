"""Functions that break the contract rather than the mathematics."""

import numpy as np

from minitransformer.functional import attention_backward, softmax_forward
from minitransformer.functional.layer_norm import LayerNormCache
from minitransformer.layers.linear import LinearCache
from tests.diagnosis.mistakes.mistake import Mistake
from tests.diagnosis.mistakes.words import ASSIGNED, COMPLEX, IN_PLACE, RAISES

LAST = {}


def layer_norm_two_returned(dy, cache):
    normed, inverse, gamma = cache
    dn = dy * gamma
    dx = inverse * (dn - dn.mean(axis=-1, keepdims=True) - normed * (dn * normed).mean(axis=-1, keepdims=True))
    return dx, (dy * normed).sum(axis=tuple(range(dy.ndim - 1)))


def softmax_grows(dp, cache):
    """Adds up over calls: `total` was meant to be local."""
    p = cache.p
    LAST[p.shape] = LAST.get(p.shape, 0) + p * (dp - (dp * p).sum(axis=-1, keepdims=True))
    return LAST[p.shape].copy()


def linear_new_grad(self, dy, cache):
    d_in, d_out = self.weight.shape
    rows, drows = cache.x.reshape(-1, d_in), dy.reshape(-1, d_out)
    self.weight.grad = rows.T @ drows
    self.bias.grad = drows.sum(axis=0)
    return (drows @ self.weight.data.T).reshape(cache.x.shape)


def linear_normalises_dy(self, dy, cache):
    d_in, d_out = self.weight.shape
    dy = dy / np.linalg.norm(dy)
    rows, drows = cache.x.reshape(-1, d_in), dy.reshape(-1, d_out)
    self.weight.grad += rows.T @ drows
    self.bias.grad += drows.sum(axis=0)
    return (drows @ self.weight.data.T).reshape(cache.x.shape)


def linear_weight_decay(self, dy, cache):
    d_in, d_out = self.weight.shape
    rows, drows = cache.x.reshape(-1, d_in), dy.reshape(-1, d_out)
    self.weight.grad += rows.T @ drows + 0.1 * self.weight.data
    self.bias.grad += drows.sum(axis=0)
    return (drows @ self.weight.data.T).reshape(cache.x.shape)


def linear_forward_rounds(self, x):
    return np.round(x @ self.weight.data + self.bias.data, 2), LinearCache(x)


def layer_norm_forward_with_norm(x, gamma, beta, epsilon=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    length = np.linalg.norm(centred, axis=-1, keepdims=True)
    inverse = 1 / np.sqrt(length ** 2 / x.shape[-1] + epsilon)
    normed = centred * inverse
    return gamma * normed + beta, LayerNormCache(normed, inverse, gamma)


def softmax_forward_of_real_part(x, mask=None):
    p, cache = softmax_forward.replaceable.textbook(x.real, mask)
    return p, cache


def attention_overwrites_value(dy, cache):
    gradients = attention_backward.replaceable.textbook(dy, cache)
    cache.value[...] = gradients[2]
    return gradients[0], gradients[1], cache.value


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
