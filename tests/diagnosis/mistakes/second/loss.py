"""Mistakes in cross-entropy with label smoothing, and in the fused linear and cross-entropy."""

import numpy as np

from minitransformer.functional import cross_entropy_backward, cross_entropy_forward, softmax_backward
from minitransformer.functional.cross_entropy import CrossEntropyCache
from minitransformer.functional.linear_cross_entropy import LinearCrossEntropyCache
from minitransformer.functional.softmax import SoftmaxCache
from tests.diagnosis.mistakes import right
from tests.diagnosis.mistakes.mistake import Mistake
from tests.diagnosis.mistakes.seen import loss as seen
from tests.diagnosis.mistakes.words import UNKNOWN

MISSING = ("miss", "forgot", "left out", "leaves out", "without", "lack", "omit", "absent", "skip", "dropped", "not added",
           "does not", "not contain", "zero", "no gradient", "never", "detach", "cut", "none of", "not multiplied", "only", "ignor")


def smoothing_not_taken_from_the_target(dloss, cache):
    p, targets, real, smoothing = cache[:4]
    dlogits = (p - smoothing / p.shape[-1]).reshape(-1, p.shape[-1])
    dlogits[np.arange(len(dlogits)), targets.ravel()] -= 1
    return dlogits.reshape(p.shape) * real[..., None] * dloss


def smoothing_over_the_others(dloss, cache):
    p, targets, real, smoothing = cache[:4]
    dlogits = (p - smoothing / (p.shape[-1] - 1)).reshape(-1, p.shape[-1])
    rows = np.arange(len(dlogits)), targets.ravel()
    dlogits[rows] = p.reshape(-1, p.shape[-1])[rows] - (1 - smoothing)
    return dlogits.reshape(p.shape) * real[..., None] * dloss


def smoothing_forgotten(dloss, cache):
    p, targets, real, smoothing = cache[:4]
    dlogits = p.reshape(-1, p.shape[-1]).copy()
    dlogits[np.arange(len(dlogits)), targets.ravel()] -= 1
    return dlogits.reshape(p.shape) * real[..., None] * dloss


def smoothing_target_only(dloss, cache):
    p, targets, real, smoothing = cache[:4]
    dlogits = p.reshape(-1, p.shape[-1]).copy()
    dlogits[np.arange(len(dlogits)), targets.ravel()] -= 1 - smoothing
    return dlogits.reshape(p.shape) * real[..., None] * dloss


def divided_by_count(dloss, cache):
    return right.cross_entropy_backward(dloss, cache) / cache.count.astype(cache.p.dtype)


def divided_by_batch(dloss, cache):
    return right.cross_entropy_backward(dloss, cache) / len(cache.p)


def divided_by_all_positions(dloss, cache):
    return right.cross_entropy_backward(dloss, cache) / cache.targets.size


def divided_by_classes(dloss, cache):
    return right.cross_entropy_backward(dloss, cache) / cache.p.shape[-1]


def padding_counts(dloss, cache):
    return right.cross_entropy_backward(dloss, cache._replace(real=np.ones_like(cache.real)))


def only_padding_counts(dloss, cache):
    return right.cross_entropy_backward(dloss, cache._replace(real=~cache.real))


def padding_masks_the_target_term_only(dloss, cache):
    p, targets, real, smoothing = cache[:4]
    size = p.shape[-1]
    q = np.full((targets.size, size), smoothing / size, p.dtype)
    q[np.arange(len(q)), targets.ravel()] += 1 - smoothing
    return (p - q.reshape(p.shape) * real[..., None]) * dloss


def upstream_ignored(dloss, cache):
    return right.cross_entropy_backward(1.0, cache).astype(cache.p.dtype)


def upstream_divides(dloss, cache):
    return right.cross_entropy_backward(1.0 / dloss, cache)


def sign_turned(dloss, cache):
    return right.cross_entropy_backward(-dloss, cache)


def softmax_backward_as_well(dloss, cache):
    return softmax_backward(right.cross_entropy_backward(dloss, cache), SoftmaxCache(cache.p))


def gradient_of_probabilities(dloss, cache):
    p, targets, real, smoothing = cache[:4]
    size = p.shape[-1]
    q = np.full((targets.size, size), smoothing / size, p.dtype)
    q[np.arange(len(q)), targets.ravel()] += 1 - smoothing
    return -q.reshape(p.shape) / p * real[..., None] * dloss


def targets_shifted(dloss, cache):
    return right.cross_entropy_backward(dloss, cache._replace(targets=np.roll(cache.targets, -1, axis=-1)))


def targets_index_all_positions(dloss, cache):
    p, targets, real, smoothing = cache[:4]
    size = p.shape[-1]
    dlogits = p - smoothing / size
    for b in range(len(p)):
        dlogits[b, :, targets[b]] -= 1 - smoothing       # meant: dlogits[b, t, targets[b, t]]
    return dlogits * real[..., None] * dloss


