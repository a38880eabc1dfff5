"""Mistakes in the token embedding, in positions and in the input block."""

import numpy as np

from minitransformer.layers.embedding import Embedding, EmbeddingCache
from research.mistakes import makers
from research.mistakes.makers import edited
from research.mistakes.words import LEFT_OUT, UNKNOWN

SINUSOIDAL = "minitransformer.layers.positions:SinusoidalPositions."
MISSING = (*LEFT_OUT, "does not reach", "only")


def embedding_forward_unit_rows(self, ids):
    weight = self.weight.data
    rows = weight / np.sqrt((weight * weight).sum(axis=1, keepdims=True))
    return self.weight.shape[1] ** 0.5 * rows[ids], EmbeddingCache(ids)


def embedding_leaks_to_next_id(self, dy, cache):
    Embedding.backward.textbook(self, 0.9 * dy, cache)
    Embedding.backward.textbook(self, 0.1 * dy, cache._replace(ids=(cache.ids + 1) % len(self.weight.grad)))


def embedding_unscaled_and_last_place(self, dy, cache):
    self.weight.grad[cache.ids] += dy


def sinusoidal_decays_with_position(self, dy, cache):
    return dy / (1 + 0.1 * np.arange(cache.length, dtype=dy.dtype))[:, None]


SQRT = ("sqrt", "2.65", "2.646", "2.6458", "0.378", "factor", "times", "scale", "root", "constant")

