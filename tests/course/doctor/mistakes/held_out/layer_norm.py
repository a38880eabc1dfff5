"""Mistakes in layer normalisation."""

import numpy as np

from tests.course.doctor.mistakes.mistake import Mistake
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
dgamma_times_gamma = norm(dgamma=lambda dy, n, s, gamma: over_rows(dy * gamma * n))
dgamma_without_n = norm(dgamma=lambda dy, *_: over_rows(dy))
dgamma_from_centred = norm(dgamma=lambda dy, n, s, gamma: over_rows(dy * n / s))
parameters_summed_over_batch_only = norm(dgamma=lambda dy, n, *_: (dy * n).sum(axis=0), dbeta=lambda dy, *_: dy.sum(axis=0))
in_float32 = changed(norm(), lambda *gradients: tuple(gradient.astype(np.float32) for gradient in gradients[:3]))
beta_gets_gammas = with_parameters(lambda dgamma, dbeta: (dgamma, dgamma))
forward_unbiased = norm_forward(variance=lambda c, x, axis: total(c * c) / (x.shape[-1] - 1))
forward_without_gamma = norm_forward(y=lambda n, gamma, beta: n + beta)
forward_over_positions = norm_forward(axis=-2)
forward_without_mean = norm_forward(centred=lambda x, axis: x)


def epsilon_free(dy, cache):
    deviation = cache.normed.std(axis=-1, keepdims=True)
    return norm()(dy, cache._replace(normed=cache.normed / deviation, inverse=cache.inverse / deviation))


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
