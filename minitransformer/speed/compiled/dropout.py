"""Dropout, alone and in a residual sum, with a mask of one byte per element; and its random words,
several at a time.
"""

from typing import Any, NamedTuple

import numpy as np

from minitransformer.backend import Array, Generator
from minitransformer.checks import check_fraction, check_rng
from minitransformer.dispatch import textbook_of
from minitransformer.functional.dropout import (
    FIRST,
    SECOND,
    STEP,
    DropoutCache,
    bytes_dropped,
    dropout_backward,
    random_bytes,
)
from minitransformer.layers.residual import Residual, ResidualCache
from minitransformer.speed.loops import Flags, Vector, Words, loop, packed

uint64 = np.uint64  # an int among them would make floats of them


class KeptCache(NamedTuple):
    """What a DropoutCache holds, in a quarter of its memory."""

    keep: Array  # (...) bool
    scale: float  # for what is kept
    dtype: np.dtype  # the input's

    @property
    def mask(self) -> Array:
        """(...) 0 where dropped, the scale elsewhere."""
        return self.keep * self.dtype.type(self.scale)


def draw(x: Array, dropout_rate: float, rng: Generator | None) -> Any:
    """What dropout_mask draws for x, as one byte per element: a KeptCache, or the DropoutCache of
    no dropout.
    """
    if rng is not None:
        check_rng(rng)
    if rng is None or dropout_rate == 0:
        return DropoutCache(None)
    check_fraction("the dropout rate", dropout_rate)
    dropped = bytes_dropped(dropout_rate)
    return KeptCache(random_bytes(rng, x.shape) >= dropped, 256 / (256 - dropped), x.dtype)


def is_ours(dropout: DropoutCache | KeptCache, dy: Array) -> bool:
    """Whether a dropout's cache is from the compiled kernels, for dy's dtype, or from no dropout at
    all.
    """
    return dropout.dtype == dy.dtype if isinstance(dropout, KeptCache) else dropout.mask is None


def flags_of(dropout: DropoutCache | KeptCache, *shape: int) -> tuple[Array, float]:
    """What a loop is told about a dropout: where an element is kept, in that shape (empty: nothing
    is dropped), and its scale.
    """
    if not isinstance(dropout, KeptCache):
        return np.empty([0] * len(shape), bool), 1.0
    return dropout.keep.reshape(shape), dropout.scale


def dropout_forward_compiled(
    x: Array, dropout_rate: float, rng: Generator | None = None
) -> tuple[Array, DropoutCache | KeptCache]:
    cache = draw(x, dropout_rate, rng)
    if not isinstance(cache, KeptCache):
        return x, cache
    return dropout_backward_compiled(x, cache), cache  # y = x mask, as dx = dy mask


def dropout_backward_compiled(dy: Array, cache: DropoutCache | KeptCache) -> Array:
    if not isinstance(cache, KeptCache) or (dy.shape, dy.dtype) != (cache.keep.shape, cache.dtype):
        return textbook_of(dropout_backward)(dy, cache)
    dx = np.empty(cache.keep.shape, dy.dtype)
    drop(packed(dy, dx.size), cache.keep.reshape(-1), cache.scale, dx.reshape(-1))
    return dx


def residual_forward_compiled(
    self: Residual, x: Array, h: Array, rng: Generator | None = None
) -> tuple[Array, ResidualCache]:
    """The sum in the same pass as the dropout."""
    cache = draw(h, self.dropout, rng)
    nothing_dropped = not isinstance(cache, KeptCache)
    if nothing_dropped or (x.shape, x.dtype) != (h.shape, h.dtype):
        return textbook_of(Residual.forward)(self, x, h, rng)
    y = np.empty(x.shape, x.dtype)
    arrays = packed(x, y.size), packed(h, y.size), cache.keep.reshape(-1)
    drop_and_add(*arrays, cache.scale, y.reshape(-1))
    y, norm = (y, None) if self.pre_norm else self.norm.forward(y)
    return y, ResidualCache(cache, norm)


@loop
def drop(x: Vector, keep: Flags, scale: float, y: Vector) -> None:
    """y = x mask; all: (N,). A product, not a choice between x and 0, so that NaN is not dropped,
    as in the textbook.
    """
    number = x.dtype.type
    for i in range(len(y)):
        y[i] = x[i] * (number(scale) if keep[i] else number(0))


@loop
def drop_and_add(x: Vector, h: Vector, keep: Flags, scale: float, y: Vector) -> None:
    """y = x + h mask; all: (N,)."""
    number = x.dtype.type
    for i in range(len(y)):
        y[i] = x[i] + h[i] * (number(scale) if keep[i] else number(0))


def random_words_compiled(key: Array, count: int) -> Array:
    words = np.empty(count, "uint64")
    fill(packed(key, 1), words)
    return words


@loop
def fill(key: Words, words: Words) -> None:
    """key: (1,), words: (N,)."""
    for i in range(len(words)):
        z = uint64(i + 1) * STEP + key[0]
        z = (z ^ (z >> uint64(30))) * FIRST
        z = (z ^ (z >> uint64(27))) * SECOND
        words[i] = z ^ (z >> uint64(31))
