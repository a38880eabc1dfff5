"""Mistakes in the token embedding, in positions and in the input block."""

import numpy as np

from minitransformer.functional import dropout_backward, sinusoids
from minitransformer.layers.embedding import EmbeddingCache
from minitransformer.layers.positions import PositionsCache
from tests.course.doctor.mistakes.held_out import activations_positions as held_out
from tests.course.doctor.mistakes.held_out import linear_embedding as held_out_embedding
from tests.course.doctor.mistakes.mistake import Mistake
from tests.course.doctor.mistakes.right import embedding, given, learned
from tests.course.doctor.mistakes.seen import activations_positions as seen
from tests.course.doctor.mistakes.seen import linear_embedding as seen_embedding
from tests.course.doctor.mistakes.words import LEFT_OUT, UNKNOWN

LEARNED = "minitransformer.layers.positions:LearnedPositions.backward"
SINUSOIDAL = "minitransformer.layers.positions:SinusoidalPositions."
INPUT = "minitransformer.layers.input:Input.backward"
MISSING = (*LEFT_OUT, "does not reach", "only")

embedding_by_position = embedding(lambda ids, d: (np.broadcast_to(np.arange(ids.shape[1]), ids.shape), d))
embedding_last_sequence = embedding(lambda ids, d: (ids[-1], d[-1]))
embedding_root_of_count = embedding(lambda ids, d: (ids, d / np.sqrt(np.bincount(ids.ravel())[ids])[..., None]))
embedding_squared_upstream = given(embedding(), lambda self, dy, cache: (self, dy * abs(dy), cache))


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

learned_last_sequence = learned(lambda dy: dy[-1])
learned_no_dx = learned(dx=np.zeros_like)
learned_every_row = learned(lambda dy: dy.sum(axis=(0, 1)), at=lambda length: slice(None))
learned_dx_summed = learned(dx=lambda dy: np.broadcast_to(dy.sum(axis=0), dy.shape))
learned_running_sum = learned(lambda dy: np.cumsum(dy.sum(axis=0), axis=0))
learned_mean_and_shift = learned(lambda dy: dy.mean(axis=0), at=lambda length: slice(1, length + 1))


def learned_sum_over_time(self, dy, cache):
    self.weight.grad[: len(dy)] += dy.sum(axis=1)
    return dy


def table(x):
    return sinusoids(*x.shape[1:], np, x.real.dtype.name)


def sinusoidal_as_a_product(self, dy, cache):
    return dy * table(dy)


def sinusoidal_subtracted_again(self, dy, cache):
    return dy - table(dy)


def sinusoidal_forward_scales(self, x):
    return x * x.shape[-1] ** 0.5 + table(x), PositionsCache(x.shape)


def sinusoidal_forward_replaces(self, x):
    y = x + table(x)
    y[:, 0] = table(x)[0]
    return y, PositionsCache(x.shape)


def sinusoidal_decays_with_position(self, dy, cache):
    return dy / (1 + 0.1 * np.arange(cache.length, dtype=dy.dtype))[:, None]


# ---- both and dropout

def input_stale_name(self, dy, cache):
    dx = dropout_backward(dy, cache.dropout)
    self.positions.backward(dx, cache.positions)
    self.embedding.backward(dy, cache.embedding)


def input_own_dropout(self, dy, cache):
    keep = np.random.rand(*dy.shape) >= self.dropout
    dx = self.positions.backward(dy * keep / (1 - self.dropout), cache.positions)
    self.embedding.backward(dx, cache.embedding)


SQRT = ("sqrt", "2.65", "2.646", "2.6458", "0.378", "factor", "times", "scale", "root", "constant")

