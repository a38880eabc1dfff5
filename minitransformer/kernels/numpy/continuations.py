"""The most likely continuations, found in groups: a block of logits is compared while it is in the processor's cache."""

import numpy as np

from minitransformer.decoding.continuations import FIRST_WORD, continuations, top_k
from minitransformer.replaceable import replaces, textbook_of
from minitransformer.functional.special import EOS

GROUPS = 250    # groups of words, and columns of a block


@replaces(continuations, "numpy", "float32 float64", "f")
def continuations_in_groups(x, weight, sums, count) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    if weight.weight.dtype != x.dtype or sums.dtype != float:
        return textbook_of(continuations)(x, weight, sums, count)
    rows = x.reshape(-1, x.shape[-1])
    special = rows @ weight.transposed[:, :FIRST_WORD]
    blocks, maxima = grouped_logits(rows, weight.transposed[:, FIRST_WORD:])
    peak = np.maximum(special.max(axis=1), maxima.max(axis=1))
    total = sum(exponentials(logits, peak) for logits in (special, *blocks))
    before = sums - (np.log(total) + peak).reshape(sums.shape)
    return before + special[:, EOS].reshape(sums.shape), *best_words(blocks, maxima, before, count)


def grouped_logits(x, weight) -> tuple[np.ndarray, np.ndarray]:
    """logits x W in blocks of 250 words, (blocks, R, n), and the largest of each group, (R, n): x (R, d), W (d, V).

    Group g holds the words g, n + g, 2n + g, ...: one from each block. Logits of -inf fill up the last block.
    """
    size = weight.shape[1]
    n = min(GROUPS, max(1, size))
    blocks = np.full((-(-size // n), len(x), n), -np.inf, x.dtype)
    maxima = np.full((len(x), n), -np.inf, x.dtype)
    for i, block in enumerate(blocks):
        part = weight[:, i * n:(i + 1) * n]
        np.matmul(x, part, out=block[:, :part.shape[1]])
        np.maximum(maxima, block, out=maxima)
    return blocks, maxima


@np.errstate(under="ignore")
def exponentials(logits, peak) -> np.ndarray:
    """The sum of exp(logits - peak) of each row, (R,): logits (R, n), peak (R,)."""
    z = logits - peak[:, None]
    return np.exp(z, out=z) @ np.ones(z.shape[1], z.dtype)


def best_words(blocks, maxima, before, count) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The `count` largest before + logits of each sentence: (sums, parents, token ids), each (B, count), the largest first.

    blocks, maxima: grouped_logits of B * width rows; before: (B, width). All of them are in the `count` groups with the
    largest maxima, so only these are searched.
    """
    batch, width = before.shape
    n = maxima.shape[1]
    bounds = maxima.reshape(batch, width, n) + before[:, :, None].astype(maxima.dtype)
    best, bounds = top_k(bounds.reshape(batch, -1), count)
    parents, groups = best // n, best % n                                             # (B, count)
    sentence = np.arange(batch)[:, None]
    sums = blocks[:, sentence * width + parents, groups] + before[sentence, parents]  # (blocks, B, count)
    sums = np.where(bounds > -np.inf, sums, -np.inf)                                  # each group counts once
    best, sums = top_k(np.moveaxis(sums, 0, 1).reshape(batch, -1), count)
    block, place = best // count, best % count
    return sums, parents[sentence, place], block * n + groups[sentence, place] + FIRST_WORD
