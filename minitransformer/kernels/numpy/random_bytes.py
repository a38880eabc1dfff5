"""Random words in blocks that stay in the processor's cache."""

import numpy as np

from minitransformer.backend import Array
from minitransformer.functional.random_bytes import FIRST, SECOND, STEP, random_words
from minitransformer.replaceable import replaces

BLOCK = 1 << 12    # words


@replaces(random_words, "numpy", "uint64")
def random_words_blocked(key, count) -> Array:
    words, buffer = np.empty(count, "uint64"), np.empty(min(BLOCK, count), "uint64")
    for start in range(0, count, BLOCK):
        z = words[start:start + BLOCK]
        shifted = buffer[:len(z)]
        z[...] = np.arange(start + 1, start + 1 + len(z), dtype="uint64")
        z *= STEP
        z += key
        for shift, factor in ((30, FIRST), (27, SECOND)):
            z ^= np.right_shift(z, np.uint64(shift), out=shifted)
            z *= factor
        z ^= np.right_shift(z, np.uint64(31), out=shifted)
    return words
