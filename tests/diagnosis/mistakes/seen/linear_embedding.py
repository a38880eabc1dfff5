"""Mistakes in the linear layer, the embedding and the output projection."""

import math

import numpy as np

from minitransformer.layers.embedding import EmbeddingCache
from minitransformer.layers.output_projection import OutputCache
from tests.diagnosis.mistakes import right
from tests.diagnosis.mistakes.makers import OUTPUT
from tests.diagnosis.mistakes.mistake import Mistake
from tests.diagnosis.mistakes.words import ASSIGNED, AVERAGED, MISSING, RAISES


def weight_reshaped(self, dy, cache):
    rows, drows = right.linear_rows(self, dy, cache)
    self.weight.grad += (drows.T @ rows).reshape(self.weight.shape)
    self.bias.grad += drows.sum(axis=0)
    return (drows @ self.weight.data.T).reshape(cache.x.shape)


def bias_forgotten(self, dy, cache):
    rows, drows = right.linear_rows(self, dy, cache)
    self.weight.grad += rows.T @ drows
    return (drows @ self.weight.data.T).reshape(cache.x.shape)


def bias_mean_over_positions(self, dy, cache):
    rows, drows = right.linear_rows(self, dy, cache)
    self.weight.grad += rows.T @ drows
    self.bias.grad += dy.sum(axis=0).mean(axis=tuple(range(dy.ndim - 2)))
    return (drows @ self.weight.data.T).reshape(cache.x.shape)


def bias_without_batch(self, dy, cache):
    rows, drows = right.linear_rows(self, dy, cache)
    self.weight.grad += rows.T @ drows
    self.bias.grad += dy.sum(axis=1)
    return (drows @ self.weight.data.T).reshape(cache.x.shape)


def weight_assigned(self, dy, cache):
    rows, drows = right.linear_rows(self, dy, cache)
    self.weight.grad[...] = rows.T @ drows
    self.bias.grad[...] = drows.sum(axis=0)
    return (drows @ self.weight.data.T).reshape(cache.x.shape)


def last_sentence_only(self, dy, cache):
    d_in, d_out = self.weight.shape
    for x, d in zip(cache.x, dy):
        dweight = x.reshape(-1, d_in).T @ d.reshape(-1, d_out)
    self.weight.grad += dweight
    self.bias.grad += dy.reshape(-1, d_out).sum(axis=0)
    return dy @ self.weight.data.T


def first_sentence_only(self, dy, cache):
    d_in, d_out = self.weight.shape
    self.weight.grad += cache.x[0].reshape(-1, d_in).T @ dy[0].reshape(-1, d_out)
    self.bias.grad += dy[0].reshape(-1, d_out).sum(axis=0)
    return dy @ self.weight.data.T


def dx_divided_by_batch(self, dy, cache):
    rows, drows = right.linear_rows(self, dy, cache)
    self.weight.grad += rows.T @ drows
    self.bias.grad += drows.sum(axis=0)
    return (drows @ self.weight.data.T).reshape(cache.x.shape) / len(dy)


def nothing_returned(self, dy, cache):
    rows, drows = right.linear_rows(self, dy, cache)
    self.weight.grad += rows.T @ drows
    self.bias.grad += drows.sum(axis=0)


def rows_returned(self, dy, cache):
    rows, drows = right.linear_rows(self, dy, cache)
    self.weight.grad += rows.T @ drows
    self.bias.grad += drows.sum(axis=0)
    return drows @ self.weight.data.T


def embedding_scale_of_vocabulary(self, dy, cache):
    np.add.at(self.weight.grad, cache.ids, math.sqrt(self.weight.shape[0]) * dy)


def embedding_places_averaged(self, dy, cache):
    ids, d_model = cache.ids.reshape(-1), self.weight.shape[1]
    sums = np.zeros_like(self.weight.grad)
    np.add.at(sums, ids, dy.reshape(-1, d_model))
    counts = np.maximum(np.bincount(ids, minlength=len(sums)), 1)
    self.weight.grad += math.sqrt(d_model) * sums / counts[:, None]


def embedding_first_place(self, dy, cache):
    d_model = self.weight.shape[1]
    distinct, first = np.unique(cache.ids.reshape(-1), return_index=True)
    self.weight.grad[distinct] += math.sqrt(d_model) * dy.reshape(-1, d_model)[first]


def embedding_off_by_one(self, dy, cache):
    np.add.at(self.weight.grad, cache.ids - 1, math.sqrt(self.weight.shape[1]) * dy)


def embedding_ids_sorted(self, dy, cache):
    d_model = self.weight.shape[1]
    np.add.at(self.weight.grad, np.sort(cache.ids.reshape(-1)), math.sqrt(d_model) * dy.reshape(-1, d_model))


def embedding_forward_unscaled(self, ids):
    return self.weight.data[ids], EmbeddingCache(ids)


def embedding_forward_off_by_one(self, ids):
    return math.sqrt(self.weight.shape[1]) * self.weight.data[ids - 1], EmbeddingCache(ids)


def output_scaled(self, dlogits, cache):
    rows, drows = right.tied_rows(self, dlogits, cache)
    self.weight.grad += math.sqrt(self.weight.shape[1]) * (drows.T @ rows)
    return (drows @ self.weight.data).reshape(cache.x.shape)


def output_divided_by_tokens(self, dlogits, cache):
    rows, drows = right.tied_rows(self, dlogits, cache)
    self.weight.grad += drows.T @ rows / len(rows)
    return (drows @ self.weight.data).reshape(cache.x.shape)


def output_dx_scaled(self, dlogits, cache):
    rows, drows = right.tied_rows(self, dlogits, cache)
    self.weight.grad += drows.T @ rows
    return (drows @ self.weight.data).reshape(cache.x.shape) * math.sqrt(self.weight.shape[1])


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
