"""Mistakes in cross-entropy, alone and with the pre-softmax linear. No model of blocks() ends in its loss: in_model is empty."""

import math

import numpy as np

from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes.right import (
    changed, cross_entropy_backward, cross_entropy_forward, distribution, fused, given, loss, loss_forward, rows)
from tests.course.doctor.mistakes.words import AVERAGED, IN_PLACE, MISSING, RAISES, SIGN, SMOOTHING, TOKENS

smoothing_forgotten = loss(on=lambda s, size: 1, off=lambda s, size: 0)
target_keeps_all = loss(on=lambda s, size: 1)
padding_counted = given(cross_entropy_backward, lambda dloss, cache: (dloss, cache._replace(real=np.ones_like(cache.real))))
padded_target_only = lambda dloss, cache: (cache.p - distribution(cache) * cache.real[..., None]) * dloss
divided_by_batch = changed(cross_entropy_backward, lambda d, dloss, cache: d / len(cache.p))
targets_shifted = given(cross_entropy_backward, lambda dloss, cache: (
    dloss, cache._replace(targets=np.roll(cache.targets, -1, axis=-1))))
class_off_by_one = given(cross_entropy_backward, lambda dloss, cache: (
    dloss, cache._replace(targets=np.maximum(cache.targets - 1, 0))))
likeliest_for_target = given(cross_entropy_backward, lambda dloss, cache: (dloss, cache._replace(targets=cache.p.argmax(axis=-1))))
without_softmax = loss(lambda p, q: -q / p)


def cache_overwritten(dloss, cache):
    cache.p[...] = cross_entropy_backward(dloss, cache)
    return cache.p


def last_row_only(dloss, cache):
    d = cross_entropy_backward(dloss, cache)
    d[:, :-1] = 0
    return d


forward_without_smoothing = loss_forward(lambda target, log_p, real, s: target * real)
forward_in_bits = changed(cross_entropy_forward, lambda loss, cache, *_: (loss / math.log(2), cache))

linear_weight_divided_by_count = changed(fused(), lambda dx, dweight, dloss, cache: (dx, dweight / cache.loss.count))
linear_weight_mean_over_rows = fused(weight=lambda d, x: d.T @ x / len(d))
linear_dloss_for_weight_only = changed(given(fused(), lambda dloss, cache: (1.0, cache)),
                                       lambda dx, dweight, dloss, cache: (dx, dloss * dweight))
linear_rows_for_dx = changed(fused(), lambda dx, dweight, *_: (rows(dx), dweight))

MISTAKES = [
    makers.loss("cross-entropy-smoothing-forgotten", smoothing_forgotten, SMOOTHING, MISSING),
    makers.loss("cross-entropy-smoothing-by-one-less", loss(off=lambda s, size: s / (size - 1)),
            ("V - 1", "V-1", "other classes", "others", "except the target")),
    makers.loss("cross-entropy-target-keeps-all", target_keeps_all, ("smooth", "1 - s", "1 - smoothing"), ("target", "1 - s")),
    makers.loss("cross-entropy-padding-counted", padding_counted, ("pad",)),
    makers.loss("cross-entropy-padded-target-only", padded_target_only, ("pad",)),
    makers.loss("cross-entropy-divided-by-batch", divided_by_batch, AVERAGED, ("batch",)),
    makers.loss("cross-entropy-target-added", loss(lambda p, q: p + q), (*SIGN, "added", "subtract", "p + q"),
            ("- q", "target", "p + q", "sign")),
    makers.loss("cross-entropy-targets-shifted", targets_shifted,
            ("off by one", "shift", "wrong target", "next", "neighbour", "other target", "other position", "wrong position", "wrong class", "target")),
    makers.loss("cross-entropy-class-off-by-one", class_off_by_one,
            ("off by one", "shift", "wrong target", "next", "neighbour", "other target", "class - 1", "wrong class", "wrong entry", "wrong column")),
    makers.loss("cross-entropy-likeliest-for-target", likeliest_for_target,
            ("argmax", "likel", "largest", "maximum", "wrong target", "wrong class", "predict", "target"),
            comment="kin of numpy-transformer's one-hot, which compares with the largest logit"),
    makers.loss("cross-entropy-without-softmax", without_softmax, ("softmax", "q / p", "1 / p", "divided by p")),
    makers.loss("cross-entropy-cache-overwritten", cache_overwritten, ("cache", "second", "again", *IN_PLACE),
            comment="right the first time"),
    makers.loss("cross-entropy-last-row-only", last_row_only, ("position", "last", "row", "step", "sequence")),
    makers.loss_forward("cross-entropy-forward-without-smoothing", forward_without_smoothing, SMOOTHING),
    makers.loss_forward("cross-entropy-forward-in-bits", forward_in_bits,
            ("factor", "log", "times", "multipl", "constant", "scale")),
    makers.fused("linear-cross-entropy-dx-scaled", fused(dx=lambda d, W: d @ W / math.sqrt(W.shape[1])), ("dx", "gradient of x"),
            ("sqrt", "scal", "factor", "√", "times")),
    makers.fused("linear-cross-entropy-weight-divided-by-count", linear_weight_divided_by_count, ("weight", "dW"),
            (*AVERAGED, "factor"), TOKENS),
    makers.fused("linear-cross-entropy-weight-mean-over-rows", linear_weight_mean_over_rows, ("weight", "dW"), AVERAGED),
    makers.fused("linear-cross-entropy-dloss-for-weight-only", linear_dloss_for_weight_only, ("dx", "gradient of x"), ("dloss",)),
    makers.fused("linear-cross-entropy-rows-for-dx", linear_rows_for_dx, ("shape", *RAISES)),
]
