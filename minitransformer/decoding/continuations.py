"""The most likely continuations of a sentence's hypotheses."""

from functools import cached_property

import numpy as np

from minitransformer.backend import Array, module_of, to_device, to_host
from minitransformer.dispatch import replaceable
from minitransformer.data.special import EOS, SPECIAL
from minitransformer.layers.exactly import exactly
from minitransformer.layers.layer import Layer
from minitransformer.layers.output_projection import OutputProjection

FIRST_WORD = len(SPECIAL)  # the tokens before it are PAD, BOS and EOS
SEARCHES = 30  # for more of the largest, sorting is faster than as many searches


class OutputWeight:
    """The weight W (V, d_model) of the logits x W^T, during one search."""

    def __init__(self, weight: Array):
        self.weight = weight

    @cached_property
    def transposed(self) -> Array:
        """(d_model, V), row by row in memory: with few x, the product takes a third of the time, so
        copying it once pays.
        """
        return module_of(self.weight).ascontiguousarray(self.weight.T)

    def tokens(self, x: Array) -> int:
        """V."""
        return len(self.weight)

    def logits(self, x: Array) -> Array:
        """(B width, V), of x (B, width, d_model)."""
        return x.reshape(-1, x.shape[2]) @ self.transposed


class OutputLayer:
    """Any other layer from hidden states to logits, in the place of an OutputWeight."""

    weight = None

    def __init__(self, output: Layer):
        self._output = output
        self._tokens: int | None = None

    def tokens(self, x: Array) -> int:
        if self._tokens is None:
            self._tokens = self.logits(x[:1, :1]).shape[1]
        return self._tokens

    def logits(self, x: Array) -> Array:
        logits, _ = self._output.forward(x)
        return logits.reshape(-1, logits.shape[2])


def weight_of(output: Layer) -> OutputWeight | OutputLayer:
    """What computes the logits of a state's `output`."""
    if exactly(output, OutputProjection):
        return OutputWeight(output.weight.data)
    return OutputLayer(output)


@replaceable
def continuations(
    x: Array, weight: OutputWeight | OutputLayer, sums: Array, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """What may follow the hypotheses with hidden states x (B, width, d_model) and summed
    log-probabilities `sums` (B, width).

    weight: made by `weight_of`. Returns the sums with EOS, (B, width), and, for the `count` most likely
    continuations of each sentence by a word, their sums, parents and token ids, each (B, count),
    the most likely first. If there are fewer words, the rest are sums of -inf.
    """
    xp, (batch, width, _) = module_of(x), x.shape
    logits = weight.logits(x)
    before = to_device(sums, xp).reshape(-1) - log_normaliser(logits)
    totals = (before[:, None] + logits).reshape(batch, width, -1)
    words = totals[:, :, FIRST_WORD:]
    places, best = top_k(words.reshape(batch, -1), count)
    size = max(1, words.shape[2])
    found = xp.concatenate(
        [totals[:, :, EOS], best, places // size, places % size + FIRST_WORD], axis=1
    )
    # the host waits for a GPU once
    ends, best, parents, ids = np.split(to_host(found), width + count * np.arange(3), axis=1)
    return ends, best, parents.astype(int), ids.astype(int)


@replaceable
def log_normaliser(logits: Array) -> Array:
    """log(sum(exp(logits))) of each row, (R,): logits (R, V)."""
    xp = module_of(logits)
    peak = logits.max(axis=1)
    z = logits - peak[:, None]
    with np.errstate(under="ignore"):
        total = xp.exp(z, out=z) @ xp.ones(z.shape[1], z.dtype)
    return xp.log(total) + peak


def top_k(x: Array, count: int) -> tuple[Array, Array]:
    """(places, values) of the `count` largest in each row of x (R, N), each (R, count), the largest
    first; changes x.

    Equal values are in the order of their places. If there are fewer than `count`, the rest are
    places 0 with -inf. A few searches are faster here than sorting or partitioning.
    """
    xp, size = module_of(x), x.shape[1]
    if count > min(SEARCHES, size):
        places = xp.argsort(-x, axis=1, kind="stable")[:, :count]
        missing = ((0, 0), (0, max(0, count - size)))
        values = xp.take_along_axis(x, places, axis=1)
        return xp.pad(places, missing), xp.pad(values, missing, constant_values=-xp.inf)
    rows = xp.arange(len(x))
    places, values = [], []
    for _ in range(count):
        places.append(x.argmax(axis=1))
        values.append(x[rows, places[-1]])
        x[rows, places[-1]] = -xp.inf
    return xp.stack(places, axis=1), xp.stack(values, axis=1)
