"""Mistakes in softmax and in scaled dot-product attention."""

import math

import numpy as np

from minitransformer.functional import dropout_backward, softmax_backward, softmax_forward
from minitransformer.functional.softmax import SoftmaxCache
from tests.diagnosis.mistakes import right
from tests.diagnosis.mistakes.mistake import Mistake
from tests.diagnosis.mistakes.words import DIVIDED, IN_PLACE, MISSING, RAISES, RANDOM, SWAPPED, TWICE


def outer_p_forgotten(dp, cache):
    return dp - (dp * cache.p).sum(axis=-1, keepdims=True)


def by_batch(dp, cache):
    p = cache.p
    return p * (dp - (dp * p).sum(axis=-1, keepdims=True)) / p.shape[0]


def mean_for_sum(dp, cache):
    p = cache.p
    return p * (dp - (dp * p).mean(axis=-1, keepdims=True))


def sum_over_everything(dp, cache):
    p = cache.p
    return p * (dp - np.sum(dp * p))


def p_on_sum_only(dp, cache):
    p = cache.p
    return dp - p * (dp * p).sum(axis=-1, keepdims=True)


def p_twice(dp, cache):
    p = cache.p
    dx = p * (dp - (dp * p).sum(axis=-1, keepdims=True))
    return p * dx


def forward_over_queries(x, mask=None):
    if mask is not None:
        x = np.where(mask, x, -np.inf)
    peak = x.real.max(axis=-2, keepdims=True)
    p = np.exp(x - np.where(peak == -np.inf, 0, peak))
    total = p.sum(axis=-2, keepdims=True)
    p = p / np.where(total == 0, 1, total)
    return p, SoftmaxCache(p)


def forward_masks_afterwards(x, mask=None):
    p = np.exp(x - x.real.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    if mask is not None:
        p = p * mask
    return p, SoftmaxCache(p)


def forward_masks_in_place(x, mask=None):
    if mask is not None:
        np.copyto(x, -np.inf, where=~mask)
    peak = x.real.max(axis=-1, keepdims=True)
    p = np.exp(x - np.where(peak == -np.inf, 0, peak))
    total = p.sum(axis=-1, keepdims=True)
    p /= np.where(total == 0, 1, total)
    return p, SoftmaxCache(p)


def scale_without_root(dy, cache):
    dscores = right.scores(dy, cache) / cache.query.shape[-1]
    return right.of_scores(dscores, dy, cache)


def scale_of_values(dy, cache):
    dscores = right.scores(dy, cache) / math.sqrt(cache.value.shape[-1])
    return right.of_scores(dscores, dy, cache)


def scale_of_values_too(dy, cache):
    dquery, dkey, dvalue = right.attention_backward(dy, cache)
    return dquery, dkey, dvalue / math.sqrt(cache.query.shape[-1])


def query_and_key_swapped(dy, cache):
    dquery, dkey, dvalue = right.attention_backward(dy, cache)
    return dkey, dquery, dvalue


def values_without_dropout(dy, cache):
    dquery, dkey, _ = right.attention_backward(dy, cache)
    return dquery, dkey, cache.softmax.p.swapaxes(-1, -2) @ dy


def dropout_not_undone(dy, cache):
    dp = dy @ cache.value.swapaxes(-1, -2)
    dscores = softmax_backward(dp, cache.softmax) / math.sqrt(cache.query.shape[-1])
    return right.of_scores(dscores, dy, cache)


def softmax_before_dropout(dy, cache):
    query, key, value, softmax, dropout, weights = cache
    dscores = dropout_backward(softmax_backward(dy @ value.swapaxes(-1, -2), softmax), dropout)
    dscores /= math.sqrt(query.shape[-1])
    return right.of_scores(dscores, dy, cache)


def values_untransposed(dy, cache):
    dquery, dkey, _ = right.attention_backward(dy, cache)
    return dquery, dkey, cache.weights @ dy


def mask_ignored(dy, cache):
    query, key = cache.query, cache.key
    _, softmax = softmax_forward(query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1]))
    return right.attention_backward(dy, cache._replace(softmax=softmax))


