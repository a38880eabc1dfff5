"""Mistakes in the token embedding, in positions and in the input block."""

import numpy as np

from minitransformer.functional import sinusoids
from minitransformer.layers.embedding import EmbeddingCache
from minitransformer.layers.positions import PositionsCache
from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes.makers import edited
from tests.course.doctor.mistakes.held_out import activations_positions as held_out
from tests.course.doctor.mistakes.held_out import linear_embedding as held_out_embedding
from tests.course.doctor.mistakes.mistake import Mistake
from tests.course.doctor.mistakes.right import embedding, given, learned
from tests.course.doctor.mistakes.seen import activations_positions as seen
from tests.course.doctor.mistakes.seen import linear_embedding as seen_embedding
from tests.course.doctor.mistakes.words import LEFT_OUT, UNKNOWN

LEARNED = "minitransformer.layers.positions:LearnedPositions.backward"
SINUSOIDAL = "minitransformer.layers.positions:SinusoidalPositions."
MISSING = (*LEFT_OUT, "does not reach", "only")

embedding_by_position = embedding(lambda ids, d: (np.broadcast_to(np.arange(ids.shape[1]), ids.shape), d))
embedding_root_of_count = embedding(lambda ids, d: (ids, d / np.sqrt(np.bincount(ids.ravel())[ids])[..., None]))


def embedding_forward_unit_rows(self, ids):
    weight = self.weight.data
    rows = weight / np.sqrt((weight * weight).sum(axis=1, keepdims=True))
    return self.weight.shape[1] ** 0.5 * rows[ids], EmbeddingCache(ids)


def embedding_leaks_to_next_id(self, dy, cache):
    embedding(lambda ids, d: (ids, 0.9 * d))(self, dy, cache)
    embedding(lambda ids, d: ((ids + 1) % len(self.weight.grad), 0.1 * d))(self, dy, cache)


def embedding_unscaled_and_last_place(self, dy, cache):
    self.weight.grad[cache.ids] += dy


# ---- positions

learned_mean_and_shift = learned(lambda dy: dy.mean(axis=0), at=lambda length: slice(1, length + 1))


def table(x):
    return sinusoids(*x.shape[1:], np, x.real.dtype.name)


def sinusoidal_forward_replaces(self, x):
    y = x + table(x)
    y[:, 0] = table(x)[0]
    return y, PositionsCache(x.shape)


def sinusoidal_decays_with_position(self, dy, cache):
    return dy / (1 + 0.1 * np.arange(cache.length, dtype=dy.dtype))[:, None]


# ---- both and dropout

def input_own_dropout(self, dy, cache):
    keep = np.random.rand(*dy.shape) >= self.dropout
    dx = self.positions.backward(dy * keep / (1 - self.dropout), cache.positions)
    self.embedding.backward(dx, cache.embedding)


SQRT = ("sqrt", "2.65", "2.646", "2.6458", "0.378", "factor", "times", "scale", "root", "constant")

