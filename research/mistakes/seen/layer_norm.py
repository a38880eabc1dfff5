"""Mistakes in layer normalisation."""

from research.mistakes import makers
from research.mistakes.words import ASSIGNED, AVERAGED, COMPLEX, DEVIATION, IN_PLACE, MISSING, SECOND, SIGN, SWAPPED, TWICE

MISTAKES = [
    makers.norm("layer-norm-gamma-outside", ("dy * gamma", "dy", "dx = inverse", "dx = gamma * inverse"), ("gamma",),
            ("outside", "after", "before", "inside", "mean", "late"), comment="numpy-transformer: right while gamma is 1"),
    makers.norm("layer-norm-mean-forgotten", (" - through_mean", ""), ("mean",), (*MISSING, "constant"),
            excludes=("mean(dn * n) is missing", "variance is missing")),
    makers.norm("layer-norm-inverse-forgotten", ("dx = inverse * ", "dx = "), DEVIATION, MISSING),
    makers.norm("layer-norm-inverse-squared", ("dx = inverse", "dx = inverse ** 2"), DEVIATION, (*TWICE, "^2", "** 2", "root")),
    makers.norm("layer-norm-sum-for-mean", ("(dn * normed).mean", "(dn * normed).sum"),
            ("sum", "not divided", "D times", "times D", "times too large", "factor D", "7 times"),
            ("mean", "divid", "D times", "times D", "7 times")),
    makers.norm("layer-norm-sums-for-means", (".mean(", ".sum("),
            ("sum", "not divided", "D times", "times D", "times too large", "factor D", "7 times"),
            ("mean", "divid", "D times", "times D", "7 times")),
    makers.norm("layer-norm-plus-mean", ("- through_mean", "+ through_mean"), ("mean",), (*SIGN, "added", "subtract")),
    makers.norm("layer-norm-variance-term-doubled", ("normed * through", "normed * 2 * through"), SECOND, TWICE),
    makers.norm("layer-norm-gamma-not-in-variance-term", ("(dn * normed)", "(dy * normed)"), ("gamma", "dn"), (*SECOND, "mean")),
    makers.norm("layer-norm-dbeta-times-gamma", ("dy.sum(axis=rows)", "dn.sum(axis=rows)"), ("beta",), ("gamma", "dn")),
    makers.norm("layer-norm-dbeta-from-dx", ("dy.sum(axis=rows)", "dx.sum(axis=rows)"), ("beta",),
            ("dx", "wrong array", "not of dy", "instead of dy", "sum of dy", "zero")),
    makers.norm("layer-norm-parameters-averaged", ("sum(axis=rows)", "mean(axis=rows)"), ("gamma", "beta", "parameter"), AVERAGED),
    makers.norm("layer-norm-parameters-swapped", ("return dx, dgamma, dbeta", "return dx, dbeta, dgamma"), SWAPPED),
    makers.norm("layer-norm-gamma-into-dy", ("dn = dy * gamma", "dy *= gamma\n    dn = dy"),
            (*IN_PLACE, "dgamma", "dbeta", "gamma"), comment="dy *= gamma, before dgamma and dbeta take dy"),
    makers.layer_norm("layer-norm-assigned", ("grad +=", "grad[...] ="), ASSIGNED, in_model="",
            comment="seen only where gradients are added to others"),
    makers.layer_norm("layer-norm-beta-not-added", ("+= dbeta", "+= 0"), ("beta",), MISSING),
    makers.layer_norm("layer-norm-parameters-subtracted", ("+=", "-="), SIGN),
    makers.norm_forward("layer-norm-forward-with-std",
            ("(centred * centred).mean(axis=-1, keepdims=True)", "x.std(axis=-1, keepdims=True) ** 2"), (*COMPLEX, "std"),
            in_model="", comment="right for real numbers; std takes the absolute value of complex ones"),
    makers.norm_forward("layer-norm-forward-caches-variance",
            ("LayerNormCache(normed, inverse", "LayerNormCache(normed, inverse ** -2"), DEVIATION),
]
