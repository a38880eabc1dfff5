"""Mistakes in softmax and in scaled dot-product attention."""

import numpy as np

from minitransformer.functional import softmax_forward
from minitransformer.functional.softmax import SoftmaxCache
from research.mistakes import makers
from research.mistakes.words import DIVIDED, IN_PLACE, MISSING, RAISES, RANDOM, SWAPPED, TWICE


def forward_masks_afterwards(x, mask=None):
    p = np.exp(x - x.real.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    if mask is not None:
        p = p * mask
    return p, SoftmaxCache(p)


def forward_masks_in_place(x, mask=None):
    if mask is not None:
        np.copyto(x, -np.inf, where=~mask)
    return softmax_forward.textbook(x, mask)


SCALE = ("sqrt(d_k)", "sqrt(d)", "√", "scal", "d_k")

MISTAKES = [
    makers.softmax("softmax-outer-p-forgotten", ("p * (dp - mean)", "dp - mean"),
            ("outer", "p *", "p (", "times p", "by p", "factor p", "multiplied by"), MISSING),
    makers.softmax("softmax-by-batch", ("p * (dp - mean)", "p * (dp - mean) / p.shape[0]"), ("batch",), DIVIDED,
            comment="numpy-transformer: the gradient is divided by the batch size"),
    makers.softmax("softmax-mean-for-sum", (".sum(", ".mean("), ("mean", "averag", "divid")),
    makers.softmax("softmax-sum-over-everything", (".sum(axis=-1, keepdims=True)", ".sum()"),
            ("axis", "axes", "whole", "all rows", "everything", "each row", "per row", "every row")),
    makers.softmax("softmax-p-on-sum-only", ("p * (dp - mean)", "dp - p * mean"),
            ("first term", "p * dp", "dp without", "dp is not", "p dp", "dp *", "dp alone", "dp itself", "diagonal", "p * (dp", "p (dp", "factor p", "times p", "by p"),
            MISSING),
    makers.softmax("softmax-p-twice", ("p * (dp - mean)", "p * p * (dp - mean)"), (*TWICE, "p * p", "p^2", "p**2", "p²")),
    makers.softmax_forward("softmax-forward-over-queries", ("axis=-1", "axis=-2"), ("axis", "axes", "column", "sum to 1")),
    makers.softmax_forward("softmax-forward-masks-afterwards", forward_masks_afterwards, ("mask", "sum to 1", "normali")),
    makers.softmax_forward("softmax-forward-masks-in-place", forward_masks_in_place, IN_PLACE, in_model="",
            comment="nothing but the caller's array is wrong"),
    makers.attention("attention-scale-without-root", ("math.sqrt(query.shape[-1])", "query.shape[-1]"), SCALE,
            ("twice", "root", "1 / d_k", "1/d_k", "squar", "by d_k", "instead of", "again", "too small")),
    makers.attention("attention-scale-of-values", ("sqrt(query", "sqrt(value"), ("d_v", "value"), ("d_k", "key", "scal", "sqrt")),
    makers.attention("attention-scale-of-values-too", (", dvalue", ", dvalue / math.sqrt(query.shape[-1])"), ("value",),
            ("sqrt", "scal", "√")),
    makers.attention("attention-query-and-key-swapped", ("return dquery, dkey", "return dkey, dquery"), SWAPPED),
    makers.attention("attention-values-without-dropout", ("dvalue = weights", "dvalue = softmax.p"), ("value",),
            ("dropout", "weights")),
    makers.attention("attention-dropout-not-undone", ("dropout_backward(dweights, dropout)", "dweights"), ("dropout",), MISSING),
    makers.attention("attention-softmax-before-dropout",
            ("dropout_backward(dweights, dropout)", "dweights", "softmax_backward(dp, softmax)", "dropout_backward(softmax_backward(dp, softmax), dropout)"),
            ("dropout",), (*SWAPPED, "before", "after")),
    makers.attention("attention-values-untransposed", ("weights.swapaxes(-1, -2)", "weights"), ("transpos", *RAISES, "shape")),
    makers.attention("attention-mask-ignored",
            ("(dp, softmax)", "(dp, softmax_forward(query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1]))[1])"), ("mask",)),
    makers.attention("attention-queries-miss-softmax", ("dquery = dscores", "dquery = dp / math.sqrt(query.shape[-1])"),
            ("query", "queries"), ("softmax",)),
    makers.attention("attention-new-dropout",
            ("dropout_backward(dweights, dropout)", "dweights * (np.random.default_rng().random(weights.shape) >= 0.2) / 0.8"),
            RANDOM),
]