def probabilities_changed_in_place(dloss, cache):
    p, targets, real, smoothing = cache[:4]
    size = p.shape[-1]
    rows = p.reshape(-1, size)
    rows -= smoothing / size
    rows[np.arange(len(rows)), targets.ravel()] -= 1 - smoothing
    return p * real[..., None] * dloss


def focal(dloss, cache):
    return right.cross_entropy_backward(dloss, cache) * (1 - cache.p)


def squared_error_like(dloss, cache):
    g = right.cross_entropy_backward(dloss, cache)
    return g * abs(g) ** 0.5


def clipped_probabilities(dloss, cache):
    return right.cross_entropy_backward(dloss, cache._replace(p=np.clip(cache.p, 0.05, 0.95)))


def two_mean_and_no_smoothing(dloss, cache):
    return smoothing_forgotten(dloss, cache) / cache.count.astype(cache.p.dtype)


def two_padding_and_sign(dloss, cache):
    return -padding_counts(dloss, cache)


def forward_mean(logits, targets, smoothing=0.0, *, padding):
    loss, cache = forward_parts(logits, targets, smoothing, padding)
    return loss / float(cache.count), cache


def forward_parts(logits, targets, smoothing, padding):
    shifted = logits - logits.real.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    real = np.ones(targets.shape, bool) if padding is None else targets != padding
    log_likelihood = np.take_along_axis(log_p, targets[..., None], -1)[..., 0] * real
    loss = -(1 - smoothing) * log_likelihood.sum() - smoothing * (log_p.mean(axis=-1) * real).sum()
    return loss, CrossEntropyCache(np.exp(log_p), targets, real, smoothing, real.sum(), log_likelihood)


def forward_bits(logits, targets, smoothing=0.0, *, padding):
    loss, cache = forward_parts(logits, targets, smoothing, padding)
    return loss / np.log(2), cache


def forward_smoothing_sum(logits, targets, smoothing=0.0, *, padding):
    shifted = logits - logits.real.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    real = np.ones(targets.shape, bool) if padding is None else targets != padding
    log_likelihood = np.take_along_axis(log_p, targets[..., None], -1)[..., 0] * real
    loss = -(1 - smoothing) * log_likelihood.sum() - smoothing * (log_p * real[..., None]).sum()
    return loss, CrossEntropyCache(np.exp(log_p), targets, real, smoothing, real.sum(), log_likelihood)


def forward_smooths_padding(logits, targets, smoothing=0.0, *, padding):
    shifted = logits - logits.real.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    real = np.ones(targets.shape, bool) if padding is None else targets != padding
    log_likelihood = np.take_along_axis(log_p, targets[..., None], -1)[..., 0] * real
    loss = -(1 - smoothing) * log_likelihood.sum() - smoothing * log_p.mean(axis=-1).sum()
    return loss, CrossEntropyCache(np.exp(log_p), targets, real, smoothing, real.sum(), log_likelihood)


def forward_unsmoothed_weight(logits, targets, smoothing=0.0, *, padding):
    shifted = logits - logits.real.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    real = np.ones(targets.shape, bool) if padding is None else targets != padding
    log_likelihood = np.take_along_axis(log_p, targets[..., None], -1)[..., 0] * real
    loss = -log_likelihood.sum() - smoothing * (log_p.mean(axis=-1) * real).sum()
    return loss, CrossEntropyCache(np.exp(log_p), targets, real, smoothing, real.sum(), log_likelihood)


