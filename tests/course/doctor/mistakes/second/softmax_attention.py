"""Mistakes in softmax and in scaled dot-product attention."""

import math

import numpy as np

from minitransformer.functional import dropout_backward, dropout_forward, softmax_backward, softmax_forward
from minitransformer.functional.attention import AttentionCache
from minitransformer.functional.softmax import SoftmaxCache
from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes.held_out import softmax_attention as held_out
from tests.course.doctor.mistakes import right
from tests.course.doctor.mistakes.right import (
    attention, attention_forward, changed, dweights, given, probabilities, root, softmax, total, turned, unscaled)
from tests.course.doctor.mistakes.seen import softmax_attention as seen
from tests.course.doctor.mistakes.words import LEFT_OUT, UNKNOWN

MISSING = (*LEFT_OUT, "does not reach", "not divided", "not multiplied")
SUM = ("sum", "row", "term", "subtract", "total", "weighted", "jacobian")

softmax_outer_p_missing = softmax(lambda dp, p: dp - total(dp * p))
softmax_squared_p = softmax(lambda dp, p: p * dp - p * p * total(dp))
softmax_p_of_the_first_row = softmax(lambda dp, p: p * (dp - total(dp * p[..., :1, :])))
softmax_root = softmax(lambda dp, p: np.sqrt(p) * (dp - total(dp * p)))
softmax_sharpened = softmax(lambda dp, p: right.softmax()(dp, SoftmaxCache(p * p / np.maximum(total(p * p), 1e-12))))
softmax_small_ones_cut = softmax(lambda dp, p: np.where(p > 0.2, p * (dp - total(dp * p)), 0))
softmax_forward_base_two = given(right.softmax_forward(), lambda x, mask=None: (x * math.log(2), mask))    # 2^x


def softmax_modifies_dp(dp, cache):
    dp -= total(dp * cache.p)
    return cache.p * dp


def softmax_forward_unguarded(x, mask=None, masked=-np.inf):
    if mask is not None:
        x = np.where(mask, x, masked)
    p = np.exp(x - x.real.max(axis=-1, keepdims=True))
    p = p / total(p)
    return p, SoftmaxCache(p)


def softmax_forward_in_place(x, mask=None):
    x -= x.real.max(axis=-1, keepdims=True)
    e = np.exp(x)
    if mask is not None:
        e = np.where(mask, e, 0)
    p = e / np.where(total(e) == 0, 1, total(e))
    return p, SoftmaxCache(p)


# ---- attention

def attention_scale_inside_softmax(dy, cache):
    p, dp = cache.softmax.p, probabilities(dy, cache)
    return p * (dp / root(cache) - total(dp * p))


def attention_weights_renormalised(p, dropout_rate, rng):
    weights, dropout = dropout_forward(p, dropout_rate, rng)
    return weights / np.where(total(weights) == 0, 1, total(weights)), dropout


attention_scaled_by_length = attention(lambda dy, cache: unscaled(dy, cache) / math.sqrt(cache.key.shape[-2]))
attention_dropout_backward_twice = attention(
    lambda dy, cache: softmax_backward(dropout_backward(probabilities(dy, cache), cache.dropout), cache.softmax) / root(cache))
attention_weights_detached = attention(lambda dy, cache: np.zeros_like(cache.weights))
attention_key_from_key = attention(dkey=lambda ds, cache: turned(ds) @ cache.key)
attention_value_reshaped = attention(dvalue=lambda dy, cache: cache.weights.reshape(turned(cache.weights).shape) @ dy)
attention_value_averaged = attention(dvalue=lambda dy, cache: turned(cache.weights) @ dy / cache.query.shape[-2])
attention_two_scale_and_dropout = attention(lambda dy, cache: softmax_backward(dweights(dy, cache), cache.softmax))
attention_two_value_and_key = attention(dkey=lambda ds, cache: -turned(ds) @ cache.query,
                                        dvalue=lambda dy, cache: turned(cache.softmax.p) @ dy)
attention_scores_times_weights = attention(lambda dy, cache: unscaled(dy, cache) * (1 + 0.3 * cache.softmax.p) / root(cache))
attention_centred_value = attention(lambda dy, cache: unscaled(
    dy, cache._replace(value=cache.value - right.mean(cache.value))) / root(cache))
attention_forward_scale_of_value = attention_forward(lambda query, key, value: query @ turned(key) / math.sqrt(value.shape[-1]))
attention_forward_caches_scaled_query = changed(attention_forward(), lambda y, cache, *_: (
    y, cache._replace(query=cache.query / root(cache))))
attention_forward_renormalises = attention_forward(weigh=attention_weights_renormalised)
attention_forward_numpy_scale = attention_forward(
    lambda query, key, value: query @ turned(key) * (1 / np.sqrt(np.float64(query.shape[-1]))))


def attention_forward_drops_scores(query, key, value, mask=None, dropout_rate=0.0, rng=None):
    scores = query @ turned(key) / math.sqrt(query.shape[-1])
    scores, dropout = dropout_forward(scores, dropout_rate, rng)
    p, softmax = softmax_forward(scores, mask)
    return p @ value, AttentionCache(query, key, value, softmax, dropout, p)


