"""The most likely continuations: a row of logits stays in the processor's cache until everything is
known about it.
"""

import numpy as np

from minitransformer.backend import Array
from minitransformer.data.special import EOS
from minitransformer.decoding.continuations import (
    FIRST_WORD,
    SEARCHES,
    OutputLayer,
    OutputWeight,
    continuations,
)
from minitransformer.dispatch import textbook_of
from minitransformer.speed.exponential import exp, rank, ranked
from minitransformer.speed.loops import FEW, Doubles, IdMatrix, Matrix, Vector, loop, packed

BLOCK = 64  # logits whose largest decides whether the search looks at them
LEAST = np.int32(-(2**31))  # below the rank of any number


def continuations_compiled(
    x: Array, weight: OutputWeight | OutputLayer, sums: Array, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    if (
        weight.weight is None
        or weight.weight.dtype != x.dtype
        or sums.dtype != float
        or count > SEARCHES
    ):
        return textbook_of(continuations)(x, weight, sums, count)
    batch, width, d_model = x.shape
    rows = packed(x, batch * width, d_model)
    if len(rows) > FEW:
        logits = rows @ weight.transposed
    else:
        logits = np.empty((len(rows), len(weight.weight)), x.dtype)
        project(rows, packed(weight.weight, *weight.weight.shape), logits)
    ends, totals = np.empty((batch, width)), np.full((batch, count), -np.inf)
    parents, ids = np.zeros((batch, count), int), np.full((batch, count), FIRST_WORD)
    choose(logits, packed(sums, batch, width), ends, totals, parents, ids)
    return ends, totals, parents, ids


def log_normaliser_compiled(logits: Array) -> Array:
    found = np.empty(len(logits), logits.dtype)
    normalise_rows(packed(logits, *logits.shape), found)
    return found


@loop
def project(x: Matrix, weight: Matrix, logits: Matrix) -> None:
    """logits = x W^T: x (R, d), W (V, d), logits (R, V). Each row of W is fetched from memory once."""
    number = x.dtype.type
    for token in range(len(weight)):
        for row in range(len(x)):
            total = number(0)
            for i in range(x.shape[1]):
                total += x[row, i] * weight[token, i]
            logits[row, token] = total


@loop
def choose(
    logits: Matrix, sums: Doubles, ends: Doubles, totals: Doubles, parents: IdMatrix, ids: IdMatrix
) -> None:
    """logits: (B width, V); sums, ends: (B, width); totals, parents, ids: (B, count), and all
    totals are -inf at first.

    Writes all but the logits and sums. What is likelier than the least of a sentence's `count`
    takes its place among them.
    """
    batch, width = sums.shape
    size, last = logits.shape[1], totals.shape[1] - 1
    peaks = np.empty(-(-size // BLOCK), logits.dtype)
    for sentence in range(batch):
        for parent in range(width):
            row = logits[sentence * width + parent]
            before = sums[sentence, parent] - normaliser(row, peaks)
            ends[sentence, parent] = before + row[EOS]
            for block in range(len(peaks)):
                if before + peaks[block] > totals[sentence, last]:
                    for token in range(
                        max(block * BLOCK, FIRST_WORD), min((block + 1) * BLOCK, size)
                    ):
                        if before + row[token] > totals[sentence, last]:
                            place = last
                            while place > 0 and before + row[token] > totals[sentence, place - 1]:
                                totals[sentence, place] = totals[sentence, place - 1]
                                parents[sentence, place] = parents[sentence, place - 1]
                                ids[sentence, place] = ids[sentence, place - 1]
                                place -= 1
                            totals[sentence, place] = before + row[token]
                            parents[sentence, place], ids[sentence, place] = parent, token


@loop
def normalise_rows(logits: Matrix, found: Vector) -> None:
    """logits: (R, V), found: (R,). Writes found."""
    peaks = np.empty(-(-logits.shape[1] // BLOCK), logits.dtype)
    for row in range(len(logits)):
        found[row] = normaliser(logits[row], peaks)


@loop
def normaliser(logits: Vector, peaks: Vector) -> np.float32:
    """log(sum(exp(logits))): logits (V,). Writes peaks, the largest of each block of logits."""
    highest = LEAST
    for block in range(len(peaks)):
        part = logits[block * BLOCK : (block + 1) * BLOCK]
        largest = LEAST
        for i in range(len(part)):
            largest = max(largest, rank(part[i]))
        peaks[block] = ranked(largest)
        highest = max(highest, largest)
    peak, total = ranked(highest), logits.dtype.type(0)
    for i in range(len(logits)):
        total += exp(logits[i] - peak)
    return np.log(total) + peak
