"""Mistakes in layer normalisation."""

import numpy as np

from minitransformer.functional import layer_norm_backward
from minitransformer.functional.layer_norm import LayerNormCache
from tests.diagnosis.mistakes import right
from tests.diagnosis.mistakes.mistake import Mistake
from tests.diagnosis.mistakes.words import ASSIGNED, AVERAGED, COMPLEX, DEVIATION, IN_PLACE, MISSING, SECOND, SIGN, SWAPPED, TWICE


def gamma_outside(dy, cache):
    normed, inverse, gamma = cache
    along = (dy * normed).mean(axis=-1, keepdims=True)
    dx = gamma * inverse * (dy - dy.mean(axis=-1, keepdims=True) - normed * along)
    return dx, *right.norm_parameters(dy, normed)


def mean_forgotten(dy, cache):
    normed, inverse, gamma = cache
    dn = dy * gamma
    return inverse * (dn - normed * (dn * normed).mean(axis=-1, keepdims=True)), *right.norm_parameters(dy, normed)


def inverse_forgotten(dy, cache):
    normed, _, gamma = cache
    dn = dy * gamma
    return dn - dn.mean(axis=-1, keepdims=True) - normed * (dn * normed).mean(axis=-1, keepdims=True), *right.norm_parameters(dy, normed)


def inverse_squared(dy, cache):
    normed, inverse, gamma = cache
    dn = dy * gamma
    along = (dn * normed).mean(axis=-1, keepdims=True)
    return inverse ** 2 * (dn - dn.mean(axis=-1, keepdims=True) - normed * along), *right.norm_parameters(dy, normed)


def sum_for_mean(dy, cache):
    normed, inverse, gamma = cache
    dn = dy * gamma
    along = (dn * normed).sum(axis=-1, keepdims=True)
    return inverse * (dn - dn.mean(axis=-1, keepdims=True) - normed * along), *right.norm_parameters(dy, normed)


def sums_for_means(dy, cache):
    normed, inverse, gamma = cache
    dn = dy * gamma
    along = (dn * normed).sum(axis=-1, keepdims=True)
    return inverse * (dn - dn.sum(axis=-1, keepdims=True) - normed * along), *right.norm_parameters(dy, normed)


def plus_mean(dy, cache):
    normed, inverse, gamma = cache
    dn = dy * gamma
    along = (dn * normed).mean(axis=-1, keepdims=True)
    return inverse * (dn + dn.mean(axis=-1, keepdims=True) - normed * along), *right.norm_parameters(dy, normed)


def variance_term_doubled(dy, cache):
    normed, inverse, gamma = cache
    dn = dy * gamma
    along = 2 * (dn * normed).mean(axis=-1, keepdims=True)
    return inverse * (dn - dn.mean(axis=-1, keepdims=True) - normed * along), *right.norm_parameters(dy, normed)


def gamma_not_in_variance_term(dy, cache):
    normed, inverse, gamma = cache
    dn = dy * gamma
    along = (dy * normed).mean(axis=-1, keepdims=True)
    return inverse * (dn - dn.mean(axis=-1, keepdims=True) - normed * along), *right.norm_parameters(dy, normed)


def dbeta_times_gamma(dy, cache):
    dx, dgamma, _ = layer_norm_backward.replaceable.textbook(dy, cache)
    return dx, dgamma, (dy * cache.gamma).sum(axis=tuple(range(dy.ndim - 1)))


def dbeta_from_dx(dy, cache):
    dx, dgamma, _ = layer_norm_backward.replaceable.textbook(dy, cache)
    return dx, dgamma, dx.sum(axis=tuple(range(dy.ndim - 1)))


def parameters_averaged(dy, cache):
    dx, _, _ = layer_norm_backward.replaceable.textbook(dy, cache)
    rows = tuple(range(dy.ndim - 1))
    return dx, (dy * cache.normed).mean(axis=rows), dy.mean(axis=rows)


def parameters_swapped(dy, cache):
    dx, dgamma, dbeta = layer_norm_backward.replaceable.textbook(dy, cache)
    return dx, dbeta, dgamma


def gamma_into_dy(dy, cache):
    normed, inverse, gamma = cache
    dy *= gamma
    along = (dy * normed).mean(axis=-1, keepdims=True)
    return inverse * (dy - dy.mean(axis=-1, keepdims=True) - normed * along), *right.norm_parameters(dy, normed)


def assigned(self, dy, cache):
    dx, dgamma, dbeta = layer_norm_backward(dy, cache)
    self.gamma.grad[...] = dgamma
    self.beta.grad[...] = dbeta
    return dx


def beta_not_added(self, dy, cache):
    dx, dgamma, _ = layer_norm_backward(dy, cache)
    self.gamma.grad += dgamma
    return dx


def gamma_subtracted(self, dy, cache):
    dx, dgamma, dbeta = layer_norm_backward(dy, cache)
    self.gamma.grad -= dgamma
    self.beta.grad -= dbeta
    return dx


def forward_with_std(x, gamma, beta, epsilon=1e-5):
    inverse = 1 / np.sqrt(x.std(axis=-1, keepdims=True) ** 2 + epsilon)
    normed = (x - x.mean(axis=-1, keepdims=True)) * inverse
    return gamma * normed + beta, LayerNormCache(normed, inverse, gamma)


def forward_caches_variance(x, gamma, beta, epsilon=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    inverse = 1 / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + epsilon)
    normed = centred * inverse
    return gamma * normed + beta, LayerNormCache(normed, inverse ** -2, gamma)


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