def forward_epsilon_in_the_logarithm(logits, targets, smoothing=0.0, *, padding):
    e = np.exp(logits - logits.real.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    log_p = np.log(p + 0.01)
    real = np.ones(targets.shape, bool) if padding is None else targets != padding
    log_likelihood = np.take_along_axis(log_p, targets[..., None], -1)[..., 0] * real
    loss = -(1 - smoothing) * log_likelihood.sum() - smoothing * (log_p.mean(axis=-1) * real).sum()
    return loss, CrossEntropyCache(p, targets, real, smoothing, real.sum(), log_likelihood)


def forward_caches_log_probabilities(logits, targets, smoothing=0.0, *, padding):
    loss, cache = forward_parts(logits, targets, smoothing, padding)
    return loss, cache._replace(p=np.log(cache.p))


def forward_entropy_bonus(logits, targets, smoothing=0.0, *, padding):
    loss, cache = forward_parts(logits, targets, smoothing, padding)
    p = cache.p
    return loss + 0.05 * (p * np.log(p)).sum(), cache


# ---- the fused linear and cross-entropy

def fused_target_rows_only(dloss, cache):
    x, weight, loss, _ = cache
    dx = -weight[loss.targets] * loss.real[..., None] * dloss
    dlogits = cross_entropy_backward(dloss, loss).reshape(-1, len(weight))
    return dx, dlogits.T @ x.reshape(-1, x.shape[-1])


def fused_weight_mean(dloss, cache):
    x, weight, loss, _ = cache
    dlogits = cross_entropy_backward(dloss, loss).reshape(-1, len(weight))
    return (dlogits @ weight).reshape(x.shape), dlogits.T @ x.reshape(-1, x.shape[-1]) / float(loss.count)


def fused_upstream_twice(dloss, cache):
    x, weight, loss, _ = cache
    dlogits = dloss * cross_entropy_backward(dloss, loss).reshape(-1, len(weight))
    return (dlogits @ weight).reshape(x.shape), dlogits.T @ x.reshape(-1, x.shape[-1])


def fused_upstream_missing_in_weight(dloss, cache):
    x, weight, loss, _ = cache
    dlogits = cross_entropy_backward(1.0, loss).reshape(-1, len(weight)).astype(x.dtype)
    return (dloss * dlogits @ weight).reshape(x.shape), dlogits.T @ x.reshape(-1, x.shape[-1])


def fused_last_row_of_the_chunks(dloss, cache):
    x, weight, loss, _ = cache
    rows = x.reshape(-1, x.shape[-1])
    dlogits = cross_entropy_backward(dloss, loss).reshape(-1, len(weight))
    dx, dweight = np.zeros_like(rows), np.zeros_like(weight)
    for start in range(0, len(rows) - 2, 2):
        chunk = slice(start, start + 2)
        dx[chunk] = dlogits[chunk] @ weight
        dweight += dlogits[chunk].T @ rows[chunk]
    return dx.reshape(x.shape), dweight


def fused_weight_of_the_last_chunk(dloss, cache):
    x, weight, loss, _ = cache
    rows = x.reshape(-1, x.shape[-1])
    dlogits = cross_entropy_backward(dloss, loss).reshape(-1, len(weight))
    dx = np.zeros_like(rows)
    for start in range(0, len(rows), 2):
        chunk = slice(start, start + 2)
        dx[chunk] = dlogits[chunk] @ weight
        dweight = dlogits[chunk].T @ rows[chunk]
    return dx.reshape(x.shape), dweight


def fused_without_softmax(dloss, cache):
    x, weight, loss, _ = cache
    dlogits = cross_entropy_backward(dloss, loss)
    dlogits = softmax_backward(dlogits, SoftmaxCache(loss.p)).reshape(-1, len(weight))
    return (dlogits @ weight).reshape(x.shape), dlogits.T @ x.reshape(-1, x.shape[-1])


def fused_two(dloss, cache):
    x, weight, loss, _ = cache
    dlogits = cross_entropy_backward(dloss, loss).reshape(-1, len(weight))
    return -(dlogits @ weight).reshape(x.shape), 2 * dlogits.T @ x.reshape(-1, x.shape[-1])


def fused_unit_weight(dloss, cache):
    x, weight, loss, _ = cache
    dlogits = cross_entropy_backward(dloss, loss).reshape(-1, len(weight))
    unit = weight / np.sqrt((weight * weight).sum(axis=1, keepdims=True))
    return (dlogits @ unit).reshape(x.shape), dlogits.T @ x.reshape(-1, x.shape[-1])


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
    _("loss-smoothing-whole-one-at-target", smoothing_not_taken_from_the_target, (SMOOTHING,), "1 instead of 1 - smoothing is subtracted at the target: q sums to more than 1."),
    _("loss-smoothing-over-others", smoothing_over_the_others, ((*SMOOTHING, "v - 1", "v-1", "1 / 10"),), "The smoothing is spread over the V - 1 other classes; forward spreads it over all V."),
    _("loss-smoothing-forgotten", smoothing_forgotten, (("smooth",),), "The backward is that of the loss without label smoothing."),
    _("loss-smoothing-target-only", smoothing_target_only, ((*SMOOTHING, "uniform", "spread"),), "The uniform part smoothing / V of q is forgotten; the target's 1 - smoothing is right."),
    _("loss-over-count", divided_by_count, (AVERAGE,), "The gradient is divided by the number of real targets, though the loss is a sum."),
    _("loss-over-batch", divided_by_batch, (AVERAGE,), "The gradient is divided by the batch size."),
    _("loss-over-all-positions", divided_by_all_positions, (AVERAGE,), "The gradient is divided by B T, padding included."),
    _("loss-over-classes", divided_by_classes, (AVERAGE,), "The gradient is divided by the number of classes V."),
    _("loss-padding-counts", padding_counts, (PADDING,), "Padding is not masked out in the backward."),
    _("loss-only-padding-counts", only_padding_counts, ((*PADDING, "invert"),), "The mask of real targets is inverted."),
    _("loss-padding-half-masked", padding_masks_the_target_term_only, (PADDING,), "Only q is zero at padding; p stays, so padding still pushes all logits down."),
    _("loss-upstream-ignored", upstream_ignored, (("dloss", "upstream", "chain", "incoming", "dy", "factor", "gradient from above"),), "dloss is taken to be 1."),
    _("loss-upstream-divides", upstream_divides, (("dloss", "upstream", "chain", "incoming", "dy", "factor", "power", "square"),), "The gradient is divided by dloss instead of multiplied."),
    _("loss-sign", sign_turned, (("sign", "negat", "minus", "-1", "opposite"),), "q - p instead of p - q."),
    _("loss-softmax-backward-too", softmax_backward_as_well, (("softmax", "twice", "jacobian"),), "Softmax's backward is applied to p - q, which contains it already."),
    _("loss-of-probabilities", gradient_of_probabilities, (("softmax", "probabilit", "1/p", "q / p", "/ p"),), "-q / p, the gradient with respect to p, is returned as that of the logits."),
    _("loss-targets-shifted", targets_shifted, (("target", "shift", "next", "off by one", "wrong row", "neighbour"),), "The targets are shifted by one position in the backward, as if they were shifted again."),
    _("loss-index-broadcast", targets_index_all_positions, (("target", "every position", "position", "index", "all"),), "dlogits[b, :, targets[b]] subtracts every target of the sequence at every position."),
    _("loss-p-in-place", probabilities_changed_in_place, (("in place", "in-place", "chang", "modif", "overwr", "writes", "alter", "cache"),), "The cached p is changed in place: the numbers are right once, a second backward gives others."),
    _("loss-focal", focal, ((*UNKNOWN, "1 - p", "logits", " p "),), "p - q is multiplied by 1 - p (a half-remembered focal loss)."),
    _("loss-power", squared_error_like, ((*UNKNOWN, "power", "logits", "square", "root"),), "The gradient g becomes g |g|^(1/2): arbitrary."),
    _("loss-clipped-p", clipped_probabilities, ((*UNKNOWN, "clip", " p ", "logits", "small", "sum"),), "p is clipped to [0.05, 0.95] in the backward."),
    _("loss-two-mean-no-smoothing", two_mean_and_no_smoothing, (("smooth", *AVERAGE),), "Two mistakes: label smoothing is forgotten and the gradient is averaged over the real targets."),
    _("loss-two-padding-sign", two_padding_and_sign, ((*PADDING, "sign", "negat", "minus", "opposite"),), "Two mistakes: padding counts, and the sign is turned."),
    _("loss-forward-mean", forward_mean, ((*AVERAGE, "5 times", "times 5", "times"),), "forward returns the mean over the real targets; the given backward is that of the sum.", "cross_entropy_forward"),
    _("loss-forward-bits", forward_bits, (("log", "base", "bits", "1.44", "0.693", "factor", "times", "ln 2"),), "forward measures in bits (log2), the given backward in nats.", "cross_entropy_forward"),
    _("loss-forward-smoothing-sum", forward_smoothing_sum, (("smooth", "target", " v ", "mean"),), "forward's smoothing term sums log p over the classes instead of taking their mean.", "cross_entropy_forward"),
    _("loss-forward-smooths-padding", forward_smooths_padding, ((*PADDING, "smooth"),), "forward's smoothing term counts padding too.", "cross_entropy_forward"),
    _("loss-forward-whole-target", forward_unsmoothed_weight, (SMOOTHING,), "forward weights the target with 1 instead of 1 - smoothing.", "cross_entropy_forward"),
    _("loss-forward-epsilon-in-log", forward_epsilon_in_the_logarithm, (("epsilon", "log", "forward", " p "),), "forward takes log(p + 0.01) 'for stability', which the given backward doesn't know.", "cross_entropy_forward"),
    _("loss-caches-log-p", forward_caches_log_probabilities, (("cache", "log", " p "),), "forward keeps log p where the backward expects p.", "cross_entropy_forward"),
    _("loss-forward-entropy", forward_entropy_bonus, ((*UNKNOWN, "entropy", "logits", "padding"),), "forward adds 0.05 sum(p log p) (a confidence penalty) that the given backward doesn't know.", "cross_entropy_forward"),
    _("fused-target-rows-only", fused_target_rows_only, ((" x ", "dx", "softmax", " p ", "target"),), "dx = -W[target]: the softmax's part, p W, is forgotten.", "linear_cross_entropy_backward", FUSED),
    _("fused-weight-mean", fused_weight_mean, (("weight",), AVERAGE), "dW alone is divided by the number of real targets.", "linear_cross_entropy_backward", FUSED),
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
