"""Random numbers from a key and a counter: they are the same whatever computes them, in whatever order."""

import math

import numpy as np

from minitransformer.backend import Array, module_of
from minitransformer.replaceable import replaceable

STEP, FIRST, SECOND = map(np.uint64, (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


@replaceable
def random_words(key, count) -> Array:
    """`count` random numbers of 64 bits, uint64. key: (1,) uint64.

    SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators"): the key plus 1, 2, 3, ...
    times a constant, and then each bit is mixed into the others. Products and sums drop what exceeds 64 bits.
    """
    z = module_of(key).arange(1, count + 1, dtype="uint64") * STEP + key
    z = (z ^ (z >> np.uint64(30))) * FIRST
    z = (z ^ (z >> np.uint64(27))) * SECOND
    return z ^ (z >> np.uint64(31))


def random_bytes(rng, shape) -> Array:
    """Random numbers from 0 to 255, uint8, with a key from the generator `rng`: each word gives eight of them."""
    key = rng.integers(0, 2 ** 62, size=1, dtype="uint64")
    count = math.prod(shape)
    return random_words(key, -(-count // 8)).view("uint8")[:count].reshape(shape)
