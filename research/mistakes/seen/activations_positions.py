"""Mistakes in ReLU, GELU, positions, the input and pooling."""

import math

import numpy as np

from minitransformer.functional.activations import ReluCache
from research.mistakes import makers
from research.mistakes.words import AVERAGED, BATCH, INNER, IN_PLACE, MISSING, TWICE

BUFFERS = {}


def relu_forward_one_buffer(x):
    positive = BUFFERS.setdefault(x.shape, np.empty(x.shape, bool))
    np.greater(x.real, 0, out=positive)
    return x * positive, ReluCache(positive)


def gelu_of_erf(dy, cache):
    x = cache.x
    erf = np.vectorize(math.erf)(x / math.sqrt(2))
    return dy * (0.5 * (1 + erf) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi))


def gelu_of_sigmoid(dy, cache):
    s = 1 / (1 + np.exp(-1.702 * cache.x))
    return dy * (s + 1.702 * cache.x * s * (1 - s))


MISTAKES = [
    makers.relu("relu-mask-from-dy", ("dy * cache.positive", "dy * (dy > 0)"),
            ("dy > 0", "sign of dy", "from dy", "of dy", "positive dy", "dy is", "negative dy", "gradient > 0", "incoming")),
    makers.relu("relu-both-masks", ("dy * cache.positive", "np.maximum(dy, 0) * cache.positive"),
            ("dy > 0", "sign of dy", "from dy", "of dy", "positive dy", "dy is", "negative dy", "gradient > 0", "incoming", "max")),
    makers.relu("relu-passes-all", ("dy * cache.positive", "dy"),
            ("x > 0", "positive", "mask", "negative x", "x <= 0", "kink", "x < 0"), (*MISSING, "everywhere", "unchanged")),
    makers.relu("relu-in-place", ("return dy * cache.positive", "dy[~cache.positive] = 0\n    return dy"), IN_PLACE, in_model=""),
    makers.relu_forward("relu-forward-one-buffer", relu_forward_one_buffer,
            ("cache", "shared", "overwr", "last", "other", "another", "later", "in place", "in-place", "reuse", "changed"),
            block="encoder"),
    makers.relu_forward("relu-forward-mask-of-first-sentence", ("ReluCache(positive)", "ReluCache(positive[:1])"),
            ("mask", "positive", "x > 0", "cache", "dy has shape", *BATCH)),
    makers.gelu("gelu-inner-forgotten", (" * u_prime", ""), (*INNER, "derivative"), MISSING),
    makers.gelu("gelu-cubic-forgotten", (" * (1 + 3 * CUBIC * x * x)", ""),
            ("0.044715", "cubic", "x^2", "x^3", "x**", "x * x", "CUBIC", "3 *")),
    makers.gelu("gelu-first-term-only", (" + 0.5 * x * (1 - tanh * tanh) * u_prime", ""),
            ("second", "1 - tanh", "x (1", "product rule", "term"), MISSING),
    makers.gelu("gelu-x-forgotten", ("0.5 * x * ", "0.5 * "),
            ("x (1", "x *", "factor x", "times x", "by x", "the x", "x is", "product rule"), MISSING, excludes=("u' is missing",)),
    makers.gelu("gelu-of-erf", gelu_of_erf, ("erf", "exact", "other form", "tanh form", "approximation", "Phi")),
    makers.gelu("gelu-of-sigmoid", gelu_of_sigmoid,
            ("sigmoid", "1.702", "other form", "tanh form", "approximation", "swish", "silu")),
    makers.gelu("gelu-as-relu", ("0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * u_prime", "x > 0"),
            ("relu", "x > 0", "step", "positive")),
    makers.gelu("gelu-slope-inverted", ("SLOPE", "math.sqrt(math.pi / 2)"),
            ("sqrt(2/pi)", "sqrt(2 / pi)", "sqrt(pi", "slope", *INNER)),
    makers.sinusoidal("sinusoidal-scaled", ("return dy", "return math.sqrt(dy.shape[-1]) * dy"),
            ("sqrt", "scal", "factor", "√", "times")),
    makers.sinusoidal("sinusoidal-zero", ("return dy", "return 0 * dy"), MISSING),
    makers.learned_positions("learned-positions-mean", ("dy.sum(axis=0)", "dy.mean(axis=0)"), BATCH, AVERAGED),
    makers.learned_positions("learned-positions-weight-forgotten", ("dy.sum(axis=0)", "0"), ("weight", "dW", "table"), MISSING),
    makers.learned_positions("learned-positions-every-row", ("dy.sum(axis=0)", "dy.sum(axis=(0, 1))"),
            ("position", "length", "axis", "axes", "every row", "all rows", "same")),
    makers.learned_positions("learned-positions-scaled", ("dy.sum(axis=0)", "math.sqrt(dy.shape[-1]) * dy.sum(axis=0)"),
            ("sqrt", "scal", "factor", "√")),
    makers.learned_positions("learned-positions-last-missing",
            ("[: cache.length] += dy.sum(axis=0)", "[: cache.length - 1] += dy.sum(axis=0)[:-1]"),
            ("last", "length", "row", "position")),
    makers.learned_positions("learned-positions-reversed", ("dy.sum(axis=0)", "dy.sum(axis=0)[::-1]"),
            ("revers", "order", "backwards", "permut", "wrong row", "wrong position", "mixed", "other position", "flip")),
    makers.input("input-dropout-forgotten", ("dropout_backward(dy, cache.dropout)", "dy"), ("dropout", "mask"), MISSING),
    makers.input("input-dropout-after-positions",
            ("dx = dropout_backward(dy, cache.dropout)", "dx = dy", "self.embedding.backward(dx", "self.embedding.backward(dropout_backward(dx, cache.dropout)"),
            ("dropout", "mask"), ("position", "order", "after", "before", *MISSING), in_model="transformer-unshared"),
    makers.input("input-embedding-twice",
            ("dx = self.positions", "self.embedding.backward(dx, cache.embedding); dx = self.positions"), ("embedding",), TWICE),
    makers.mean_over_tokens("mean-over-tokens-by-length", ("* cache.share", "* (cache.share > 0) / cache.share.shape[1]"),
            ("length", "padding", "real", "number of", "all positions", "/ T", "by T")),
    makers.mean_over_tokens("mean-over-tokens-undivided", ("* cache.share", "* (cache.share > 0)"),
            ("divid", "mean", "share", "count", "1 /", "number of", "sum")),
    makers.first_token("first-token-becomes-last", ("[:, 0]", "[:, -1]"),
            ("last", "wrong position", "other position", "first", "position")),
    makers.first_token("first-token-of-first-sentence", ("dx[:, 0] = dy", "dx[0, 0] = dy[0]"), BATCH),
]
