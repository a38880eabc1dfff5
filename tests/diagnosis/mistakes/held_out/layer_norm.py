"""Mistakes in layer normalisation."""

import numpy as np

from minitransformer.functional import layer_norm_backward
from minitransformer.functional.layer_norm import LayerNormCache
from tests.diagnosis.mistakes import right
from tests.diagnosis.mistakes.mistake import Mistake
from tests.diagnosis.mistakes.words import DEVIATION, MISSING, PRECISION, RAISES, SECOND, SIGN


def gamma_forgotten(dy, cache):
    normed, inverse, gamma = cache
    along = (dy * normed).mean(axis=-1, keepdims=True)
    return inverse * (dy - dy.mean(axis=-1, keepdims=True) - normed * along), *right.norm_parameters(dy, normed)


def gamma_divided(dy, cache):
    normed, inverse, gamma = cache
    dn = dy / gamma
    along = (dn * normed).mean(axis=-1, keepdims=True)
    return inverse * (dn - dn.mean(axis=-1, keepdims=True) - normed * along), *right.norm_parameters(dy, normed)


def both_means_forgotten(dy, cache):
    normed, inverse, gamma = cache
    return inverse * gamma * dy, *right.norm_parameters(dy, normed)


def deviation_multiplied(dy, cache):
    normed, inverse, gamma = cache
    dn = dy * gamma
    along = (dn * normed).mean(axis=-1, keepdims=True)
    return (dn - dn.mean(axis=-1, keepdims=True) - normed * along) / inverse, *right.norm_parameters(dy, normed)


def one_less(dy, cache):
    normed, inverse, gamma = cache
    size = dy.shape[-1]
    dn = dy * gamma
    along = (dn * normed).sum(axis=-1, keepdims=True) / (size - 1)
    return inverse * (dn - dn.mean(axis=-1, keepdims=True) - normed * along), *right.norm_parameters(dy, normed)


def plus_variance(dy, cache):
    normed, inverse, gamma = cache
    dn = dy * gamma
    along = (dn * normed).mean(axis=-1, keepdims=True)
    return inverse * (dn - dn.mean(axis=-1, keepdims=True) + normed * along), *right.norm_parameters(dy, normed)


def n_not_in_variance_term(dy, cache):
    normed, inverse, gamma = cache
    dn = dy * gamma
    along = (dn * normed).mean(axis=-1, keepdims=True)
    return inverse * (dn - dn.mean(axis=-1, keepdims=True) - along), *right.norm_parameters(dy, normed)


def mean_over_positions(dy, cache):
    normed, inverse, gamma = cache
    dn = dy * gamma
    along = (dn * normed).mean(axis=1, keepdims=True)
    return inverse * (dn - dn.mean(axis=1, keepdims=True) - normed * along), *right.norm_parameters(dy, normed)


def dgamma_times_gamma(dy, cache):
    dx, _, dbeta = layer_norm_backward.replaceable.textbook(dy, cache)
    return dx, (dy * cache.gamma * cache.normed).sum(axis=tuple(range(dy.ndim - 1))), dbeta


def dgamma_without_n(dy, cache):
    dx, _, dbeta = layer_norm_backward.replaceable.textbook(dy, cache)
    return dx, dy.sum(axis=tuple(range(dy.ndim - 1))), dbeta


def dgamma_from_centred(dy, cache):
    dx, _, dbeta = layer_norm_backward.replaceable.textbook(dy, cache)
    centred = cache.normed / cache.inverse
    return dx, (dy * centred).sum(axis=tuple(range(dy.ndim - 1))), dbeta


def parameters_summed_over_batch_only(dy, cache):
    dx, _, _ = layer_norm_backward.replaceable.textbook(dy, cache)
    return dx, (dy * cache.normed).sum(axis=0), dy.sum(axis=0)


def in_float32(dy, cache):
    return tuple(gradient.astype(np.float32) for gradient in layer_norm_backward.replaceable.textbook(dy, cache))


def epsilon_free(dy, cache):
    normed, inverse, gamma = cache
    dn = dy * gamma
    deviation = normed.std(axis=-1, keepdims=True)
    normed = normed / deviation
    along = (dn * normed).mean(axis=-1, keepdims=True)
    return inverse / deviation * (dn - dn.mean(axis=-1, keepdims=True) - normed * along), *right.norm_parameters(dy, normed)


def beta_gets_gammas(self, dy, cache):
    dx, dgamma, dbeta = layer_norm_backward(dy, cache)
    self.gamma.grad += dgamma
    self.beta.grad += dgamma
    return dx


def forward_unbiased(x, gamma, beta, epsilon=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).sum(axis=-1, keepdims=True) / (x.shape[-1] - 1)
    inverse = 1 / np.sqrt(variance + epsilon)
    normed = centred * inverse
    return gamma * normed + beta, LayerNormCache(normed, inverse, gamma)


