"""The output projection and its loss, in blocks of rows: the logits of a block become their
gradient while they are in the processor's cache.
"""

from typing import Any, NamedTuple

import numpy as np

from minitransformer.backend import Array
from minitransformer.checks import check_dloss, check_floats
from minitransformer.dispatch import textbook_of
from minitransformer.functional.cross_entropy import check_targets
from minitransformer.layers.exactly import exactly
from minitransformer.layers.output_projection import LinearCrossEntropy, OutputProjection
from minitransformer.speed.exponential import exp, rank, ranked
from minitransformer.speed.loops import Ids, Matrix, Vector, loop

BLOCK = 1 << 23  # logits in a block; smaller blocks make the products slower and the rest no faster


class LossGradients(NamedTuple):
    dx: Array  # (..., D) the gradients for dloss = 1
    dweight: Array  # (V, D)
    log_likelihood: Array  # (...)


@np.errstate(under="ignore")
def loss_forward_compiled(
    self: LinearCrossEntropy,
    x: Array,
    output: OutputProjection,
    targets: Array,
    smoothing: float = 0.0,
    *,
    padding: int | None,
) -> tuple[Array, LossGradients]:
    """With e = exp(logits - max) and r = 1 for a real token, else 0, dlogits_nv is

        r_n / sum_v(e_nv) e_nv - (1 - smoothing) r_n [v is the target] - smoothing / V r_n.

    The first factor scales the narrow matrices x and dx instead of the wide e, and the last term is
    the same for all v: both cost no pass over the logits.
    """
    if not exactly(output, OutputProjection) or output.weight.data.dtype != x.dtype:
        return textbook_of(LinearCrossEntropy.forward)(
            self, x, output, targets, smoothing, padding=padding
        )
    weight = output.weight.data
    check_floats("OutputProjection: x", x, ..., weight.shape[1])
    check_targets(targets, (*x.shape[:-1], len(weight)), smoothing, padding)
    size = len(weight)
    rows, ids = x.reshape(-1, x.shape[-1]), targets.reshape(-1).astype(np.int64)
    real = np.ones(len(ids), x.dtype) if padding is None else (ids != padding).astype(x.dtype)
    log_likelihood, log_mean, scale = np.empty((3, len(ids)), x.dtype)
    dx, dweight = np.empty(rows.shape, x.dtype), np.zeros(weight.shape, x.dtype)
    step = max(64, BLOCK // size)
    for start in range(0, len(rows), step):
        n = slice(start, start + step)
        e = rows[n] @ weight.T
        exponentiate(e, ids[n], real[n], float(smoothing), log_likelihood[n], log_mean[n], scale[n])
        np.matmul(e, weight, out=dx[n])
        dx[n] *= scale[n, None]
        if start:
            dweight += e.T @ (scale[n, None] * rows[n])
        else:  # the first product, usually the only one, needs no array of its own
            np.matmul(e.T, scale[n, None] * rows[n], out=dweight)
    dx -= np.outer(real, smoothing / size * (np.ones(size, x.dtype) @ weight))
    dweight -= smoothing / size * (real @ rows)
    log_likelihood *= real
    loss = -(1 - smoothing) * log_likelihood.sum() - smoothing * (log_mean @ real)
    return loss, LossGradients(dx.reshape(x.shape), dweight, log_likelihood.reshape(targets.shape))


def loss_backward_compiled(
    self: LinearCrossEntropy, dloss: float | Array, output: OutputProjection, cache: Any
) -> Array:
    if not isinstance(cache, LossGradients):
        return textbook_of(LinearCrossEntropy.backward)(self, dloss, output, cache)
    check_dloss(dloss)
    dloss = cache.dx.dtype.type(dloss)
    output.weight.grad += cache.dweight * dloss
    return cache.dx * dloss


@loop
def exponentiate(
    e: Matrix,
    targets: Ids,
    real: Vector,
    smoothing: float,
    log_likelihood: Vector,
    log_mean: Vector,
    scale: Vector,
) -> None:
    """e: (N, V), the logits, become their gradient / scale, except for the term that all of a row
    share.

    targets, real, and what is written, log_likelihood, log_mean (the mean of the
    log-probabilities) and scale: (N,). From the logits, the largest is subtracted first: a number
    like 1e20 would swallow the logarithm of the sum.
    """
    number, size = e.dtype.type, e.shape[1]
    for n in range(len(e)):
        highest = rank(e[n, 0])
        for v in range(size):
            highest = max(highest, rank(e[n, v]))
        peak = ranked(highest)
        at_target = e[n, targets[n]] - peak
        below = number(0)  # the sum of the logits, below the largest
        if smoothing:
            for v in range(size):
                below += e[n, v] - peak
        total = number(0)
        for v in range(size):
            e[n, v] = exp(e[n, v] - peak)
            total += e[n, v]
        log_total = np.log(total)
        log_likelihood[n] = at_target - log_total
        log_mean[n] = below / number(size) - log_total
        e[n, targets[n]] -= number(1 - smoothing) * total
        scale[n] = real[n] / total
