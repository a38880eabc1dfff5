"""Mistakes in the linear layer, the embedding and the output projection."""

import math

import numpy as np

from minitransformer.layers.embedding import EmbeddingCache
from minitransformer.layers.output_projection import OutputCache
from tests.course.doctor.mistakes.makers import OUTPUT
from tests.course.doctor.mistakes.mistake import Mistake
from tests.course.doctor.mistakes.right import assigning, changed, embedding, linear, output, over_rows, product, rows
from tests.course.doctor.mistakes.words import ASSIGNED, AVERAGED, MISSING, RAISES

weight_reshaped = linear(weight=lambda x, dy: product(dy, x).reshape(x.shape[-1], dy.shape[-1]))
bias_forgotten = linear(bias=lambda dy: 0)
bias_mean_over_positions = linear(bias=lambda dy: dy.sum(axis=0).mean(axis=tuple(range(dy.ndim - 2))))
bias_without_batch = linear(bias=lambda dy: dy.sum(axis=1))
weight_assigned = assigning(linear(), "weight", "bias")
last_sentence_only = linear(weight=lambda x, dy: product(x[-1], dy[-1]))
first_sentence_only = linear(weight=lambda x, dy: product(x[0], dy[0]), bias=lambda dy: over_rows(dy[0]))
dx_divided_by_batch = changed(linear(), lambda dx, self, dy, cache: dx / len(dy))
nothing_returned = changed(linear(), lambda *_: None)
rows_returned = changed(linear(), lambda dx, *_: rows(dx))

embedding_scale_of_vocabulary = embedding(scale=lambda vocab_size, d_model: math.sqrt(vocab_size))
embedding_places_averaged = embedding(lambda ids, d: (ids, d / np.bincount(ids.ravel())[ids][..., None]))
embedding_off_by_one = embedding(lambda ids, d: (ids - 1, d))
embedding_ids_sorted = embedding(lambda ids, d: (np.sort(ids.ravel()), rows(d)))


@embedding
def embedding_first_place(ids, d):
    distinct, first = np.unique(ids, return_index=True)
    return distinct, rows(d)[first]


def embedding_forward_unscaled(self, ids):
    return self.weight.data[ids], EmbeddingCache(ids)


def embedding_forward_off_by_one(self, ids):
    return math.sqrt(self.weight.shape[1]) * self.weight.data[ids - 1], EmbeddingCache(ids)


output_scaled = output(weight=lambda x, dlogits: math.sqrt(x.shape[-1]) * product(dlogits, x))
output_divided_by_tokens = output(weight=lambda x, dlogits: product(dlogits, x) / len(rows(x)))
output_dx_scaled = changed(output(), lambda dx, *_: dx * math.sqrt(dx.shape[-1]))


def output_forward_scaled(self, x):
    return x @ self.weight.data.T / math.sqrt(x.shape[-1]), OutputCache(x)


SCALE = ("sqrt(d_model)", "sqrt(D)", "scal", "√", "sqrt", "2.64", "2.65")

MISTAKES = [
    Mistake("linear-weight-reshaped", "Linear.backward", weight_reshaped, "linear",
            (("weight", "dW"), ("transpos", "reshap", "x^T")), comment="made to fit, as in many a first attempt"),
    Mistake("linear-bias-forgotten", "Linear.backward", bias_forgotten, "linear", (("bias",), MISSING)),
    Mistake("linear-bias-mean-over-positions", "Linear.backward", bias_mean_over_positions, "linear", (("bias",), AVERAGED)),
    Mistake("linear-bias-without-batch", "Linear.backward", bias_without_batch, "linear",
            (("bias", *RAISES), ("shape", "axis", "axes", "broadcast", "sum", *RAISES))),
    Mistake("linear-assigned", "Linear.backward", weight_assigned, "linear", (ASSIGNED,), in_model=""),
    Mistake("linear-last-sentence-only", "Linear.backward", last_sentence_only, "linear",
            (("batch", "sentence", "example", "last", "sample", "sequence"),)),
    Mistake("linear-first-sentence-only", "Linear.backward", first_sentence_only, "linear",
            (("batch", "sentence", "example", "first", "sample", "sequence"),)),
    Mistake("linear-dx-divided-by-batch", "Linear.backward", dx_divided_by_batch, "linear", (("batch",), AVERAGED)),
    Mistake("linear-nothing-returned", "Linear.backward", nothing_returned, "linear",
            (("none", "return", "nothing", *RAISES),)),
    Mistake("linear-rows-returned", "Linear.backward", rows_returned, "linear", (("shape", *RAISES),)),
    Mistake("embedding-scale-of-vocabulary", "Embedding.backward", embedding_scale_of_vocabulary, "embedding",
            (("sqrt", "scal", "factor"), ("vocab", "sqrt(V)", " V ", "rows of"))),
    Mistake("embedding-places-averaged", "Embedding.backward", embedding_places_averaged, "embedding",
            ((*AVERAGED, "count"), ("repeat", "place", "count", "more than once", "several", "token", "occur", "times"))),
    Mistake("embedding-first-place", "Embedding.backward", embedding_first_place, "embedding",
            (("repeat", "more than once", "several", "only one", "first", "again", "occur", "places"),)),
    Mistake("embedding-off-by-one", "Embedding.backward", embedding_off_by_one, "embedding",
            (("off by one", "shift", "neighbour", "row", "wrong token", "id - 1", "ids - 1", "next", "previous", "other token", "wrong id"),)),
    Mistake("embedding-ids-sorted", "Embedding.backward", embedding_ids_sorted, "embedding",
            (("sort", "order", "place", "wrong token", "wrong row", "other token", "mixed", "permut", "rows", "swap", "ids"),)),
    Mistake("embedding-forward-unscaled", "Embedding.forward", embedding_forward_unscaled, "embedding", (SCALE,)),
    Mistake("embedding-forward-off-by-one", "Embedding.forward", embedding_forward_off_by_one, "embedding",
            (("off by one", "shift", "neighbour", "row", "wrong token", "id - 1", "ids - 1", "next", "previous", "other token", "wrong id"),)),
    Mistake("output-scaled", OUTPUT + "backward", output_scaled, "output-projection", (("weight", "dW"), SCALE)),
    Mistake("output-divided-by-tokens", OUTPUT + "backward", output_divided_by_tokens, "output-projection", (("weight", "dW"), AVERAGED)),
    Mistake("output-dx-scaled", OUTPUT + "backward", output_dx_scaled, "output-projection", (("dx", "input", "gradient of x"), SCALE)),
    Mistake("output-forward-scaled", OUTPUT + "forward", output_forward_scaled, "output-projection", (SCALE,)),
]
