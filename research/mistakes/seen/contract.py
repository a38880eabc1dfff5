"""Functions that break the contract rather than the mathematics."""

import numpy as np

from minitransformer.functional import layer_norm_backward, softmax_forward
from minitransformer.layers.linear import LinearCache
from research.mistakes import makers
from research.mistakes.words import ASSIGNED, COMPLEX, PRECISION, RAISES, RANDOM


def softmax_not_written(dp, cache):
    raise NotImplementedError


def layer_norm_wrong_field(dy, cache):
    return dy * cache.std, (dy * cache.normed).sum(axis=(0, 1)), dy.sum(axis=(0, 1))


def layer_norm_two_axes_only(dy, cache):
    dx, _, _ = layer_norm_backward.textbook(dy, cache)
    batch, d_model = dy.shape
    return dx, (dy * cache.normed).sum(axis=0), dy.sum(axis=0)


def linear_for_two_sentences(self, dy, cache):
    d_in, d_out = self.weight.shape
    (x, other_x), (d, other_d) = cache.x, dy
    self.weight.grad += x.T @ d + other_x.T @ other_d
    self.bias.grad += d.sum(axis=0) + other_d.sum(axis=0)
    return np.stack([d @ self.weight.data.T, other_d @ self.weight.data.T])


def linear_forward_in_float32(self, x):
    y = x.astype(np.float32) @ self.weight.data.astype(np.float32) + self.bias.data.astype(np.float32)
    return y.astype(x.dtype), LinearCache(x)


def softmax_forward_adds_noise(x, mask=None):
    x = x + 1e-3 * np.random.default_rng().standard_normal(x.shape)
    return softmax_forward.textbook(x, mask)


MISTAKES = [
    makers.softmax("contract-softmax-not-written", softmax_not_written, (*RAISES, "not implemented")),
    makers.norm("contract-layer-norm-wrong-field", layer_norm_wrong_field, (*RAISES, "attributeerror", "std")),
    makers.norm("contract-layer-norm-two-axes-only", layer_norm_two_axes_only, ("axes", "shape", "unpack", "dimension", *RAISES)),
    makers.linear("contract-linear-zeroes-first", ("grad +=", "grad[...] ="), ASSIGNED, in_model=""),
    makers.linear("contract-linear-for-two-sentences", linear_for_two_sentences, ("batch", "shape", "size", "unpack", *RAISES),
            in_model="", comment="right for a batch of two, which is the batch of blocks()"),
    makers.linear("contract-linear-clips-dy", ("dy.reshape(-1, d_out)", "np.clip(dy, -1, 1).reshape(-1, d_out)"),
            ("clip", "linear in", "not linear", "nonlinear", "proportional", "large")),
    makers.linear("contract-linear-adds-noise",
            ("dy.reshape(-1, d_out)", "(dy + 0.01 * np.random.default_rng().standard_normal(dy.shape)).reshape(-1, d_out)"),
            (*RANDOM, "noise")),
    makers.linear_forward("contract-linear-forward-in-float32", linear_forward_in_float32, (*PRECISION, *COMPLEX), in_model=""),
    makers.softmax_forward("contract-softmax-forward-adds-noise", softmax_forward_adds_noise, (*RANDOM, "noise")),
    makers.attention("contract-attention-infinite",
            ("return dquery", "return dquery * np.exp(np.log(weights.sum(axis=-1, keepdims=True)) * 0)"), ("nan", "inf", "finite"),
            in_model="", comment="log 0 where a query attends to nothing"),
]
