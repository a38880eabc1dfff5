"""The loss in blocks of rows: the logits of a block become their gradient while they are in the
processor's cache.
"""

from typing import NamedTuple

import numpy as np

from minitransformer.backend import Array
from minitransformer.checks import check_dloss
from minitransformer.functional import linear_cross_entropy_backward, linear_cross_entropy_forward
from minitransformer.functional.cross_entropy import check_targets
from minitransformer.speed.exponential import exp, rank, ranked
from minitransformer.speed.loops import loop
from minitransformer.dispatch import textbook_of

BLOCK = 1 << 23  # logits in a block; smaller blocks make the products slower and the rest no faster


class LinearCrossEntropyGradients(NamedTuple):
    dx: Array  # (..., D) the gradients for dloss = 1
    dweight: Array  # (V, D)
    log_likelihood: Array  # (...)


@np.errstate(under="ignore")
def linear_cross_entropy_forward_compiled(
    x, weight, targets, smoothing=0.0, *, padding
) -> tuple[Array, LinearCrossEntropyGradients]:
    """With e = exp(logits - max) and r = 1 for a real token, else 0, dlogits_nv is

        r_n / sum_v(e_nv) e_nv - (1 - smoothing) r_n [v is the target] - smoothing / V r_n.

    The first factor scales the narrow matrices x and dx instead of the wide e, and the last term is
    the same for all v: both cost no pass over the logits.
    """
    if weight.dtype != x.dtype:
        return textbook_of(linear_cross_entropy_forward)(
            x, weight, targets, smoothing, padding=padding
        )
    check_targets(targets, (*x.shape[:-1], len(weight)), smoothing, padding)
    size = len(weight)
    rows, ids = x.reshape(-1, x.shape[-1]), targets.reshape(-1).astype(np.int64)
    real = np.ones(len(ids), x.dtype) if padding is None else (ids != padding).astype(x.dtype)
    ones = np.ones(size, x.dtype)
    log_likelihood, scale = np.empty_like(real), np.empty_like(real)
    log_mean = rows @ (ones @ weight / size)
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
    dx -= np.outer(real, smoothing / size * (ones @ weight))
    dweight -= smoothing / size * (real @ rows)
    log_likelihood *= real
    loss = -(1 - smoothing) * log_likelihood.sum() - smoothing * (log_mean @ real)
    return loss, LinearCrossEntropyGradients(
        dx.reshape(x.shape), dweight, log_likelihood.reshape(targets.shape)
    )


def linear_cross_entropy_backward_compiled(dloss, cache) -> tuple[Array, Array]:
    if not isinstance(cache, LinearCrossEntropyGradients):
        return textbook_of(linear_cross_entropy_backward)(dloss, cache)
    check_dloss(dloss)
    dloss = cache.dx.dtype.type(dloss)
    return cache.dx * dloss, cache.dweight * dloss


@loop("matrix ids vector number vector vector vector")
def exponentiate(e, targets, real, smoothing, log_likelihood, log_mean, scale) -> None:
    """e: (N, V), the logits, become their gradient / scale, except for the term that all of a row
    share.

    targets, real, and what is written, log_likelihood, scale, and log_mean (the mean of the logits
    becomes that of the log-probabilities): (N,).
    """
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
