"""The embedding's gradient, token by token: a loop handles repeated tokens, always in the same
order.
"""

import math

import numpy as np

from minitransformer.backend import Array
from minitransformer.checks import check_cache, check_ids, check_shape
from minitransformer.layers.embedding import Embedding, EmbeddingCache
from minitransformer.speed.loops import Ids, Matrix, check_writeable, loop, packed


def embedding_backward_compiled(self: Embedding, dy: Array, cache: EmbeddingCache) -> None:
    check_cache(self, cache, EmbeddingCache)
    check_writeable(self.weight.grad)
    vocab_size, d_model = self.weight.shape
    check_shape("Embedding: dy", dy, *cache.ids.shape, d_model)
    check_ids("Embedding: ids", cache.ids, vocab_size)  # a loop would write wherever they point
    ids = np.ascontiguousarray(cache.ids, np.int64).reshape(-1)
    add_to_tokens(
        packed(dy, ids.size, d_model),
        ids,
        math.sqrt(d_model),
        self.weight.grad.reshape(vocab_size, d_model),
    )


@loop
def add_to_tokens(dy: Matrix, ids: Ids, scale: float, grad: Matrix) -> None:
    """dy: (N, D), ids: (N,), grad: (V, D)."""
    for n in range(len(dy)):
        for i in range(dy.shape[1]):
            grad[ids[n], i] += dy.dtype.type(scale) * dy[n, i]
