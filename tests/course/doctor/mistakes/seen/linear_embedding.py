"""Mistakes in the linear layer, the embedding and the output projection."""

import math

import numpy as np

from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes.right import assigning, changed, embedding, linear, output, over_rows, product, rows
from tests.course.doctor.mistakes.words import ASSIGNED, AVERAGED, MISSING, RAISES

weight_reshaped = linear(weight=lambda x, dy: product(dy, x).reshape(x.shape[-1], dy.shape[-1]))
bias_mean_over_positions = linear(bias=lambda dy: dy.sum(axis=0).mean(axis=tuple(range(dy.ndim - 2))))
last_sentence_only = linear(weight=lambda x, dy: product(x[-1], dy[-1]))
first_sentence_only = linear(weight=lambda x, dy: product(x[0], dy[0]), bias=lambda dy: over_rows(dy[0]))

embedding_places_averaged = embedding(lambda ids, d: (ids, d / np.bincount(ids.ravel())[ids][..., None]))
embedding_off_by_one = embedding(lambda ids, d: (ids - 1, d))


@embedding
def embedding_first_place(ids, d):
    distinct, first = np.unique(ids, return_index=True)
    return distinct, rows(d)[first]


output_scaled = output(weight=lambda x, dlogits: math.sqrt(x.shape[-1]) * product(dlogits, x))
output_divided_by_tokens = output(weight=lambda x, dlogits: product(dlogits, x) / len(rows(x)))
output_dx_scaled = changed(output(), lambda dx, *_: dx * math.sqrt(dx.shape[-1]))
SCALE = ("sqrt(d_model)", "sqrt(D)", "scal", "√", "sqrt", "2.64", "2.65")

MISTAKES = [
    makers.linear("linear-weight-reshaped", weight_reshaped, ("weight", "dW"), ("transpos", "reshap", "x^T"),
            comment="made to fit, as in many a first attempt"),
    makers.linear("linear-bias-forgotten", linear(bias=lambda dy: 0), ("bias",), MISSING),
    makers.linear("linear-bias-mean-over-positions", bias_mean_over_positions, ("bias",), AVERAGED),
    makers.linear("linear-bias-without-batch", linear(bias=lambda dy: dy.sum(axis=1)), ("bias", *RAISES),
            ("shape", "axis", "axes", "broadcast", "sum", *RAISES)),
    makers.linear("linear-assigned", assigning(linear(), "weight", "bias"), ASSIGNED, in_model=""),
    makers.linear("linear-last-sentence-only", last_sentence_only, ("batch", "sentence", "example", "last", "sample", "sequence")),
    makers.linear("linear-first-sentence-only", first_sentence_only,
            ("batch", "sentence", "example", "first", "sample", "sequence")),
    makers.linear("linear-dx-divided-by-batch", changed(linear(), lambda dx, self, dy, cache: dx / len(dy)), ("batch",), AVERAGED),
    makers.linear("linear-nothing-returned", changed(linear(), lambda *_: None), ("none", "return", "nothing", *RAISES)),
    makers.linear("linear-rows-returned", changed(linear(), lambda dx, *_: rows(dx)), ("shape", *RAISES)),
    makers.embedding("embedding-scale-of-vocabulary", embedding(scale=lambda vocab_size, d_model: math.sqrt(vocab_size)),
            ("sqrt", "scal", "factor"), ("vocab", "sqrt(V)", " V ", "rows of")),
    makers.embedding("embedding-places-averaged", embedding_places_averaged, (*AVERAGED, "count"),
            ("repeat", "place", "count", "more than once", "several", "token", "occur", "times")),
    makers.embedding("embedding-first-place", embedding_first_place,
            ("repeat", "more than once", "several", "only one", "first", "again", "occur", "places")),
    makers.embedding("embedding-off-by-one", embedding_off_by_one,
            ("off by one", "shift", "neighbour", "row", "wrong token", "id - 1", "ids - 1", "next", "previous", "other token", "wrong id")),
    makers.embedding("embedding-ids-sorted", embedding(lambda ids, d: (np.sort(ids.ravel()), rows(d))),
            ("sort", "order", "place", "wrong token", "wrong row", "other token", "mixed", "permut", "rows", "swap", "ids")),
    makers.embedding_forward("embedding-forward-unscaled", ("math.sqrt(d_model) * ", ""), SCALE),
    makers.embedding_forward("embedding-forward-off-by-one", ("(ids,", "(ids - 1,"),
            ("off by one", "shift", "neighbour", "row", "wrong token", "id - 1", "ids - 1", "next", "previous", "other token", "wrong id")),
    makers.output("output-scaled", output_scaled, ("weight", "dW"), SCALE),
    makers.output("output-divided-by-tokens", output_divided_by_tokens, ("weight", "dW"), AVERAGED),
    makers.output("output-dx-scaled", output_dx_scaled, ("dx", "input", "gradient of x"), SCALE),
    makers.output_forward("output-forward-scaled", ("@ self.weight.data.T", "@ self.weight.data.T / d_model ** 0.5"), SCALE),
]
