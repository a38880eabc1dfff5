"""Linear: dx = dy W^T. Embedding: a sum over repeated ids. Most of their mistakes are those of the course's exercises."""

import math
from collections.abc import Callable

import numpy as np

from minitransformer.diagnosis.mistakes import mistake, teach

teach("Linear", {
    "missing transpose: dx = dy W, not dy W^T": ("weight.data.T", "weight.data"),
    "missing transpose: the gradient of the weight is dy^T x, the transpose of x^T dy": ("rows.T @ drows", "drows.T @ rows")})


def embedding(rows) -> Callable:
    """A backward of Embedding that adds rows(ids, dy, number of rows) in the place of the ids' own."""
    def wrong(self, dy, cache) -> None:
        table = np.zeros(self.weight.shape)
        np.add.at(table, rows(cache.ids, len(table)), dy.reshape(-1, table.shape[1]))
        self.weight.grad += math.sqrt(table.shape[1]) * table
    return wrong


def without(which) -> Callable:
    """A backward of Embedding in which a row gets no gradient."""
    def wrong(self, dy, cache) -> None:
        before = self.weight.grad[which].copy()
        embedding(lambda ids, size: ids.ravel())(self, dy, cache)
        self.weight.grad[which] = before
    return wrong


for sentence, wrong in (
        ("the ids are transposed: each gradient goes to the row of another place's token (the wrong order of positions and batch)",
         embedding(lambda ids, size: ids.T.ravel())),
        ("the ids are sorted, but the gradients are not: each gradient goes to the row of another token (the wrong order)",
         embedding(lambda ids, size: np.sort(ids.ravel()))),
        ("the ids are reversed: each gradient goes to the row of another position's token (the wrong order)",
         embedding(lambda ids, size: ids[..., ::-1].ravel())),
        ("the row of the padding id 0 gets no gradient, although the padding was embedded in forward", without(0)),
        ("the row of the last id gets no gradient", without(-1)),
        ("the ids are off by one: each gradient goes to the row after its token's (shifted)",
         embedding(lambda ids, size: (ids.ravel() + 1) % size)),
        ("the ids are off by one: each gradient goes to the row before its token's (shifted)",
         embedding(lambda ids, size: (ids.ravel() - 1) % size))):
    mistake("Embedding", sentence)(wrong)
