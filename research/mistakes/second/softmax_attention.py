"""Mistakes in softmax and in scaled dot-product attention."""

import math

import numpy as np

from minitransformer.functional import dropout_forward, softmax_forward
from minitransformer.functional.attention import AttentionCache
from minitransformer.functional.softmax import SoftmaxCache
from research.mistakes import makers
from research.mistakes.seen import softmax_attention as seen
from research.mistakes.words import LEFT_OUT, UNKNOWN

MISSING = (*LEFT_OUT, "does not reach", "not divided", "not multiplied")
SUM = ("sum", "row", "term", "subtract", "total", "weighted", "jacobian")


def softmax_forward_unguarded(x, mask=None, masked=-np.inf):
    if mask is not None:
        x = np.where(mask, x, masked)
    p = np.exp(x - x.real.max(axis=-1, keepdims=True))
    p = p / p.sum(axis=-1, keepdims=True)
    return p, SoftmaxCache(p)


def softmax_forward_in_place(x, mask=None):
    x -= x.real.max(axis=-1, keepdims=True)
    e = np.exp(x)
    if mask is not None:
        e = np.where(mask, e, 0)
    total = e.sum(axis=-1, keepdims=True)
    p = e / np.where(total == 0, 1, total)
    return p, SoftmaxCache(p)


def attention_forward_drops_scores(query, key, value, mask=None, dropout_rate=0.0, rng=None):
    scores = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])
    scores, dropout = dropout_forward(scores, dropout_rate, rng)
    p, softmax = softmax_forward(scores, mask)
    return p @ value, AttentionCache(query, key, value, softmax, dropout, p)


SCALE = ("scale", "sqrt", "divid", "d_k", "factor", "times", "2.236", "2.24", "0.447")