MISTAKES = [
    Mistake("embedding-no-scale", "Embedding.backward", held_out_embedding.embedding_scale_forgotten, "embedding", (SQRT,),
            comment="backward forgets the factor sqrt(d_model) of the forward."),
    Mistake("embedding-scale-d-model", "Embedding.backward", held_out_embedding.embedding_scale_squared, "embedding", (SQRT,),
            comment="backward multiplies by d_model instead of sqrt(d_model)."),
    Mistake("embedding-scale-divides", "Embedding.backward", held_out_embedding.embedding_scale_divided, "embedding", ((*SQRT, "divid", "1/7", "0.143"),),
            comment="backward divides by sqrt(d_model) ('undoes' the scale) instead of multiplying by it."),
    Mistake("embedding-assigned", "Embedding.backward", held_out_embedding.embedding_wiped, "language-model",
            (("+=", "accumulat", "overwrit", "assign", "replac", "add", "output", "shared", "tied", "lost", *MISSING),),
            comment="The embedding assigns its gradient to the shared weight, wiping out the output projection's part."),
    Mistake("embedding-by-frequency", "Embedding.backward", seen_embedding.embedding_places_averaged, "embedding",
            (("average", "mean", "divid", "count", "frequen", "how often", "repeat", "number of", "several"),),
            comment="Each token's gradient is divided by how often it occurs in the batch (a mean for a sum)."),
    Mistake("embedding-padding-index", "Embedding.backward", held_out_embedding.embedding_without_padding, "transformer",
            (("pad", "id 0", "row 0", "first row", "token 0", "embedding", *MISSING),),
            comment="The row of PAD (id 0) gets no gradient, as PyTorch's padding_idx, though forward uses it like any row."),
    Mistake("embedding-ids-from-one", "Embedding.backward", seen_embedding.embedding_off_by_one, "embedding",
            (("off by one", "shift", "row", "ids - 1", "id - 1", "neighbour", "wrong", "before", "previous", "other id"),),
            comment="Ids are taken to start at 1: the gradient of id v is added to row v - 1."),
    Mistake("embedding-first-occurrence", "Embedding.backward", seen_embedding.embedding_first_place, "embedding",
            (("repeat", "more than once", "several", "only one", "first", "occurr", "again", "places"),),
            comment="Of a token's several places only the first counts (np.unique's return_index)."),
    Mistake("embedding-scattered-by-position", "Embedding.backward", embedding_by_position, "embedding",
            (("position", "wrong row", "other row", "rows", "ids", "scatter", "index"),),
            comment="The gradient of place t is added to row t of the table instead of to the row of the id that stood there."),
    Mistake("embedding-ids-transposed", "Embedding.backward", held_out_embedding.embedding_ids_transposed, "embedding",
            (("order", "transpos", "permut", "shuffl", "wrong row", "other", "scrambl", "ids"),),
            comment="Ids are flattened column by column and dy row by row, so gradients reach the wrong ids."),
    Mistake("embedding-last-sequence", "Embedding.backward", embedding_last_sequence, "embedding",
            (("last", "batch", "sequence", "only", "some of", "part", *MISSING),),
            comment="In a loop over the batch the gradient table is made anew, so only the last sequence counts."),
    Mistake("embedding-forward-no-scale", "Embedding.forward", seen_embedding.embedding_forward_unscaled, "embedding", (SQRT,),
            comment="forward forgets sqrt(d_model); the given backward still has it."),
    Mistake("embedding-forward-unit-rows", "Embedding.forward", embedding_forward_unit_rows, "embedding",
            ((*UNKNOWN, "norm", "unit", "length", "embedding", "weight", "forward"),),
            comment="forward normalises each row of the table to length 1, which the given backward knows nothing of."),
    Mistake("embedding-leak", "Embedding.backward", embedding_leaks_to_next_id, "embedding",
            ((*UNKNOWN, "embedding", "weight", "next", "neighbour", "shift"),),
            comment="A tenth of each gradient goes to the row after the right one: an arbitrary mixture."),
    Mistake("embedding-root-frequency", "Embedding.backward", embedding_root_of_count, "embedding",
            ((*UNKNOWN, "repeat", "count", "more than once", "several", "frequen", "embedding", "weight"),),
            comment="Each token's gradient is divided by the square root of how often it occurs: arbitrary."),
    Mistake("embedding-signed-square", "Embedding.backward", embedding_squared_upstream, "embedding",
            ((*UNKNOWN, "square", "power", "embedding", "weight", "linear in"),),
            comment="dy |dy| is scattered instead of dy: an arbitrary power."),
    Mistake("embedding-two-no-scale-and-repeats", "Embedding.backward", embedding_unscaled_and_last_place, "embedding",
            ((*SQRT, "repeat", "more than once", "several", "last", "occurr"),),
            comment="Two mistakes: grad[ids] += keeps one of several places, and sqrt(d_model) is missing."),
    Mistake("learned-positions-mean", LEARNED, seen.learned_mean, "learned-positions",
            (("mean", "average", "divid", "half", "batch", "factor", "0.5"),), in_model="transformer-unshared",
            comment="The table's gradient is the mean over the batch instead of the sum."),
    Mistake("learned-positions-first-sequence", LEARNED, held_out.learned_first_sentence, "learned-positions",
            (("first", "batch", "only", "sequence", "b = 0", "sum", *MISSING),), in_model="transformer-unshared",
            comment="The table's gradient takes dy of the first sequence only."),
    Mistake("learned-positions-last-sequence", LEARNED, learned_last_sequence, "learned-positions",
            (("last", "batch", "only", "sequence", "overwrit", "sum", *MISSING),), in_model="transformer-unshared",
            comment="A loop over the batch overwrites the table's gradient; the last sequence's remains."),
    Mistake("learned-positions-from-one", LEARNED, held_out.learned_off_by_one, "learned-positions",
            (("off by one", "shift", "next", "row", "later", "position + 1", "one too far", "neighbour"),), in_model="transformer-unshared",
            comment="Position t's gradient is added to row t + 1."),
    Mistake("learned-positions-no-dx", LEARNED, learned_no_dx, "learned-positions",
            (("dx", "input", " x ", *MISSING),), in_model="transformer-unshared",
            comment="dx is zero: the gradient is thought to go to the position table alone."),
    Mistake("learned-positions-embedding-scale", LEARNED, seen.learned_scaled, "learned-positions", (SQRT,),
            in_model="transformer-unshared",
            comment="The table's gradient is multiplied by sqrt(d_model), which only the token embedding has."),
    Mistake("learned-positions-sum-over-time", LEARNED, learned_sum_over_time, "learned-positions",
            (("axis", "axes", "batch", "position", "wrong", "time", "sum"),), in_model="transformer-unshared",
            comment="dy is summed over the positions (axis 1) and the result, one row a sequence, added to the first B rows."),
    Mistake("learned-positions-reversed", LEARNED, seen.learned_reversed, "learned-positions",
            (("revers", "order", "mirror", "flip", "backward", "permut", "wrong row", "other row"),), in_model="transformer-unshared",
            comment="The positions' gradients are added in reversed order: the last position's to row 0."),
    Mistake("learned-positions-every-row", LEARNED, learned_every_row, "learned-positions",
            (("axis", "axes", "every", "all", "same", "broadcast", "sum", "each row", "position"),), in_model="transformer-unshared",
            comment="dy is summed over batch and positions and broadcast to all rows of the table."),
    Mistake("learned-positions-last-dropped", LEARNED, seen.learned_last_missing, "learned-positions",
            (("last", "position", "row", "slice", "off by one", *MISSING),), in_model="transformer-unshared",
            comment="The slice stops one too early: the last position gets no gradient."),
    Mistake("learned-positions-dx-summed", LEARNED, learned_dx_summed, "learned-positions",
            (("dx", "input", " x ", "batch"), ("sum", "batch", "broadcast", "same", "every", "all")), in_model="transformer-unshared",
            comment="dx is the sum over the batch, the table's gradient, given to every sequence."),
    Mistake("learned-positions-assigned", LEARNED, held_out.learned_assigned, "learned-positions",
            (("+=", "accumulat", "overwrit", "assign", "replac", "add"),), in_model="",
            comment="The table's gradient is assigned instead of added."),
    Mistake("learned-positions-running-sum", LEARNED, learned_running_sum, "learned-positions",
            ((*UNKNOWN, "cumul", "running", "weight", "position", "table"),), in_model="transformer-unshared",
            comment="Each row of the table gets the sum of all gradients up to its position: arbitrary."),
    Mistake("learned-positions-two-mean-and-shift", LEARNED, learned_mean_and_shift, "learned-positions",
            (("off by one", "shift", "next", "row", "mean", "average", "half", "weight"),), in_model="transformer-unshared",
            comment="Two mistakes: the mean over the batch for the sum, and one row too far."),
    Mistake("sinusoids-as-product", SINUSOIDAL + "backward", sinusoidal_as_a_product, "sinusoidal-positions",
            (("multipl", "product", "times", "sinusoid", "position", "table", "encoding"),),
            comment="dy is multiplied by the table, as if it had been multiplied and not added."),
    Mistake("sinusoids-subtracted", SINUSOIDAL + "backward", sinusoidal_subtracted_again, "sinusoidal-positions",
            (("subtract", "minus", "constant", "does not depend on dy", "extra", "sinusoid", "position", "table", "encoding"),),
            comment="backward subtracts the table from dy ('undo the forward'); the derivative of an added constant is 0."),
    Mistake("sinusoids-forward-scales", SINUSOIDAL + "forward", sinusoidal_forward_scales, "sinusoidal-positions", (SQRT,),
            comment="forward multiplies x by sqrt(d_model) as well, which the given backward does not."),
    Mistake("sinusoids-forward-replaces-first", SINUSOIDAL + "forward", sinusoidal_forward_replaces, "sinusoidal-positions",
            (("first", "position 0", "position", "does not depend", "overwrit", "constant", *UNKNOWN),),
            comment="forward overwrites position 0 with the table's row, so x there has no influence, but backward passes dy on."),
    Mistake("sinusoids-decay", SINUSOIDAL + "backward", sinusoidal_decays_with_position, "sinusoidal-positions",
            ((*UNKNOWN, "dx", "input", "position", "division by `(1 + 0.1"),),
            comment="dx is divided by 1 + 0.1 t: arbitrary."),
    Mistake("input-no-dropout-backward", INPUT, seen.input_dropout_forgotten, "input",
            (("dropout", "mask"),),
            comment="backward of the input block leaves out the dropout's."),
    Mistake("input-stale-dy", INPUT, input_stale_name, "input",
            (("dropout", "mask", "dy is used where dx"), ("embedding",)), in_model="transformer",
            comment="The embedding receives dy from before dropout's backward (the wrong variable); the positions the right one."),
    Mistake("input-dropout-last", INPUT, seen.input_dropout_after_positions, "input",
            (("dropout", "mask"),), in_model="transformer-unshared",
            comment="Dropout's backward comes after the positions', which therefore get the unmasked gradient."),
    Mistake("input-positions-constant", INPUT, held_out.input_positions_skipped, "input",
            (("position",), MISSING), in_model="transformer-unshared",
            comment="The positions' backward is never called (as is right for sinusoids), so learned positions get no gradient."),
    Mistake("input-embedding-twice", INPUT, seen.input_embedding_twice, "input",
            (("embedding",), ("twice", "doubl", "factor", "2 times", "times 2", "2x")),
            comment="The embedding's backward is called twice, before and after the positions'."),
    Mistake("input-own-dropout-mask", INPUT, input_own_dropout, "input",
            (("dropout", "mask", "random", "generator", "reproduc", "differs from call"),),
            comment="backward draws a dropout mask of its own from NumPy's global generator."),
]
