"""Pooling: the mean over the real positions, or the first position alone."""

from collections.abc import Callable

import numpy as np

from minitransformer.backend import Array
from minitransformer.diagnosis.mistakes import mistake

for sentence, wrong in (
        ("padding gets a gradient: dy divided by the length goes to all positions, not to the real ones only",
         lambda self, dy, c: np.broadcast_to(dy[:, None, :] / c.share.shape[1], (*c.share.shape[:2], dy.shape[-1])).copy()),
        ("the mean is over the whole length T, padding included: divided by T, not by the number of real positions",
         lambda self, dy, c: dy[:, None, :] * (c.share > 0) / c.share.shape[1]),
        ("the division by the number of real positions is missing (a sum, not a mean)",
         lambda self, dy, c: dy[:, None, :] * (c.share > 0)),
        ("the division by the number of positions is missing, and padding gets a gradient: dy goes to every position",
         lambda self, dy, c: np.repeat(dy[:, None, :], c.share.shape[1], axis=1)),
        ("the division by the number of real positions is applied twice (squared)",
         lambda self, dy, c: dy[:, None, :] * c.share ** 2),
        ("the mask of real positions is ignored: padding gets a gradient too, with the right divisor",
         lambda self, dy, c: np.repeat(dy[:, None, :] * c.share.max(axis=1, keepdims=True), c.share.shape[1], axis=1)),
        ("the division is by all real positions of the batch, not by those of each sentence",
         lambda self, dy, c: dy[:, None, :] * (c.share > 0) / (c.share > 0).sum()),
        ("only the first position gets the gradient",
         lambda self, dy, c: dy[:, None, :] * c.share * (np.arange(c.share.shape[1]) == 0)[:, None]),
        ("the mask of real positions is inverted: only padding gets a gradient",
         lambda self, dy, c: dy[:, None, :] * (c.share == 0) * c.share.max(axis=1, keepdims=True))):
    mistake("MeanOverTokens", sentence)(wrong)


def placed(at, share=lambda length: 1.0) -> Callable:
    def wrong(self, dy, cache) -> Array:
        dx = np.zeros(cache.shape)
        dx[:, at] = dy[:, None, :] * share(cache.shape[1]) if isinstance(at, slice) else dy
        return dx
    return wrong


for sentence, wrong in (
        ("every position gets the gradient dy, not only the first", placed(slice(None))),
        ("dy is spread over all positions (divided by the length), as for a mean: only the first position was used",
         placed(slice(None), lambda length: 1 / length)),
        ("the gradient goes to the last position, not to the first", placed(-1)),
        ("the gradient goes to the second position, not to the first (off by one)", placed(1))):
    mistake("FirstToken", sentence)(wrong)
