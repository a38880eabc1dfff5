"""Token embedding (section 3.4 of the paper)."""

import math
from typing import NamedTuple

import numpy as np

from minitransformer.backend import Array, Generator, module_of, to_device
from minitransformer.checks import check_cache, check_ids, check_shape
from minitransformer.layers import initial
from minitransformer.layers.layer import Layer
from minitransformer.lookup import Table
from minitransformer.dispatch import replaceable


class EmbeddingCache(NamedTuple):
    ids: Array   # (...) int, on the host


class Embedding(Layer):
    """y = sqrt(d_model) W[ids]: ids (...), W (V, d_model), y (..., d_model)."""

    stepwise = True

    def __init__(self, vocab_size: int, d_model: int, rng: Generator | None = None):
        self.weight = initial.normal(rng, vocab_size, d_model)

    @replaceable
    def forward(self, ids: Array) -> tuple[Array, EmbeddingCache]:
        vocab_size, d_model = self.weight.shape
        check_ids("Embedding: ids", ids, vocab_size)
        weight = self.weight.data
        return math.sqrt(d_model) * weight[to_device(ids, module_of(weight))], EmbeddingCache(ids)

    @replaceable
    def backward(self, dy: Array, cache: EmbeddingCache) -> None:
        """dW[v] = sqrt(d_model) * (sum of dy over the places where v occurs). Ids get no gradient.

        `dW[ids] += dy` would keep only one of several places, and CuPy's counterpart of `np.add.at` has no complex
        numbers and no fixed order of the sum. Instead, a stable sort brings equal ids together, and each group is
        cut into pieces of 1, 2, 4, ... places (13 = 1 + 4 + 8). A token has at most one piece of each size, so all
        pieces of one size are summed and added at once, in the same order every time. The pieces are planned on the
        host, where the ids are, to avoid waiting for a GPU.
        """
        check_cache(self, cache, EmbeddingCache)
        d_model = self.weight.shape[1]
        check_shape("Embedding: dy", dy, *cache.ids.shape, d_model)
        xp, rows = module_of(dy), dy.reshape(-1, d_model)
        ids = cache.ids.reshape(-1)
        order = np.argsort(ids, kind="stable")
        distinct, starts, counts = np.unique(ids[order], return_index=True, return_counts=True)
        size = 1
        while size <= counts.max(initial=0):
            some = (counts & size) > 0
            first = starts[some] + counts[some] % size      # after the smaller pieces
            places = order[first[:, None] + np.arange(size)]                     # (pieces, size)
            sums = rows[to_device(places, xp)].sum(axis=1)                       # (pieces, d_model)
            self.weight.grad[to_device(distinct[some], xp)] += math.sqrt(d_model) * sums
            size *= 2


EMBEDDINGS = Table("embedding", {"scaled": Embedding})