def queries_miss_softmax(dy, cache):
    _, dkey, dvalue = right.attention_backward(dy, cache)
    return right.probabilities(dy, cache) @ cache.key / math.sqrt(cache.query.shape[-1]), dkey, dvalue


def new_dropout(dy, cache):
    dweights = dy @ cache.value.swapaxes(-1, -2)
    keep = np.random.default_rng().random(dweights.shape) >= 0.2
    dscores = softmax_backward(dweights * keep / 0.8, cache.softmax) / math.sqrt(cache.query.shape[-1])
    return right.of_scores(dscores, dy, cache)


SCALE = ("sqrt(d_k)", "sqrt(d)", "√", "scal", "d_k")

MISTAKES = [
    Mistake("softmax-outer-p-forgotten", "softmax_backward", outer_p_forgotten, "softmax",
            (("outer", "p *", "p (", "times p", "by p", "factor p", "multiplied by"), MISSING)),
    Mistake("softmax-by-batch", "softmax_backward", by_batch, "softmax", (("batch",), DIVIDED),
            comment="numpy-transformer: the gradient is divided by the batch size"),
    Mistake("softmax-mean-for-sum", "softmax_backward", mean_for_sum, "softmax", (("mean", "averag", "divid"),)),
    Mistake("softmax-sum-over-everything", "softmax_backward", sum_over_everything, "softmax",
            (("axis", "axes", "whole", "all rows", "everything", "each row", "per row", "every row"),)),
    Mistake("softmax-p-on-sum-only", "softmax_backward", p_on_sum_only, "softmax",
            (("first term", "p * dp", "dp without", "dp is not", "p dp", "dp *", "dp alone", "dp itself", "diagonal", "p * (dp", "p (dp",
              "factor p", "times p", "by p"), MISSING)),
    Mistake("softmax-p-twice", "softmax_backward", p_twice, "softmax", ((*TWICE, "p * p", "p^2", "p**2", "p²"),)),
    Mistake("softmax-forward-over-queries", "softmax_forward", forward_over_queries, "softmax",
            (("axis", "axes", "column", "sum to 1"),)),
    Mistake("softmax-forward-masks-afterwards", "softmax_forward", forward_masks_afterwards, "softmax",
            (("mask", "sum to 1", "normali"),)),
    Mistake("softmax-forward-masks-in-place", "softmax_forward", forward_masks_in_place, "softmax", (IN_PLACE,), in_model="",
            comment="nothing but the caller's array is wrong"),
    Mistake("attention-scale-without-root", "attention_backward", scale_without_root, "attention",
            (SCALE, ("twice", "root", "1 / d_k", "1/d_k", "squar", "by d_k", "instead of", "again", "too small"))),
    Mistake("attention-scale-of-values", "attention_backward", scale_of_values, "attention",
            (("d_v", "value"), ("d_k", "key", "scal", "sqrt"))),
    Mistake("attention-scale-of-values-too", "attention_backward", scale_of_values_too, "attention",
            (("value",), ("sqrt", "scal", "√"))),
    Mistake("attention-query-and-key-swapped", "attention_backward", query_and_key_swapped, "attention", (SWAPPED,)),
    Mistake("attention-values-without-dropout", "attention_backward", values_without_dropout, "attention",
            (("value",), ("dropout", "weights"))),
    Mistake("attention-dropout-not-undone", "attention_backward", dropout_not_undone, "attention",
            (("dropout",), MISSING)),
    Mistake("attention-softmax-before-dropout", "attention_backward", softmax_before_dropout, "attention",
            (("dropout",), (*SWAPPED, "before", "after"))),
    Mistake("attention-values-untransposed", "attention_backward", values_untransposed, "attention",
            (("transpos", *RAISES, "shape"),)),
    Mistake("attention-mask-ignored", "attention_backward", mask_ignored, "attention", (("mask",),)),
    Mistake("attention-queries-miss-softmax", "attention_backward", queries_miss_softmax, "attention",
            (("query", "queries"), ("softmax",))),
    Mistake("attention-new-dropout", "attention_backward", new_dropout, "attention", (RANDOM,)),
]
