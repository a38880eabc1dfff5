"""Mistakes in softmax and in scaled dot-product attention."""

import math

import numpy as np

from minitransformer.functional import dropout_backward, dropout_forward, softmax_backward, softmax_forward
from minitransformer.functional.attention import AttentionCache
from minitransformer.functional.softmax import SoftmaxCache
from tests.course.doctor.mistakes.held_out import softmax_attention as held_out
from tests.course.doctor.mistakes import right
from tests.course.doctor.mistakes.mistake import Mistake
from tests.course.doctor.mistakes.right import (
    attention, attention_forward, changed, dweights, given, probabilities, root, softmax, total, turned, unscaled)
from tests.course.doctor.mistakes.seen import softmax_attention as seen
from tests.course.doctor.mistakes.words import LEFT_OUT, UNKNOWN

MISSING = (*LEFT_OUT, "does not reach", "not divided", "not multiplied")
SUM = ("sum", "row", "term", "subtract", "total", "weighted", "jacobian")

softmax_outer_p_missing = softmax(lambda dp, p: dp - total(dp * p))
softmax_squared_p = softmax(lambda dp, p: p * dp - p * p * total(dp))
softmax_as_log_softmax = softmax(lambda dp, p: dp - p * total(dp))
softmax_p_of_the_first_row = softmax(lambda dp, p: p * (dp - total(dp * p[..., :1, :])))
softmax_two_sign_and_mean = softmax(lambda dp, p: p * (right.mean(dp * p) - dp))
softmax_root = softmax(lambda dp, p: np.sqrt(p) * (dp - total(dp * p)))
softmax_sharpened = softmax(lambda dp, p: right.softmax()(dp, SoftmaxCache(p * p / np.maximum(total(p * p), 1e-12))))
softmax_small_ones_cut = softmax(lambda dp, p: np.where(p > 0.2, p * (dp - total(dp * p)), 0))
softmax_forward_base_two = given(right.softmax_forward(), lambda x, mask=None: (x * math.log(2), mask))    # 2^x


def softmax_modifies_dp(dp, cache):
    dp -= total(dp * cache.p)
    return cache.p * dp


def softmax_forward_one_more(x, mask=None):
    if mask is not None:
        x = np.where(mask, x, -np.inf)
    peak = x.max(axis=-1, keepdims=True)
    p = np.exp(x - np.where(peak == -np.inf, 0, peak))
    p = p / (1 + total(p))
    return p, SoftmaxCache(p)


def softmax_forward_unguarded(x, mask=None, masked=-np.inf):
    if mask is not None:
        x = np.where(mask, x, masked)
    p = np.exp(x - x.real.max(axis=-1, keepdims=True))
    p = p / total(p)
    return p, SoftmaxCache(p)


def softmax_forward_finite_mask(x, mask=None):
    return softmax_forward_unguarded(x, mask, -1e9)


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
attention_scale_in_one_term = attention(attention_scale_inside_softmax)
attention_dropout_backward_twice = attention(
    lambda dy, cache: softmax_backward(dropout_backward(probabilities(dy, cache), cache.dropout), cache.softmax) / root(cache))
attention_weights_detached = attention(lambda dy, cache: np.zeros_like(cache.weights))
attention_scores_not_transposed = attention(dkey=lambda ds, cache: ds @ cache.query)
attention_key_from_key = attention(dkey=lambda ds, cache: turned(ds) @ cache.key)
attention_value_reshaped = attention(dvalue=lambda dy, cache: cache.weights.reshape(turned(cache.weights).shape) @ dy)
attention_value_averaged = attention(dvalue=lambda dy, cache: turned(cache.weights) @ dy / cache.query.shape[-2])
attention_causal_for_safety = attention(lambda dy, cache: np.tril(unscaled(dy, cache)) / root(cache))
attention_two_scale_and_dropout = attention(lambda dy, cache: softmax_backward(dweights(dy, cache), cache.softmax))
attention_two_value_and_key = attention(dkey=lambda ds, cache: -turned(ds) @ cache.query,
                                        dvalue=lambda dy, cache: turned(cache.softmax.p) @ dy)
