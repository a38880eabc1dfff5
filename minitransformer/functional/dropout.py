"""Inverted dropout: what is kept is scaled in training, not at evaluation (section 5.4 of the paper)."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from minitransformer.backend import Array, Generator, module_of
from minitransformer.checks import check_fraction, check_rng, check_shape
from minitransformer.dispatch import replaceable


class DropoutCache(NamedTuple):
    mask: Array | None   # (...) 0 where dropped, 1 / (1 - dropout_rate) elsewhere; None if nothing is dropped


def dropout_mask(shape: tuple[int, ...], dropout_rate: float,
                 rng: Generator, dtype: DTypeLike) -> Array:
    """An array of `shape`: 0 with probability `dropout_rate`, else the scale 1 / (1 - dropout_rate).

    One random byte decides each element (the cheapest random number there is), so the dropout_rate is
    rounded to k / 256 and the scale is 256 / (256 - k): the expectation stays exactly 1.
    (A dropout_rate below 1/512 drops nothing. No dropout_rate drops more than 255 of 256.)
    """
    check_rng(rng)
    check_fraction("the dropout rate", dropout_rate)
    dropped = bytes_dropped(dropout_rate)
    keep = random_bytes(rng, shape) >= dropped
    return keep.astype(dtype) * (256 / (256 - dropped))


def bytes_dropped(dropout_rate: float) -> int:
    """How many of the 256 values of a byte drop an element."""
    return min(round(256 * dropout_rate), 255)


@replaceable
def dropout_forward(x: Array, dropout_rate: float,
                    rng: Generator | None = None) -> tuple[Array, DropoutCache]:
    """y = x * mask, with a fresh mask; y = x if rng is None (evaluation) or dropout_rate is 0."""
    if rng is not None:
        check_rng(rng)
    if rng is None or dropout_rate == 0:
        return x, DropoutCache(None)
    mask = dropout_mask(x.shape, dropout_rate, rng, x.real.dtype)
    return x * mask, DropoutCache(mask)


@replaceable
def dropout_backward(dy: Array, cache: DropoutCache) -> Array:
    """dx = dy * mask, with the same mask as in the forward pass, scale included."""
    if cache.mask is None:
        return dy
    check_shape("dropout: dy", dy, *cache.mask.shape)
    return dy * cache.mask


# ---- random numbers from a key and a counter: the same whatever computes them, in whatever order

STEP, FIRST, SECOND = map(np.uint64, (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


@replaceable
def random_words(key: Array, count: int) -> Array:
    """`count` random numbers of 64 bits, uint64. key: (1,) uint64.

    SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators"): the key plus 1, 2, 3, ...
    times a constant, and then each bit is mixed into the others. Products and sums drop what exceeds 64 bits.
    """
    z = module_of(key).arange(1, count + 1, dtype="uint64") * STEP + key
    z = (z ^ (z >> np.uint64(30))) * FIRST
    z = (z ^ (z >> np.uint64(27))) * SECOND
    return z ^ (z >> np.uint64(31))


def random_bytes(rng: Generator, shape: tuple[int, ...]) -> Array:
    """Random numbers from 0 to 255, uint8, with a key from the generator `rng`: each word gives eight of them."""
    key = rng.integers(0, 2 ** 62, size=1, dtype="uint64")
    count = math.prod(shape)
    return random_words(key, -(-count // 8)).view("uint8")[:count].reshape(shape)
