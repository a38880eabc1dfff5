"""Mistakes in ReLU, GELU, positions, the input and pooling."""

import numpy as np

from minitransformer.functional import dropout_backward
from minitransformer.functional.activations import CUBIC, GeluCache, ReluCache, SLOPE
from minitransformer.layers.positions import PositionsCache
from minitransformer.layers.pooling import MeanCache
from tests.diagnosis.mistakes import makers, right
from tests.diagnosis.mistakes.makers import FIRST, INPUT, MEAN, POSITIONS
from tests.diagnosis.mistakes.mistake import Mistake
from tests.diagnosis.mistakes.words import ASSIGNED, AVERAGED, BATCH, COMPLEX, INNER, IN_PLACE, MISSING, RAISES, SIGN, TWICE

BUFFERS = {}


def relu_inverted(dy, cache):
    return dy * ~cache.positive


def relu_without_dy(dy, cache):
    return cache.positive.astype(dy.dtype)


def relu_leaks(dy, cache):
    return np.where(cache.positive, dy, 0.01 * dy)


def relu_forward_in_place(x):
    positive = x.real > 0
    x *= positive
    return x, ReluCache(positive)


def relu_forward_with_abs(x):
    return (x + np.abs(x)) / 2, ReluCache(x.real > 0)


def gelu_three_forgotten(dy, cache):
    return right.gelu_backward(dy, cache, u_prime=SLOPE * (1 + CUBIC * cache.x * cache.x))


def gelu_linear_for_square(dy, cache):
    return right.gelu_backward(dy, cache, u_prime=SLOPE * (1 + 3 * CUBIC * cache.x))


def gelu_slope_forgotten(dy, cache):
    return right.gelu_backward(dy, cache, u_prime=1 + 3 * CUBIC * cache.x * cache.x)


def gelu_second_term_only(dy, cache):
    return right.gelu_backward(dy, cache, first=0)


def gelu_half_forgotten(dy, cache):
    return right.gelu_backward(dy, cache, second=2)


def gelu_subtracted(dy, cache):
    return right.gelu_backward(dy, cache, second=-1)


def gelu_tanh_not_squared(dy, cache):
    x, tanh = cache
    u_prime = SLOPE * (1 + 3 * CUBIC * x * x)
    return dy * (0.5 * (1 + tanh) + 0.5 * x * (1 - tanh) * u_prime)


def gelu_typing_error(dy, cache):
    return right.gelu_backward(dy, cache, u_prime=SLOPE * (1 + 3 * 0.44715 * cache.x * cache.x))


def gelu_forward_one_buffer(x):
    tanh = BUFFERS.setdefault((x.shape, x.dtype), np.empty_like(x))
    tanh[...] = np.tanh(SLOPE * (x + CUBIC * x * x * x))
    return 0.5 * x * (1 + tanh), GeluCache(x, tanh)


def gelu_forward_caches_u(x):
    u = SLOPE * (x + CUBIC * x * x * x)
    return 0.5 * x * (1 + np.tanh(u)), GeluCache(x, u)


def sinusoidal_over_batch(self, dy, cache):
    return np.broadcast_to(dy.sum(axis=0), dy.shape).copy()


def learned_without_batch(self, dy, cache):
    self.weight.grad[: cache.length] += dy
    return dy


def learned_off_by_one(self, dy, cache):
    self.weight.grad[1: cache.length + 1] += dy.sum(axis=0)
    return dy


def learned_assigned(self, dy, cache):
    self.weight.grad[: cache.length] = dy.sum(axis=0)
    return dy


def learned_nothing_returned(self, dy, cache):
    self.weight.grad[: cache.length] += dy.sum(axis=0)


def learned_first_sentence(self, dy, cache):
    self.weight.grad[: cache.length] += dy[0]
    return dy


def learned_forward_from_one(self, x):
    length = x.shape[1]
    return x + self.weight.data[1: length + 1], PositionsCache(x.shape)


def input_positions_skipped(self, dy, cache):
    self.embedding.backward(dropout_backward(dy, cache.dropout), cache.embedding)


def input_embedding_skipped(self, dy, cache):
    self.positions.backward(dropout_backward(dy, cache.dropout), cache.positions)


def pooling_padding_too(self, dy, cache):
    return dy[:, None, :] * cache.share.max(axis=1, keepdims=True) * np.ones_like(cache.share)


def pooling_share_twice(self, dy, cache):
    return dy[:, None, :] * cache.share * cache.share


def pooling_forward_counts_padding(self, x, real):
    count = np.maximum(real.sum(axis=1, keepdims=True), 1)
    return x.mean(axis=1), MeanCache((real / count)[:, :, None], x.shape[2])


def first_everywhere(self, dy, cache):
    return np.broadcast_to(dy[:, None, :], cache.shape).copy()