def forward_without_gamma(x, gamma, beta, epsilon=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    inverse = 1 / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + epsilon)
    normed = centred * inverse
    return normed + beta, LayerNormCache(normed, inverse, gamma)


def forward_over_positions(x, gamma, beta, epsilon=1e-5):
    centred = x - x.mean(axis=-2, keepdims=True)
    inverse = 1 / np.sqrt((centred * centred).mean(axis=-2, keepdims=True) + epsilon)
    normed = centred * inverse
    return gamma * normed + beta, LayerNormCache(normed, inverse, gamma)


def forward_without_mean(x, gamma, beta, epsilon=1e-5):
    inverse = 1 / np.sqrt((x * x).mean(axis=-1, keepdims=True) + epsilon)
    normed = x * inverse
    return gamma * normed + beta, LayerNormCache(normed, inverse, gamma)


MISTAKES = [
    Mistake("layer-norm-gamma-forgotten", "layer_norm_backward", gamma_forgotten, "layer-norm", (("gamma",), MISSING)),
    Mistake("layer-norm-gamma-divided", "layer_norm_backward", gamma_divided, "layer-norm",
            (("gamma",), ("divid", "1 / gamma", "1/gamma", "/ gamma", "inverse", "multipl"))),
    Mistake("layer-norm-both-means-forgotten", "layer_norm_backward", both_means_forgotten, "layer-norm",
            (("both", "two", "means", "terms", "constant", "mean and"),)),
    Mistake("layer-norm-deviation-multiplied", "layer_norm_backward", deviation_multiplied, "layer-norm",
            (DEVIATION, ("divid", "multipl", "inverse", "1 /", "/ s"))),
    Mistake("layer-norm-one-less", "layer_norm_backward", one_less, "layer-norm",
            (("D - 1", "D-1", "unbiased", "biased", "bessel", "d_model - 1", "7/6", "6 instead", "1.166", "1.167"),)),
    Mistake("layer-norm-plus-variance", "layer_norm_backward", plus_variance, "layer-norm", (SECOND, (*SIGN, "added", "subtract"))),
    Mistake("layer-norm-n-not-in-variance-term", "layer_norm_backward", n_not_in_variance_term, "layer-norm",
            ((*SECOND, "times n", "normed", "by n"), (*MISSING, "constant"))),
    Mistake("layer-norm-mean-over-positions", "layer_norm_backward", mean_over_positions, "layer-norm", (("axis", "axes"),)),
    Mistake("layer-norm-dgamma-times-gamma", "layer_norm_backward", dgamma_times_gamma, "layer-norm",
            (("gamma",), ("dn", "times gamma", "by gamma", "gamma *", "multipl", "gamma times", "* gamma"))),
    Mistake("layer-norm-dgamma-without-n", "layer_norm_backward", dgamma_without_n, "layer-norm",
            (("gamma",), ("without n", "normed", "normal", "dbeta", "beta", "sum of dy", "* n", "times n", "factor n", "by n"))),
    Mistake("layer-norm-dgamma-from-centred", "layer_norm_backward", dgamma_from_centred, "layer-norm",
            (("gamma",), ("inverse", "centred", "scaled", "deviation", "normal", "sqrt", "variance", "x - mean"))),
    Mistake("layer-norm-parameters-summed-over-batch-only", "layer_norm_backward", parameters_summed_over_batch_only, "layer-norm",
            (("shape", "axis", "axes", "broadcast", *RAISES),)),
    Mistake("layer-norm-in-float32", "layer_norm_backward", in_float32, "layer-norm", (PRECISION,)),
    Mistake("layer-norm-epsilon-free", "layer_norm_backward", epsilon_free, "layer-norm",
            (("epsilon", "eps"),), in_model="", comment="the backward of a normalisation without epsilon; off by about epsilon / variance"),
    Mistake("layer-norm-beta-gets-gammas", "minitransformer.layers.layer_norm:LayerNorm.backward", beta_gets_gammas, "layer-norm",
            (("beta",), ("gamma", "normed", "times n", "* n"))),
    Mistake("layer-norm-forward-unbiased", "layer_norm_forward", forward_unbiased, "layer-norm",
            (("D - 1", "D-1", "unbiased", "biased", "bessel", "forward", "variance", "d_model - 1"),)),
    Mistake("layer-norm-forward-without-gamma", "layer_norm_forward", forward_without_gamma, "layer-norm", (("gamma",),)),
    Mistake("layer-norm-forward-over-positions", "layer_norm_forward", forward_over_positions, "layer-norm",
            (("axis", "axes", "forward"),)),
    Mistake("layer-norm-forward-without-mean", "layer_norm_forward", forward_without_mean, "layer-norm",
            (("mean", "centr", "rms", "forward"),)),
]
