"""The embedding's gradient, token by token: a loop handles repeated tokens, always in the same
order.
"""

import math

import numpy as np

from minitransformer.checks import check_cache, check_ids, check_shape
from minitransformer.speed.loops import check_writeable, loop, packed
from minitransformer.layers.embedding import EmbeddingCache


def embedding_backward_compiled(self, dy, cache) -> None:
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


@loop("matrix ids number matrix")
def add_to_tokens(dy, ids, scale, grad) -> None:
    """dy: (N, D), ids: (N,), grad: (V, D)."""
    for n in range(len(dy)):
        for i in range(dy.shape[1]):
            grad[ids[n], i] += dy.dtype.type(scale) * dy[n, i]