def first_averaged(self, dy, cache):
    dx = np.zeros(cache.shape)
    dx[:, 0] = dy / cache.shape[1]
    return dx


MISTAKES = [
    makers.relu("inverted", relu_inverted, ("invert", "complement", "opposite", "wrong way", "x <= 0", "x < 0", "negative", "swap")),
    makers.relu("without-dy", relu_without_dy, ("dy",), MISSING),
    makers.relu("leaks", relu_leaks, ("leak", "0.01", "x <= 0", "x < 0", "negative", "not positive", "x > 0")),
    makers.relu("forward-in-place", relu_forward_in_place, IN_PLACE, replaces="relu_forward", in_model=""),
    makers.relu("forward-with-abs", relu_forward_with_abs, COMPLEX, replaces="relu_forward", in_model=""),
    makers.gelu("three-forgotten", gelu_three_forgotten, ("3 *", "3 x", "factor 3", "factor of 3", "times 3", "the 3", "three", "x^3", "derivative of the cub")),
    makers.gelu("linear-for-square", gelu_linear_for_square, ("x^2", "x * x", "x**2", "squar", "x²", *INNER)),
    makers.gelu("slope-forgotten", gelu_slope_forgotten, ("sqrt(2/pi)", "sqrt(2 / pi)", "slope", *INNER)),
    makers.gelu("second-term-only", gelu_second_term_only, ("first", "1 + tanh", "product rule", "term"), MISSING),
    makers.gelu("half-forgotten", gelu_half_forgotten, ("half", "0.5", "/ 2", "1/2", *TWICE), ("second", "1 - tanh", "x (1", "term", "u'", "sech")),
    makers.gelu("subtracted", gelu_subtracted, (*SIGN, "subtract")),
    makers.gelu("tanh-not-squared", gelu_tanh_not_squared, ("tanh^2", "tanh * tanh", "tanh**2", "tanh²", "squar", "1 - tanh")),
    makers.gelu("typing-error", gelu_typing_error, ("0.044715", "0.44715", "cubic", "constant", "coefficient", "3 *", *INNER)),
    makers.gelu("forward-one-buffer", gelu_forward_one_buffer,
                  ("cache", "shared", "overwr", "last", "other", "another", "later", "in place", "in-place", "reuse", "changed"),
                  replaces="gelu_forward", block="transformer-pre-norm"),
    makers.gelu("forward-caches-u", gelu_forward_caches_u, ("tanh", "cache"), replaces="gelu_forward"),
    Mistake("sinusoidal-over-batch", POSITIONS + "SinusoidalPositions.backward", sinusoidal_over_batch, "sinusoidal-positions",
            ((*BATCH, "sum", "axis"),)),
    makers.learned_positions("without-batch", learned_without_batch, (*BATCH, "sum", "axis", "shape", "broadcast", *RAISES)),
    makers.learned_positions("off-by-one", learned_off_by_one, ("off by one", "shift", "neighbour", "next", "row", "position")),
    makers.learned_positions("assigned", learned_assigned, ASSIGNED, in_model=""),
    makers.learned_positions("nothing-returned", learned_nothing_returned, ("none", "return", "nothing", *RAISES)),
    makers.learned_positions("first-sentence", learned_first_sentence, (*BATCH, "first")),
    makers.learned_positions("forward-from-one", learned_forward_from_one, ("off by one", "shift", "neighbour", "next", "row", "position"),
             replaces=POSITIONS + "LearnedPositions.forward"),
    Mistake("input-positions-skipped", INPUT, input_positions_skipped, "input", (("position",), MISSING), in_model="transformer-unshared"),
    Mistake("input-embedding-skipped", INPUT, input_embedding_skipped, "input", (("embedding",), MISSING)),
    Mistake("mean-over-tokens-padding-too", MEAN + "backward", pooling_padding_too, "mean-over-tokens",
            (("pad", "real", "mask"),), in_model="", comment="in a classifier, nothing that padding's hidden states receive comes from elsewhere"),
    Mistake("mean-over-tokens-share-twice", MEAN + "backward", pooling_share_twice, "mean-over-tokens",
            ((*TWICE, "count", "share", "divid"),), in_model="classifier"),
    Mistake("mean-over-tokens-forward-counts-padding", MEAN + "forward", pooling_forward_counts_padding, "mean-over-tokens",
            (("pad", "real", "mask", "forward"),), in_model="classifier"),
    Mistake("first-token-everywhere", FIRST, first_everywhere, "first-token",
            (("first", "other position", "all positions", "every position"),), in_model="classifier-first-token"),
    Mistake("first-token-averaged", FIRST, first_averaged, "first-token", (AVERAGED,), in_model="classifier-first-token"),
]
