"""Mistakes in softmax and in scaled dot-product attention."""

import math

import numpy as np

from minitransformer.functional import dropout_backward, dropout_forward, softmax_backward, softmax_forward
from minitransformer.functional.attention import AttentionCache
from minitransformer.functional.softmax import SoftmaxCache
from tests.diagnosis.mistakes import right
from tests.diagnosis.mistakes.mistake import Mistake
from tests.diagnosis.mistakes.words import MISSING, PRECISION, RAISES, SIGN, SWAPPED


def sum_without_p(dp, cache):
    return cache.p * (dp - dp.sum(axis=-1, keepdims=True))


def sum_over_queries(dp, cache):
    p = cache.p
    return p * (dp - (dp * p).sum(axis=-2, keepdims=True))


def sum_added(dp, cache):
    p = cache.p
    return p * (dp + (dp * p).sum(axis=-1, keepdims=True))


def p_not_on_sum(dp, cache):
    p = cache.p
    return p * dp - (dp * p).sum(axis=-1, keepdims=True)


def negative(dp, cache):
    p = cache.p
    return p * ((dp * p).sum(axis=-1, keepdims=True) - dp)


def product_only(dp, cache):
    return cache.p * dp


def divided_by_p(dp, cache):
    p = cache.p
    dlog = dp * p
    return p * ((dlog - p * dlog.sum(axis=-1, keepdims=True)) / p)


def in_float32(dp, cache):
    p, dp = cache.p.astype(np.float32), dp.astype(np.float32)
    return p * (dp - (dp * p).sum(axis=-1, keepdims=True))


def forward_caches_exponentials(x, mask=None):
    if mask is not None:
        x = np.where(mask, x, -np.inf)
    peak = x.real.max(axis=-1, keepdims=True)
    e = np.exp(x - np.where(peak == -np.inf, 0, peak))
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total == 0, 1, total), SoftmaxCache(e)


def scale_forgotten(dy, cache):
    dscores = right.scores(dy, cache)
    return right.of_scores(dscores, dy, cache)


def scale_multiplied(dy, cache):
    dscores = right.scores(dy, cache) * math.sqrt(cache.query.shape[-1])
    return right.of_scores(dscores, dy, cache)


def scale_not_for_keys(dy, cache):
    query, key, value, softmax, dropout, weights = cache
    dscores = right.scores(dy, cache)
    dquery = dscores @ key / math.sqrt(query.shape[-1])
    return dquery, dscores.swapaxes(-1, -2) @ query, weights.swapaxes(-1, -2) @ dy


def value_before_key(dy, cache):
    dquery, dkey, dvalue = right.attention_backward(dy, cache)
    return dquery, dvalue, dkey


def weights_for_p(dy, cache):
    query, key, value, softmax, dropout, weights = cache
    dp = dropout_backward(dy @ value.swapaxes(-1, -2), dropout)
    dscores = softmax_backward(dp, SoftmaxCache(weights)) / math.sqrt(query.shape[-1])
    return right.of_scores(dscores, dy, cache)


def softmax_skipped(dy, cache):
    dscores = dropout_backward(dy @ cache.value.swapaxes(-1, -2), cache.dropout) / math.sqrt(cache.query.shape[-1])
    return right.of_scores(dscores, dy, cache)


def keys_get_nothing(dy, cache):
    dquery, _, dvalue = right.attention_backward(dy, cache)
    return dquery, np.zeros_like(cache.key), dvalue


def keys_subtracted(dy, cache):
    dquery, dkey, dvalue = right.attention_backward(dy, cache)
    return dquery, -dkey, dvalue


def forward_unscaled(query, key, value, mask=None, dropout_rate=0.0, rng=None):
    p, softmax = softmax_forward(query @ key.swapaxes(-1, -2), mask)
    weights, dropout = dropout_forward(p, dropout_rate, rng)
    return weights @ value, AttentionCache(query, key, value, softmax, dropout, weights)


def forward_drops_after_product(query, key, value, mask=None, dropout_rate=0.0, rng=None):
    p, softmax = softmax_forward(query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1]), mask)
    weights, dropout = dropout_forward(p, dropout_rate, rng)
    return weights @ value, AttentionCache(query, key, value, softmax, dropout, p)


def two_gradients(dy, cache):
    dquery, dkey, _ = right.attention_backward(dy, cache)
    return dquery, dkey


DP_SUM = ("sum", "dp * p", "dp_j p_j", "off-diagonal", "row")
SCALE = ("sqrt(d_k)", "sqrt(d)", "√", "scal", "d_k")

MISTAKES = [
    Mistake("softmax-sum-without-p", "softmax_backward", sum_without_p, "softmax",
            (("sum(dp)", "sum", "dp.sum"), ("p_j", "* p", "without p", "times p", "by p", "product", "weight"))),
    Mistake("softmax-sum-over-queries", "softmax_backward", sum_over_queries, "softmax", (("axis", "axes", "column"),)),
    Mistake("softmax-sum-added", "softmax_backward", sum_added, "softmax", ((*SIGN, "subtract", "added", "plus"),)),
    Mistake("softmax-p-not-on-sum", "softmax_backward", p_not_on_sum, "softmax", (DP_SUM, MISSING)),
    Mistake("softmax-negative", "softmax_backward", negative, "softmax", (SIGN,)),
    Mistake("softmax-product-only", "softmax_backward", product_only, "softmax", (DP_SUM, MISSING)),
    Mistake("softmax-divided-by-p", "softmax_backward", divided_by_p, "softmax",
            (("nan", "not finite", "finite"),), in_model="transformer",
            comment="0 / 0 where the mask left a probability of 0"),
    Mistake("softmax-in-float32", "softmax_backward", in_float32, "softmax", (PRECISION,)),
    Mistake("softmax-forward-caches-exponentials", "softmax_forward", forward_caches_exponentials, "softmax",
            (("cache", "normali", "sum to 1", "total", "divid", "exponential"),)),
    Mistake("attention-scale-forgotten", "attention_backward", scale_forgotten, "attention", (SCALE, (*MISSING, "too large"))),
    Mistake("attention-scale-multiplied", "attention_backward", scale_multiplied, "attention",
            (SCALE, ("multipl", "instead of divid", "d_k times", "inverse", "too large", "times"))),
    Mistake("attention-scale-not-for-keys", "attention_backward", scale_not_for_keys, "attention",
            (("dkey", "key"), SCALE)),
    Mistake("attention-value-before-key", "attention_backward", value_before_key, "attention", (SWAPPED,)),
    Mistake("attention-weights-for-p", "attention_backward", weights_for_p, "attention",
            (("dropout", "dropped"), ("softmax", "weights"))),
    Mistake("attention-softmax-skipped", "attention_backward", softmax_skipped, "attention", (("softmax",), MISSING)),
    Mistake("attention-keys-get-nothing", "attention_backward", keys_get_nothing, "attention", (("key",), MISSING)),
    Mistake("attention-keys-subtracted", "attention_backward", keys_subtracted, "attention", (("key",), SIGN)),
    Mistake("attention-forward-unscaled", "attention_forward", forward_unscaled, "attention", (SCALE,)),
    Mistake("attention-forward-caches-p", "attention_forward", forward_drops_after_product, "attention",
            (("value",), ("dropout", "weights", "cache"))),
    Mistake("attention-two-gradients", "attention_backward", two_gradients, "attention",
            (("two", "2 ", "three", "3 ", "too few", "unpack", "one for each", "number of", "missing", *RAISES),)),
]
