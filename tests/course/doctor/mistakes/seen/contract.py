"""Functions that break the contract rather than the mathematics."""

import numpy as np

from minitransformer.functional import softmax_forward
from minitransformer.layers.linear import LinearCache
from tests.course.doctor.mistakes.mistake import Mistake
from tests.course.doctor.mistakes.right import assigning, attention, changed, given, linear, norm, total
from tests.course.doctor.mistakes.words import ASSIGNED, COMPLEX, PRECISION, RAISES, RANDOM


def softmax_not_written(dp, cache):
    raise NotImplementedError


def layer_norm_wrong_field(dy, cache):
    return dy * cache.std, (dy * cache.normed).sum(axis=(0, 1)), dy.sum(axis=(0, 1))


def layer_norm_two_axes_only(dy, cache):
    dx, _, _ = norm()(dy, cache)
    batch, d_model = dy.shape
    return dx, (dy * cache.normed).sum(axis=0), dy.sum(axis=0)


def linear_for_two_sentences(self, dy, cache):
    d_in, d_out = self.weight.shape
    (x, other_x), (d, other_d) = cache.x, dy
    self.weight.grad += x.T @ d + other_x.T @ other_d
    self.bias.grad += d.sum(axis=0) + other_d.sum(axis=0)
    return np.stack([d @ self.weight.data.T, other_d @ self.weight.data.T])


linear_zeroes_first = assigning(linear(), "weight", "bias")
linear_clips_dy = given(linear(), lambda self, dy, cache: (self, np.clip(dy, -1, 1), cache))
linear_adds_noise = given(linear(), lambda self, dy, cache: (
    self, dy + 0.01 * np.random.default_rng().standard_normal(dy.shape), cache))
attention_infinite = changed(attention(), lambda dq, dk, dv, dy, cache: (
    dq * np.exp(np.log(total(cache.weights)) * 0), dk, dv))


def linear_forward_in_float32(self, x):
    y = x.astype(np.float32) @ self.weight.data.astype(np.float32) + self.bias.data.astype(np.float32)
    return y.astype(x.dtype), LinearCache(x)


def softmax_forward_adds_noise(x, mask=None):
    x = x + 1e-3 * np.random.default_rng().standard_normal(x.shape)
    return softmax_forward.textbook(x, mask)


MISTAKES = [
    Mistake("contract-softmax-not-written", "softmax_backward", softmax_not_written, "softmax", ((*RAISES, "not implemented"),)),
    Mistake("contract-layer-norm-wrong-field", "layer_norm_backward", layer_norm_wrong_field, "layer-norm", ((*RAISES, "attributeerror", "std"),)),
    Mistake("contract-layer-norm-two-axes-only", "layer_norm_backward", layer_norm_two_axes_only, "layer-norm",
            (("axes", "shape", "unpack", "dimension", *RAISES),)),
    Mistake("contract-linear-zeroes-first", "Linear.backward", linear_zeroes_first, "linear", (ASSIGNED,), in_model=""),
    Mistake("contract-linear-for-two-sentences", "Linear.backward", linear_for_two_sentences, "linear",
            (("batch", "shape", "size", "unpack", *RAISES),), in_model="",
            comment="right for a batch of two, which is the batch of blocks()"),
    Mistake("contract-linear-clips-dy", "Linear.backward", linear_clips_dy, "linear",
            (("clip", "linear in", "not linear", "nonlinear", "proportional", "large"),)),
    Mistake("contract-linear-adds-noise", "Linear.backward", linear_adds_noise, "linear", ((*RANDOM, "noise"),)),
    Mistake("contract-linear-forward-in-float32", "Linear.forward", linear_forward_in_float32, "linear", ((*PRECISION, *COMPLEX),), in_model=""),
    Mistake("contract-softmax-forward-adds-noise", "softmax_forward", softmax_forward_adds_noise, "softmax", ((*RANDOM, "noise"),)),
    Mistake("contract-attention-infinite", "attention_backward", attention_infinite, "attention", (("nan", "inf", "finite"),), in_model="",
            comment="log 0 where a query attends to nothing"),
]
