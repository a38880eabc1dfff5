"""Mistakes in the linear layer, the embedding and the output projection."""

import math

import numpy as np

from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes.right import assigning, changed, embedding, linear, output, over_rows, product, rows
from tests.course.doctor.mistakes.words import ASSIGNED, AVERAGED, MISSING, PRECISION, RAISES, SIGN, TWICE

dx_untransposed = linear(dx=lambda dy, W: (rows(dy) @ W).reshape(*dy.shape[:-1], len(W)))
weight_mean_over_rows = linear(weight=lambda x, dy: product(x, dy) / len(rows(x)))
divided_by_batch = linear(weight=lambda x, dy: product(x, dy) / len(dy), bias=lambda dy: over_rows(dy) / len(dy))
subtracted = linear(weight=lambda x, dy: -product(x, dy), bias=lambda dy: -over_rows(dy))
step_before_dx = changed(linear(), lambda dx, self, dy, cache: dy @ (self.weight.data - 0.01 * self.weight.grad).T)
in_float32 = linear(lambda x, dy: product(x.astype(np.float32), dy.astype(np.float32)), lambda dy: over_rows(dy.astype(np.float32)),
                    lambda dy, W: dy.astype(np.float32) @ W.T.astype(np.float32))


embedding_scale_forgotten = embedding(scale=lambda vocab_size, d_model: 1)
embedding_scale_squared = embedding(scale=lambda vocab_size, d_model: d_model)
embedding_scale_divided = embedding(scale=lambda vocab_size, d_model: 1 / math.sqrt(d_model))
embedding_wiped = assigning(embedding(), "weight")
embedding_ids_transposed = embedding(lambda ids, d: (ids.T.ravel(), rows(d)))
embedding_without_padding = embedding(lambda ids, d: (ids[ids != 0], d[ids != 0]))
embedding_last_position_missing = embedding(lambda ids, d: (ids[:, :-1], d[:, :-1]))
output_weight_forgotten = output(weight=lambda x, dlogits: 0)
output_assigned = assigning(output(), "weight")
output_twice = output(weight=lambda x, dlogits: 2 * product(dlogits, x))

SCALE = ("sqrt(d_model)", "sqrt(D)", "scal", "√", "sqrt", "2.64", "2.65")

MISTAKES = [
    makers.linear("linear-dx-untransposed", dx_untransposed, ("transpos", "W^T", "W.T", *RAISES)),
    makers.linear("linear-weight-transposed", linear(weight=lambda x, dy: product(dy, x)), ("transpos", "x^T", "shape", *RAISES)),
    makers.linear("linear-bias-twice", linear(bias=lambda dy: 2 * over_rows(dy)), ("bias",), TWICE),
    makers.linear("linear-weight-mean-over-rows", weight_mean_over_rows, ("weight", "dW"), AVERAGED),
    makers.linear("linear-divided-by-batch", divided_by_batch, ("batch",), AVERAGED),
    makers.linear("linear-subtracted", subtracted, SIGN),
    makers.linear("linear-step-before-dx", step_before_dx, ("dx", "gradient of x", "input"), ("weight", "W^T", "W.T", "updated"),
            in_model="", comment="the optimiser's step inside backward, too early"),
    makers.linear("linear-in-float32", in_float32, PRECISION),
    makers.linear("linear-dx-from-gradient", changed(linear(), lambda dx, self, dy, cache: dy @ self.weight.grad.T),
            ("dx", "gradient of x", "input"), ("weight", "W^T", "W.T", "grad of"), in_model=""),
    makers.linear_forward("linear-forward-bias-per-sentence", ("+= self.bias.data", "+= len(x) * self.bias.data"), ("bias",)),
    makers.linear_forward("linear-forward-caches-scaled", ("LinearCache(x)", "LinearCache(x / x.shape[-1] ** 0.5)"),
            ("weight", "dW", "cache"), ("sqrt", "scal", "factor", "cache", "times")),
    makers.embedding("embedding-scale-forgotten", embedding_scale_forgotten, SCALE, (*MISSING, "too small")),
    makers.embedding("embedding-scale-squared", embedding_scale_squared, ("d_model", *SCALE),
            (*TWICE, "root", "d_model instead", "too large")),
    makers.embedding("embedding-scale-divided", embedding_scale_divided, SCALE,
            ("divid", "1 /", "1/", "multipl", "inverse", "too small")),
    makers.embedding("embedding-wiped", embedding_wiped, ASSIGNED,
            comment="shared with the output projection, whose gradient is lost"),
    makers.embedding("embedding-ids-transposed", embedding_ids_transposed,
            ("transpos", "order", "place", "wrong token", "wrong row", "other token", "mixed", "permut", "rows", "swap", "ids")),
    makers.embedding("embedding-without-padding", embedding_without_padding, ("pad",), block="transformer"),
    makers.embedding("embedding-divided-by-batch", embedding(lambda ids, d: (ids, d / len(d))), ("batch",), AVERAGED),
    makers.embedding("embedding-last-position-missing", embedding_last_position_missing, ("last", "position", "place")),
    makers.output("output-weight-forgotten", output_weight_forgotten, ("weight", "dW"), MISSING),
    makers.output("output-assigned", output_assigned, ASSIGNED, in_model=""),
    makers.output("output-twice", output_twice, ("weight", "dW"), TWICE),
]
