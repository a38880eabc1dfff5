"""Linear, output projection and embedding: dW = x^T dy, db = sum(dy), dx = dy W^T; an embedding sums over repeated ids."""

import math
from collections.abc import Callable

import numpy as np

from minitransformer.backend import Array
from minitransformer.diagnosis.mistakes import mistake


def linear(dx=None, dweight=None) -> Callable:
    """A backward of Linear with some of its gradients replaced: dx(drows, W), dweight(rows, drows, W)."""
    def wrong(self, dy, cache) -> Array:
        d_in, d_out = self.weight.shape
        rows, drows, weight = cache.x.reshape(-1, d_in), dy.reshape(-1, d_out), self.weight.data
        self.weight.grad += dweight(rows, drows, weight) if dweight else rows.T @ drows
        self.bias.grad += drows.sum(axis=0)
        return (dx(drows, weight) if dx else drows @ weight.T).reshape(cache.x.shape)
    return wrong


for sentence, wrong in (
        ("missing transpose: dx = dy W, not dy W^T",
         linear(dx=lambda d, w: d @ w if len(set(w.shape)) == 1 else d @ w.T)),
        ("missing transpose: the gradient of the weight is dy^T x, the transpose of x^T dy",
         linear(dweight=lambda r, d, w: (r.T @ d).T if len(set(w.shape)) == 1 else r.T @ d))):
    mistake("Linear", sentence)(wrong)


def embedding(rows, scale=lambda size, vocabulary: math.sqrt(size)) -> Callable:
    """A backward of Embedding that adds rows(ids, dy) times a scale."""
    def wrong(self, dy, cache) -> None:
        vocabulary, size = self.weight.shape
        self.weight.grad += scale(size, vocabulary) * rows(cache.ids, dy, np.zeros(self.weight.shape))
    return wrong


def summed(ids, dy, table) -> Array:
    np.add.at(table, ids, dy)
    return table


def last_place(ids, dy, table) -> Array:
    table[ids] += dy
    return table


def first_place(ids, dy, table) -> Array:
    backwards = ids.ravel()[::-1]
    table[backwards] = dy.reshape(-1, table.shape[-1])[::-1]
    return table


def averaged(ids, dy, table) -> Array:
    counts = np.bincount(ids.ravel(), minlength=len(table))
    return summed(ids, dy, table) / np.maximum(counts, 1)[:, None]


def per_sentence(pick) -> Callable:
    """Repeats are lost within each sentence, but the sentences are summed."""
    def rows(ids, dy, table) -> Array:
        for one, done in zip(ids, dy):
            part = np.zeros_like(table)
            part[one[::pick]] = done[::pick]
            table += part
        return table
    return rows


def without(which) -> Callable:
    def rows(ids, dy, table) -> Array:
        table = summed(ids, dy, table)
        table[which] = 0
        return table
    return rows


def moved(step) -> Callable:
    return lambda ids, dy, table: summed((ids + step) % len(table), dy, table)


def turned(ids, dy, table) -> Array:
    return summed(ids.T.reshape(-1), dy.reshape(-1, table.shape[-1]), table)


def ordered(ids, dy, table) -> Array:
    return summed(np.sort(ids.reshape(-1)), dy.reshape(-1, table.shape[-1]), table)


def backwards(ids, dy, table) -> Array:
    return summed(ids[..., ::-1], dy, table)


for sentence, wrong in (
        ("the ids are transposed: each gradient goes to the row of another place's token (the wrong order of positions "
         "and batch)", embedding(turned)),
        ("the ids are sorted, but the gradients are not: each gradient goes to the row of another token (the wrong "
         "order)", embedding(ordered)),
        ("the ids are reversed: each gradient goes to the row of another position's token (the wrong order)",
         embedding(backwards)),
        ("repeated ids are lost: if a token occurs more than once, only one of its places (the last) is kept, "
         "`grad[ids] += dy`",
         embedding(last_place)),
        ("repeated ids are lost: if a token occurs more than once, only one of its places (the first) is kept",
         embedding(first_place)),
        ("repeated ids are lost within a sentence: if a token occurs more than once, only its last place there is "
         "kept", embedding(per_sentence(1))),
        ("repeated ids are averaged, not summed: divided by how often (the count) a token occurs", embedding(averaged)),
        ("the scale sqrt(d_model) of the embedding is forgotten (missing) in backward",
         embedding(summed, lambda size, v: 1)),
        ("the scale sqrt(d_model) of the embedding is applied twice (d_model)",
         embedding(summed, lambda size, v: size)),
        ("the gradient is divided by sqrt(d_model), not multiplied: the scale is inverted",
         embedding(summed, lambda size, v: 1 / math.sqrt(size))),
        ("the scale is sqrt(V), of the vocabulary, not sqrt(d_model)", embedding(summed, lambda size, v: math.sqrt(v))),
        ("the scale sqrt(d_model) is missing, and repeated ids are lost: only the last place is kept",
         embedding(last_place, lambda size, v: 1)),
        ("the row of the padding id 0 gets no gradient, although the padding was embedded in forward",
         embedding(without(0))),
        ("the row of the last id gets no gradient", embedding(without(-1))),
        ("the ids are off by one: each gradient goes to the row after its token's (shifted)", embedding(moved(1))),
        ("the ids are off by one: each gradient goes to the row before its token's (shifted)", embedding(moved(-1)))):
    mistake("Embedding", sentence)(wrong)
