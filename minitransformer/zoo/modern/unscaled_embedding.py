"""The embedding of models that do not multiply it by sqrt(d_model)."""

import math

from minitransformer.backend import Array
from minitransformer.layers.embedding import Embedding, EmbeddingCache


class UnscaledEmbedding(Embedding):
    """y = W[ids]: the paper's factor is divided out again."""

    stepwise = True

    def forward(self, ids: Array) -> tuple[Array, EmbeddingCache]:
        y, cache = super().forward(ids)
        return y / math.sqrt(self.weight.shape[1]), cache

    def backward(self, dy: Array, cache: EmbeddingCache) -> None:
        super().backward(dy / math.sqrt(self.weight.shape[1]), cache)
