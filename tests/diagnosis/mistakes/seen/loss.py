"""Mistakes in cross-entropy, alone and with the pre-softmax linear. No model of blocks() ends in its loss: in_model is empty."""

import numpy as np

from minitransformer.functional import cross_entropy_backward
from minitransformer.functional.cross_entropy import CrossEntropyCache
from tests.diagnosis.mistakes import makers, right
from tests.diagnosis.mistakes.words import AVERAGED, MISSING, PRECISION, RAISES, SIGN, SMOOTHING, SWAPPED, TOKENS


def smoothing_over_the_others(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    off = s / (size - 1)
    return (cache.p - right.targets_distribution(cache, 1 - s - off, off)) * cache.real[..., None] * dloss


def smoothing_on_target_only(dloss, cache):
    return (cache.p - right.targets_distribution(cache, 1 - cache.smoothing, 0.0)) * cache.real[..., None] * dloss


def smoothing_not_divided(dloss, cache):
    s = cache.smoothing
    return (cache.p - right.targets_distribution(cache, 1 - s, s)) * cache.real[..., None] * dloss


def only_padding(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    return (cache.p - right.targets_distribution(cache, 1 - s, s / size)) * ~cache.real[..., None] * dloss


def divided_by_count(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    return (cache.p - right.targets_distribution(cache, 1 - s, s / size)) * cache.real[..., None] * dloss / cache.count


def divided_by_rows_twice(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    return (cache.p - right.targets_distribution(cache, 1 - s, s / size)) * cache.real[..., None] * dloss / cache.real.size ** 2


def negative(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    return (right.targets_distribution(cache, 1 - s, s / size) - cache.p) * cache.real[..., None] * dloss


def dloss_forgotten(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    return (cache.p - right.targets_distribution(cache, 1 - s, s / size)) * cache.real[..., None]


def softmax_backward_too(dloss, cache):
    p, s, size = cache.p, cache.smoothing, cache.p.shape[-1]
    d = (p - right.targets_distribution(cache, 1 - s, s / size)) * cache.real[..., None] * dloss
    return p * (d - (d * p).sum(axis=-1, keepdims=True))


def target_entry_only(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    rows = (cache.p - right.targets_distribution(cache, 1 - s, s / size)) * cache.real[..., None] * dloss
    return rows * right.targets_distribution(cache, 1, 0.0)


def p_forgotten(dloss, cache):
    s, size = cache.smoothing, cache.p.shape[-1]
    return -right.targets_distribution(cache, 1 - s, s / size) * cache.real[..., None] * dloss


def in_float32(dloss, cache):
    return cross_entropy_backward.replaceable.textbook(dloss, cache).astype(np.float32)


def forward_counts_padding(logits, targets, smoothing=0.0, *, padding):
    real = targets != padding
    loss, p, likelihood = right.loss_parts(logits, targets, smoothing, np.ones(targets.shape))
    return loss, CrossEntropyCache(p, targets, real, smoothing, real.sum(), likelihood)


def forward_averages(logits, targets, smoothing=0.0, *, padding):
    real = targets != padding
    loss, p, likelihood = right.loss_parts(logits, targets, smoothing, real)
    return loss / real.sum(), CrossEntropyCache(p, targets, real, smoothing, real.sum(), likelihood)


def forward_smooths_padding(logits, targets, smoothing=0.0, *, padding):
    """Only the target's term leaves padding out."""
    real = targets != padding
    loss, p, likelihood = right.loss_parts(logits, targets, 0.0, real)
    everywhere, _, _ = right.loss_parts(logits, targets, 1.0, np.ones(targets.shape))
    loss = (1 - smoothing) * loss + smoothing * everywhere
    return loss, CrossEntropyCache(p, targets, real, smoothing, real.sum(), likelihood)


def linear_order(dloss, cache):
    x, weight, loss, _ = cache
    dlogits = cross_entropy_backward(dloss, loss).reshape(-1, len(weight))
    return dlogits.T @ x.reshape(-1, x.shape[-1]), (dlogits @ weight).reshape(x.shape)


def linear_p_for_dlogits(dloss, cache):
    x, weight, loss, _ = cache
    dlogits = (dloss * loss.p * loss.real[..., None]).reshape(-1, len(weight))
    return (dlogits @ weight).reshape(x.shape), dlogits.T @ x.reshape(-1, x.shape[-1])


def linear_weight_only(dloss, cache):
    x, weight, loss, _ = cache
    dlogits = cross_entropy_backward(dloss, loss).reshape(-1, len(weight))
    return dlogits.T @ x.reshape(-1, x.shape[-1])


def linear_weight_negative(dloss, cache):
    x, weight, loss, _ = cache
    dlogits = cross_entropy_backward(dloss, loss).reshape(-1, len(weight))
    return (dlogits @ weight).reshape(x.shape), -dlogits.T @ x.reshape(-1, x.shape[-1])


MISTAKES = [
    makers.loss("smoothing-over-the-others", smoothing_over_the_others, ("V - 1", "V-1", "other classes", "others", "except the target")),
    makers.loss("smoothing-on-target-only", smoothing_on_target_only, SMOOTHING,
          (*MISSING, "only the target", "target only", "spread", "other classes", "s / V")),
    makers.loss("smoothing-not-divided", smoothing_not_divided, SMOOTHING, ("divid", "/ V", "V times", "times V", "spread", "evenly", "each class")),
    makers.loss("only-padding", only_padding, ("pad", "real"), ("invert", "only", "instead", "opposite", "complement", "where")),
    makers.loss("divided-by-count", divided_by_count, AVERAGED, TOKENS),
    makers.loss("divided-by-rows-twice", divided_by_rows_twice, AVERAGED, ("twice", "squar", "N^2", "^2", "36", *TOKENS),
          comment="numpy-transformer: a mean of a mean, and padding in its count"),
    makers.loss("negative", negative, SIGN),
    makers.loss("dloss-forgotten", dloss_forgotten, ("dloss",), MISSING),
    makers.loss("softmax-backward-too", softmax_backward_too, ("softmax",)),
    makers.loss("target-entry-only", target_entry_only, ("target",), ("only", *MISSING, "other classes")),
    makers.loss("p-forgotten", p_forgotten, ("softmax", "probabilit", "the p", "term p", "p - q", "p is"), MISSING),
    makers.loss("in-float32", in_float32, PRECISION),
    makers.forward_loss("counts-padding", forward_counts_padding, ("pad",)),
    makers.forward_loss("averages", forward_averages, AVERAGED, TOKENS),
    makers.forward_loss("smooths-padding", forward_smooths_padding, ("pad",)),
    makers.linear_loss("order", linear_order, SWAPPED),
    makers.linear_loss("p-for-dlogits", linear_p_for_dlogits, ("target", "- q", "one-hot", "dlogits")),
    makers.linear_loss("weight-only", linear_weight_only, ("two", "too few", "one gradient", "1 gradient", "missing", "number of", "unpack", "returns", *RAISES)),
    makers.linear_loss("weight-negative", linear_weight_negative, ("weight", "dW"), SIGN),
]
