"""Mistakes in cross-entropy with label smoothing."""

import numpy as np

from minitransformer.functional import cross_entropy_backward
from research.mistakes import makers
from research.mistakes.words import LEFT_OUT, UNKNOWN

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

MISTAKES = [
    makers.loss("loss-smoothing-whole-one-at-target", ("-= 1 - smoothing", "-= 1"), SMOOTHING),
    makers.loss("loss-smoothing-over-others",
            ("smoothing / size", "smoothing / (size - 1)", "-= 1 - smoothing", "-= 1 - smoothing - smoothing / (size - 1)"),
            (*SMOOTHING, "v - 1", "v-1", "1 / 10")),
    makers.loss("loss-smoothing-forgotten", ("smoothing / size", "0", "-= 1 - smoothing", "-= 1"), ("smooth",)),
    makers.loss("loss-smoothing-target-only", ("smoothing / size", "0"), (*SMOOTHING, "uniform", "spread")),
    makers.loss("loss-over-count", ("return dlogits.reshape(p.shape)", "return dlogits.reshape(p.shape) / cache.count"), AVERAGE),
    makers.loss("loss-over-batch", ("return dlogits.reshape(p.shape)", "return dlogits.reshape(p.shape) / len(p)"), AVERAGE),
    makers.loss("loss-over-all-positions", ("return dlogits.reshape(p.shape)", "return dlogits.reshape(p.shape) / targets.size"), AVERAGE),
    makers.loss("loss-over-classes", ("return dlogits.reshape(p.shape)", "return dlogits.reshape(p.shape) / size"), AVERAGE),
    makers.loss("loss-padding-counts", ("real.reshape(-1, 1) * dloss", "dloss"), PADDING),
    makers.loss("loss-only-padding-counts", ("real.reshape(-1, 1)", "~real.reshape(-1, 1)"), (*PADDING, "invert")),
    makers.loss("loss-padding-half-masked",
            ("smoothing / size", "smoothing / size * real.reshape(-1, 1)", "-= 1 - smoothing", "-= (1 - smoothing) * real.reshape(-1)", "real.reshape(-1, 1) * dloss", "dloss"),
            PADDING),
    makers.loss("loss-upstream-ignored", (" * dloss", ""), ("dloss", "upstream", "chain", "incoming", "dy", "factor", "gradient from above")),
    makers.loss("loss-upstream-divides", ("* dloss", "/ dloss"), ("dloss", "upstream", "chain", "incoming", "dy", "factor", "power", "square")),
    makers.loss("loss-sign", ("return dlogits", "return -dlogits"), ("sign", "negat", "minus", "-1", "opposite")),
    makers.loss("loss-softmax-backward-too",
            ("return dlogits.reshape(p.shape)", "d = dlogits.reshape(p.shape)\n    return p * (d - (d * p).sum(axis=-1, keepdims=True))"),
            ("softmax", "twice", "jacobian"), comment="Softmax's backward is applied to p - q, which contains it already."),
    makers.loss("loss-of-probabilities",
            ("return dlogits.reshape(p.shape)", "return (dlogits / p.reshape(-1, size) - real.reshape(-1, 1) * dloss).reshape(p.shape)"),
            ("softmax", "probabilit", "1/p", "q / p", "/ p")),
    makers.loss("loss-targets-shifted", ("targets.reshape(-1)]", "np.roll(targets, -1, axis=-1).reshape(-1)]"),
            ("target", "shift", "next", "off by one", "wrong row", "neighbour"),
            comment="The targets are shifted by one position in the backward, as if they were shifted again."),
    makers.loss("loss-index-broadcast", targets_index_all_positions, ("target", "every position", "position", "index", "all")),
    makers.loss("loss-p-in-place", probabilities_changed_in_place,
            ("in place", "in-place", "chang", "modif", "overwr", "writes", "alter", "cache"),
            comment="The cached p is changed in place: the numbers are right once, a second backward gives others."),
    makers.loss("loss-focal", ("return dlogits.reshape(p.shape)", "return dlogits.reshape(p.shape) * (1 - p)"),
            (*UNKNOWN, "1 - p", "logits", " p "), comment="p - q is multiplied by 1 - p (a half-remembered focal loss)."),
    makers.loss("loss-power", ("return dlogits.reshape(p.shape)", "return (dlogits * abs(dlogits) ** 0.5).reshape(p.shape)"),
            (*UNKNOWN, "power", "logits", "square", "root")),
    makers.loss("loss-clipped-p", ("p.reshape(-1, size)", "np.clip(p, 0.05, 0.95).reshape(-1, size)"), (*UNKNOWN, "clip", " p ", "logits", "small", "sum")),
    makers.loss("loss-two-mean-no-smoothing",
            ("smoothing / size", "0", "-= 1 - smoothing", "-= 1", "return dlogits.reshape(p.shape)", "return dlogits.reshape(p.shape) / cache.count"),
            ("smooth", *AVERAGE)),
    makers.loss("loss-two-padding-sign", ("real.reshape(-1, 1) * dloss", "-dloss"), (*PADDING, "sign", "negat", "minus", "opposite")),
    makers.loss_forward("loss-forward-mean", ("return loss", "return loss / float(real.sum())"), (*AVERAGE, "5 times", "times 5", "times")),
    makers.loss_forward("loss-forward-bits", ("return loss", "return loss / math.log(2)"), ("log", "base", "bits", "1.44", "0.693", "factor", "times", "ln 2")),
    makers.loss_forward("loss-forward-smoothing-sum",
            ("shifted.mean", "shifted.sum", "mean - log_total", "mean - logits.shape[-1] * log_total"),
            ("smooth", "target", " v ", "mean")),
    makers.loss_forward("loss-forward-smooths-padding", ("((mean - log_total) * real)", "(mean - log_total)"), (*PADDING, "smooth")),
    makers.loss_forward("loss-forward-whole-target", ("-(1 - smoothing) * log", "-log"), SMOOTHING),
    makers.loss_forward("loss-forward-epsilon-in-log",
            ("loss = -(1 - smoothing) * log_likelihood.sum() - smoothing * ((mean - log_total) * real).sum()",
             "target_p = xp.take_along_axis(p, targets[..., None], axis=-1)[..., 0]\n    loss = -(((1 - smoothing) * np.log(target_p + 0.01) + smoothing * np.log(p + 0.01).mean(axis=-1)) * real).sum()"),
            ("epsilon", "log", "forward", " p "),
            comment="forward takes log(p + 0.01) 'for stability', which the given backward doesn't know."),
    makers.loss_forward("loss-caches-log-p", ("CrossEntropyCache(p", "CrossEntropyCache(np.log(p)"), ("cache", "log", " p ")),
    makers.loss_forward("loss-forward-entropy", ("return loss", "return loss + 0.05 * (p * np.log(p)).sum()"),
            (*UNKNOWN, "entropy", "logits", "padding"),
            comment="forward adds 0.05 sum(p log p) (a confidence penalty) that the given backward doesn't know."),
]
