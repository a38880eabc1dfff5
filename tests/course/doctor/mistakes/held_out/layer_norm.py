"""Mistakes in layer normalisation."""

import numpy as np

from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes.right import changed, mean, norm, norm_forward, over_rows, total
from tests.course.doctor.mistakes.seen.layer_norm import with_parameters
from tests.course.doctor.mistakes.words import DEVIATION, MISSING, PRECISION, RAISES, SECOND, SIGN

gamma_forgotten = norm(lambda dn, n, s, dy, gamma: s * (dy - mean(dy) - n * mean(dy * n)))
gamma_divided = norm(lambda dn, n, s, dy, gamma: s * (dy / gamma - mean(dy / gamma) - n * mean(dy / gamma * n)))
both_means_forgotten = norm(lambda dn, n, s, *_: s * dn)
deviation_multiplied = norm(lambda dn, n, s, *_: (dn - mean(dn) - n * mean(dn * n)) / s)
one_less = norm(lambda dn, n, s, *_: s * (dn - mean(dn) - n * total(dn * n) / (dn.shape[-1] - 1)))
plus_variance = norm(lambda dn, n, s, *_: s * (dn - mean(dn) + n * mean(dn * n)))
n_not_in_variance_term = norm(lambda dn, n, s, *_: s * (dn - mean(dn) - mean(dn * n)))
mean_over_positions = norm(lambda dn, n, s, *_: s * (
    dn - dn.mean(axis=1, keepdims=True) - n * (dn * n).mean(axis=1, keepdims=True)))
dgamma_from_centred = norm(dgamma=lambda dy, n, s, gamma: over_rows(dy * n / s))
parameters_summed_over_batch_only = norm(dgamma=lambda dy, n, *_: (dy * n).sum(axis=0), dbeta=lambda dy, *_: dy.sum(axis=0))
in_float32 = changed(norm(), lambda *gradients: tuple(gradient.astype(np.float32) for gradient in gradients[:3]))
beta_gets_gammas = with_parameters(lambda dgamma, dbeta: (dgamma, dgamma))
forward_unbiased = norm_forward(variance=lambda c, x, axis: total(c * c) / (x.shape[-1] - 1))
forward_without_mean = norm_forward(centred=lambda x, axis: x)


def epsilon_free(dy, cache):
    deviation = cache.normed.std(axis=-1, keepdims=True)
    return norm()(dy, cache._replace(normed=cache.normed / deviation, inverse=cache.inverse / deviation))


MISTAKES = [
    makers.norm("layer-norm-gamma-forgotten", gamma_forgotten, ("gamma",), MISSING),
    makers.norm("layer-norm-gamma-divided", gamma_divided, ("gamma",),
            ("divid", "1 / gamma", "1/gamma", "/ gamma", "inverse", "multipl")),
    makers.norm("layer-norm-both-means-forgotten", both_means_forgotten, ("both", "two", "means", "terms", "constant", "mean and")),
    makers.norm("layer-norm-deviation-multiplied", deviation_multiplied, DEVIATION, ("divid", "multipl", "inverse", "1 /", "/ s")),
    makers.norm("layer-norm-one-less", one_less,
            ("D - 1", "D-1", "unbiased", "biased", "bessel", "d_model - 1", "7/6", "6 instead", "1.166", "1.167")),
    makers.norm("layer-norm-plus-variance", plus_variance, SECOND, (*SIGN, "added", "subtract")),
    makers.norm("layer-norm-n-not-in-variance-term", n_not_in_variance_term, (*SECOND, "times n", "normed", "by n"),
            (*MISSING, "constant")),
    makers.norm("layer-norm-mean-over-positions", mean_over_positions, ("axis", "axes")),
    makers.norm("layer-norm-dgamma-times-gamma", norm(dgamma=lambda dy, n, s, gamma: over_rows(dy * gamma * n)), ("gamma",),
            ("dn", "times gamma", "by gamma", "gamma *", "multipl", "gamma times", "* gamma")),
    makers.norm("layer-norm-dgamma-without-n", norm(dgamma=lambda dy, *_: over_rows(dy)), ("gamma",),
            ("without n", "normed", "normal", "dbeta", "beta", "sum of dy", "* n", "times n", "factor n", "by n")),
    makers.norm("layer-norm-dgamma-from-centred", dgamma_from_centred, ("gamma",),
            ("inverse", "centred", "scaled", "deviation", "normal", "sqrt", "variance", "x - mean")),
    makers.norm("layer-norm-parameters-summed-over-batch-only", parameters_summed_over_batch_only,
            ("shape", "axis", "axes", "broadcast", *RAISES)),
    makers.norm("layer-norm-in-float32", in_float32, PRECISION),
    makers.norm("layer-norm-epsilon-free", epsilon_free, ("epsilon", "eps"), in_model="",
            comment="the backward of a normalisation without epsilon; off by about epsilon / variance"),
    makers.layer_norm("layer-norm-beta-gets-gammas", beta_gets_gammas, ("beta",), ("gamma", "normed", "times n", "* n")),
    makers.norm_forward("layer-norm-forward-unbiased", forward_unbiased,
            ("D - 1", "D-1", "unbiased", "biased", "bessel", "forward", "variance", "d_model - 1")),
    makers.norm_forward("layer-norm-forward-without-gamma", norm_forward(y=lambda n, gamma, beta: n + beta), ("gamma",)),
    makers.norm_forward("layer-norm-forward-over-positions", norm_forward(axis=-2), ("axis", "axes", "forward")),
    makers.norm_forward("layer-norm-forward-without-mean", forward_without_mean, ("mean", "centr", "rms", "forward")),
]
