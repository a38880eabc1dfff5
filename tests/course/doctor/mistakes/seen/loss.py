"""Mistakes in cross-entropy, alone and with the pre-softmax linear. No model of blocks() ends in its loss: in_model is empty."""

import numpy as np

from minitransformer.functional import softmax_backward
from minitransformer.functional.softmax import SoftmaxCache
from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes.right import (
    changed, cross_entropy_backward, cross_entropy_forward, distribution, fused, given, loss, loss_forward)
from tests.course.doctor.mistakes.words import AVERAGED, MISSING, PRECISION, RAISES, SIGN, SMOOTHING, SWAPPED, TOKENS

smoothing_over_the_others = loss(on=lambda s, size: 1 - s - s / (size - 1), off=lambda s, size: s / (size - 1))
smoothing_on_target_only = loss(off=lambda s, size: 0)
only_padding = given(cross_entropy_backward, lambda dloss, cache: (dloss, cache._replace(real=~cache.real)))
divided_by_count = changed(cross_entropy_backward, lambda d, dloss, cache: d / cache.count)
divided_by_rows_twice = changed(cross_entropy_backward, lambda d, dloss, cache: d / cache.real.size ** 2)
negative = loss(lambda p, q: q - p)
dloss_forgotten = given(cross_entropy_backward, lambda dloss, cache: (1.0, cache))
softmax_backward_too = changed(cross_entropy_backward, lambda d, dloss, cache: softmax_backward(d, SoftmaxCache(cache.p)))
target_entry_only = changed(cross_entropy_backward, lambda d, dloss, cache: (
    d * distribution(cache, on=lambda s, size: 1, off=lambda s, size: 0)))
p_forgotten = loss(lambda p, q: -q)
forward_counts_padding = loss_forward(lambda target, log_p, real, s: (1 - s) * target + s * log_p.mean(axis=-1))
forward_averages = changed(cross_entropy_forward, lambda loss, cache, *_: (loss / float(cache.count), cache))
forward_smooths_padding = loss_forward(    # only the target's term leaves padding out
    lambda target, log_p, real, s: (1 - s) * target * real + s * log_p.mean(axis=-1))

linear_order = changed(fused(), lambda dx, dweight, *_: (dweight, dx))
linear_p_for_dlogits = fused(dlogits=lambda dloss, cache: dloss * cache.p * cache.real[..., None])

MISTAKES = [
    makers.loss("cross-entropy-smoothing-over-the-others", smoothing_over_the_others,
            ("V - 1", "V-1", "other classes", "others", "except the target")),
    makers.loss("cross-entropy-smoothing-on-target-only", smoothing_on_target_only, SMOOTHING,
            (*MISSING, "only the target", "target only", "spread", "other classes", "s / V")),
    makers.loss("cross-entropy-smoothing-not-divided", loss(off=lambda s, size: s), SMOOTHING,
            ("divid", "division", "/ V", "V times", "times V", "spread", "evenly", "each class")),
    makers.loss("cross-entropy-only-padding", only_padding, ("pad", "real"),
            ("invert", "only", "instead", "opposite", "complement", "where")),
    makers.loss("cross-entropy-divided-by-count", divided_by_count, AVERAGED, TOKENS),
    makers.loss("cross-entropy-divided-by-rows-twice", divided_by_rows_twice, AVERAGED,
            ("twice", "squar", "N^2", "^2", "36", *TOKENS),
            comment="numpy-transformer: a mean of a mean, and padding in its count"),
    makers.loss("cross-entropy-negative", negative, SIGN),
    makers.loss("cross-entropy-dloss-forgotten", dloss_forgotten, ("dloss",), MISSING),
    makers.loss("cross-entropy-softmax-backward-too", softmax_backward_too, ("softmax",)),
    makers.loss("cross-entropy-target-entry-only", target_entry_only, ("target",), ("only", *MISSING, "other classes")),
    makers.loss("cross-entropy-p-forgotten", p_forgotten, ("softmax", "probabilit", "the p", "term p", "p - q", "p is"), MISSING),
    makers.loss("cross-entropy-in-float32", changed(cross_entropy_backward, lambda d, *_: d.astype(np.float32)), PRECISION),
    makers.loss_forward("cross-entropy-forward-counts-padding", forward_counts_padding, ("pad",)),
    makers.loss_forward("cross-entropy-forward-averages", forward_averages, AVERAGED, TOKENS),
    makers.loss_forward("cross-entropy-forward-smooths-padding", forward_smooths_padding, ("pad",)),
    makers.fused("linear-cross-entropy-order", linear_order, SWAPPED),
    makers.fused("linear-cross-entropy-p-for-dlogits", linear_p_for_dlogits, ("target", "- q", "one-hot", "dlogits")),
    makers.fused("linear-cross-entropy-weight-only", changed(fused(), lambda dx, dweight, *_: dweight),
            ("two", "too few", "one gradient", "1 gradient", "missing", "number of", "unpack", "returns", *RAISES)),
    makers.fused("linear-cross-entropy-weight-negative", fused(weight=lambda d, x: -d.T @ x), ("weight", "dW"), SIGN),
]
