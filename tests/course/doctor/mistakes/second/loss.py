"""Mistakes in cross-entropy with label smoothing, and in the fused linear and cross-entropy."""

import numpy as np

from minitransformer.functional import cross_entropy_backward
from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes.words import LEFT_OUT, UNKNOWN

MISSING = (*LEFT_OUT, "does not", "not multiplied", "only", "ignor")


def targets_index_all_positions(dloss, cache):
    p, targets, real, smoothing = cache[:4]
    dlogits = p - smoothing / p.shape[-1]
    for b in range(len(p)):
        dlogits[b, :, targets[b]] -= 1 - smoothing       # meant: dlogits[b, t, targets[b, t]]
    return dlogits * real[..., None] * dloss


def probabilities_changed_in_place(dloss, cache):
    cache.p[...] = cross_entropy_backward.textbook(1.0, cache._replace(real=np.ones_like(cache.real)))
    return cache.p * cache.real[..., None] * dloss


SMOOTHING = ("smooth", "0.1", "0.9", "target")
AVERAGE = ("mean", "average", "divid", "number of", "count", "factor", "per token", "1/5", "0.2", "fifth", "1/6", "0.1667", "half", "0.5", "1/11", "0.0909")
PADDING = ("padding", "pad", "real", "masked position")
CE, FUSED = "cross-entropy", "linear-cross-entropy"


def _(name, wrong, says, comment, replaces="cross_entropy_backward", block=CE):
    return makers.mistake(name, replaces, wrong, block, says, in_model="", comment=comment)


