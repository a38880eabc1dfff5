"""Mistakes in softmax and in scaled dot-product attention."""

import numpy as np

from minitransformer.functional import softmax_backward
from minitransformer.functional.softmax import SoftmaxCache
from tests.course.doctor.mistakes import right
from tests.course.doctor.mistakes.mistake import Mistake
from tests.course.doctor.mistakes.right import attention, changed, probabilities, root, softmax, total, turned, unscaled
from tests.course.doctor.mistakes.words import MISSING, PRECISION, RAISES, SIGN, SWAPPED

sum_without_p = softmax(lambda dp, p: p * (dp - total(dp)))
sum_over_queries = softmax(lambda dp, p: p * (dp - (dp * p).sum(axis=-2, keepdims=True)))
sum_added = softmax(lambda dp, p: p * (dp + total(dp * p)))
p_not_on_sum = softmax(lambda dp, p: p * dp - total(dp * p))
negative = softmax(lambda dp, p: p * (total(dp * p) - dp))
product_only = softmax(lambda dp, p: p * dp)
divided_by_p = softmax(lambda dp, p: p * ((dp * p - p * total(dp * p)) / p))
in_float32 = softmax(lambda dp, p: right.softmax()(dp.astype(np.float32), SoftmaxCache(p.astype(np.float32))))
forward_caches_exponentials = right.softmax_forward(cached=lambda e, p: e)

scale_forgotten = attention(unscaled)
scale_multiplied = attention(lambda dy, cache: unscaled(dy, cache) * root(cache))
scale_not_for_keys = attention(dkey=lambda ds, cache: root(cache) * turned(ds) @ cache.query)
value_before_key = changed(attention(), lambda dq, dk, dv, *_: (dq, dv, dk))
weights_for_p = attention(lambda dy, cache: softmax_backward(probabilities(dy, cache), SoftmaxCache(cache.weights)) / root(cache))
softmax_skipped = attention(lambda dy, cache: probabilities(dy, cache) / root(cache))
keys_get_nothing = attention(dkey=lambda ds, cache: np.zeros_like(cache.key))
keys_subtracted = attention(dkey=lambda ds, cache: -turned(ds) @ cache.query)
forward_unscaled = right.attention_forward(lambda query, key, value: query @ turned(key))
forward_drops_after_product = right.attention_forward(kept=lambda weights, p: p)
two_gradients = changed(attention(), lambda dq, dk, dv, *_: (dq, dk))

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
