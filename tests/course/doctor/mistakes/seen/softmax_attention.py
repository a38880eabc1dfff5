"""Mistakes in softmax and in scaled dot-product attention."""

import math

import numpy as np

from minitransformer.functional import dropout_backward, softmax_backward, softmax_forward
from minitransformer.functional.softmax import SoftmaxCache
from tests.course.doctor.mistakes import right
from tests.course.doctor.mistakes.mistake import Mistake
from tests.course.doctor.mistakes.right import attention, changed, dweights, given, mean, root, softmax, total, turned, unscaled
from tests.course.doctor.mistakes.words import DIVIDED, IN_PLACE, MISSING, RAISES, RANDOM, SWAPPED, TWICE

outer_p_forgotten = softmax(lambda dp, p: dp - total(dp * p))
by_batch = softmax(lambda dp, p: p * (dp - total(dp * p)) / p.shape[0])
mean_for_sum = softmax(lambda dp, p: p * (dp - mean(dp * p)))
sum_over_everything = softmax(lambda dp, p: p * (dp - np.sum(dp * p)))
p_on_sum_only = softmax(lambda dp, p: dp - p * total(dp * p))
p_twice = softmax(lambda dp, p: p * p * (dp - total(dp * p)))
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
