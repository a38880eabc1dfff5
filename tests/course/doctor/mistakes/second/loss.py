"""Mistakes in cross-entropy with label smoothing, and in the fused linear and cross-entropy."""

import numpy as np

from minitransformer.functional import cross_entropy_backward, cross_entropy_forward, softmax_backward
from minitransformer.functional.linear_cross_entropy import LinearCrossEntropyCache
from minitransformer.functional.softmax import SoftmaxCache
from tests.course.doctor.mistakes import right
from tests.course.doctor.mistakes.held_out import loss as held_out
from tests.course.doctor.mistakes.mistake import Mistake
from tests.course.doctor.mistakes.right import changed, fused, given, loss_forward
from tests.course.doctor.mistakes.seen import loss as seen
from tests.course.doctor.mistakes.words import LEFT_OUT, UNKNOWN

MISSING = (*LEFT_OUT, "does not", "not multiplied", "only", "ignor")


def targets_index_all_positions(dloss, cache):
    p, targets, real, smoothing = cache[:4]
    dlogits = p - smoothing / p.shape[-1]
    for b in range(len(p)):
        dlogits[b, :, targets[b]] -= 1 - smoothing       # meant: dlogits[b, t, targets[b, t]]
    return dlogits * real[..., None] * dloss


def probabilities_changed_in_place(dloss, cache):
    cache.p[...] = right.cross_entropy_backward(1.0, cache._replace(real=np.ones_like(cache.real)))
    return cache.p * cache.real[..., None] * dloss


divided_by_all_positions = changed(right.cross_entropy_backward, lambda d, dloss, cache: d / cache.targets.size)
divided_by_classes = changed(right.cross_entropy_backward, lambda d, *_: d / d.shape[-1])
upstream_divides = given(right.cross_entropy_backward, lambda dloss, cache: (1.0 / dloss, cache))
focal = changed(right.cross_entropy_backward, lambda d, dloss, cache: d * (1 - cache.p))
squared_error_like = changed(right.cross_entropy_backward, lambda d, *_: d * abs(d) ** 0.5)
clipped_probabilities = given(right.cross_entropy_backward, lambda dloss, cache: (
    dloss, cache._replace(p=np.clip(cache.p, 0.05, 0.95))))
two_mean_and_no_smoothing = changed(held_out.smoothing_forgotten, lambda d, dloss, cache: d / cache.count)
two_padding_and_sign = changed(held_out.padding_counted, lambda d, *_: -d)

forward_smoothing_sum = loss_forward(lambda target, log_p, real, s: ((1 - s) * target + s * log_p.sum(axis=-1)) * real)
forward_unsmoothed_weight = loss_forward(lambda target, log_p, real, s: (target + s * log_p.mean(axis=-1)) * real)
forward_epsilon_in_the_logarithm = loss_forward(lambda target, log_p, real, s: (
    (1 - s) * np.log(np.exp(target) + 0.01) + s * np.log(np.exp(log_p) + 0.01).mean(axis=-1)) * real)
forward_caches_log_probabilities = changed(right.cross_entropy_forward, lambda loss, cache, *_: (
    loss, cache._replace(p=np.log(cache.p))))
forward_entropy_bonus = changed(right.cross_entropy_forward, lambda loss, cache, *_: (
    loss + 0.05 * (cache.p * np.log(cache.p)).sum(), cache))

# ---- the fused linear and cross-entropy

last_chunk = lambda d: (len(d) - 1) // 2 * 2    # where the last chunk of two rows starts
fused_target_rows_only = changed(fused(), lambda dx, dweight, dloss, cache: (
    -cache.weight[cache.loss.targets] * cache.loss.real[..., None] * dloss, dweight))
fused_upstream_twice = fused(dlogits=lambda dloss, cache: dloss * cross_entropy_backward(dloss, cache))
fused_upstream_missing_in_weight = changed(given(fused(), lambda dloss, cache: (1.0, cache)),
                                           lambda dx, dweight, dloss, cache: (dx * dloss, dweight))
fused_last_row_of_the_chunks = fused(dx=lambda d, W: np.where((np.arange(len(d)) < last_chunk(d))[:, None], d @ W, 0),
                                     weight=lambda d, x: d[:last_chunk(d)].T @ x[:last_chunk(d)])
fused_weight_of_the_last_chunk = fused(weight=lambda d, x: d[last_chunk(d):].T @ x[last_chunk(d):])
fused_without_softmax = fused(dlogits=lambda dloss, cache: softmax_backward(
    cross_entropy_backward(dloss, cache), SoftmaxCache(cache.p)))
fused_two = fused(dx=lambda d, W: -(d @ W), weight=lambda d, x: 2 * d.T @ x)
fused_unit_weight = fused(dx=lambda d, W: d @ (W / np.sqrt((W * W).sum(axis=1, keepdims=True))))


