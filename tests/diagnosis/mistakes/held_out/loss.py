"""Mistakes in cross-entropy, alone and with the pre-softmax linear. No model of blocks() ends in its loss: in_model is empty."""

import math

import numpy as np

from minitransformer.functional import cross_entropy_backward
from minitransformer.functional.cross_entropy import CrossEntropyCache
from tests.diagnosis.mistakes import makers, right
from tests.diagnosis.mistakes.words import AVERAGED, IN_PLACE, MISSING, RAISES, SIGN, SMOOTHING, TOKENS


def smoothing_forgotten(dloss, cache):
    return (cache.p - right.targets_distribution(cache, 1, 0.0)) * cache.real[..., None] * dloss


def smoothing_by_one_less(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    return (cache.p - right.targets_distribution(cache, 1 - s, s / (size - 1))) * cache.real[..., None] * dloss


def target_keeps_all(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    return (cache.p - right.targets_distribution(cache, 1, s / size)) * cache.real[..., None] * dloss


def padding_counted(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    return (cache.p - right.targets_distribution(cache, 1 - s, s / size)) * dloss


def padded_target_only(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    return (cache.p - right.targets_distribution(cache, 1 - s, s / size) * cache.real[..., None]) * dloss


def divided_by_batch(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    return (cache.p - right.targets_distribution(cache, 1 - s, s / size)) * cache.real[..., None] * dloss / len(cache.p)


def target_added(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    return (cache.p + right.targets_distribution(cache, 1 - s, s / size)) * cache.real[..., None] * dloss


def targets_shifted(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    shifted = cache._replace(targets=np.roll(cache.targets, -1, axis=-1))
    return (cache.p - right.targets_distribution(shifted, 1 - s, s / size)) * cache.real[..., None] * dloss


def class_off_by_one(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    shifted = cache._replace(targets=np.maximum(cache.targets - 1, 0))
    return (cache.p - right.targets_distribution(shifted, 1 - s, s / size)) * cache.real[..., None] * dloss


def likeliest_for_target(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    guessed = cache._replace(targets=cache.p.argmax(axis=-1))
    return (cache.p - right.targets_distribution(guessed, 1 - s, s / size)) * cache.real[..., None] * dloss


def without_softmax(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    return -right.targets_distribution(cache, 1 - s, s / size) / cache.p * cache.real[..., None] * dloss


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


def forward_without_smoothing(logits, targets, smoothing=0.0, *, padding):
    real = targets != padding
    loss, p, likelihood = right.loss_parts(logits, targets, 0.0, real)
    return loss, CrossEntropyCache(p, targets, real, smoothing, real.sum(), likelihood)


def forward_in_bits(logits, targets, smoothing=0.0, *, padding):
    real = targets != padding
    loss, p, likelihood = right.loss_parts(logits, targets, smoothing, real)
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


MISTAKES = [
    makers.loss("smoothing-forgotten", smoothing_forgotten, SMOOTHING, MISSING),
    makers.loss("smoothing-by-one-less", smoothing_by_one_less, ("V - 1", "V-1", "other classes", "others", "except the target")),
    makers.loss("target-keeps-all", target_keeps_all, ("smooth", "1 - s", "1 - smoothing"), ("target", "1 - s")),
    makers.loss("padding-counted", padding_counted, ("pad",)),
    makers.loss("padded-target-only", padded_target_only, ("pad",)),
    makers.loss("divided-by-batch", divided_by_batch, AVERAGED, ("batch",)),
    makers.loss("target-added", target_added, (*SIGN, "added", "subtract", "p + q"), ("- q", "target", "p + q", "sign")),
    makers.loss("targets-shifted", targets_shifted, ("off by one", "shift", "wrong target", "next", "neighbour", "other target", "other position",
          "wrong position", "wrong class", "target")),
    makers.loss("class-off-by-one", class_off_by_one, ("off by one", "shift", "wrong target", "next", "neighbour", "other target", "class - 1",
          "wrong class", "wrong entry", "wrong column")),
    makers.loss("likeliest-for-target", likeliest_for_target, ("argmax", "likel", "largest", "maximum", "wrong target", "wrong class", "predict", "target"),
          comment="kin of numpy-transformer's one-hot, which compares with the largest logit"),
    makers.loss("without-softmax", without_softmax, ("softmax", "q / p", "1 / p", "divided by p")),
    makers.loss("cache-overwritten", cache_overwritten, ("cache", "second", "again", *IN_PLACE), comment="right the first time"),
    makers.loss("last-row-only", last_row_only, ("position", "last", "row", "step", "sequence")),
    makers.forward_loss("without-smoothing", forward_without_smoothing, SMOOTHING),
    makers.forward_loss("in-bits", forward_in_bits, ("factor", "log", "times", "multipl", "constant", "scale")),
    makers.linear_loss("dx-scaled", linear_dx_scaled, ("dx", "gradient of x"), ("sqrt", "scal", "factor", "√", "times")),
    makers.linear_loss("weight-divided-by-count", linear_weight_divided_by_count, ("weight", "dW"), (*AVERAGED, "factor"), TOKENS),
    makers.linear_loss("weight-mean-over-rows", linear_weight_mean_over_rows, ("weight", "dW"), AVERAGED),
    makers.linear_loss("dloss-for-weight-only", linear_dloss_for_weight_only, ("dx", "gradient of x"), ("dloss",)),
    makers.linear_loss("rows-for-dx", linear_rows_for_dx, ("shape", *RAISES)),
]
