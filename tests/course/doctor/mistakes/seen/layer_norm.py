"""Mistakes in layer normalisation."""


from minitransformer.functional import layer_norm_backward
from tests.course.doctor.mistakes.mistake import Mistake
from tests.course.doctor.mistakes.right import assigning, changed, mean, norm, norm_forward, over_rows, total
from tests.course.doctor.mistakes.words import ASSIGNED, AVERAGED, COMPLEX, DEVIATION, IN_PLACE, MISSING, SECOND, SIGN, SWAPPED, TWICE

gamma_outside = norm(lambda dn, n, s, dy, gamma: gamma * s * (dy - mean(dy) - n * mean(dy * n)))
mean_forgotten = norm(lambda dn, n, s, *_: s * (dn - n * mean(dn * n)))
inverse_forgotten = norm(lambda dn, n, s, *_: dn - mean(dn) - n * mean(dn * n))
inverse_squared = norm(lambda dn, n, s, *_: s ** 2 * (dn - mean(dn) - n * mean(dn * n)))
sum_for_mean = norm(lambda dn, n, s, *_: s * (dn - mean(dn) - n * total(dn * n)))
sums_for_means = norm(lambda dn, n, s, *_: s * (dn - total(dn) - n * total(dn * n)))
plus_mean = norm(lambda dn, n, s, *_: s * (dn + mean(dn) - n * mean(dn * n)))
variance_term_doubled = norm(lambda dn, n, s, *_: s * (dn - mean(dn) - n * 2 * mean(dn * n)))
gamma_not_in_variance_term = norm(lambda dn, n, s, dy, gamma: s * (dn - mean(dn) - n * mean(dy * n)))
dbeta_times_gamma = norm(dbeta=lambda dy, n, s, gamma: over_rows(dy * gamma))
dbeta_from_dx = changed(norm(), lambda dx, dgamma, dbeta, *_: (dx, dgamma, over_rows(dx)))
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
beta_not_added = with_parameters(lambda dgamma, dbeta: (dgamma, 0))
gamma_subtracted = with_parameters(lambda dgamma, dbeta: (-dgamma, -dbeta))

MISTAKES = [
    Mistake("layer-norm-gamma-outside", "layer_norm_backward", gamma_outside, "layer-norm",
            (("gamma",), ("outside", "after", "before", "inside", "mean", "late")),
            comment="numpy-transformer: right while gamma is 1"),
    Mistake("layer-norm-mean-forgotten", "layer_norm_backward", mean_forgotten, "layer-norm",
            (("mean",), (*MISSING, "constant")), excludes=("mean(dn * n) is missing", "variance is missing")),
    Mistake("layer-norm-inverse-forgotten", "layer_norm_backward", inverse_forgotten, "layer-norm", (DEVIATION, MISSING)),
    Mistake("layer-norm-inverse-squared", "layer_norm_backward", inverse_squared, "layer-norm",
            (DEVIATION, (*TWICE, "^2", "** 2", "root"))),
    Mistake("layer-norm-sum-for-mean", "layer_norm_backward", sum_for_mean, "layer-norm",
            (("sum", "not divided", "D times", "times D", "times too large", "factor D", "7 times"), ("mean", "divid", "D times", "times D", "7 times"))),
    Mistake("layer-norm-sums-for-means", "layer_norm_backward", sums_for_means, "layer-norm",
            (("sum", "not divided", "D times", "times D", "times too large", "factor D", "7 times"), ("mean", "divid", "D times", "times D", "7 times"))),
    Mistake("layer-norm-plus-mean", "layer_norm_backward", plus_mean, "layer-norm", (("mean",), (*SIGN, "added", "subtract"))),
    Mistake("layer-norm-variance-term-doubled", "layer_norm_backward", variance_term_doubled, "layer-norm", (SECOND, TWICE)),
    Mistake("layer-norm-gamma-not-in-variance-term", "layer_norm_backward", gamma_not_in_variance_term, "layer-norm",
            (("gamma", "dn"), (*SECOND, "mean"))),
    Mistake("layer-norm-dbeta-times-gamma", "layer_norm_backward", dbeta_times_gamma, "layer-norm", (("beta",), ("gamma", "dn"))),
    Mistake("layer-norm-dbeta-from-dx", "layer_norm_backward", dbeta_from_dx, "layer-norm",
            (("beta",), ("dx", "wrong array", "not of dy", "instead of dy", "sum of dy", "zero"))),
    Mistake("layer-norm-parameters-averaged", "layer_norm_backward", parameters_averaged, "layer-norm",
            (("gamma", "beta", "parameter"), AVERAGED)),
    Mistake("layer-norm-parameters-swapped", "layer_norm_backward", parameters_swapped, "layer-norm", (SWAPPED,)),
    Mistake("layer-norm-gamma-into-dy", "layer_norm_backward", gamma_into_dy, "layer-norm",
            ((*IN_PLACE, "dgamma", "dbeta", "gamma"),), comment="dy *= gamma, before dgamma and dbeta take dy"),
    Mistake("layer-norm-assigned", "minitransformer.layers.layer_norm:LayerNorm.backward", assigned, "layer-norm", (ASSIGNED,),
            in_model="", comment="seen only where gradients are added to others"),
    Mistake("layer-norm-beta-not-added", "minitransformer.layers.layer_norm:LayerNorm.backward", beta_not_added, "layer-norm",
            (("beta",), MISSING)),
    Mistake("layer-norm-parameters-subtracted", "minitransformer.layers.layer_norm:LayerNorm.backward", gamma_subtracted, "layer-norm",
            (SIGN,)),
    Mistake("layer-norm-forward-with-std", "layer_norm_forward", forward_with_std, "layer-norm", ((*COMPLEX, "std"),), in_model="",
            comment="right for real numbers; std takes the absolute value of complex ones"),
    Mistake("layer-norm-forward-caches-variance", "layer_norm_forward", forward_caches_variance, "layer-norm", (DEVIATION,)),
]