MISTAKES = [
    makers.embedding("embedding-no-scale", held_out_embedding.embedding_scale_forgotten, SQRT),
    makers.embedding("embedding-scale-d-model", held_out_embedding.embedding_scale_squared, SQRT),
    makers.embedding("embedding-scale-divides", held_out_embedding.embedding_scale_divided, (*SQRT, "divid", "1/7", "0.143")),
    makers.embedding("embedding-assigned", held_out_embedding.embedding_wiped,
            ("+=", "accumulat", "overwrit", "assign", "replac", "add", "output", "shared", "tied", "lost", *MISSING),
            block="language-model",
            comment="The embedding assigns its gradient to the shared weight, wiping out the output projection's part."),
    makers.embedding("embedding-by-frequency", seen_embedding.embedding_places_averaged,
            ("average", "mean", "divid", "count", "frequen", "how often", "repeat", "number of", "several")),
    makers.embedding("embedding-padding-index", held_out_embedding.embedding_without_padding,
            ("pad", "id 0", "row 0", "first row", "token 0", "embedding", *MISSING), block="transformer",
            comment="The row of PAD (id 0) gets no gradient, as PyTorch's padding_idx, though forward uses it like any row."),
    makers.embedding("embedding-ids-from-one", seen_embedding.embedding_off_by_one,
            ("off by one", "shift", "row", "ids - 1", "id - 1", "neighbour", "wrong", "before", "previous", "other id")),
    makers.embedding("embedding-first-occurrence", seen_embedding.embedding_first_place,
            ("repeat", "more than once", "several", "only one", "first", "occurr", "again", "places")),
    makers.embedding("embedding-scattered-by-position", embedding_by_position,
            ("position", "wrong row", "other row", "rows", "ids", "scatter", "index")),
    makers.embedding("embedding-ids-transposed", held_out_embedding.embedding_ids_transposed,
            ("order", "transpos", "permut", "shuffl", "wrong row", "other", "scrambl", "ids")),
    makers.embedding("embedding-last-sequence", embedding(lambda ids, d: (ids[-1], d[-1])),
            ("last", "batch", "sequence", "only", "some of", "part", *MISSING)),
    makers.embedding_forward("embedding-forward-no-scale", ("math.sqrt(d_model) * ", ""), SQRT),
    makers.embedding_forward("embedding-forward-unit-rows", embedding_forward_unit_rows,
            (*UNKNOWN, "norm", "unit", "length", "embedding", "weight", "forward")),
    makers.embedding("embedding-leak", embedding_leaks_to_next_id, (*UNKNOWN, "embedding", "weight", "next", "neighbour", "shift")),
    makers.embedding("embedding-root-frequency", embedding_root_of_count,
            (*UNKNOWN, "repeat", "count", "more than once", "several", "frequen", "embedding", "weight")),
    makers.embedding("embedding-signed-square", given(embedding(), lambda self, dy, cache: (self, dy * abs(dy), cache)),
            (*UNKNOWN, "square", "power", "embedding", "weight", "linear in")),
    makers.embedding("embedding-two-no-scale-and-repeats", embedding_unscaled_and_last_place,
            (*SQRT, "repeat", "more than once", "several", "last", "occurr")),
    makers.learned_positions("learned-positions-mean", seen.learned_mean,
            ("mean", "average", "divid", "half", "batch", "factor", "0.5")),
    makers.learned_positions("learned-positions-first-sequence", held_out.learned_first_sentence,
            ("first", "batch", "only", "sequence", "b = 0", "sum", *MISSING)),
    makers.learned_positions("learned-positions-last-sequence", learned(lambda dy: dy[-1]),
            ("last", "batch", "only", "sequence", "overwrit", "sum", *MISSING)),
    makers.learned_positions("learned-positions-from-one", held_out.learned_off_by_one,
            ("off by one", "shift", "next", "row", "later", "position + 1", "one too far", "neighbour")),
    makers.learned_positions("learned-positions-no-dx", learned(dx=np.zeros_like), ("dx", "input", " x ", *MISSING),
            comment="dx is zero: the gradient is thought to go to the position table alone."),
    makers.learned_positions("learned-positions-embedding-scale", seen.learned_scaled, SQRT),
    makers.learned_positions("learned-positions-sum-over-time",
            ("[: cache.length] += dy.sum(axis=0)", "[: len(dy)] += dy.sum(axis=1)"),
            ("axis", "axes", "batch", "position", "wrong", "time", "sum")),
    makers.learned_positions("learned-positions-reversed", seen.learned_reversed,
            ("revers", "order", "mirror", "flip", "backward", "permut", "wrong row", "other row")),
    makers.learned_positions("learned-positions-every-row", learned(lambda dy: dy.sum(axis=(0, 1)), at=lambda length: slice(None)),
            ("axis", "axes", "every", "all", "same", "broadcast", "sum", "each row", "position")),
    makers.learned_positions("learned-positions-last-dropped", seen.learned_last_missing,
            ("last", "position", "row", "slice", "off by one", *MISSING)),
    makers.learned_positions("learned-positions-dx-summed", learned(dx=lambda dy: np.broadcast_to(dy.sum(axis=0), dy.shape)),
            ("dx", "input", " x ", "batch"), ("sum", "batch", "broadcast", "same", "every", "all")),
    makers.learned_positions("learned-positions-assigned", ("+=", "="), ("+=", "accumulat", "overwrit", "assign", "replac", "add"),
            in_model=""),
    makers.learned_positions("learned-positions-running-sum", learned(lambda dy: np.cumsum(dy.sum(axis=0), axis=0)),
            (*UNKNOWN, "cumul", "running", "weight", "position", "table")),
    makers.learned_positions("learned-positions-two-mean-and-shift", learned_mean_and_shift,
            ("off by one", "shift", "next", "row", "mean", "average", "half", "weight")),
    makers.sinusoidal("sinusoids-as-product", lambda self, dy, cache: dy * table(dy),
            ("multipl", "product", "times", "sinusoid", "position", "table", "encoding")),
    makers.sinusoidal("sinusoids-subtracted", lambda self, dy, cache: dy - table(dy),
            ("subtract", "minus", "constant", "does not depend on dy", "extra", "sinusoid", "position", "table", "encoding"),
            comment="backward subtracts the table from dy ('undo the forward'); the derivative of an added constant is 0."),
    edited("sinusoids-forward-scales", SINUSOIDAL + "forward", "x +", "x * d_model ** 0.5 +", "sinusoidal-positions", SQRT),
    Mistake("sinusoids-forward-replaces-first", SINUSOIDAL + "forward", sinusoidal_forward_replaces, "sinusoidal-positions",
            (("first", "position 0", "position", "does not depend", "overwrit", "constant", *UNKNOWN),)),
    makers.sinusoidal("sinusoids-decay", sinusoidal_decays_with_position,
            (*UNKNOWN, "dx", "input", "position", "division by `(1 + 0.1")),
    makers.input("input-no-dropout-backward", ("dropout_backward(dy, cache.dropout)", "dy"), ("dropout", "mask")),
    makers.input("input-stale-dy", ("self.embedding.backward(dx", "self.embedding.backward(dy"),
            ("dropout", "mask", "dy is used where dx"), ("embedding",)),
    makers.input("input-dropout-last", seen.input_dropout_after_positions, ("dropout", "mask"), in_model="transformer-unshared"),
    makers.input("input-positions-constant", ("dx = self.positions.backward(dx, cache.positions)", "pass"), ("position",), MISSING,
            in_model="transformer-unshared",
            comment="The positions' backward is never called (as is right for sinusoids), so learned positions get no gradient."),
    makers.input("input-embedding-twice",
            ("dx = self.positions", "self.embedding.backward(dx, cache.embedding); dx = self.positions"), ("embedding",),
            ("twice", "doubl", "factor", "2 times", "times 2", "2x")),
    makers.input("input-own-dropout-mask", input_own_dropout,
            ("dropout", "mask", "random", "generator", "reproduc", "differs from call")),
]
