"""Positions: dx = dy, and for learned ones dW[t] = sum over the batch of dy[b, t]."""

import math
from collections.abc import Callable

import numpy as np

from minitransformer.backend import Array
from minitransformer.diagnosis.mistakes import mistake
from minitransformer.functional import sinusoids


def learned(rows, dx=lambda dy, table: dy) -> Callable:
    """A backward that adds rows(dy, table of zeros, W) and returns dx(dy, W)."""
    def wrong(self, dy, cache) -> Array:
        self.weight.grad += rows(dy, np.zeros(self.weight.shape), self.weight.data)
        return dx(dy, self.weight.data[:cache.length])
    return wrong


def right(dy, table, weight) -> Array:
    table[:dy.shape[1]] = dy.sum(axis=0)
    return table


def placed(pick, at=lambda length, size: slice(0, length)) -> Callable:
    def rows(dy, table, weight) -> Array:
        table[at(dy.shape[1], len(table))] = pick(dy)
        return table
    return rows


for sentence, wrong in (
        ("the positions' gradient goes to the last rows of the table, not to the first",
         learned(placed(lambda dy: dy.sum(axis=0), lambda length, size: slice(size - length, size)))),
        ("every position gets the sum over all positions: the gradient is summed over the length (time) too, not only "
         "over the batch",
         learned(placed(lambda dy: dy.sum(axis=(0, 1))))),
        ("all rows of the table get the gradient summed over all positions, not only those that were used",
         learned(placed(lambda dy: dy.sum(axis=(0, 1)), lambda length, size: slice(None)))),
        ("the positions' gradient is multiplied by sqrt(d_model), which belongs to the embedding only",
         learned(lambda dy, table, w: math.sqrt(dy.shape[-1]) * right(dy, table, w))),
        ("the positions' gradient is reversed in time: that of the last position goes to the first row",
         learned(placed(lambda dy: dy.sum(axis=0)[::-1]))),
        ("dx is multiplied by the position's vector: the positions are added, not multiplied",
         learned(right, lambda dy, w: dy * w)),
        ("the position's vector is added to dx: dx is dy alone", learned(right, lambda dy, w: dy + w))):
    mistake("LearnedPositions", sentence)(wrong)


def sinusoidal(dx) -> Callable:
    """A backward with this dx(dy, table of sinusoids)."""
    return lambda self, dy, cache: dx(dy, sinusoids(cache.length, dy.shape[-1]))


for sentence, dx in (
        ("dx is multiplied by the table of sinusoids: the positions are added, not multiplied, so dx = dy", lambda dy, t: dy * t),
        ("the table of sinusoids is added to dx: a constant has no gradient, so dx = dy", lambda dy, t: dy + t),
        ("the table of sinusoids is subtracted from dx: a constant has no gradient, so dx = dy", lambda dy, t: dy - t),
        ("dx is multiplied by sqrt(d_model), which belongs to the embedding: dx = dy",
         lambda dy, t: dy * math.sqrt(dy.shape[-1]))):
    mistake("SinusoidalPositions", sentence)(sinusoidal(dx))