def fused_forward_scaled(x, weight, targets, smoothing=0.0, *, padding):
    logits = x @ weight.T / x.shape[-1] ** 0.5
    loss, cache = cross_entropy_forward(logits, targets, smoothing, padding=padding)
    return loss, LinearCrossEntropyCache(x, weight, cache, cache.log_likelihood)


SMOOTHING = ("smooth", "0.1", "0.9", "target")
AVERAGE = ("mean", "average", "divid", "number of", "count", "factor", "per token", "1/5", "0.2", "fifth", "1/6", "0.1667", "half", "0.5", "1/11", "0.0909")
PADDING = ("padding", "pad", "real", "masked position")
CE, FUSED = "cross-entropy", "linear-cross-entropy"


def _(name, wrong, says, comment, replaces="cross_entropy_backward", block=CE):
    return Mistake(name, replaces, wrong, block, says, in_model="", comment=comment)


MISTAKES = [
    _("loss-smoothing-whole-one-at-target", held_out.target_keeps_all, (SMOOTHING,), "1 instead of 1 - smoothing is subtracted at the target: q sums to more than 1."),
    _("loss-smoothing-over-others", seen.smoothing_over_the_others, ((*SMOOTHING, "v - 1", "v-1", "1 / 10"),), "The smoothing is spread over the V - 1 other classes; forward spreads it over all V."),
    _("loss-smoothing-forgotten", held_out.smoothing_forgotten, (("smooth",),), "The backward is that of the loss without label smoothing."),
    _("loss-smoothing-target-only", seen.smoothing_on_target_only, ((*SMOOTHING, "uniform", "spread"),), "The uniform part smoothing / V of q is forgotten; the target's 1 - smoothing is right."),
    _("loss-over-count", seen.divided_by_count, (AVERAGE,), "The gradient is divided by the number of real targets, though the loss is a sum."),
    _("loss-over-batch", held_out.divided_by_batch, (AVERAGE,), "The gradient is divided by the batch size."),
    _("loss-over-all-positions", divided_by_all_positions, (AVERAGE,), "The gradient is divided by B T, padding included."),
    _("loss-over-classes", divided_by_classes, (AVERAGE,), "The gradient is divided by the number of classes V."),
    _("loss-padding-counts", held_out.padding_counted, (PADDING,), "Padding is not masked out in the backward."),
    _("loss-only-padding-counts", seen.only_padding, ((*PADDING, "invert"),), "The mask of real targets is inverted."),
    _("loss-padding-half-masked", held_out.padded_target_only, (PADDING,), "Only q is zero at padding; p stays, so padding still pushes all logits down."),
    _("loss-upstream-ignored", seen.dloss_forgotten, (("dloss", "upstream", "chain", "incoming", "dy", "factor", "gradient from above"),), "dloss is taken to be 1."),
    _("loss-upstream-divides", upstream_divides, (("dloss", "upstream", "chain", "incoming", "dy", "factor", "power", "square"),), "The gradient is divided by dloss instead of multiplied."),
    _("loss-sign", seen.negative, (("sign", "negat", "minus", "-1", "opposite"),), "q - p instead of p - q."),
    _("loss-softmax-backward-too", seen.softmax_backward_too, (("softmax", "twice", "jacobian"),), "Softmax's backward is applied to p - q, which contains it already."),
    _("loss-of-probabilities", held_out.without_softmax, (("softmax", "probabilit", "1/p", "q / p", "/ p"),), "-q / p, the gradient with respect to p, is returned as that of the logits."),
    _("loss-targets-shifted", held_out.targets_shifted, (("target", "shift", "next", "off by one", "wrong row", "neighbour"),), "The targets are shifted by one position in the backward, as if they were shifted again."),
    _("loss-index-broadcast", targets_index_all_positions, (("target", "every position", "position", "index", "all"),), "dlogits[b, :, targets[b]] subtracts every target of the sequence at every position."),
    _("loss-p-in-place", probabilities_changed_in_place, (("in place", "in-place", "chang", "modif", "overwr", "writes", "alter", "cache"),), "The cached p is changed in place: the numbers are right once, a second backward gives others."),
    _("loss-focal", focal, ((*UNKNOWN, "1 - p", "logits", " p "),), "p - q is multiplied by 1 - p (a half-remembered focal loss)."),
    _("loss-power", squared_error_like, ((*UNKNOWN, "power", "logits", "square", "root"),), "The gradient g becomes g |g|^(1/2): arbitrary."),
    _("loss-clipped-p", clipped_probabilities, ((*UNKNOWN, "clip", " p ", "logits", "small", "sum"),), "p is clipped to [0.05, 0.95] in the backward."),
    _("loss-two-mean-no-smoothing", two_mean_and_no_smoothing, (("smooth", *AVERAGE),), "Two mistakes: label smoothing is forgotten and the gradient is averaged over the real targets."),
    _("loss-two-padding-sign", two_padding_and_sign, ((*PADDING, "sign", "negat", "minus", "opposite"),), "Two mistakes: padding counts, and the sign is turned."),
    _("loss-forward-mean", seen.forward_averages, ((*AVERAGE, "5 times", "times 5", "times"),), "forward returns the mean over the real targets; the given backward is that of the sum.", "cross_entropy_forward"),
    _("loss-forward-bits", held_out.forward_in_bits, (("log", "base", "bits", "1.44", "0.693", "factor", "times", "ln 2"),), "forward measures in bits (log2), the given backward in nats.", "cross_entropy_forward"),
    _("loss-forward-smoothing-sum", forward_smoothing_sum, (("smooth", "target", " v ", "mean"),), "forward's smoothing term sums log p over the classes instead of taking their mean.", "cross_entropy_forward"),
    _("loss-forward-smooths-padding", seen.forward_smooths_padding, ((*PADDING, "smooth"),), "forward's smoothing term counts padding too.", "cross_entropy_forward"),
    _("loss-forward-whole-target", forward_unsmoothed_weight, (SMOOTHING,), "forward weights the target with 1 instead of 1 - smoothing.", "cross_entropy_forward"),
    _("loss-forward-epsilon-in-log", forward_epsilon_in_the_logarithm, (("epsilon", "log", "forward", " p "),), "forward takes log(p + 0.01) 'for stability', which the given backward doesn't know.", "cross_entropy_forward"),
    _("loss-caches-log-p", forward_caches_log_probabilities, (("cache", "log", " p "),), "forward keeps log p where the backward expects p.", "cross_entropy_forward"),
    _("loss-forward-entropy", forward_entropy_bonus, ((*UNKNOWN, "entropy", "logits", "padding"),), "forward adds 0.05 sum(p log p) (a confidence penalty) that the given backward doesn't know.", "cross_entropy_forward"),
    _("fused-target-rows-only", fused_target_rows_only, ((" x ", "dx", "softmax", " p ", "target"),), "dx = -W[target]: the softmax's part, p W, is forgotten.", "linear_cross_entropy_backward", FUSED),
    _("fused-weight-mean", held_out.linear_weight_divided_by_count, (("weight",), AVERAGE), "dW alone is divided by the number of real targets.", "linear_cross_entropy_backward", FUSED),
    _("fused-upstream-twice", fused_upstream_twice, (("dloss", "upstream", "incoming", "dy", "factor", "twice", "square", "power"),), "dloss is multiplied in twice.", "linear_cross_entropy_backward", FUSED),
    _("fused-upstream-missing-in-weight", fused_upstream_missing_in_weight, (("dloss", "upstream", "chain", "incoming", "dy", "factor"),), "dW lacks the factor dloss; dx has it.", "linear_cross_entropy_backward", FUSED),
    _("fused-swapped", seen.linear_order, (("swap", "exchang", "order", "shape", "each other"),), "dW and dx are returned in each other's place.", "linear_cross_entropy_backward", FUSED),
    _("fused-last-chunk-left-out", fused_last_row_of_the_chunks, (("last", "row", "position", "chunk", "token", "some of", "part of", *MISSING),), "The loop over chunks of two rows ends one chunk too early: the last two rows get no gradient.", "linear_cross_entropy_backward", FUSED),
    _("fused-weight-last-chunk", fused_weight_of_the_last_chunk, (("weight",), ("last", "only", "chunk", "overwrit", "some of", "part of", "one", "row")), "dW is assigned in each round of the loop over chunks: the last chunk's alone is returned.", "linear_cross_entropy_backward", FUSED),
    _("fused-softmax-backward-too", fused_without_softmax, (("softmax", "twice", "jacobian"),), "Softmax's backward is applied to the logits' gradient, which contains it already.", "linear_cross_entropy_backward", FUSED),
    _("fused-two-sign-and-double", fused_two, (("sign", "negat", "minus", "opposite", "-1"), ("twice", "doubl", "2 times", "times 2", "2x", "factor")), "Two mistakes: dx has the wrong sign and dW is doubled.", "linear_cross_entropy_backward", FUSED),
    _("fused-unit-weight", fused_unit_weight, ((*UNKNOWN, " x ", "dx", "norm"),), "dx is made with the rows of W scaled to length 1: arbitrary.", "linear_cross_entropy_backward", FUSED),
    _("fused-forward-scaled", fused_forward_scaled, (("sqrt", "factor", "scale", "2.65", "2.646", "0.378", "times", "divid"),), "forward divides the logits by sqrt(d_model); the given backward does not.", "linear_cross_entropy_forward", FUSED),
]