MISTAKES = [
    makers.softmax("softmax-sum-not-weighted", ("(dp * p)", "dp"), SUM, (*MISSING, "weight", " p ", "unweighted", "plain")),
    makers.softmax("softmax-mean-for-sum", (".sum(", ".mean("), ("mean", "average", "divid", "factor", "1/4", "quarter", "term")),
    makers.softmax("softmax-no-outer-p", ("p * (dp - mean)", "dp - mean"), (" p ", "probabilit", "factor"),
            (*MISSING, "multipl", "factor", "times")),
    makers.softmax("softmax-sum-over-rows", ("axis=-1", "axis=-2"),
            ("axis", "axes", "column", "over the queries", "wrong sum", "sum")),
    makers.softmax("softmax-sum-of-everything", (".sum(axis=-1, keepdims=True)", ".sum()"),
            ("axis", "axes", "all", "everything", "whole", "total", "sum")),
    makers.softmax("softmax-sign-turned", ("p * (dp - mean)", "p * (mean - dp)"), ("sign", "negat", "minus", "-1", "opposite")),
    makers.softmax("softmax-plus-for-minus", ("dp - mean", "dp + mean"), ("sign", "plus", "added", "minus", "subtract")),
    makers.softmax("softmax-no-sum", ("p * (dp - mean)", "p * dp"), (*SUM, "off-diagonal", "diagonal"),
            (*MISSING, "only", "diagonal", "p * dp", "dp * p", "constant")),
    makers.softmax("softmax-p-squared", ("p * (dp - mean)", "p * dp - p * p * dp.sum(axis=-1, keepdims=True)"),
            (*SUM, "off-diagonal", "square", "power", *UNKNOWN),
            comment="The outer product p p^T is read as p^2: the second term is p^2 sum(dp)."),
    makers.softmax("softmax-of-the-logarithm", ("p * (dp - mean)", "dp - p * dp.sum(axis=-1, keepdims=True)"),
            ("log", "softmax", *SUM)),
    makers.softmax("softmax-first-rows-p", ("(dp * p)", "(dp * p[..., :1, :])"), (*SUM, "first", "row", "broadcast", *UNKNOWN)),
    makers.softmax("softmax-changes-dp", ("return p * (dp - mean)", "dp -= mean\n    return p * dp"),
            ("in place", "in-place", "chang", "modif", "overwr", "writes", "alter"), in_model=""),
    makers.softmax("softmax-two-sign-and-mean", ("p * (dp - mean)", "p * ((dp * p).mean(axis=-1, keepdims=True) - dp)"),
            ("sign", "negat", "minus", "-1", "opposite", "mean", "average")),
    makers.softmax("softmax-root-of-p", ("p * (dp - mean)", "np.sqrt(p) * (dp - mean)"),
            (*UNKNOWN, "softmax", "root", "power", "factor p", "dx", "input")),
    makers.softmax("softmax-sharpened",
            ("p = cache.p", "p = cache.p ** 2 / np.maximum((cache.p ** 2).sum(axis=-1, keepdims=True), 1e-12)"),
            (*UNKNOWN, "softmax", "square", "dx", "input", "temperature")),
    makers.softmax("softmax-small-cut", ("p * (dp - mean)", "np.where(p > 0.2, p * (dp - mean), 0)"),
            (*UNKNOWN, "softmax", "small", "zero", "dx", "input")),
    makers.softmax_forward("softmax-forward-base-two", ("x - peak", "(x - peak) * math.log(2)"),
            ("log 2", "ln 2", "0.693", "1.44", "factor", "times", "scale", "temperature", "base", "constant")),
    makers.softmax_forward("softmax-forward-one-more", ("x.real.max", "x.max", "p /= total", "p /= 1 + total"),
            ("sum to", "denominator", "total", "normalis", "maximum", "max"),
            comment="forward adds 1 to the denominator after subtracting the maximum ('softmax off by one' done wrong); the maximum no longer cancels."),
    makers.softmax_forward("softmax-mask-after", seen.forward_masks_afterwards, ("mask", "sum to", "normalis")),
    makers.softmax_forward("softmax-finite-mask", lambda x, mask=None: softmax_forward_unguarded(x, mask, -1e9),
            ("mask", "nothing", "row", "uniform", "-1e9", "empty"), in_model="",
            comment="forward writes -1e9 where masked: a row that attends to nothing becomes uniform, with a gradient in the given backward that it doesn't have."),
    makers.softmax_forward("softmax-nan-for-empty-row", softmax_forward_unguarded,
            ("nan", "not finite", "non-finite", "infinit", "not a number", "nothing", "masked out"), in_model="",
            comment="forward divides 0 by 0 (-inf minus -inf) in a row where all is masked: NaN."),
    makers.softmax_forward("softmax-forward-over-queries", ("axis=-1", "axis=-2"),
            ("axis", "axes", "column", "quer", "sum to", "row", "normalis")),
    makers.softmax_forward("softmax-caches-exponentials", ("p /= total\n    return p,", "pass\n    return p / total,"),
            ("cache", "normalis", "sum to", "exp", "kept", "stored", " p ")),
    makers.softmax_forward("softmax-forward-in-place", softmax_forward_in_place,
            ("in place", "in-place", "chang", "modif", "overwr", "writes", "alter"), in_model=""),
    makers.attention("attention-no-scale-backward", (" / math.sqrt(query.shape[-1])", ""), SCALE),
    makers.attention("attention-key-not-scaled", ("dkey = dscores", "dkey = math.sqrt(query.shape[-1]) * dscores"), SCALE,
            ("key", "dk")),
    makers.attention("attention-scaled-by-d", ("math.sqrt(query.shape[-1])", "query.shape[-1]"), SCALE),
    makers.attention("attention-scaled-by-d-v", ("sqrt(query", "sqrt(value"), (*SCALE, "d_v")),
    makers.attention("attention-scaled-by-length", ("query.shape[-1]", "key.shape[-2]"),
            (*SCALE, "t_k", "length", "number of keys")),
    makers.attention("attention-scale-upside-down", ("/ math", "* math"), SCALE),
    makers.attention("attention-scale-in-one-term",
            ("softmax_backward(dp, softmax) / math.sqrt(query.shape[-1])", "softmax.p * (dp / math.sqrt(query.shape[-1]) - (dp * softmax.p).sum(axis=-1, keepdims=True))"),
            (*SCALE, "softmax")),
    makers.attention("attention-value-ignores-dropout", ("dvalue = weights", "dvalue = softmax.p"), ("dropout", "dropped", "mask"),
            ("value", "dv")),
    makers.attention("attention-no-dropout-backward", ("dropout_backward(dweights, dropout)", "dweights"),
            ("dropout", "dropped", "mask")),
    makers.attention("attention-dropout-order",
            ("dropout_backward(dweights, dropout)", "dweights", "softmax_backward(dp, softmax)", "dropout_backward(softmax_backward(dp, softmax), dropout)"),
            ("dropout", "dropped", "mask")),
    makers.attention("attention-dropout-twice",
            ("dropout_backward(dweights, dropout)", "dropout_backward(dropout_backward(dweights, dropout), dropout)"),
            ("dropout", "dropped", "mask")),
    makers.attention("attention-softmax-of-dropped", ("(dp, softmax)", "(dp, SoftmaxCache(weights))"),
            ("dropout", "dropped", "mask", "softmax", " p ")),
    makers.attention("attention-softmax-skipped", ("softmax_backward(dp, softmax)", "dp"), ("softmax",)),
    makers.attention("attention-weights-constant", ("softmax_backward(dp, softmax)", "0 * dp"),
            ("query", "dq", "key", "softmax", "scores"), MISSING),
    makers.attention("attention-key-constant", ("return dquery, dkey", "return dquery, 0 * dkey"), ("key", "dk"), MISSING),
    makers.attention("attention-outputs-swapped", ("return dquery, dkey", "return dkey, dquery"),
            ("swap", "exchang", "order", "shape"), ("query", "key", "dq", "dk", "input", "first", "gradients"),
            in_model="language-model"),
    makers.attention("attention-scores-not-transposed", ("dscores.swapaxes(-1, -2)", "dscores"),
            ("transpos", "key", "matmul", "shape", "raise", "dimension"), block="self-attention", in_model="language-model",
            comment="dK = dS Q without the transposition, which only lengths T_q = T_k let pass."),
    makers.attention("attention-key-from-key", ("-2) @ query", "-2) @ key"), ("key", "query", "dk"), block="self-attention",
            in_model="language-model", comment="dK = dS^T K: the key where the query belongs (which only T_q = T_k lets pass)."),
    makers.attention("attention-value-reshaped", ("weights.swapaxes(-1, -2)", "weights.reshape(weights.swapaxes(-1, -2).shape)"),
            ("value", "dv"), ("transpos", "reshap", "order", "shuffl", "permut", "scrambl", "weights")),
    makers.attention("attention-value-averaged", ("-2) @ dy", "-2) @ dy / query.shape[-2]"), ("value", "dv"),
            ("mean", "average", "divid", "factor", "1/3", "third", "0.333")),
    makers.attention("attention-causal-for-safety", ("softmax_backward(dp, softmax)", "np.tril(softmax_backward(dp, softmax))"),
            ("mask", "causal", "triang", "upper", "later", "some", "part", "zero"),
            comment="backward zeroes the score gradient above the diagonal 'to be safe', right only if forward's mask is causal."),
    makers.attention("attention-two-scale-and-dropout",
            ("dropout_backward(dweights, dropout)", "dweights", " / math.sqrt(query.shape[-1])", ""),
            (*SCALE, "dropout", "dropped", "mask")),
    makers.attention("attention-two-value-and-key",
            ("dkey = dscores", "dkey = -dscores", "dvalue = weights", "dvalue = softmax.p"),
            ("sign", "negat", "minus", "-1", "opposite", "dropout", "dropped"), ("key", "value", "dk", "dv")),
    makers.attention("attention-scores-times-weights",
            ("softmax_backward(dp, softmax)", "(1 + 0.3 * softmax.p) * softmax_backward(dp, softmax)"),
            (*UNKNOWN, "query", "key", "scores", "softmax")),
    makers.attention("attention-query-plus-tanh", ("dscores @ key", "dscores @ key + 0.2 * np.tanh(query)"),
            (*UNKNOWN, "query", "dq", "does not depend on dy", "constant")),
    makers.attention("attention-centred-value", ("dy @ value", "dy @ (value - value.mean(axis=-1, keepdims=True))"),
            (*UNKNOWN, "query", "key", "value", "scores", "mean")),
    makers.attention_forward("attention-forward-value-scale", ("sqrt(query", "sqrt(value"), (*SCALE, "d_v")),
    makers.attention_forward("attention-caches-scaled-query",
            ("AttentionCache(query", "AttentionCache(query / math.sqrt(query.shape[-1])"), SCALE,
            ("key", "dk", "query", "cache", "twice"),
            comment="forward scales the query and keeps the scaled one, so the given backward scales dK twice."),
    makers.attention_forward("attention-forward-drops-scores", attention_forward_drops_scores, ("dropout", "dropped", "mask", "softmax")),
    makers.attention_forward("attention-forward-second-mask",
            ("return y", "weights, dropout = dropout_forward(p, dropout_rate, rng)\n    return y"),
            ("dropout", "dropped", "mask", "random")),
    makers.attention_forward("attention-forward-renormalises",
            ("y = weights", "weights = weights / np.where((sums := weights.sum(axis=-1, keepdims=True)) == 0, 1, sums)\n        y = weights"),
            ("dropout", "normalis", "sum to", "softmax")),
    makers.attention_forward("attention-float64-scale",
            ("/ math.sqrt(query.shape[-1])", "* (1 / np.sqrt(np.float64(query.shape[-1])))"),
            ("float64", "dtype", "float32", "precision"), in_model=""),
    makers.attention_forward("attention-caches-undropped", ("dropout, weights)", "dropout, p)"),
            ("value", "dv", "cache", "weights"), ("dropout", "dropped", "cache", "mask")),
]
