"""Positions, added to the embeddings (section 3.5 of the paper): sinusoids, or learned."""

import sys
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from minitransformer.backend import Array, Generator, module_of
from minitransformer.checks import check_cache, check_floats, check_shape
from minitransformer.errors import InputError, counted
from minitransformer.functional import sinusoids
from minitransformer.layers import initial
from minitransformer.layers.layer import Layer
from minitransformer.lookup import Table

if TYPE_CHECKING:
    from minitransformer.layers.config import StackConfig


class PositionsCache(NamedTuple):
    shape: tuple   # of x

    @property
    def length(self) -> int:
        return self.shape[1]


class SinusoidalPositions(Layer):
    """y = x + PE[:T], for x (B, T, d_model) of any length and any d_model; nothing is learned."""

    attention: ClassVar[str | None] = None    # the kind of attention that they need; None: any
    max_length = sys.maxsize

    @classmethod
    def of(cls, config: "StackConfig", rng: Generator | None) -> "SinusoidalPositions":
        return cls()

    def forward(self, x: Array) -> tuple[Array, PositionsCache]:
        check_floats("SinusoidalPositions: x", x, "B", "T", "d_model")
        _, length, d_model = x.shape
        return x + sinusoids(length, d_model, module_of(x), x.real.dtype.name), PositionsCache(x.shape)

    def at(self, x: Array, position: int) -> Array:
        """x + PE[position], for any x (..., d_model)."""
        length = max(64, 1 << position.bit_length())    # a few tables, each twice as long as the last, serve all positions
        return x + sinusoids(length, x.shape[-1], module_of(x), x.real.dtype.name)[position]

    def backward(self, dy: Array, cache: PositionsCache) -> Array:
        """forward adds a constant: dx = dy."""
        check_cache(self, cache, PositionsCache)
        check_shape("SinusoidalPositions: dy", dy, *cache.shape)
        return dy


class LearnedPositions(Layer):
    """y = x + W[:T], for x (B, T, d_model) with T up to W's max_length rows.

    The initial W is sqrt(d_model) times smaller than the embeddings. With positions as large as sinusoids, or as the
    embeddings, a language model of tiny Shakespeare learned more slowly (after 400 steps 2.36 and 2.36 nats instead of 2.34;
    with pre-norm 2.38 and 2.39 instead of 2.35).
    """

    attention: ClassVar[str | None] = None

    def __init__(self, max_length: int, d_model: int, rng: Generator | None = None):
        self.weight = initial.normal(rng, max_length, d_model)

    @classmethod
    def of(cls, config: "StackConfig", rng: Generator | None) -> "LearnedPositions":
        return cls(config.max_length, config.d_model, rng)

    @property
    def max_length(self) -> int:
        """The number of learned positions."""
        return self.weight.shape[0]

    def forward(self, x: Array) -> tuple[Array, PositionsCache]:
        max_length, d_model = self.weight.shape
        check_floats("LearnedPositions: x", x, "B", "T", d_model)
        length = x.shape[1]
        if length > max_length:
            raise InputError(f"LearnedPositions: x has {counted(length, 'position')}, at most {max_length} were learned")
        return x + self.weight.data[:length], PositionsCache(x.shape)

    def at(self, x: Array, position: int) -> Array:
        """x + W[position], for any x (..., d_model)."""
        return x + self.weight.data[position]

    def backward(self, dy: Array, cache: PositionsCache) -> Array:
        """forward adds row t to all B sequences: dW[t] = sum_b dy[b, t], dx = dy."""
        check_cache(self, cache, PositionsCache)
        check_shape("LearnedPositions: dy", dy, *cache.shape)
        self.weight.grad[: cache.length] += dy.sum(axis=0)
        return dy


POSITIONS = Table("positions", {"sinusoidal": SinusoidalPositions, "learned": LearnedPositions})
