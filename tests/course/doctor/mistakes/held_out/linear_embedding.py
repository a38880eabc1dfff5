"""Mistakes in the linear layer, the embedding and the output projection."""

import math

import numpy as np

from minitransformer.layers.linear import LinearCache
from tests.course.doctor.mistakes.makers import OUTPUT
from tests.course.doctor.mistakes.mistake import Mistake
from tests.course.doctor.mistakes.right import assigning, changed, embedding, linear, output, over_rows, product, rows
from tests.course.doctor.mistakes.words import ASSIGNED, AVERAGED, MISSING, PRECISION, RAISES, SIGN, TWICE

dx_untransposed = linear(dx=lambda dy, W: (rows(dy) @ W).reshape(*dy.shape[:-1], len(W)))
weight_transposed = linear(weight=lambda x, dy: product(dy, x))
bias_twice = linear(bias=lambda dy: 2 * over_rows(dy))
weight_mean_over_rows = linear(weight=lambda x, dy: product(x, dy) / len(rows(x)))
divided_by_batch = linear(weight=lambda x, dy: product(x, dy) / len(dy), bias=lambda dy: over_rows(dy) / len(dy))
subtracted = linear(weight=lambda x, dy: -product(x, dy), bias=lambda dy: -over_rows(dy))
step_before_dx = changed(linear(), lambda dx, self, dy, cache: dy @ (self.weight.data - 0.01 * self.weight.grad).T)
in_float32 = linear(lambda x, dy: product(x.astype(np.float32), dy.astype(np.float32)), lambda dy: over_rows(dy.astype(np.float32)),
                    lambda dy, W: dy.astype(np.float32) @ W.T.astype(np.float32))
grad_through_gradient = changed(linear(), lambda dx, self, dy, cache: dy @ self.weight.grad.T)


def forward_bias_per_sentence(self, x):
    return x @ self.weight.data + len(x) * self.bias.data, LinearCache(x)


def forward_caches_scaled(self, x):
    return x @ self.weight.data + self.bias.data, LinearCache(x / math.sqrt(x.shape[-1]))


embedding_scale_forgotten = embedding(scale=lambda vocab_size, d_model: 1)
embedding_scale_squared = embedding(scale=lambda vocab_size, d_model: d_model)
embedding_scale_divided = embedding(scale=lambda vocab_size, d_model: 1 / math.sqrt(d_model))
embedding_wiped = assigning(embedding(), "weight")
embedding_ids_transposed = embedding(lambda ids, d: (ids.T.ravel(), rows(d)))
embedding_without_padding = embedding(lambda ids, d: (ids[ids != 0], d[ids != 0]))
embedding_divided_by_batch = embedding(lambda ids, d: (ids, d / len(d)))
embedding_last_position_missing = embedding(lambda ids, d: (ids[:, :-1], d[:, :-1]))
output_weight_forgotten = output(weight=lambda x, dlogits: 0)
output_assigned = assigning(output(), "weight")
output_twice = output(weight=lambda x, dlogits: 2 * product(dlogits, x))

SCALE = ("sqrt(d_model)", "sqrt(D)", "scal", "√", "sqrt", "2.64", "2.65")

MISTAKES = [
    Mistake("linear-dx-untransposed", "Linear.backward", dx_untransposed, "linear", (("transpos", "W^T", "W.T", *RAISES),)),
    Mistake("linear-weight-transposed", "Linear.backward", weight_transposed, "linear", (("transpos", "x^T", "shape", *RAISES),)),
    Mistake("linear-bias-twice", "Linear.backward", bias_twice, "linear", (("bias",), TWICE)),
    Mistake("linear-weight-mean-over-rows", "Linear.backward", weight_mean_over_rows, "linear", (("weight", "dW"), AVERAGED)),
    Mistake("linear-divided-by-batch", "Linear.backward", divided_by_batch, "linear", (("batch",), AVERAGED)),
    Mistake("linear-subtracted", "Linear.backward", subtracted, "linear", (SIGN,)),
    Mistake("linear-step-before-dx", "Linear.backward", step_before_dx, "linear",
            (("dx", "gradient of x", "input"), ("weight", "W^T", "W.T", "updated")), in_model="", comment="the optimiser's step inside backward, too early"),
    Mistake("linear-in-float32", "Linear.backward", in_float32, "linear", (PRECISION,)),
    Mistake("linear-dx-from-gradient", "Linear.backward", grad_through_gradient, "linear",
            (("dx", "gradient of x", "input"), ("weight", "W^T", "W.T", "grad of")), in_model=""),
    Mistake("linear-forward-bias-per-sentence", "Linear.forward", forward_bias_per_sentence, "linear", (("bias",),)),
    Mistake("linear-forward-caches-scaled", "Linear.forward", forward_caches_scaled, "linear",
            (("weight", "dW", "cache"), ("sqrt", "scal", "factor", "cache", "times"))),
    Mistake("embedding-scale-forgotten", "Embedding.backward", embedding_scale_forgotten, "embedding", (SCALE, (*MISSING, "too small"))),
    Mistake("embedding-scale-squared", "Embedding.backward", embedding_scale_squared, "embedding",
            (("d_model", *SCALE), (*TWICE, "root", "d_model instead", "too large"))),
    Mistake("embedding-scale-divided", "Embedding.backward", embedding_scale_divided, "embedding",
            (SCALE, ("divid", "1 /", "1/", "multipl", "inverse", "too small"))),
    Mistake("embedding-wiped", "Embedding.backward", embedding_wiped, "embedding", (ASSIGNED,),
            comment="shared with the output projection, whose gradient is lost"),
    Mistake("embedding-ids-transposed", "Embedding.backward", embedding_ids_transposed, "embedding",
            (("transpos", "order", "place", "wrong token", "wrong row", "other token", "mixed", "permut", "rows", "swap", "ids"),)),
    Mistake("embedding-without-padding", "Embedding.backward", embedding_without_padding, "transformer", (("pad",),)),
    Mistake("embedding-divided-by-batch", "Embedding.backward", embedding_divided_by_batch, "embedding", (("batch",), AVERAGED)),
    Mistake("embedding-last-position-missing", "Embedding.backward", embedding_last_position_missing, "embedding",
            (("last", "position", "place"),)),
    Mistake("output-weight-forgotten", OUTPUT + "backward", output_weight_forgotten, "output-projection", (("weight", "dW"), MISSING)),
    Mistake("output-assigned", OUTPUT + "backward", output_assigned, "output-projection", (ASSIGNED,), in_model=""),
    Mistake("output-twice", OUTPUT + "backward", output_twice, "output-projection", (("weight", "dW"), TWICE)),
]
