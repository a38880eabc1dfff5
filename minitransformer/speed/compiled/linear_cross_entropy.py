"""The loss in blocks of rows: one pass turns the logits of a row into their gradient."""

import numpy as np

from minitransformer.backend import Array
from minitransformer.functional import linear_cross_entropy_forward
from minitransformer.speed.exponential import exp, rank, ranked
from minitransformer.speed.loops import loop
from minitransformer.speed.numpy.linear_cross_entropy import (
    LinearCrossEntropyGradients,
    in_blocks,
)
from minitransformer.dispatch import replaces


@replaces(linear_cross_entropy_forward, "numpy", "float32", "iu")
def linear_cross_entropy_forward_compiled(
    x, weight, targets, smoothing=0.0, *, padding
) -> tuple[Array, LinearCrossEntropyGradients]:
    """Like NumPy's kernel, whose backward it shares: only what happens between the products is
    compiled.
    """
    return in_blocks(exponentiate, x, weight, targets, smoothing, padding)


@loop("matrix ids vector number vector vector vector")
def exponentiate(e, targets, real, smoothing, log_likelihood, log_mean, scale) -> None:
    """As in NumPy's kernel."""
    number, size = e.dtype.type, e.shape[1]
    for n in range(len(e)):
        highest = rank(e[n, 0])
        for v in range(size):
            highest = max(highest, rank(e[n, v]))
        peak = ranked(highest)
        at_target = e[n, targets[n]]
        total = number(0)
        for v in range(size):
            e[n, v] = exp(e[n, v] - peak)
            total += e[n, v]
        log_total = peak + np.log(total)
        log_likelihood[n] = at_target - log_total
        log_mean[n] -= log_total
        e[n, targets[n]] -= number(1 - smoothing) * total
        scale[n] = real[n] / total
