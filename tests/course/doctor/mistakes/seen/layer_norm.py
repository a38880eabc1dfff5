"""Mistakes in layer normalisation."""


from minitransformer.functional import layer_norm_backward
from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes.right import assigning, changed, mean, norm, norm_forward, over_rows, total
from tests.course.doctor.mistakes.words import ASSIGNED, AVERAGED, COMPLEX, DEVIATION, IN_PLACE, MISSING, SECOND, SIGN, SWAPPED, TWICE

gamma_outside = norm(lambda dn, n, s, dy, gamma: gamma * s * (dy - mean(dy) - n * mean(dy * n)))
mean_forgotten = norm(lambda dn, n, s, *_: s * (dn - n * mean(dn * n)))
inverse_forgotten = norm(lambda dn, n, s, *_: dn - mean(dn) - n * mean(dn * n))
inverse_squared = norm(lambda dn, n, s, *_: s ** 2 * (dn - mean(dn) - n * mean(dn * n)))
sums_for_means = norm(lambda dn, n, s, *_: s * (dn - total(dn) - n * total(dn * n)))
plus_mean = norm(lambda dn, n, s, *_: s * (dn + mean(dn) - n * mean(dn * n)))
variance_term_doubled = norm(lambda dn, n, s, *_: s * (dn - mean(dn) - n * 2 * mean(dn * n)))
gamma_not_in_variance_term = norm(lambda dn, n, s, dy, gamma: s * (dn - mean(dn) - n * mean(dy * n)))
dbeta_times_gamma = norm(dbeta=lambda dy, n, s, gamma: over_rows(dy * gamma))
parameters_averaged = norm(dgamma=lambda dy, n, *_: (dy * n).mean(axis=tuple(range(dy.ndim - 1))),
                           dbeta=lambda dy, *_: dy.mean(axis=tuple(range(dy.ndim - 1))))
parameters_swapped = changed(norm(), lambda dx, dgamma, dbeta, *_: (dx, dbeta, dgamma))
forward_with_std = norm_forward(variance=lambda c, x, axis: x.std(axis=axis, keepdims=True) ** 2)
forward_caches_variance = changed(norm_forward(), lambda y, cache, *_: (y, cache._replace(inverse=cache.inverse ** -2)))


def gamma_into_dy(dy, cache):
    dy *= cache.gamma
    return norm(lambda dn, n, s, dy, gamma: s * (dy - mean(dy) - n * mean(dy * n)))(dy, cache)


def with_parameters(add):
    """A LayerNorm's backward: add(layer, dgamma, dbeta) to the gradients."""
    def backward(self, dy, cache):
        dx, dgamma, dbeta = layer_norm_backward(dy, cache)
        self.gamma.grad += add(dgamma, dbeta)[0]
        self.beta.grad += add(dgamma, dbeta)[1]
        return dx
    return backward


assigned = assigning(with_parameters(lambda dgamma, dbeta: (dgamma, dbeta)), "gamma", "beta")

MISTAKES = [
    makers.norm("layer-norm-gamma-outside", gamma_outside, ("gamma",), ("outside", "after", "before", "inside", "mean", "late"),
            comment="numpy-transformer: right while gamma is 1"),
    makers.norm("layer-norm-mean-forgotten", mean_forgotten, ("mean",), (*MISSING, "constant"),
            excludes=("mean(dn * n) is missing", "variance is missing")),
    makers.norm("layer-norm-inverse-forgotten", inverse_forgotten, DEVIATION, MISSING),
    makers.norm("layer-norm-inverse-squared", inverse_squared, DEVIATION, (*TWICE, "^2", "** 2", "root")),
    makers.norm("layer-norm-sum-for-mean", norm(lambda dn, n, s, *_: s * (dn - mean(dn) - n * total(dn * n))),
            ("sum", "not divided", "D times", "times D", "times too large", "factor D", "7 times"),
            ("mean", "divid", "D times", "times D", "7 times")),
    makers.norm("layer-norm-sums-for-means", sums_for_means,
            ("sum", "not divided", "D times", "times D", "times too large", "factor D", "7 times"),
            ("mean", "divid", "D times", "times D", "7 times")),
    makers.norm("layer-norm-plus-mean", plus_mean, ("mean",), (*SIGN, "added", "subtract")),
    makers.norm("layer-norm-variance-term-doubled", variance_term_doubled, SECOND, TWICE),
    makers.norm("layer-norm-gamma-not-in-variance-term", gamma_not_in_variance_term, ("gamma", "dn"), (*SECOND, "mean")),
    makers.norm("layer-norm-dbeta-times-gamma", dbeta_times_gamma, ("beta",), ("gamma", "dn")),
    makers.norm("layer-norm-dbeta-from-dx", changed(norm(), lambda dx, dgamma, dbeta, *_: (dx, dgamma, over_rows(dx))), ("beta",),
            ("dx", "wrong array", "not of dy", "instead of dy", "sum of dy", "zero")),
    makers.norm("layer-norm-parameters-averaged", parameters_averaged, ("gamma", "beta", "parameter"), AVERAGED),
    makers.norm("layer-norm-parameters-swapped", parameters_swapped, SWAPPED),
    makers.norm("layer-norm-gamma-into-dy", gamma_into_dy, (*IN_PLACE, "dgamma", "dbeta", "gamma"),
            comment="dy *= gamma, before dgamma and dbeta take dy"),
    makers.layer_norm("layer-norm-assigned", assigned, ASSIGNED, in_model="",
            comment="seen only where gradients are added to others"),
    makers.layer_norm("layer-norm-beta-not-added", with_parameters(lambda dgamma, dbeta: (dgamma, 0)), ("beta",), MISSING),
    makers.layer_norm("layer-norm-parameters-subtracted", with_parameters(lambda dgamma, dbeta: (-dgamma, -dbeta)), SIGN),
    makers.norm_forward("layer-norm-forward-with-std", forward_with_std, (*COMPLEX, "std"), in_model="",
            comment="right for real numbers; std takes the absolute value of complex ones"),
    makers.norm_forward("layer-norm-forward-caches-variance", forward_caches_variance, DEVIATION),
]
