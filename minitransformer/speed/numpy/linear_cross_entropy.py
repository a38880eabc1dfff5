"""The loss in blocks of rows: the logits of a block become their gradient while they are in the
processor's cache.
"""

from typing import NamedTuple

import numpy as np

from minitransformer.backend import Array
from minitransformer.checks import check_dloss
from minitransformer.functional import linear_cross_entropy_backward, linear_cross_entropy_forward
from minitransformer.functional.cross_entropy import check_targets
from minitransformer.dispatch import replaces, textbook_of

BLOCK = 1 << 23  # logits in a block; smaller blocks make the products slower and the rest no faster


class LinearCrossEntropyGradients(NamedTuple):
    dx: Array  # (..., D) the gradients for dloss = 1
    dweight: Array  # (V, D)
    log_likelihood: Array  # (...)


@replaces(linear_cross_entropy_forward, "numpy", "float32 float64", "iu")
def linear_cross_entropy_forward_blocked(
    x, weight, targets, smoothing=0.0, *, padding
) -> tuple[Array, LinearCrossEntropyGradients]:
    return in_blocks(exponentiate, x, weight, targets, smoothing, padding)


@np.errstate(under="ignore")
def in_blocks(
    exponentiate, x, weight, targets, smoothing, padding
) -> tuple[Array, LinearCrossEntropyGradients]:
    """With e = exp(logits - max) and r = 1 for a real token, else 0, dlogits_nv is

        r_n / sum_v(e_nv) e_nv - (1 - smoothing) r_n [v is the target] - smoothing / V r_n.

    The first factor scales the narrow matrices x and dx instead of the wide e, and the last term is
    the same for all v: both cost no pass over the logits. What happens between the products is
    `exponentiate`'s.
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
    log_likelihood, log_mean, scale = (
        np.empty_like(real),
        rows @ (ones @ weight / size),
        np.empty_like(real),
    )
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


def exponentiate(e, targets, real, smoothing, log_likelihood, log_mean, scale) -> None:
    """e: (N, V), the logits, become their gradient / scale, except for the term that all of a row
    share.

    targets, real, and what is written, log_likelihood, scale, and log_mean (the mean of the logits
    becomes that of the log-probabilities): (N,).
    """
    target = np.arange(len(e)), targets
    peak, at_target = e.max(axis=1), e[target]
    e -= peak[:, None]
    np.exp(e, out=e)
    total = e @ np.ones(e.shape[1], e.dtype)
    log_total = peak + np.log(total)
    log_likelihood[...] = at_target - log_total
    log_mean -= log_total
    e[target] -= (1 - smoothing) * total
    np.divide(real, total, out=scale)


@replaces(linear_cross_entropy_backward, "numpy", "float32 float64")
def linear_cross_entropy_backward_blocked(dloss, cache) -> tuple[Array, Array]:
    if not isinstance(cache, LinearCrossEntropyGradients):
        return textbook_of(linear_cross_entropy_backward)(dloss, cache)
    check_dloss(dloss)
    dloss = cache.dx.dtype.type(dloss)
    return cache.dx * dloss, cache.dweight * dloss
