"""Mistakes in cross-entropy, alone and with the pre-softmax linear. No model of blocks() ends in its loss: in_model is empty."""

import math

import numpy as np

from minitransformer.functional import cross_entropy_backward
from minitransformer.functional.cross_entropy import CrossEntropyCache
from tests.diagnosis.mistakes.mistake import Mistake
from tests.diagnosis.mistakes.words import AVERAGED, IN_PLACE, MISSING, RAISES, SIGN


def _q(cache, on, off):
    """Rows with `on` added to `off` at the target."""
    p, targets = cache.p, cache.targets.reshape(-1)
    q = np.full((targets.size, p.shape[-1]), off)
    q[np.arange(targets.size), targets] += on
    return q.reshape(p.shape)


def smoothing_forgotten(dloss, cache):
    return (cache.p - _q(cache, 1, 0.0)) * cache.real[..., None] * dloss


def smoothing_by_one_less(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    return (cache.p - _q(cache, 1 - s, s / (size - 1))) * cache.real[..., None] * dloss


def target_keeps_all(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    return (cache.p - _q(cache, 1, s / size)) * cache.real[..., None] * dloss


def padding_counted(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    return (cache.p - _q(cache, 1 - s, s / size)) * dloss


def padded_target_only(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    return (cache.p - _q(cache, 1 - s, s / size) * cache.real[..., None]) * dloss


def divided_by_batch(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    return (cache.p - _q(cache, 1 - s, s / size)) * cache.real[..., None] * dloss / len(cache.p)


def target_added(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    return (cache.p + _q(cache, 1 - s, s / size)) * cache.real[..., None] * dloss


def targets_shifted(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    shifted = cache._replace(targets=np.roll(cache.targets, -1, axis=-1))
    return (cache.p - _q(shifted, 1 - s, s / size)) * cache.real[..., None] * dloss


def class_off_by_one(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    shifted = cache._replace(targets=np.maximum(cache.targets - 1, 0))
    return (cache.p - _q(shifted, 1 - s, s / size)) * cache.real[..., None] * dloss


def likeliest_for_target(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    guessed = cache._replace(targets=cache.p.argmax(axis=-1))
    return (cache.p - _q(guessed, 1 - s, s / size)) * cache.real[..., None] * dloss


def without_softmax(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    return -_q(cache, 1 - s, s / size) / cache.p * cache.real[..., None] * dloss


def cache_overwritten(dloss, cache):
    rows = cache.p.reshape(-1, cache.p.shape[-1])
    rows -= cache.smoothing / rows.shape[-1]
    rows[np.arange(len(rows)), cache.targets.reshape(-1)] -= 1 - cache.smoothing
    rows *= cache.real.reshape(-1, 1) * dloss
    return rows.reshape(cache.p.shape)


def last_row_only(dloss, cache):
    d = cross_entropy_backward.replaceable.textbook(dloss, cache)
    d[:, :-1] = 0
    return d


def _forward(logits, targets, smoothing, real, spread=None):
    """The loss with a weight for each row; spread: of the smoothing over the classes."""
    shifted = logits - logits.real.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    log_target = np.take_along_axis(log_p, targets[..., None], axis=-1)[..., 0]
    mean = log_p.sum(axis=-1) / (spread or logits.shape[-1])
    loss = -((1 - smoothing) * log_target * real + smoothing * mean * real).sum()
    return loss, np.exp(log_p), log_target * real


def forward_without_smoothing(logits, targets, smoothing=0.0, *, padding):
    real = targets != padding
    loss, p, likelihood = _forward(logits, targets, 0.0, real)
    return loss, CrossEntropyCache(p, targets, real, smoothing, real.sum(), likelihood)


def forward_in_bits(logits, targets, smoothing=0.0, *, padding):
    real = targets != padding
    loss, p, likelihood = _forward(logits, targets, smoothing, real)
    return loss / math.log(2), CrossEntropyCache(p, targets, real, smoothing, real.sum(), likelihood)


def linear_dx_scaled(dloss, cache):
    x, weight, loss, _ = cache
    dlogits = cross_entropy_backward(dloss, loss).reshape(-1, len(weight))
    return (dlogits @ weight).reshape(x.shape) / math.sqrt(x.shape[-1]), dlogits.T @ x.reshape(-1, x.shape[-1])


def linear_weight_divided_by_count(dloss, cache):
    x, weight, loss, _ = cache
    dlogits = cross_entropy_backward(dloss, loss).reshape(-1, len(weight))
    return (dlogits @ weight).reshape(x.shape), dlogits.T @ x.reshape(-1, x.shape[-1]) / loss.count


def linear_weight_mean_over_rows(dloss, cache):
    x, weight, loss, _ = cache
    dlogits = cross_entropy_backward(dloss, loss).reshape(-1, len(weight))
    return (dlogits @ weight).reshape(x.shape), dlogits.T @ x.reshape(-1, x.shape[-1]) / len(dlogits)


def linear_dloss_for_weight_only(dloss, cache):
    x, weight, loss, _ = cache
    dlogits = cross_entropy_backward(1.0, loss).reshape(-1, len(weight))
    return (dlogits @ weight).reshape(x.shape), dloss * (dlogits.T @ x.reshape(-1, x.shape[-1]))


def linear_rows_for_dx(dloss, cache):
    x, weight, loss, _ = cache
    dlogits = cross_entropy_backward(dloss, loss).reshape(-1, len(weight))
    return dlogits @ weight, dlogits.T @ x.reshape(-1, x.shape[-1])


SMOOTHING = ("smooth", "s / V", "s/V")
TOKENS = ("count", "token", "real", "targets", "number of", "mean", "averag", "length", "rows")


def _loss(name, wrong, *says, **more):
    return Mistake("cross-entropy-" + name, "cross_entropy_backward", wrong, "cross-entropy", says, in_model="", **more)


def _forward_loss(name, wrong, *says, **more):
    return Mistake("cross-entropy-forward-" + name, "cross_entropy_forward", wrong, "cross-entropy", says, in_model="", **more)


def _linear(name, wrong, *says, **more):
    return Mistake("linear-cross-entropy-" + name, "linear_cross_entropy_backward", wrong, "linear-cross-entropy", says, in_model="", **more)


MISTAKES = [
    _loss("smoothing-forgotten", smoothing_forgotten, SMOOTHING, MISSING),
    _loss("smoothing-by-one-less", smoothing_by_one_less, ("V - 1", "V-1", "other classes", "others", "except the target")),
    _loss("target-keeps-all", target_keeps_all, ("smooth", "1 - s", "1 - smoothing"), ("target", "1 - s")),
    _loss("padding-counted", padding_counted, ("pad",)),
    _loss("padded-target-only", padded_target_only, ("pad",)),
    _loss("divided-by-batch", divided_by_batch, AVERAGED, ("batch",)),
    _loss("target-added", target_added, (*SIGN, "added", "subtract", "p + q"), ("- q", "target", "p + q", "sign")),
    _loss("targets-shifted", targets_shifted, ("off by one", "shift", "wrong target", "next", "neighbour", "other target", "other position",
          "wrong position", "wrong class", "target")),
    _loss("class-off-by-one", class_off_by_one, ("off by one", "shift", "wrong target", "next", "neighbour", "other target", "class - 1",
          "wrong class", "wrong entry", "wrong column")),
    _loss("likeliest-for-target", likeliest_for_target, ("argmax", "likel", "largest", "maximum", "wrong target", "wrong class", "predict", "target"),
          comment="kin of numpy-transformer's one-hot, which compares with the largest logit"),
    _loss("without-softmax", without_softmax, ("softmax", "q / p", "1 / p", "divided by p")),
    _loss("cache-overwritten", cache_overwritten, ("cache", "second", "again", *IN_PLACE), comment="right the first time"),
    _loss("last-row-only", last_row_only, ("position", "last", "row", "step", "sequence")),
    _forward_loss("without-smoothing", forward_without_smoothing, SMOOTHING),
    _forward_loss("in-bits", forward_in_bits, ("factor", "log", "times", "multipl", "constant", "scale")),
    _linear("dx-scaled", linear_dx_scaled, ("dx", "gradient of x"), ("sqrt", "scal", "factor", "√", "times")),
    _linear("weight-divided-by-count", linear_weight_divided_by_count, ("weight", "dW"), (*AVERAGED, "factor"), TOKENS),
    _linear("weight-mean-over-rows", linear_weight_mean_over_rows, ("weight", "dW"), AVERAGED),
    _linear("dloss-for-weight-only", linear_dloss_for_weight_only, ("dx", "gradient of x"), ("dloss",)),
    _linear("rows-for-dx", linear_rows_for_dx, ("shape", *RAISES)),
]
