"""Token embedding, and the pre-softmax linear that may share its weight (section 3.4 of the paper)."""

import math
from typing import Any, NamedTuple

import numpy as np

from minitransformer.backend import check_ids, module_of, to_device
from minitransformer.errors import check_shape
from minitransformer.functional import linear_cross_entropy_backward, linear_cross_entropy_forward
from minitransformer.layers import initial
from minitransformer.layers.layer import Layer


class EmbeddingCache(NamedTuple):
    ids: Any   # (...) int, on the host


class Embedding(Layer):
    """y = sqrt(d_model) W[ids]: ids (...), W (V, d_model), y (..., d_model)."""

    def __init__(self, vocab_size, d_model, rng):
        self.weight = initial.normal(rng, vocab_size, d_model)

    def forward(self, ids):
        vocab_size, d_model = self.weight.shape
        check_ids("Embedding: ids", ids, vocab_size)
        weight = self.weight.data
        return math.sqrt(d_model) * weight[to_device(ids, module_of(weight))], EmbeddingCache(ids)

    def backward(self, dy, cache):
        """dW[v] = sqrt(d_model) * (sum of dy over the places where v stood). Ids get no gradient.

        `dW[ids] += dy` would keep only one of several places. So a stable sort brings equal ids
        together, and each run of them is cut into pieces of 1, 2, 4, ... places (13 = 1 + 4 + 8). Of
        each size a token has one piece or none: all pieces of a size are summed and added at once, in
        the same order every time. What goes where is decided on the host, where the ids are, so that
        no GPU is waited for.
        """
        d_model = self.weight.shape[1]
        xp, rows = module_of(dy), dy.reshape(-1, d_model)
        ids = cache.ids.reshape(-1)
        order = np.argsort(ids, kind="stable")
        tokens, starts, counts = np.unique(ids[order], return_index=True, return_counts=True)
        size = 1
        while size <= counts.max(initial=0):
            some = counts & size > 0
            first = starts[some] + counts[some] % size      # behind the smaller pieces
            places = order[first[:, None] + np.arange(size)]                     # (pieces, size)
            sums = rows[to_device(places, xp)].sum(axis=1)                       # (pieces, d_model)
            self.weight.grad[to_device(tokens[some], xp)] += math.sqrt(d_model) * sums
            size *= 2


class OutputCache(NamedTuple):
    x: Any   # (..., d_model)


class OutputProjection(Layer):
    """logits = x W^T: x (..., d_model), W (V, d_model), logits (..., V).

    W has an embedding's shape, so the Parameter of one can be given (`weight`) to share it; this
    is also why there is no bias.
    """

    def __init__(self, vocab_size, d_model, rng, weight=None):
        self.weight = initial.normal(rng, vocab_size, d_model) if weight is None else weight

    def forward(self, x):
        vocab_size, d_model = self.weight.shape
        check_shape("OutputProjection: x", x, ..., d_model)
        logits = x.reshape(-1, d_model) @ self.weight.data.T
        return logits.reshape(*x.shape[:-1], vocab_size), OutputCache(x)

    def backward(self, dlogits, cache):
        """From logits_nv = sum_i x_ni W_vi: dW = dlogits^T x, dx = dlogits W."""
        vocab_size, d_model = self.weight.shape
        rows, drows = cache.x.reshape(-1, d_model), dlogits.reshape(-1, vocab_size)
        self.weight.grad += drows.T @ rows
        return (drows @ self.weight.data).reshape(cache.x.shape)

    def loss_forward(self, x, targets, smoothing=0.0):
        """The summed cross-entropy of the logits with `targets` (...), as functional.linear_cross_entropy has it."""
        check_shape("OutputProjection: x", x, ..., self.weight.shape[1])
        return linear_cross_entropy_forward(x, self.weight.data, targets, smoothing)

    def loss_backward(self, dloss, cache):
        dx, dweight = linear_cross_entropy_backward(dloss, cache)
        self.weight.grad += dweight
        return dx
