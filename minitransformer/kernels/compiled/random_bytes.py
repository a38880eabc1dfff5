"""Random words, several at a time in the processor's registers."""

import numpy as np

from minitransformer.backend import Array
from minitransformer.functional.random_bytes import FIRST, SECOND, STEP, random_words
from minitransformer.kernels.loops import loop, packed
from minitransformer.replaceable import replaces

uint64 = np.uint64    # an int among them would make floats of them


@replaces(random_words, "numpy", "uint64")
def random_words_compiled(key, count) -> Array:
    words = np.empty(count, "uint64")
    fill(packed(key, 1), words)
    return words


@loop("words words")
def fill(key, words) -> None:
    """key: (1,), words: (N,)."""
    for i in range(len(words)):
        z = uint64(i + 1) * STEP + key[0]
        z = (z ^ (z >> uint64(30))) * FIRST
        z = (z ^ (z >> uint64(27))) * SECOND
        words[i] = z ^ (z >> uint64(31))