MISTAKES = [
    makers.embedding("embedding-no-scale", ("math.sqrt(d_model) * ", ""), SQRT),
    makers.embedding("embedding-scale-d-model", ("math.sqrt(d_model)", "d_model"), SQRT),
    makers.embedding("embedding-scale-divides", ("math.sqrt(d_model)", "1 / math.sqrt(d_model)"), (*SQRT, "divid", "1/7", "0.143")),
    makers.embedding("embedding-assigned", ("size = 1", "self.weight.grad[...] = 0; size = 1"),
            ("+=", "accumulat", "overwrit", "assign", "replac", "add", "output", "shared", "tied", "lost", *MISSING),
            block="language-model",
            comment="The embedding assigns its gradient to the shared weight, wiping out the output projection's part."),
    makers.embedding("embedding-by-frequency", ("* sums", "* sums / counts[some][:, None]"),
            ("average", "mean", "divid", "count", "frequen", "how often", "repeat", "number of", "several")),
    makers.embedding("embedding-padding-index", ("(counts & size) > 0", "((counts & size) > 0) & (distinct != 0)"),
            ("pad", "id 0", "row 0", "first row", "token 0", "embedding", *MISSING), block="transformer",
            comment="The row of PAD (id 0) gets no gradient, as PyTorch's padding_idx, though forward uses it like any row."),
    makers.embedding("embedding-ids-from-one", ("cache.ids.reshape(-1)", "cache.ids.reshape(-1) - 1"),
            ("off by one", "shift", "row", "ids - 1", "id - 1", "neighbour", "wrong", "before", "previous", "other id")),
    makers.embedding("embedding-first-occurrence", ("size = 1", "counts = np.ones_like(counts); size = 1"),
            ("repeat", "more than once", "several", "only one", "first", "occurr", "again", "places")),
    makers.embedding("embedding-scattered-by-position",
            ("cache.ids.reshape(-1)", "np.broadcast_to(np.arange(cache.ids.shape[1]), cache.ids.shape).reshape(-1)"),
            ("position", "wrong row", "other row", "rows", "ids", "scatter", "index")),
    makers.embedding("embedding-ids-transposed", ("cache.ids.reshape(-1)", "cache.ids.T.reshape(-1)"),
            ("order", "transpos", "permut", "shuffl", "wrong row", "other", "scrambl", "ids")),
    makers.embedding("embedding-last-sequence", ("cache.ids.reshape", "cache.ids[-1].reshape", "dy.reshape", "dy[-1].reshape"),
            ("last", "batch", "sequence", "only", "some of", "part", *MISSING)),
    makers.embedding_forward("embedding-forward-no-scale", ("math.sqrt(d_model) * ", ""), SQRT),
    makers.embedding_forward("embedding-forward-unit-rows", embedding_forward_unit_rows,
            (*UNKNOWN, "norm", "unit", "length", "embedding", "weight", "forward")),
    makers.embedding("embedding-leak", embedding_leaks_to_next_id, (*UNKNOWN, "embedding", "weight", "next", "neighbour", "shift")),
    makers.embedding("embedding-root-frequency", ("* sums", "* sums / np.sqrt(counts[some])[:, None]"),
            (*UNKNOWN, "repeat", "count", "more than once", "several", "frequen", "embedding", "weight")),
    makers.embedding("embedding-signed-square", ("dy.reshape(-1, d_model)", "(dy * abs(dy)).reshape(-1, d_model)"),
            (*UNKNOWN, "square", "power", "embedding", "weight", "linear in")),
    makers.embedding("embedding-two-no-scale-and-repeats", embedding_unscaled_and_last_place,
            (*SQRT, "repeat", "more than once", "several", "last", "occurr")),
    makers.learned_positions("learned-positions-mean", ("dy.sum(axis=0)", "dy.mean(axis=0)"),
            ("mean", "average", "divid", "half", "batch", "factor", "0.5")),
    makers.learned_positions("learned-positions-first-sequence", ("dy.sum(axis=0)", "dy[0]"),
            ("first", "batch", "only", "sequence", "b = 0", "sum", *MISSING)),
    makers.learned_positions("learned-positions-last-sequence", ("dy.sum(axis=0)", "dy[-1]"),
            ("last", "batch", "only", "sequence", "overwrit", "sum", *MISSING)),
    makers.learned_positions("learned-positions-from-one", ("[: cache.length]", "[1: cache.length + 1]"),
            ("off by one", "shift", "next", "row", "later", "position + 1", "one too far", "neighbour")),
    makers.learned_positions("learned-positions-no-dx", ("return dy", "return 0 * dy"), ("dx", "input", " x ", *MISSING),
            comment="dx is zero: the gradient is thought to go to the position table alone."),
    makers.learned_positions("learned-positions-embedding-scale", ("dy.sum(axis=0)", "math.sqrt(dy.shape[-1]) * dy.sum(axis=0)"),
            SQRT),
    makers.learned_positions("learned-positions-sum-over-time",
            ("[: cache.length] += dy.sum(axis=0)", "[: len(dy)] += dy.sum(axis=1)"),
            ("axis", "axes", "batch", "position", "wrong", "time", "sum")),
    makers.learned_positions("learned-positions-reversed", ("dy.sum(axis=0)", "dy.sum(axis=0)[::-1]"),
            ("revers", "order", "mirror", "flip", "backward", "permut", "wrong row", "other row")),
    makers.learned_positions("learned-positions-every-row", ("[: cache.length] += dy.sum(axis=0)", "[...] += dy.sum(axis=(0, 1))"),
            ("axis", "axes", "every", "all", "same", "broadcast", "sum", "each row", "position")),
    makers.learned_positions("learned-positions-last-dropped",
            ("[: cache.length] += dy.sum(axis=0)", "[: cache.length - 1] += dy.sum(axis=0)[:-1]"),
            ("last", "position", "row", "slice", "off by one", *MISSING)),
    makers.learned_positions("learned-positions-dx-summed", ("return dy", "return np.broadcast_to(dy.sum(axis=0), dy.shape)"),
            ("dx", "input", " x ", "batch"), ("sum", "batch", "broadcast", "same", "every", "all")),
    makers.learned_positions("learned-positions-assigned", ("+=", "="), ("+=", "accumulat", "overwrit", "assign", "replac", "add"),
            in_model=""),
    makers.learned_positions("learned-positions-running-sum", ("dy.sum(axis=0)", "dy.sum(axis=0).cumsum(axis=0)"),
            (*UNKNOWN, "cumul", "running", "weight", "position", "table")),
    makers.learned_positions("learned-positions-two-mean-and-shift",
            ("[: cache.length] += dy.sum(axis=0)", "[1: cache.length + 1] += dy.mean(axis=0)"),
            ("off by one", "shift", "next", "row", "mean", "average", "half", "weight")),
    makers.sinusoidal("sinusoids-as-product", ("return dy", "return dy * sinusoids(*dy.shape[1:], np, dy.dtype.name)"),
            ("multipl", "product", "times", "sinusoid", "position", "table", "encoding")),
    makers.sinusoidal("sinusoids-subtracted", ("return dy", "return dy - sinusoids(*dy.shape[1:], np, dy.dtype.name)"),
            ("subtract", "minus", "constant", "does not depend on dy", "extra", "sinusoid", "position", "table", "encoding"),
            comment="backward subtracts the table from dy ('undo the forward'); the derivative of an added constant is 0."),
    edited("sinusoids-forward-scales", SINUSOIDAL + "forward", "x +", "x * d_model ** 0.5 +", "sinusoidal-positions", SQRT),
    edited("sinusoids-forward-replaces-first", SINUSOIDAL + "forward", "return x +",
            "return x * (np.arange(length) > 0)[:, None] +", "sinusoidal-positions",
            ("first", "position 0", "position", "does not depend", "overwrit", "constant", *UNKNOWN)),
    makers.sinusoidal("sinusoids-decay", sinusoidal_decays_with_position,
            (*UNKNOWN, "dx", "input", "position", "division by `(1 + 0.1")),
    makers.input("input-no-dropout-backward", ("dropout_backward(dy, cache.dropout)", "dy"), ("dropout", "mask")),
    makers.input("input-stale-dy", ("self.embedding.backward(dx", "self.embedding.backward(dy"),
            ("dropout", "mask", "dy is used where dx"), ("embedding",)),
    makers.input("input-dropout-last",
            ("dx = dropout_backward(dy, cache.dropout)", "dx = dy", "self.embedding.backward(dx", "self.embedding.backward(dropout_backward(dx, cache.dropout)"),
            ("dropout", "mask"), in_model="transformer-unshared"),
    makers.input("input-positions-constant", ("dx = self.positions.backward(dx, cache.positions)", "pass"), ("position",), MISSING,
            in_model="transformer-unshared",
            comment="The positions' backward is never called (as is right for sinusoids), so learned positions get no gradient."),
    makers.input("input-embedding-twice",
            ("dx = self.positions", "self.embedding.backward(dx, cache.embedding); dx = self.positions"), ("embedding",),
            ("twice", "doubl", "factor", "2 times", "times 2", "2x")),
    makers.input("input-own-dropout-mask",
            ("dropout_backward(dy, cache.dropout)", "dy * (np.random.rand(*dy.shape) >= self.dropout) / (1 - self.dropout)"),
            ("dropout", "mask", "random", "generator", "reproduc", "differs from call")),
]
