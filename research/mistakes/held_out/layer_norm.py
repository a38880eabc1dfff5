"""Mistakes in layer normalisation."""

from minitransformer.functional import layer_norm_backward
from research.mistakes import makers
from research.mistakes.words import DEVIATION, MISSING, PRECISION, RAISES, SECOND, SIGN


def epsilon_free(dy, cache):
    deviation = cache.normed.std(axis=-1, keepdims=True)
    return layer_norm_backward.textbook(dy, cache._replace(normed=cache.normed / deviation, inverse=cache.inverse / deviation))


MISTAKES = [
    makers.norm("layer-norm-gamma-forgotten", ("dy * gamma", "dy"), ("gamma",), MISSING),
    makers.norm("layer-norm-gamma-divided", ("dy * gamma", "dy / gamma"), ("gamma",),
            ("divid", "1 / gamma", "1/gamma", "/ gamma", "inverse", "multipl")),
    makers.norm("layer-norm-both-means-forgotten", (" - through_mean - normed * through_variance", ""),
            ("both", "two", "means", "terms", "constant", "mean and")),
    makers.norm("layer-norm-deviation-multiplied", ("dx = inverse", "dx = 1 / inverse"), DEVIATION,
            ("divid", "multipl", "inverse", "1 /", "/ s")),
    makers.norm("layer-norm-one-less",
            ("(dn * normed).mean(axis=-1, keepdims=True)", "(dn * normed).sum(axis=-1, keepdims=True) / (dn.shape[-1] - 1)"),
            ("D - 1", "D-1", "unbiased", "biased", "bessel", "d_model - 1", "7/6", "6 instead", "1.166", "1.167")),
    makers.norm("layer-norm-plus-variance", ("- normed", "+ normed"), SECOND, (*SIGN, "added", "subtract")),
    makers.norm("layer-norm-n-not-in-variance-term", ("normed * through", "through"), (*SECOND, "times n", "normed", "by n"),
            (*MISSING, "constant")),
    makers.norm("layer-norm-mean-over-positions", ("axis=-1", "axis=1"), ("axis", "axes")),
    makers.norm("layer-norm-dgamma-times-gamma", ("(dy * normed)", "(dn * normed)"), ("gamma",),
            ("dn", "times gamma", "by gamma", "gamma *", "multipl", "gamma times", "* gamma")),
    makers.norm("layer-norm-dgamma-without-n", ("(dy * normed)", "dy"), ("gamma",),
            ("without n", "normed", "normal", "dbeta", "beta", "sum of dy", "* n", "times n", "factor n", "by n")),
    makers.norm("layer-norm-dgamma-from-centred", ("(dy * normed)", "(dy * normed / inverse)"), ("gamma",),
            ("inverse", "centred", "scaled", "deviation", "normal", "sqrt", "variance", "x - mean")),
    makers.norm("layer-norm-parameters-summed-over-batch-only", ("axis=rows", "axis=0"),
            ("shape", "axis", "axes", "broadcast", *RAISES)),
    makers.norm("layer-norm-in-float32",
            ("return dx, dgamma, dbeta", "return tuple(one.astype(np.float32) for one in (dx, dgamma, dbeta))"), PRECISION),
    makers.norm("layer-norm-epsilon-free", epsilon_free, ("epsilon", "eps"), in_model="",
            comment="the backward of a normalisation without epsilon; off by about epsilon / variance"),
    makers.layer_norm("layer-norm-beta-gets-gammas", ("+= dbeta", "+= dgamma"), ("beta",), ("gamma", "normed", "times n", "* n")),
    makers.norm_forward("layer-norm-forward-unbiased",
            ("(centred * centred).mean(axis=-1, keepdims=True)", "(centred * centred).sum(axis=-1, keepdims=True) / (x.shape[-1] - 1)"),
            ("D - 1", "D-1", "unbiased", "biased", "bessel", "forward", "variance", "d_model - 1")),
    makers.norm_forward("layer-norm-forward-without-gamma", ("gamma * normed", "normed"), ("gamma",)),
    makers.norm_forward("layer-norm-forward-over-positions", ("axis=-1", "axis=-2"), ("axis", "axes", "forward")),
    makers.norm_forward("layer-norm-forward-without-mean", (" - x.mean(axis=-1, keepdims=True)", ""),
            ("mean", "centr", "rms", "forward")),
]
