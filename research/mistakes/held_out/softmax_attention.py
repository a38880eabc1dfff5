"""Mistakes in softmax and in scaled dot-product attention."""

from research.mistakes import makers
from research.mistakes.words import MISSING, PRECISION, RAISES, SIGN, SWAPPED

DP_SUM = ("sum", "dp * p", "dp_j p_j", "off-diagonal", "row")
SCALE = ("sqrt(d_k)", "sqrt(d)", "√", "scal", "d_k")

MISTAKES = [
    makers.softmax("softmax-sum-without-p", ("(dp * p)", "dp"), ("sum(dp)", "sum", "dp.sum"),
            ("p_j", "* p", "without p", "times p", "by p", "product", "weight")),
    makers.softmax("softmax-sum-over-queries", ("axis=-1", "axis=-2"), ("axis", "axes", "column")),
    makers.softmax("softmax-sum-added", ("dp - mean", "dp + mean"), (*SIGN, "subtract", "added", "plus")),
    makers.softmax("softmax-p-not-on-sum", ("p * (dp - mean)", "p * dp - mean"), DP_SUM, MISSING),
    makers.softmax("softmax-negative", ("p * (dp - mean)", "p * (mean - dp)"), SIGN),
    makers.softmax("softmax-product-only", ("p * (dp - mean)", "p * dp"), DP_SUM, MISSING),
    makers.softmax("softmax-divided-by-p", ("p * (dp - mean)", "p * ((dp * p - p * mean) / p)"), ("nan", "not finite", "finite"),
            comment="0 / 0 where the mask left a probability of 0"),
    makers.softmax("softmax-in-float32", ("p = cache.p", "p, dp = cache.p.astype(np.float32), dp.astype(np.float32)"), PRECISION),
    makers.softmax_forward("softmax-forward-caches-exponentials", ("p /= total\n    return p,", "pass\n    return p / total,"),
            ("cache", "normali", "sum to 1", "total", "divid", "exponential")),
    makers.attention("attention-scale-forgotten", (" / math.sqrt(query.shape[-1])", ""), SCALE, (*MISSING, "too large")),
    makers.attention("attention-scale-multiplied", ("/ math", "* math"), SCALE,
            ("multipl", "instead of divid", "d_k times", "inverse", "too large", "times")),
    makers.attention("attention-scale-not-for-keys", ("dkey = dscores", "dkey = math.sqrt(query.shape[-1]) * dscores"),
            ("dkey", "key"), SCALE),
    makers.attention("attention-value-before-key", ("dkey, dvalue", "dvalue, dkey"), SWAPPED),
    makers.attention("attention-weights-for-p", ("(dp, softmax)", "(dp, SoftmaxCache(weights))"), ("dropout", "dropped"),
            ("softmax", "weights")),
    makers.attention("attention-softmax-skipped", ("softmax_backward(dp, softmax)", "dp"), ("softmax",), MISSING),
    makers.attention("attention-keys-get-nothing", ("return dquery, dkey", "return dquery, 0 * dkey"), ("key",), MISSING),
    makers.attention("attention-keys-subtracted", ("dkey = dscores", "dkey = -dscores"), ("key",), SIGN),
    makers.attention_forward("attention-forward-unscaled", (" / math.sqrt(query.shape[-1])", ""), SCALE),
    makers.attention_forward("attention-forward-caches-p", ("dropout, weights)", "dropout, p)"), ("value",),
            ("dropout", "weights", "cache")),
    makers.attention("attention-two-gradients", (", dvalue", ""),
            ("two", "2 ", "three", "3 ", "too few", "unpack", "one for each", "number of", "missing", *RAISES)),
]
