"""The input of a stack: embeddings plus positions, then dropout (sections 3.4, 3.5, 5.4)."""

from typing import NamedTuple

from minitransformer.backend import Array, Generator
from minitransformer.checks import check_cache, check_fraction
from minitransformer.functional.dropout import DropoutCache, dropout_backward, dropout_forward
from minitransformer.layers.embedding import EmbeddingCache
from minitransformer.layers.layer import Layer
from minitransformer.layers.positions import PositionsCache


class InputCache(NamedTuple):
    embedding: EmbeddingCache
    positions: PositionsCache
    dropout: DropoutCache


class Input(Layer):
    """y = dropout(positions(embedding(ids))): ids (B, T), y (B, T, d_model)."""

    def __init__(self, embedding: Layer, positions: Layer, dropout: float):
        check_fraction("the dropout rate", dropout)
        self.embedding = embedding
        self.positions = positions
        self.dropout = dropout

    def forward(self, ids: Array, rng: Generator | None = None) -> tuple[Array, InputCache]:
        x, embedding = self.embedding.forward(ids)
        x, positions = self.positions.forward(x)
        y, dropout = dropout_forward(x, self.dropout, rng)
        return y, InputCache(embedding, positions, dropout)

    def backward(self, dy: Array, cache: InputCache) -> None:
        """Adds to the tables' gradients; ids have none."""
        check_cache(self, cache, InputCache)
        dx = dropout_backward(dy, cache.dropout)
        dx = self.positions.backward(dx, cache.positions)
        self.embedding.backward(dx, cache.embedding)
