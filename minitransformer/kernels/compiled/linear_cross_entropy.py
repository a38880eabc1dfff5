"""The loss in blocks of rows: one pass turns the logits of a row into their gradient."""

import numpy as np

from minitransformer.backend import Array
from minitransformer.functional import linear_cross_entropy_forward
from minitransformer.functional.cross_entropy import check_targets
from minitransformer.kernels.exponential import exp, rank, ranked
from minitransformer.kernels.loops import loop
from minitransformer.kernels.numpy import linear_cross_entropy as in_numpy
from minitransformer.kernels.numpy.linear_cross_entropy import LinearCrossEntropyGradients
from minitransformer.replaceable import replaces


@replaces(linear_cross_entropy_forward, "numpy", "float32", "iu")
def linear_cross_entropy_forward_compiled(x, weight, targets, smoothing=0.0, *,
                                          padding) -> tuple[Array, LinearCrossEntropyGradients]:
    """As NumPy's kernel, whose backward is this one's, too: only what happens between the products is compiled."""
    if not weight.dtype == x.dtype == np.float32:
        return in_numpy.linear_cross_entropy_forward_blocked(x, weight, targets, smoothing, padding=padding)
    check_targets(targets, (*x.shape[:-1], len(weight)), smoothing, padding)
    size = len(weight)
    rows, ids = x.reshape(-1, x.shape[-1]), targets.reshape(-1).astype(np.int64)
    real = np.ones(len(ids), x.dtype) if padding is None else (ids != padding).astype(x.dtype)
    ones = np.ones(size, x.dtype)
    log_likelihood, log_mean, scale = np.empty_like(real), rows @ (ones @ weight / size), np.empty_like(real)
    dx, dweight = np.empty(rows.shape, x.dtype), np.zeros(weight.shape, x.dtype)
    step = max(64, in_numpy.BLOCK // size)
    for start in range(0, len(rows), step):
        n = slice(start, start + step)
        e = rows[n] @ weight.T
        exponentiate(e, ids[n], real[n], smoothing, log_likelihood[n], log_mean[n], scale[n])
        np.matmul(e, weight, out=dx[n])
        dx[n] *= scale[n, None]
        in_numpy.add_product(e.T, scale[n, None] * rows[n], dweight, start == 0)
    dx -= np.outer(real, smoothing / size * (ones @ weight))
    dweight -= smoothing / size * (real @ rows)
    log_likelihood *= real
    loss = -(1 - smoothing) * log_likelihood.sum() - smoothing * (log_mean @ real)
    return loss, LinearCrossEntropyGradients(dx.reshape(x.shape), dweight, log_likelihood.reshape(targets.shape))


@loop("matrix ids vector number vector vector vector")
def exponentiate(e, targets, real, smoothing, log_likelihood, log_mean, scale) -> None:
    """e: (N, V), the logits, become their gradient / scale, but for the term that all of a row share.

    targets, real, and what is written, log_likelihood, scale, and log_mean (the mean of the logits becomes that of the
    log-probabilities): (N,).
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