def attention_forward_second_mask(query, key, value, mask=None, dropout_rate=0.0, rng=None):
    y, cache = attention_forward()(query, key, value, mask, dropout_rate, rng)
    weights, dropout = dropout_forward(cache.softmax.p, dropout_rate, rng)
    return y, cache._replace(weights=weights, dropout=dropout)


SCALE = ("scale", "sqrt", "divid", "d_k", "factor", "times", "2.236", "2.24", "0.447")

MISTAKES = [
    makers.softmax("softmax-sum-not-weighted", held_out.sum_without_p, SUM, (*MISSING, "weight", " p ", "unweighted", "plain")),
    makers.softmax("softmax-mean-for-sum", seen.mean_for_sum, ("mean", "average", "divid", "factor", "1/4", "quarter", "term")),
    makers.softmax("softmax-no-outer-p", softmax_outer_p_missing, (" p ", "probabilit", "factor"), (*MISSING, "multipl", "factor", "times")),
    makers.softmax("softmax-sum-over-rows", held_out.sum_over_queries, ("axis", "axes", "column", "over the queries", "wrong sum", "sum")),
    makers.softmax("softmax-sum-of-everything", seen.sum_over_everything, ("axis", "axes", "all", "everything", "whole", "total", "sum")),
    makers.softmax("softmax-sign-turned", held_out.negative, ("sign", "negat", "minus", "-1", "opposite")),
    makers.softmax("softmax-plus-for-minus", held_out.sum_added, ("sign", "plus", "added", "minus", "subtract")),
    makers.softmax("softmax-no-sum", held_out.product_only, (*SUM, "off-diagonal", "diagonal"), (*MISSING, "only", "diagonal", "p * dp", "dp * p", "constant")),
    makers.softmax("softmax-p-squared", softmax_squared_p, (*SUM, "off-diagonal", "square", "power", *UNKNOWN),
            comment="The outer product p p^T is read as p^2: the second term is p^2 sum(dp)."),
    makers.softmax("softmax-of-the-logarithm", softmax(lambda dp, p: dp - p * total(dp)), ("log", "softmax", *SUM)),
    makers.softmax("softmax-first-rows-p", softmax_p_of_the_first_row, (*SUM, "first", "row", "broadcast", *UNKNOWN)),
    makers.softmax("softmax-changes-dp", softmax_modifies_dp, ("in place", "in-place", "chang", "modif", "overwr", "writes", "alter"), in_model=""),
    makers.softmax("softmax-two-sign-and-mean", softmax(lambda dp, p: p * (right.mean(dp * p) - dp)),
            ("sign", "negat", "minus", "-1", "opposite", "mean", "average")),
    makers.softmax("softmax-root-of-p", softmax_root, (*UNKNOWN, "softmax", "root", "power", "factor p", "dx", "input")),
    makers.softmax("softmax-sharpened", softmax_sharpened, (*UNKNOWN, "softmax", "square", "dx", "input", "temperature")),
    makers.softmax("softmax-small-cut", softmax_small_ones_cut, (*UNKNOWN, "softmax", "small", "zero", "dx", "input")),
    makers.softmax_forward("softmax-forward-base-two", softmax_forward_base_two,
            ("log 2", "ln 2", "0.693", "1.44", "factor", "times", "scale", "temperature", "base", "constant")),
    makers.softmax_forward("softmax-forward-one-more", ("p /= total", "p /= 1 + total"),
            ("sum to", "denominator", "total", "normalis", "maximum", "max"),
            comment="forward adds 1 to the denominator after subtracting the maximum ('softmax off by one' done wrong); the maximum no longer cancels."),
    makers.softmax_forward("softmax-mask-after", seen.forward_masks_afterwards, ("mask", "sum to", "normalis")),
    makers.softmax_forward("softmax-finite-mask", lambda x, mask=None: softmax_forward_unguarded(x, mask, -1e9),
            ("mask", "nothing", "row", "uniform", "-1e9", "empty"), in_model="",
            comment="forward writes -1e9 where masked: a row that attends to nothing becomes uniform, with a gradient in the given backward that it doesn't have."),
    makers.softmax_forward("softmax-nan-for-empty-row", softmax_forward_unguarded,
            ("nan", "not finite", "non-finite", "infinit", "not a number", "nothing", "masked out"), in_model="",
            comment="forward divides 0 by 0 (-inf minus -inf) in a row where all is masked: NaN."),
    makers.softmax_forward("softmax-forward-over-queries", seen.forward_over_queries,
            ("axis", "axes", "column", "quer", "sum to", "row", "normalis")),
    makers.softmax_forward("softmax-caches-exponentials", held_out.forward_caches_exponentials,
            ("cache", "normalis", "sum to", "exp", "kept", "stored", " p ")),
    makers.softmax_forward("softmax-forward-in-place", softmax_forward_in_place,
            ("in place", "in-place", "chang", "modif", "overwr", "writes", "alter"), in_model=""),
    makers.attention("attention-no-scale-backward", held_out.scale_forgotten, SCALE),
    makers.attention("attention-key-not-scaled", held_out.scale_not_for_keys, SCALE, ("key", "dk")),
    makers.attention("attention-scaled-by-d", seen.scale_without_root, SCALE),
    makers.attention("attention-scaled-by-d-v", seen.scale_of_values, (*SCALE, "d_v")),
    makers.attention("attention-scaled-by-length", attention_scaled_by_length, (*SCALE, "t_k", "length", "number of keys")),
    makers.attention("attention-scale-upside-down", held_out.scale_multiplied, SCALE),
    makers.attention("attention-scale-in-one-term", attention(attention_scale_inside_softmax), (*SCALE, "softmax")),
    makers.attention("attention-value-ignores-dropout", seen.values_without_dropout, ("dropout", "dropped", "mask"), ("value", "dv")),
    makers.attention("attention-no-dropout-backward", seen.dropout_not_undone, ("dropout", "dropped", "mask")),
    makers.attention("attention-dropout-order", seen.softmax_before_dropout, ("dropout", "dropped", "mask")),
    makers.attention("attention-dropout-twice", attention_dropout_backward_twice, ("dropout", "dropped", "mask")),
    makers.attention("attention-softmax-of-dropped", held_out.weights_for_p, ("dropout", "dropped", "mask", "softmax", " p ")),
    makers.attention("attention-softmax-skipped", held_out.softmax_skipped, ("softmax",)),
    makers.attention("attention-weights-constant", attention_weights_detached, ("query", "dq", "key", "softmax", "scores"), MISSING),
    makers.attention("attention-key-constant", held_out.keys_get_nothing, ("key", "dk"), MISSING),
    makers.attention("attention-outputs-swapped", seen.query_and_key_swapped, ("swap", "exchang", "order", "shape"),
            ("query", "key", "dq", "dk", "input", "first", "gradients"), in_model="language-model"),
    makers.attention("attention-scores-not-transposed", attention(dkey=lambda ds, cache: ds @ cache.query),
            ("transpos", "key", "matmul", "shape", "raise", "dimension"), block="self-attention", in_model="language-model",
            comment="dK = dS Q without the transposition, which only lengths T_q = T_k let pass."),
    makers.attention("attention-key-from-key", attention_key_from_key, ("key", "query", "dk"), block="self-attention",
            in_model="language-model", comment="dK = dS^T K: the key where the query belongs (which only T_q = T_k lets pass)."),
    makers.attention("attention-value-reshaped", attention_value_reshaped, ("value", "dv"), ("transpos", "reshap", "order", "shuffl", "permut", "scrambl", "weights")),
    makers.attention("attention-value-averaged", attention_value_averaged, ("value", "dv"), ("mean", "average", "divid", "factor", "1/3", "third", "0.333")),
    makers.attention("attention-causal-for-safety", attention(lambda dy, cache: np.tril(unscaled(dy, cache)) / root(cache)),
            ("mask", "causal", "triang", "upper", "later", "some", "part", "zero"),
            comment="backward zeroes the score gradient above the diagonal 'to be safe', right only if forward's mask is causal."),
    makers.attention("attention-two-scale-and-dropout", attention_two_scale_and_dropout, (*SCALE, "dropout", "dropped", "mask")),
    makers.attention("attention-two-value-and-key", attention_two_value_and_key,
            ("sign", "negat", "minus", "-1", "opposite", "dropout", "dropped"), ("key", "value", "dk", "dv")),
    makers.attention("attention-scores-times-weights", attention_scores_times_weights,
            (*UNKNOWN, "query", "key", "scores", "softmax")),
    makers.attention("attention-query-plus-tanh", attention(dquery=lambda ds, cache: ds @ cache.key + 0.2 * np.tanh(cache.query)),
            (*UNKNOWN, "query", "dq", "does not depend on dy", "constant")),
    makers.attention("attention-centred-value", attention_centred_value, (*UNKNOWN, "query", "key", "value", "scores", "mean")),
    makers.attention_forward("attention-forward-value-scale", attention_forward_scale_of_value, (*SCALE, "d_v")),
    makers.attention_forward("attention-caches-scaled-query", attention_forward_caches_scaled_query, SCALE, ("key", "dk", "query", "cache", "twice"),
            comment="forward scales the query and keeps the scaled one, so the given backward scales dK twice."),
    makers.attention_forward("attention-forward-drops-scores", attention_forward_drops_scores, ("dropout", "dropped", "mask", "softmax")),
    makers.attention_forward("attention-forward-second-mask", attention_forward_second_mask,
            ("dropout", "dropped", "mask", "random")),
    makers.attention_forward("attention-forward-renormalises", attention_forward_renormalises, ("dropout", "normalis", "sum to", "softmax")),
    makers.attention_forward("attention-float64-scale", attention_forward_numpy_scale, ("float64", "dtype", "float32", "precision"), in_model=""),
    makers.attention_forward("attention-caches-undropped", held_out.forward_drops_after_product, ("value", "dv", "cache", "weights"), ("dropout", "dropped", "cache", "mask")),
]
