"""Mistakes in softmax and in scaled dot-product attention."""

import math

import numpy as np

from minitransformer.functional import dropout_backward, softmax_backward, softmax_forward
from minitransformer.functional.softmax import SoftmaxCache
from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes import right
from tests.course.doctor.mistakes.right import attention, changed, dweights, given, mean, root, softmax, total, turned, unscaled
from tests.course.doctor.mistakes.words import DIVIDED, IN_PLACE, MISSING, RAISES, RANDOM, SWAPPED, TWICE

mean_for_sum = softmax(lambda dp, p: p * (dp - mean(dp * p)))
sum_over_everything = softmax(lambda dp, p: p * (dp - np.sum(dp * p)))
p_on_sum_only = softmax(lambda dp, p: dp - p * total(dp * p))
forward_over_queries = right.softmax_forward(axis=-2)


def forward_masks_afterwards(x, mask=None):
    p = np.exp(x - x.real.max(axis=-1, keepdims=True))
    p /= total(p)
    if mask is not None:
        p = p * mask
    return p, SoftmaxCache(p)


def forward_masks_in_place(x, mask=None):
    if mask is not None:
        np.copyto(x, -np.inf, where=~mask)
    return right.softmax_forward()(x)


scale_without_root = attention(lambda dy, cache: unscaled(dy, cache) / cache.query.shape[-1])
scale_of_values = attention(lambda dy, cache: unscaled(dy, cache) / math.sqrt(cache.value.shape[-1]))
scale_of_values_too = changed(attention(), lambda dq, dk, dv, dy, cache: (dq, dk, dv / root(cache)))
query_and_key_swapped = changed(attention(), lambda dq, dk, dv, *_: (dk, dq, dv))
values_without_dropout = attention(dvalue=lambda dy, cache: turned(cache.softmax.p) @ dy)
dropout_not_undone = attention(lambda dy, cache: softmax_backward(dweights(dy, cache), cache.softmax) / root(cache))
softmax_before_dropout = attention(
    lambda dy, cache: dropout_backward(softmax_backward(dweights(dy, cache), cache.softmax), cache.dropout) / root(cache))
values_untransposed = attention(dvalue=lambda dy, cache: cache.weights @ dy)
mask_ignored = given(attention(), lambda dy, cache: (
    dy, cache._replace(softmax=softmax_forward(cache.query @ turned(cache.key) / root(cache))[1])))
queries_miss_softmax = changed(attention(), lambda dq, dk, dv, dy, cache: (
    right.probabilities(dy, cache) @ cache.key / root(cache), dk, dv))


def new_dropout(dy, cache):
    keep = np.random.default_rng().random(cache.weights.shape) >= 0.2
    return attention(lambda dy, cache: softmax_backward(dweights(dy, cache) * keep / 0.8, cache.softmax) / root(cache))(dy, cache)


SCALE = ("sqrt(d_k)", "sqrt(d)", "√", "scal", "d_k")

MISTAKES = [
    makers.softmax("softmax-outer-p-forgotten", softmax(lambda dp, p: dp - total(dp * p)),
            ("outer", "p *", "p (", "times p", "by p", "factor p", "multiplied by"), MISSING),
    makers.softmax("softmax-by-batch", softmax(lambda dp, p: p * (dp - total(dp * p)) / p.shape[0]), ("batch",), DIVIDED,
            comment="numpy-transformer: the gradient is divided by the batch size"),
    makers.softmax("softmax-mean-for-sum", mean_for_sum, ("mean", "averag", "divid")),
    makers.softmax("softmax-sum-over-everything", sum_over_everything,
            ("axis", "axes", "whole", "all rows", "everything", "each row", "per row", "every row")),
    makers.softmax("softmax-p-on-sum-only", p_on_sum_only,
            ("first term", "p * dp", "dp without", "dp is not", "p dp", "dp *", "dp alone", "dp itself", "diagonal", "p * (dp", "p (dp", "factor p", "times p", "by p"),
            MISSING),
    makers.softmax("softmax-p-twice", softmax(lambda dp, p: p * p * (dp - total(dp * p))), (*TWICE, "p * p", "p^2", "p**2", "p²")),
    makers.softmax_forward("softmax-forward-over-queries", forward_over_queries, ("axis", "axes", "column", "sum to 1")),
    makers.softmax_forward("softmax-forward-masks-afterwards", forward_masks_afterwards, ("mask", "sum to 1", "normali")),
    makers.softmax_forward("softmax-forward-masks-in-place", forward_masks_in_place, IN_PLACE, in_model="",
            comment="nothing but the caller's array is wrong"),
    makers.attention("attention-scale-without-root", scale_without_root, SCALE,
            ("twice", "root", "1 / d_k", "1/d_k", "squar", "by d_k", "instead of", "again", "too small")),
    makers.attention("attention-scale-of-values", scale_of_values, ("d_v", "value"), ("d_k", "key", "scal", "sqrt")),
    makers.attention("attention-scale-of-values-too", scale_of_values_too, ("value",), ("sqrt", "scal", "√")),
    makers.attention("attention-query-and-key-swapped", query_and_key_swapped, SWAPPED),
    makers.attention("attention-values-without-dropout", values_without_dropout, ("value",), ("dropout", "weights")),
    makers.attention("attention-dropout-not-undone", dropout_not_undone, ("dropout",), MISSING),
    makers.attention("attention-softmax-before-dropout", softmax_before_dropout, ("dropout",), (*SWAPPED, "before", "after")),
    makers.attention("attention-values-untransposed", values_untransposed, ("transpos", *RAISES, "shape")),
    makers.attention("attention-mask-ignored", mask_ignored, ("mask",)),
    makers.attention("attention-queries-miss-softmax", queries_miss_softmax, ("query", "queries"), ("softmax",)),
    makers.attention("attention-new-dropout", new_dropout, RANDOM),
]
