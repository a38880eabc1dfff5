"""Mistakes in softmax and in scaled dot-product attention."""

import numpy as np

from minitransformer.functional import softmax_backward
from minitransformer.functional.softmax import SoftmaxCache
from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes import right
from tests.course.doctor.mistakes.right import attention, changed, probabilities, root, softmax, total, turned, unscaled
from tests.course.doctor.mistakes.words import MISSING, PRECISION, RAISES, SIGN, SWAPPED

sum_without_p = softmax(lambda dp, p: p * (dp - total(dp)))
sum_over_queries = softmax(lambda dp, p: p * (dp - (dp * p).sum(axis=-2, keepdims=True)))
sum_added = softmax(lambda dp, p: p * (dp + total(dp * p)))
negative = softmax(lambda dp, p: p * (total(dp * p) - dp))
product_only = softmax(lambda dp, p: p * dp)
in_float32 = softmax(lambda dp, p: right.softmax()(dp.astype(np.float32), SoftmaxCache(p.astype(np.float32))))
forward_caches_exponentials = right.softmax_forward(cached=lambda e, p: e)

scale_forgotten = attention(unscaled)
scale_multiplied = attention(lambda dy, cache: unscaled(dy, cache) * root(cache))
scale_not_for_keys = attention(dkey=lambda ds, cache: root(cache) * turned(ds) @ cache.query)
value_before_key = changed(attention(), lambda dq, dk, dv, *_: (dq, dv, dk))
weights_for_p = attention(lambda dy, cache: softmax_backward(probabilities(dy, cache), SoftmaxCache(cache.weights)) / root(cache))
softmax_skipped = attention(lambda dy, cache: probabilities(dy, cache) / root(cache))
keys_get_nothing = attention(dkey=lambda ds, cache: np.zeros_like(cache.key))
forward_unscaled = right.attention_forward(lambda query, key, value: query @ turned(key))
forward_drops_after_product = right.attention_forward(kept=lambda weights, p: p)

DP_SUM = ("sum", "dp * p", "dp_j p_j", "off-diagonal", "row")
SCALE = ("sqrt(d_k)", "sqrt(d)", "√", "scal", "d_k")

MISTAKES = [
    makers.softmax("softmax-sum-without-p", sum_without_p, ("sum(dp)", "sum", "dp.sum"),
            ("p_j", "* p", "without p", "times p", "by p", "product", "weight")),
    makers.softmax("softmax-sum-over-queries", sum_over_queries, ("axis", "axes", "column")),
    makers.softmax("softmax-sum-added", sum_added, (*SIGN, "subtract", "added", "plus")),
    makers.softmax("softmax-p-not-on-sum", softmax(lambda dp, p: p * dp - total(dp * p)), DP_SUM, MISSING),
    makers.softmax("softmax-negative", negative, SIGN),
    makers.softmax("softmax-product-only", product_only, DP_SUM, MISSING),
    makers.softmax("softmax-divided-by-p", softmax(lambda dp, p: p * ((dp * p - p * total(dp * p)) / p)),
            ("nan", "not finite", "finite"), comment="0 / 0 where the mask left a probability of 0"),
    makers.softmax("softmax-in-float32", in_float32, PRECISION),
    makers.softmax_forward("softmax-forward-caches-exponentials", forward_caches_exponentials,
            ("cache", "normali", "sum to 1", "total", "divid", "exponential")),
    makers.attention("attention-scale-forgotten", scale_forgotten, SCALE, (*MISSING, "too large")),
    makers.attention("attention-scale-multiplied", scale_multiplied, SCALE,
            ("multipl", "instead of divid", "d_k times", "inverse", "too large", "times")),
    makers.attention("attention-scale-not-for-keys", scale_not_for_keys, ("dkey", "key"), SCALE),
    makers.attention("attention-value-before-key", value_before_key, SWAPPED),
    makers.attention("attention-weights-for-p", weights_for_p, ("dropout", "dropped"), ("softmax", "weights")),
    makers.attention("attention-softmax-skipped", softmax_skipped, ("softmax",), MISSING),
    makers.attention("attention-keys-get-nothing", keys_get_nothing, ("key",), MISSING),
    makers.attention("attention-keys-subtracted", attention(dkey=lambda ds, cache: -turned(ds) @ cache.query), ("key",), SIGN),
    makers.attention_forward("attention-forward-unscaled", forward_unscaled, SCALE),
    makers.attention_forward("attention-forward-caches-p", forward_drops_after_product, ("value",),
            ("dropout", "weights", "cache")),
    makers.attention("attention-two-gradients", changed(attention(), lambda dq, dk, dv, *_: (dq, dk)),
            ("two", "2 ", "three", "3 ", "too few", "unpack", "one for each", "number of", "missing", *RAISES)),
]