MISTAKES = [
    _("loss-smoothing-whole-one-at-target", ("-= 1 - smoothing", "-= 1"), (SMOOTHING,), "1 instead of 1 - smoothing is subtracted at the target: q sums to more than 1."),
    _("loss-smoothing-over-others", ("smoothing / size", "smoothing / (size - 1)", "-= 1 - smoothing", "-= 1 - smoothing - smoothing / (size - 1)"), ((*SMOOTHING, "v - 1", "v-1", "1 / 10"),), "The smoothing is spread over the V - 1 other classes; forward spreads it over all V."),
    _("loss-smoothing-forgotten", ("smoothing / size", "0", "-= 1 - smoothing", "-= 1"), (("smooth",),), "The backward is that of the loss without label smoothing."),
    _("loss-smoothing-target-only", ("smoothing / size", "0"), ((*SMOOTHING, "uniform", "spread"),), "The uniform part smoothing / V of q is forgotten; the target's 1 - smoothing is right."),
    _("loss-over-count", ("return dlogits.reshape(p.shape)", "return dlogits.reshape(p.shape) / cache.count"), (AVERAGE,), "The gradient is divided by the number of real targets, though the loss is a sum."),
    _("loss-over-batch", ("return dlogits.reshape(p.shape)", "return dlogits.reshape(p.shape) / len(p)"), (AVERAGE,), "The gradient is divided by the batch size."),
    _("loss-over-all-positions", ("return dlogits.reshape(p.shape)", "return dlogits.reshape(p.shape) / targets.size"), (AVERAGE,), "The gradient is divided by B T, padding included."),
    _("loss-over-classes", ("return dlogits.reshape(p.shape)", "return dlogits.reshape(p.shape) / size"), (AVERAGE,), "The gradient is divided by the number of classes V."),
    _("loss-padding-counts", ("real.reshape(-1, 1) * dloss", "dloss"), (PADDING,), "Padding is not masked out in the backward."),
    _("loss-only-padding-counts", ("real.reshape(-1, 1)", "~real.reshape(-1, 1)"), ((*PADDING, "invert"),), "The mask of real targets is inverted."),
    _("loss-padding-half-masked", ("smoothing / size", "smoothing / size * real.reshape(-1, 1)", "-= 1 - smoothing", "-= (1 - smoothing) * real.reshape(-1)", "real.reshape(-1, 1) * dloss", "dloss"), (PADDING,), "Only q is zero at padding; p stays, so padding still pushes all logits down."),
    _("loss-upstream-ignored", (" * dloss", ""), (("dloss", "upstream", "chain", "incoming", "dy", "factor", "gradient from above"),), "dloss is taken to be 1."),
    _("loss-upstream-divides", ("* dloss", "/ dloss"), (("dloss", "upstream", "chain", "incoming", "dy", "factor", "power", "square"),), "The gradient is divided by dloss instead of multiplied."),
    _("loss-sign", ("return dlogits", "return -dlogits"), (("sign", "negat", "minus", "-1", "opposite"),), "q - p instead of p - q."),
    _("loss-softmax-backward-too", ("return dlogits.reshape(p.shape)", "d = dlogits.reshape(p.shape)\n    return p * (d - (d * p).sum(axis=-1, keepdims=True))"), (("softmax", "twice", "jacobian"),), "Softmax's backward is applied to p - q, which contains it already."),
    _("loss-of-probabilities", ("return dlogits.reshape(p.shape)", "return (dlogits / p.reshape(-1, size) - real.reshape(-1, 1) * dloss).reshape(p.shape)"), (("softmax", "probabilit", "1/p", "q / p", "/ p"),), "-q / p, the gradient with respect to p, is returned as that of the logits."),
    _("loss-targets-shifted", ("targets.reshape(-1)]", "np.roll(targets, -1, axis=-1).reshape(-1)]"), (("target", "shift", "next", "off by one", "wrong row", "neighbour"),), "The targets are shifted by one position in the backward, as if they were shifted again."),
    _("loss-index-broadcast", targets_index_all_positions, (("target", "every position", "position", "index", "all"),), "dlogits[b, :, targets[b]] subtracts every target of the sequence at every position."),
    _("loss-p-in-place", probabilities_changed_in_place, (("in place", "in-place", "chang", "modif", "overwr", "writes", "alter", "cache"),), "The cached p is changed in place: the numbers are right once, a second backward gives others."),
    _("loss-focal", ("return dlogits.reshape(p.shape)", "return dlogits.reshape(p.shape) * (1 - p)"), ((*UNKNOWN, "1 - p", "logits", " p "),), "p - q is multiplied by 1 - p (a half-remembered focal loss)."),
    _("loss-power", ("return dlogits.reshape(p.shape)", "return (dlogits * abs(dlogits) ** 0.5).reshape(p.shape)"), ((*UNKNOWN, "power", "logits", "square", "root"),), "The gradient g becomes g |g|^(1/2): arbitrary."),
    _("loss-clipped-p", ("p.reshape(-1, size)", "np.clip(p, 0.05, 0.95).reshape(-1, size)"), ((*UNKNOWN, "clip", " p ", "logits", "small", "sum"),), "p is clipped to [0.05, 0.95] in the backward."),
    _("loss-two-mean-no-smoothing", ("smoothing / size", "0", "-= 1 - smoothing", "-= 1", "return dlogits.reshape(p.shape)", "return dlogits.reshape(p.shape) / cache.count"), (("smooth", *AVERAGE),), "Two mistakes: label smoothing is forgotten and the gradient is averaged over the real targets."),
    _("loss-two-padding-sign", ("real.reshape(-1, 1) * dloss", "-dloss"), ((*PADDING, "sign", "negat", "minus", "opposite"),), "Two mistakes: padding counts, and the sign is turned."),
    _("loss-forward-mean", ("return loss", "return loss / float(real.sum())"), ((*AVERAGE, "5 times", "times 5", "times"),), "forward returns the mean over the real targets; the given backward is that of the sum.", "cross_entropy_forward"),
    _("loss-forward-bits", ("return loss", "return loss / math.log(2)"), (("log", "base", "bits", "1.44", "0.693", "factor", "times", "ln 2"),), "forward measures in bits (log2), the given backward in nats.", "cross_entropy_forward"),
    _("loss-forward-smoothing-sum", ("shifted.mean", "shifted.sum", "mean - log_total", "mean - logits.shape[-1] * log_total"), (("smooth", "target", " v ", "mean"),), "forward's smoothing term sums log p over the classes instead of taking their mean.", "cross_entropy_forward"),
    _("loss-forward-smooths-padding", ("((mean - log_total) * real)", "(mean - log_total)"), ((*PADDING, "smooth"),), "forward's smoothing term counts padding too.", "cross_entropy_forward"),
    _("loss-forward-whole-target", ("-(1 - smoothing) * log", "-log"), (SMOOTHING,), "forward weights the target with 1 instead of 1 - smoothing.", "cross_entropy_forward"),
    _("loss-forward-epsilon-in-log", ("loss = -(1 - smoothing) * log_likelihood.sum() - smoothing * ((mean - log_total) * real).sum()", "target_p = xp.take_along_axis(p, targets[..., None], axis=-1)[..., 0]\n    loss = -(((1 - smoothing) * np.log(target_p + 0.01) + smoothing * np.log(p + 0.01).mean(axis=-1)) * real).sum()"), (("epsilon", "log", "forward", " p "),), "forward takes log(p + 0.01) 'for stability', which the given backward doesn't know.", "cross_entropy_forward"),
    _("loss-caches-log-p", ("CrossEntropyCache(p", "CrossEntropyCache(np.log(p)"), (("cache", "log", " p "),), "forward keeps log p where the backward expects p.", "cross_entropy_forward"),
    _("loss-forward-entropy", ("return loss", "return loss + 0.05 * (p * np.log(p)).sum()"), ((*UNKNOWN, "entropy", "logits", "padding"),), "forward adds 0.05 sum(p log p) (a confidence penalty) that the given backward doesn't know.", "cross_entropy_forward"),
    _("fused-target-rows-only", ("(dlogits @ weight).reshape(x.shape)", "-weight[loss.targets] * loss.real[..., None] * dloss"), ((" x ", "dx", "softmax", " p ", "target"),), "dx = -W[target]: the softmax's part, p W, is forgotten.", "linear_cross_entropy_backward", FUSED),
    _("fused-weight-mean", ("return dx, dweight", "return dx, dweight / loss.count"), (("weight",), AVERAGE), "dW alone is divided by the number of real targets.", "linear_cross_entropy_backward", FUSED),
    _("fused-upstream-twice", ("cross_entropy_backward(dloss, loss)", "dloss * cross_entropy_backward(dloss, loss)"), (("dloss", "upstream", "incoming", "dy", "factor", "twice", "square", "power"),), "dloss is multiplied in twice.", "linear_cross_entropy_backward", FUSED),
    _("fused-upstream-missing-in-weight", ("return dx, dweight", "return dx, dweight / dloss"), (("dloss", "upstream", "chain", "incoming", "dy", "factor"),), "dW lacks the factor dloss; dx has it.", "linear_cross_entropy_backward", FUSED),
    _("fused-swapped", ("return dx, dweight", "return dweight, dx"), (("swap", "exchang", "order", "shape", "each other"),), "dW and dx are returned in each other's place.", "linear_cross_entropy_backward", FUSED),
    _("fused-last-chunk-left-out", ("dx =", "dlogits[(len(dlogits) - 1) // 2 * 2:] = 0\n    dx ="), (("last", "row", "position", "chunk", "token", "some of", "part of", *MISSING),), "The loop over chunks of two rows ends one chunk too early: the last two rows get no gradient.", "linear_cross_entropy_backward", FUSED),
    _("fused-weight-last-chunk", ("dweight =", "dlogits[:(len(dlogits) - 1) // 2 * 2] = 0\n    dweight ="), (("weight",), ("last", "only", "chunk", "overwrit", "some of", "part of", "one", "row")), "dW is assigned in each round of the loop over chunks: the last chunk's alone is returned.", "linear_cross_entropy_backward", FUSED),
    _("fused-softmax-backward-too", ("dx =", "p = loss.p.reshape(dlogits.shape)\n    dlogits = p * (dlogits - (dlogits * p).sum(axis=-1, keepdims=True))\n    dx ="), (("softmax", "twice", "jacobian"),), "Softmax's backward is applied to the logits' gradient, which contains it already.", "linear_cross_entropy_backward", FUSED),
    _("fused-two-sign-and-double", ("dx = (dlogits", "dx = (-dlogits", "dweight = dlogits", "dweight = 2 * dlogits"), (("sign", "negat", "minus", "opposite", "-1"), ("twice", "doubl", "2 times", "times 2", "2x", "factor")), "Two mistakes: dx has the wrong sign and dW is doubled.", "linear_cross_entropy_backward", FUSED),
    _("fused-unit-weight", ("@ weight)", "@ (weight / np.sqrt((weight * weight).sum(axis=1, keepdims=True))))"), ((*UNKNOWN, " x ", "dx", "norm"),), "dx is made with the rows of W scaled to length 1: arbitrary.", "linear_cross_entropy_backward", FUSED),
    _("fused-forward-scaled", ("@ weight.T", "@ weight.T / math.sqrt(x.shape[-1])"), (("sqrt", "factor", "scale", "2.65", "2.646", "0.378", "times", "divid"),), "forward divides the logits by sqrt(d_model); the given backward does not.", "linear_cross_entropy_forward", FUSED),
]