attention_scores_times_weights = attention(lambda dy, cache: unscaled(dy, cache) * (1 + 0.3 * cache.softmax.p) / root(cache))
attention_query_mixed_with_value_gradient = attention(dquery=lambda ds, cache: ds @ cache.key + 0.2 * np.tanh(cache.query))
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
    Mistake("softmax-sum-not-weighted", "softmax_backward", held_out.sum_without_p, "softmax", (SUM, (*MISSING, "weight", " p ", "unweighted", "plain")),
            comment="The row sum is of dp instead of dp p."),
    Mistake("softmax-mean-for-sum", "softmax_backward", seen.mean_for_sum, "softmax", (("mean", "average", "divid", "factor", "1/4", "quarter", "term"),),
            comment="The row sum of dp p is a mean: divided by the number of keys."),
    Mistake("softmax-no-outer-p", "softmax_backward", softmax_outer_p_missing, "softmax", ((" p ", "probabilit", "factor"), (*MISSING, "multipl", "factor", "times")),
            comment="The factor p in front of the bracket is forgotten."),
    Mistake("softmax-sum-over-rows", "softmax_backward", held_out.sum_over_queries, "softmax", (("axis", "axes", "column", "over the queries", "wrong sum", "sum"),),
            comment="The sum of dp p runs over the queries (axis -2) instead of the keys."),
    Mistake("softmax-sum-of-everything", "softmax_backward", seen.sum_over_everything, "softmax", (("axis", "axes", "all", "everything", "whole", "total", "sum"),),
            comment="np.sum without an axis: one number for the whole array is subtracted."),
    Mistake("softmax-sign-turned", "softmax_backward", held_out.negative, "softmax", (("sign", "negat", "minus", "-1", "opposite"),),
            comment="The difference in the bracket is the wrong way round: the whole gradient has the wrong sign."),
    Mistake("softmax-plus-for-minus", "softmax_backward", held_out.sum_added, "softmax", (("sign", "plus", "added", "minus", "subtract"),),
            comment="The row sum is added instead of subtracted."),
    Mistake("softmax-no-sum", "softmax_backward", held_out.product_only, "softmax", ((*SUM, "off-diagonal", "diagonal"), (*MISSING, "only", "diagonal", "p * dp", "dp * p", "constant")),
            comment="dx = p dp: the row sum is forgotten altogether."),
    Mistake("softmax-p-squared", "softmax_backward", softmax_squared_p, "softmax", ((*SUM, "off-diagonal", "square", "power", *UNKNOWN),),
            comment="The outer product p p^T is read as p^2: the second term is p^2 sum(dp)."),
    Mistake("softmax-of-the-logarithm", "softmax_backward", softmax_as_log_softmax, "softmax", (("log", "softmax", *SUM),),
            comment="The backward of log-softmax, dp - p sum(dp), is used."),
    Mistake("softmax-first-rows-p", "softmax_backward", softmax_p_of_the_first_row, "softmax", ((*SUM, "first", "row", "broadcast", *UNKNOWN),),
            comment="In the row sum p of the first query is broadcast to all queries."),
    Mistake("softmax-changes-dp", "softmax_backward", softmax_modifies_dp, "softmax", (("in place", "in-place", "chang", "modif", "overwr", "writes", "alter"),),
            in_model="", comment="dp is changed in place (-=); the result is right, but the caller's array is not his any more."),
    Mistake("softmax-two-sign-and-mean", "softmax_backward", softmax_two_sign_and_mean, "softmax",
            (("sign", "negat", "minus", "-1", "opposite", "mean", "average"),),
            comment="Two mistakes: the bracket's sign is turned, and the row sum is a mean."),
    Mistake("softmax-root-of-p", "softmax_backward", softmax_root, "softmax", ((*UNKNOWN, "softmax", "root", "power", "factor p", "dx", "input"),),
            comment="The factor p is replaced by its square root: arbitrary."),
    Mistake("softmax-sharpened", "softmax_backward", softmax_sharpened, "softmax", ((*UNKNOWN, "softmax", "square", "dx", "input", "temperature"),),
            comment="The backward uses p^2, normalised, instead of p (a temperature of 1/2 that the forward doesn't have)."),
    Mistake("softmax-small-cut", "softmax_backward", softmax_small_ones_cut, "softmax", ((*UNKNOWN, "softmax", "small", "zero", "dx", "input"),),
            comment="Entries with p below 0.2 get no gradient."),
    Mistake("softmax-forward-base-two", "softmax_forward", softmax_forward_base_two, "softmax",
            (("log 2", "ln 2", "0.693", "1.44", "factor", "times", "scale", "temperature", "base", "constant"),),
            comment="forward computes 2^x instead of e^x, so the given backward lacks the factor log 2."),
    Mistake("softmax-forward-one-more", "softmax_forward", softmax_forward_one_more, "softmax",
            (("sum to", "denominator", "total", "normalis", "maximum", "max"),),
            comment="forward adds 1 to the denominator after subtracting the maximum ('softmax off by one' done wrong); "
                    "the maximum no longer cancels."),
    Mistake("softmax-mask-after", "softmax_forward", seen.forward_masks_afterwards, "softmax", (("mask", "sum to", "normalis"),),
            comment="forward masks after the normalisation, so masked scores still matter, but the backward gives them 0."),
    Mistake("softmax-finite-mask", "softmax_forward", softmax_forward_finite_mask, "softmax",
            (("mask", "nothing", "row", "uniform", "-1e9", "empty"),), in_model="",
            comment="forward writes -1e9 where masked: a row that attends to nothing becomes uniform, with a gradient "
                    "in the given backward that it doesn't have."),
    Mistake("softmax-nan-for-empty-row", "softmax_forward", softmax_forward_unguarded, "softmax",
            (("nan", "not finite", "non-finite", "infinit", "not a number", "nothing", "masked out"),), in_model="",
            comment="forward divides 0 by 0 (-inf minus -inf) in a row where all is masked: NaN."),
    Mistake("softmax-forward-over-queries", "softmax_forward", seen.forward_over_queries, "softmax",
            (("axis", "axes", "column", "quer", "sum to", "row", "normalis"),),
            comment="forward normalises over the queries (axis -2); the given backward works along the keys."),
    Mistake("softmax-caches-exponentials", "softmax_forward", held_out.forward_caches_exponentials, "softmax",
            (("cache", "normalis", "sum to", "exp", "kept", "stored", " p "),),
            comment="forward keeps exp(x) from before the division in the cache instead of p."),
    Mistake("softmax-forward-in-place", "softmax_forward", softmax_forward_in_place, "softmax",
            (("in place", "in-place", "chang", "modif", "overwr", "writes", "alter"),), in_model="",
            comment="forward subtracts the maximum from the caller's x in place."),
    Mistake("attention-no-scale-backward", "attention_backward", held_out.scale_forgotten, "attention", (SCALE,),
            comment="backward forgets 1/sqrt(d_k) in dQ and dK."),
    Mistake("attention-key-not-scaled", "attention_backward", held_out.scale_not_for_keys, "attention", (SCALE, ("key", "dk")),
            comment="backward divides dQ by sqrt(d_k), but not dK."),
    Mistake("attention-scaled-by-d", "attention_backward", seen.scale_without_root, "attention", (SCALE,),
            comment="backward divides by d_k instead of sqrt(d_k)."),
    Mistake("attention-scaled-by-d-v", "attention_backward", seen.scale_of_values, "attention", ((*SCALE, "d_v"),),
            comment="backward divides by sqrt(d_v) instead of sqrt(d_k)."),
    Mistake("attention-scaled-by-length", "attention_backward", attention_scaled_by_length, "attention", ((*SCALE, "t_k", "length", "number of keys"),),
            comment="backward divides by sqrt(T_k), the number of keys, instead of sqrt(d_k)."),
    Mistake("attention-scale-upside-down", "attention_backward", held_out.scale_multiplied, "attention", (SCALE,),
            comment="backward multiplies by sqrt(d_k) instead of dividing."),
    Mistake("attention-scale-in-one-term", "attention_backward", attention_scale_in_one_term, "attention", ((*SCALE, "softmax"),),
            comment="The scale 1/sqrt(d_k) reaches dp in the softmax's bracket but not the row sum."),
    Mistake("attention-value-ignores-dropout", "attention_backward", seen.values_without_dropout, "attention", (("dropout", "dropped", "mask"), ("value", "dv")),
            comment="dV = p^T dy is made with the probabilities from before dropout."),
    Mistake("attention-no-dropout-backward", "attention_backward", seen.dropout_not_undone, "attention", (("dropout", "dropped", "mask"),),
            comment="The backward of the dropout on the weights is left out on the way to the scores."),
    Mistake("attention-dropout-order", "attention_backward", seen.softmax_before_dropout, "attention", (("dropout", "dropped", "mask"),),
            comment="Dropout's backward comes after softmax's instead of before."),
    Mistake("attention-dropout-twice", "attention_backward", attention_dropout_backward_twice, "attention", (("dropout", "dropped", "mask"),),
            comment="Dropout's backward is applied twice: the scale 1/(1 - rate) enters squared."),
    Mistake("attention-softmax-of-dropped", "attention_backward", held_out.weights_for_p, "attention", (("dropout", "dropped", "mask", "softmax", " p "),),
            comment="Softmax's backward is given the weights after dropout instead of the probabilities."),
    Mistake("attention-softmax-skipped", "attention_backward", held_out.softmax_skipped, "attention", (("softmax",),),
            comment="Softmax's backward is skipped: dS = dA / sqrt(d_k)."),
    Mistake("attention-weights-constant", "attention_backward", attention_weights_detached, "attention", (("query", "dq", "key", "softmax", "scores"), MISSING),
            comment="The attention weights are treated as constants: query and key get no gradient."),
    Mistake("attention-key-constant", "attention_backward", held_out.keys_get_nothing, "attention", (("key", "dk"), MISSING),
            comment="The key gets no gradient."),
    Mistake("attention-outputs-swapped", "attention_backward", seen.query_and_key_swapped, "attention",
            (("swap", "exchang", "order", "shape"), ("query", "key", "dq", "dk", "input", "first", "gradients")), in_model="language-model",
            comment="dquery and dkey are returned in each other's place."),
    Mistake("attention-scores-not-transposed", "attention_backward", attention_scores_not_transposed, "self-attention",
            (("transpos", "key", "matmul", "shape", "raise", "dimension"),), in_model="language-model",
            comment="dK = dS Q without the transposition, which only lengths T_q = T_k let pass."),
    Mistake("attention-key-from-key", "attention_backward", attention_key_from_key, "self-attention",
            (("key", "query", "dk"),), in_model="language-model",
            comment="dK = dS^T K: the key where the query belongs (which only T_q = T_k lets pass)."),
    Mistake("attention-value-reshaped", "attention_backward", attention_value_reshaped, "attention", (("value", "dv"), ("transpos", "reshap", "order", "shuffl", "permut", "scrambl", "weights")),
            comment="The weights are reshaped to (T_k, T_q) instead of transposed in dV."),
    Mistake("attention-value-averaged", "attention_backward", attention_value_averaged, "attention", (("value", "dv"), ("mean", "average", "divid", "factor", "1/3", "third", "0.333")),
            comment="dV is divided by the number of queries: a mean for a sum."),
    Mistake("attention-causal-for-safety", "attention_backward", attention_causal_for_safety, "attention",
            (("mask", "causal", "triang", "upper", "later", "some", "part", "zero"),),
            comment="backward zeroes the score gradient above the diagonal 'to be safe', right only if forward's mask is causal."),
    Mistake("attention-two-scale-and-dropout", "attention_backward", attention_two_scale_and_dropout, "attention",
            ((*SCALE, "dropout", "dropped", "mask"),),
            comment="Two mistakes: neither the scale 1/sqrt(d_k) nor dropout's backward."),
    Mistake("attention-two-value-and-key", "attention_backward", attention_two_value_and_key, "attention",
            (("sign", "negat", "minus", "-1", "opposite", "dropout", "dropped"), ("key", "value", "dk", "dv")),
            comment="Two mistakes: dK has the wrong sign and dV is made with the weights before dropout."),
    Mistake("attention-scores-times-weights", "attention_backward", attention_scores_times_weights, "attention",
            ((*UNKNOWN, "query", "key", "scores", "softmax"),),
            comment="The score gradient is multiplied by 1 + 0.3 p: arbitrary."),
    Mistake("attention-query-plus-tanh", "attention_backward", attention_query_mixed_with_value_gradient, "attention",
            ((*UNKNOWN, "query", "dq", "does not depend on dy", "constant"),),
            comment="0.2 tanh(query) is added to dQ: arbitrary, and independent of dy."),
    Mistake("attention-centred-value", "attention_backward", attention_centred_value, "attention",
            ((*UNKNOWN, "query", "key", "value", "scores", "mean"),),
            comment="dA is made with the value minus its mean over the features."),
    Mistake("attention-forward-value-scale", "attention_forward", attention_forward_scale_of_value, "attention", ((*SCALE, "d_v"),),
            comment="forward divides by sqrt(d_v); the given backward by sqrt(d_k)."),
    Mistake("attention-caches-scaled-query", "attention_forward", attention_forward_caches_scaled_query, "attention", (SCALE, ("key", "dk", "query", "cache", "twice")),
            comment="forward scales the query and keeps the scaled one, so the given backward scales dK twice."),
    Mistake("attention-forward-drops-scores", "attention_forward", attention_forward_drops_scores, "attention", (("dropout", "dropped", "mask", "softmax"),),
            comment="forward applies dropout to the scores before the softmax; the given backward the other way round."),
    Mistake("attention-forward-second-mask", "attention_forward", attention_forward_second_mask, "attention",
            (("dropout", "dropped", "mask", "random"),),
            comment="forward draws two dropout masks and keeps the one that it did not use."),
    Mistake("attention-forward-renormalises", "attention_forward", attention_forward_renormalises, "attention", (("dropout", "normalis", "sum to", "softmax"),),
            comment="forward normalises the weights again after dropout, which the given backward doesn't know."),
    Mistake("attention-float64-scale", "attention_forward", attention_forward_numpy_scale, "attention", (("float64", "dtype", "float32", "precision"),),
            in_model="", comment="The scale is a NumPy float64 number, which makes float32 inputs float64."),
    Mistake("attention-caches-undropped", "attention_forward", held_out.forward_drops_after_product, "attention", (("value", "dv", "cache", "weights"), ("dropout", "dropped", "cache", "mask")),
            comment="forward keeps the weights from before dropout in the cache, where the backward makes dV of them."),
]
