"""Mistakes in the linear layer, the embedding and the output projection."""

import math

import numpy as np

from minitransformer.layers.linear import LinearCache
from tests.diagnosis.mistakes import right
from tests.diagnosis.mistakes.makers import OUTPUT
from tests.diagnosis.mistakes.mistake import Mistake
from tests.diagnosis.mistakes.words import ASSIGNED, AVERAGED, MISSING, PRECISION, RAISES, SIGN, TWICE


def dx_untransposed(self, dy, cache):
    rows, drows = right.linear_rows(self, dy, cache)
    self.weight.grad += rows.T @ drows
    self.bias.grad += drows.sum(axis=0)
    return (drows @ self.weight.data).reshape(cache.x.shape)


def weight_transposed(self, dy, cache):
    rows, drows = right.linear_rows(self, dy, cache)
    self.weight.grad += drows.T @ rows
    self.bias.grad += drows.sum(axis=0)
    return (drows @ self.weight.data.T).reshape(cache.x.shape)


def bias_twice(self, dy, cache):
    rows, drows = right.linear_rows(self, dy, cache)
    self.weight.grad += rows.T @ drows
    for _ in (self.weight, self.bias):
        self.bias.grad += drows.sum(axis=0)
    return (drows @ self.weight.data.T).reshape(cache.x.shape)


def weight_mean_over_rows(self, dy, cache):
    rows, drows = right.linear_rows(self, dy, cache)
    self.weight.grad += rows.T @ drows / len(rows)
    self.bias.grad += drows.sum(axis=0)
    return (drows @ self.weight.data.T).reshape(cache.x.shape)


def divided_by_batch(self, dy, cache):
    rows, drows = right.linear_rows(self, dy, cache)
    self.weight.grad += rows.T @ drows / len(dy)
    self.bias.grad += drows.sum(axis=0) / len(dy)
    return (drows @ self.weight.data.T).reshape(cache.x.shape)


def subtracted(self, dy, cache):
    rows, drows = right.linear_rows(self, dy, cache)
    self.weight.grad -= rows.T @ drows
    self.bias.grad -= drows.sum(axis=0)
    return (drows @ self.weight.data.T).reshape(cache.x.shape)


def step_before_dx(self, dy, cache):
    rows, drows = right.linear_rows(self, dy, cache)
    self.weight.grad += rows.T @ drows
    self.bias.grad += drows.sum(axis=0)
    return (drows @ (self.weight.data - 0.01 * self.weight.grad).T).reshape(cache.x.shape)


def in_float32(self, dy, cache):
    rows, drows = (array.astype(np.float32) for array in right.linear_rows(self, dy, cache))
    self.weight.grad += rows.T @ drows
    self.bias.grad += drows.sum(axis=0)
    return (drows @ self.weight.data.T.astype(np.float32)).reshape(cache.x.shape)


def grad_through_gradient(self, dy, cache):
    rows, drows = right.linear_rows(self, dy, cache)
    self.weight.grad += rows.T @ drows
    self.bias.grad += drows.sum(axis=0)
    return (drows @ self.weight.grad.T).reshape(cache.x.shape)


def forward_bias_per_sentence(self, x):
    y = x @ self.weight.data + len(x) * self.bias.data
    return y, LinearCache(x)


def forward_caches_scaled(self, x):
    y = x @ self.weight.data + self.bias.data
    return y, LinearCache(x / math.sqrt(x.shape[-1]))


def embedding_scale_forgotten(self, dy, cache):
    np.add.at(self.weight.grad, cache.ids, dy)


def embedding_scale_squared(self, dy, cache):
    np.add.at(self.weight.grad, cache.ids, self.weight.shape[1] * dy)


def embedding_scale_divided(self, dy, cache):
    np.add.at(self.weight.grad, cache.ids, dy / math.sqrt(self.weight.shape[1]))


def embedding_wiped(self, dy, cache):
    self.weight.grad[...] = 0
    np.add.at(self.weight.grad, cache.ids, math.sqrt(self.weight.shape[1]) * dy)


def embedding_ids_transposed(self, dy, cache):
    d_model = self.weight.shape[1]
    np.add.at(self.weight.grad, cache.ids.T.reshape(-1), math.sqrt(d_model) * dy.reshape(-1, d_model))


def embedding_without_padding(self, dy, cache):
    real = cache.ids != 0
    np.add.at(self.weight.grad, cache.ids[real], math.sqrt(self.weight.shape[1]) * dy[real])


def embedding_divided_by_batch(self, dy, cache):
    np.add.at(self.weight.grad, cache.ids, math.sqrt(self.weight.shape[1]) * dy / len(dy))


def embedding_last_position_missing(self, dy, cache):
    np.add.at(self.weight.grad, cache.ids[:, :-1], math.sqrt(self.weight.shape[1]) * dy[:, :-1])


def output_weight_forgotten(self, dlogits, cache):
    vocab_size, _ = self.weight.shape
    return (dlogits.reshape(-1, vocab_size) @ self.weight.data).reshape(cache.x.shape)


def output_assigned(self, dlogits, cache):
    rows, drows = right.tied_rows(self, dlogits, cache)
    self.weight.grad[...] = drows.T @ rows
    return (drows @ self.weight.data).reshape(cache.x.shape)


def output_twice(self, dlogits, cache):
    rows, drows = right.tied_rows(self, dlogits, cache)
    self.weight.grad += 2 * (drows.T @ rows)
    return (drows @ self.weight.data).reshape(cache.x.shape)


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
