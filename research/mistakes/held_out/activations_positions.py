"""Mistakes in ReLU, GELU, positions, the input and pooling."""

import numpy as np

from minitransformer.functional.activations import CUBIC, GeluCache, ReluCache, SLOPE
from research.mistakes import makers
from research.mistakes.makers import edited
from research.mistakes.words import ASSIGNED, AVERAGED, BATCH, COMPLEX, INNER, IN_PLACE, MISSING, RAISES, SIGN, TWICE

BUFFERS = {}


def relu_forward_in_place(x):
    positive = x.real > 0
    x *= positive
    return x, ReluCache(positive)


def gelu_forward_one_buffer(x):
    tanh = BUFFERS.setdefault((x.shape, x.dtype), np.empty_like(x))
    tanh[...] = np.tanh(SLOPE * (x + CUBIC * x * x * x))
    return 0.5 * x * (1 + tanh), GeluCache(x, tanh)


MISTAKES = [
    makers.relu("relu-inverted", ("dy * cache.positive", "dy * ~cache.positive"),
            ("invert", "complement", "opposite", "wrong way", "x <= 0", "x < 0", "negative", "swap")),
    makers.relu("relu-without-dy", ("dy * cache.positive", "cache.positive.astype(dy.dtype)"), ("dy",), MISSING),
    makers.relu("relu-leaks", ("dy * cache.positive", "np.where(cache.positive, dy, 0.01 * dy)"),
            ("leak", "0.01", "x <= 0", "x < 0", "negative", "not positive", "x > 0")),
    makers.relu_forward("relu-forward-in-place", relu_forward_in_place, IN_PLACE, in_model=""),
    makers.relu_forward("relu-forward-with-abs", ("x * positive", "(x + abs(x)) / 2"), COMPLEX, in_model=""),
    makers.gelu("gelu-three-forgotten", ("3 * ", ""),
            ("3 *", "3 x", "factor 3", "factor of 3", "times 3", "the 3", "three", "x^3", "derivative of the cub")),
    makers.gelu("gelu-linear-for-square", ("CUBIC * x * x", "CUBIC * x"), ("x^2", "x * x", "x**2", "squar", "x²", *INNER)),
    makers.gelu("gelu-slope-forgotten", ("SLOPE * ", ""), ("sqrt(2/pi)", "sqrt(2 / pi)", "slope", *INNER)),
    makers.gelu("gelu-second-term-only", ("0.5 * (1 + tanh) + ", ""), ("first", "1 + tanh", "product rule", "term"), MISSING),
    makers.gelu("gelu-half-forgotten", ("0.5 * x", "x"), ("half", "0.5", "/ 2", "1/2", *TWICE),
            ("second", "1 - tanh", "x (1", "term", "u'", "sech")),
    makers.gelu("gelu-subtracted", ("+ 0.5 * x", "- 0.5 * x"), (*SIGN, "subtract")),
    makers.gelu("gelu-tanh-not-squared", ("tanh * tanh", "tanh"),
            ("tanh^2", "tanh * tanh", "tanh**2", "tanh²", "squar", "1 - tanh")),
    makers.gelu("gelu-typing-error", ("CUBIC", "0.44715"),
            ("0.044715", "0.44715", "cubic", "constant", "coefficient", "3 *", *INNER)),
    makers.gelu_forward("gelu-forward-one-buffer", gelu_forward_one_buffer,
            ("cache", "shared", "overwr", "last", "other", "another", "later", "in place", "in-place", "reuse", "changed"),
            block="transformer-pre-norm"),
    makers.gelu_forward("gelu-forward-caches-u", ("GeluCache(x, tanh)", "GeluCache(x, SLOPE * (x + CUBIC * x * x * x))"),
            ("tanh", "cache")),
    makers.sinusoidal("sinusoidal-over-batch", ("return dy", "return np.broadcast_to(dy.sum(axis=0), dy.shape).copy()"),
            (*BATCH, "sum", "axis")),
    makers.learned_positions("learned-positions-without-batch", ("dy.sum(axis=0)", "dy"),
            (*BATCH, "sum", "axis", "shape", "broadcast", *RAISES)),
    makers.learned_positions("learned-positions-off-by-one", ("[: cache.length]", "[1: cache.length + 1]"),
            ("off by one", "shift", "neighbour", "next", "row", "position")),
    makers.learned_positions("learned-positions-assigned", ("+=", "="), ASSIGNED, in_model=""),
    makers.learned_positions("learned-positions-nothing-returned", ("return dy", "return"), ("none", "return", "nothing", *RAISES)),
    makers.learned_positions("learned-positions-first-sentence", ("dy.sum(axis=0)", "dy[0]"), (*BATCH, "first")),
    edited("learned-positions-forward-from-one", "minitransformer.layers.positions:LearnedPositions.forward", "[:length]",
            "[1:length + 1]", "learned-positions", ("off by one", "shift", "neighbour", "next", "row", "position"),
            in_model="transformer-unshared"),
    makers.input("input-positions-skipped", ("dx = self.positions.backward(dx, cache.positions)", "pass"), ("position",), MISSING,
            in_model="transformer-unshared"),
    makers.input("input-embedding-skipped", ("self.embedding.backward(dx, cache.embedding)", "pass"), ("embedding",), MISSING),
    makers.mean_over_tokens("mean-over-tokens-padding-too",
            ("* cache.share", "* cache.share.max(axis=1, keepdims=True) * np.ones_like(cache.share)"), ("pad", "real", "mask"),
            in_model="", comment="in a classifier, nothing that padding's hidden states receive comes from elsewhere"),
    makers.mean_over_tokens("mean-over-tokens-share-twice", ("* cache.share", "* cache.share * cache.share"),
            (*TWICE, "count", "share", "divid")),
    makers.mean_forward("mean-over-tokens-forward-counts-padding", ("(x * share).sum(axis=1)", "x.mean(axis=1)"),
            ("pad", "real", "mask", "forward")),
    makers.first_token("first-token-everywhere", ("dx[:, 0] = dy", "dx[...] = dy[:, None]"),
            ("first", "other position", "all positions", "every position")),
    makers.first_token("first-token-averaged", ("= dy\n", "= dy / cache.shape[1]\n"), AVERAGED),
]
