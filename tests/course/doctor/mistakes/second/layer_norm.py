"""Mistakes in layer normalisation."""

import numpy as np

from tests.course.doctor.mistakes.held_out import layer_norm as held_out
from tests.course.doctor.mistakes.mistake import Mistake
from tests.course.doctor.mistakes.right import changed, mean, norm, norm_forward, over_rows
from tests.course.doctor.mistakes.seen import layer_norm as seen
from tests.course.doctor.mistakes.words import LEFT_OUT, UNKNOWN

LAYER = "minitransformer.layers.layer_norm:LayerNorm.backward"
MISSING = (*LEFT_OUT, "does not", "not multiplied", "constant")
TERM = ("mean", "variance", "along", "n *", "term", "deviation", "projection")

gamma_twice = norm(lambda dn, n, s, dy, gamma: gamma * s * (dn - mean(dn) - n * mean(dn * n)))
gamma_not_in_first_mean = norm(lambda dn, n, s, dy, gamma: s * (dn - mean(dy) - n * mean(dn * n)))
inverse_squared = norm(lambda dn, n, s, *_: s * (dn - mean(dn)) - s ** 2 * n * mean(dn * n))
two_plus_and_no_inverse = norm(lambda dn, n, s, *_: dn - mean(dn) + n * mean(dn * n))
odd_power_of_inverse = norm(lambda dn, n, s, *_: s ** 1.3 * (dn - mean(dn) - n * mean(dn * n)))
median_for_mean = norm(lambda dn, n, s, *_: s * (dn - np.median(dn, axis=-1, keepdims=True) - n * mean(dn * n)))
gamma_gradient_with_gamma = norm(dgamma=lambda dy, n, s, gamma: over_rows(dy * gamma * n),
                                 dbeta=lambda dy, n, s, gamma: over_rows(dy * gamma))
two_no_gamma_and_averaged_beta = norm(lambda dn, n, s, dy, gamma: s * (dy - mean(dy) - n * mean(dy * n)),
                                      dbeta=lambda dy, *_: dy.mean(axis=tuple(range(dy.ndim - 1))))
gated = changed(norm(), lambda dx, dgamma, dbeta, dy, cache: (dx * (1 - np.tanh(cache.normed) ** 2), dgamma, dbeta))
forward_torch_like_var = norm_forward(variance=lambda c, x, axis: x.var(axis=axis, ddof=1, keepdims=True))
forward_no_root = norm_forward(inverse=lambda v, epsilon: 1 / (v + epsilon))
forward_root_of_deviation = norm_forward(inverse=lambda v, epsilon: 1 / np.sqrt(np.sqrt(v) + epsilon))
forward_square_not_centred = norm_forward(variance=lambda c, x, axis: mean(x * x))
forward_over_positions_too = norm_forward(axis=(-2, -1))
forward_as_batch_norm = norm_forward(axis=(0, 1))
forward_caches_centred = changed(norm_forward(), lambda y, cache, *_: (y, cache._replace(normed=cache.normed / cache.inverse)))
forward_caches_deviation = changed(norm_forward(), lambda y, cache, *_: (y, cache._replace(inverse=1 / cache.inverse)))
forward_caches_output = changed(norm_forward(), lambda y, cache, *_: (y, cache._replace(normed=y)))
forward_one_plus_gamma = norm_forward(y=lambda n, gamma, beta: (1 + gamma) * n + beta)
forward_epsilon_too_large_outside = norm_forward(inverse=lambda v, epsilon: 1 / (np.sqrt(v) + 0.1))
layer_adds_beta_to_gamma = seen.with_parameters(lambda dgamma, dbeta: (dgamma + dbeta, 0))

AVERAGE = ("mean", "average", "divid", "1/6", "factor", "0.1667", "sixth", "number of")
FORWARD = ("variance", "deviation", "normalis", "mean", "root", "sqrt", "forward", "d - 1", "d-1", "6/7", "7/6", "factor", "unbiased",
           "centr", "term", "axis", "axes", "cache", " n ", "inverse")

MISTAKES = [
    Mistake("norm-no-mean", "layer_norm_backward", seen.mean_forgotten, "layer-norm", (TERM, MISSING),
            comment="The term mean(dn), which comes from subtracting the mean, is forgotten."),
    Mistake("norm-statistics-constant", "layer_norm_backward", held_out.both_means_forgotten, "layer-norm", (TERM, MISSING),
            comment="Mean and variance are treated as constants: dx = dn * inverse."),
    Mistake("norm-no-gamma", "layer_norm_backward", held_out.gamma_forgotten, "layer-norm", (("gamma",), ),
            comment="dx is made from dy, without gamma."),
    Mistake("norm-gamma-at-the-end", "layer_norm_backward", seen.gamma_outside, "layer-norm", (("gamma",),),
            comment="gamma multiplies the finished dx instead of dy before the means."),
    Mistake("norm-gamma-twice", "layer_norm_backward", gamma_twice, "layer-norm", (("gamma",),),
            comment="gamma enters twice: in dn and once more in front of dx."),
    Mistake("norm-gamma-not-in-first-mean", "layer_norm_backward", gamma_not_in_first_mean, "layer-norm", (("gamma", "mean", "dy"),),
            comment="The first mean is of dy, not of dn = dy gamma."),
    Mistake("norm-gamma-not-in-second-mean", "layer_norm_backward", seen.gamma_not_in_variance_term, "layer-norm", (("gamma", "mean", "dy", "variance"),),
            comment="The second mean is of dy n, not of dn n."),
    Mistake("norm-no-inverse", "layer_norm_backward", seen.inverse_forgotten, "layer-norm", (("inverse", "deviation", "sqrt", "std", "variance"),),
            comment="The factor 1 / sqrt(variance + epsilon) in front of dx is forgotten."),
    Mistake("norm-inverse-squared-in-one-term", "layer_norm_backward", inverse_squared, "layer-norm",
            (("inverse", "deviation", "variance", "std", "sqrt", "power", "square", "twice", *TERM),),
            comment="In the variance's term the inverse deviation enters squared (the s^3 c of the derivation half converted to n)."),
    Mistake("norm-d-minus-one", "layer_norm_backward", held_out.one_less, "layer-norm", (("d - 1", "d-1", "6 / 7", "7 / 6", "6/7", "7/6", "times 7", "7 times", "unbiased", "variance", "factor", *TERM),),
            comment="The variance's term is divided by D - 1 although forward's variance is the biased one."),
    Mistake("norm-sums-for-means", "layer_norm_backward", seen.sums_for_means, "layer-norm", (("sum", "divid", "mean", "factor", "times 7", "7 times"),),
            comment="Both means are sums: the division by D is forgotten."),
    Mistake("norm-means-over-positions", "layer_norm_backward", held_out.mean_over_positions, "layer-norm", (("axis", "axes", "position", "column", *TERM),),
            comment="Both means run over the positions (axis 1) instead of the features."),
    Mistake("norm-variance-term-sign", "layer_norm_backward", held_out.plus_variance, "layer-norm", (("sign", "plus", "added", "minus", "subtract", "negat"),),
            comment="The variance's term is added instead of subtracted."),
    Mistake("norm-variance-term-twice", "layer_norm_backward", seen.variance_term_doubled, "layer-norm", (("twice", "doubl", "2 times", "times 2", "2x", "factor"), TERM),
            comment="The variance's term is doubled (the 2 of the square is not cancelled by the root's 1/2)."),
    Mistake("norm-variance-term-without-n", "layer_norm_backward", held_out.n_not_in_variance_term, "layer-norm", ((*TERM, " n "),),
            comment="The variance's term lacks its factor n: mean(dn n) is subtracted by itself."),
    Mistake("norm-gamma-of-centred", "layer_norm_backward", held_out.dgamma_from_centred, "layer-norm", (("gamma",),),
            comment="dgamma is made with x - mean instead of the normalised n."),
    Mistake("norm-parameters-with-gamma", "layer_norm_backward", gamma_gradient_with_gamma, "layer-norm", (("gamma",), ),
            comment="dgamma and dbeta are made from dn = dy gamma instead of dy."),
    Mistake("norm-gamma-beta-swapped", "layer_norm_backward", seen.parameters_swapped, "layer-norm", (("swap", "exchang", "order", "each other"),),
            comment="dgamma and dbeta are returned in each other's place."),
    Mistake("norm-parameters-averaged", "layer_norm_backward", seen.parameters_averaged, "layer-norm", (AVERAGE,),
            comment="dgamma and dbeta are means over batch and positions instead of sums."),
    Mistake("norm-in-place-gamma", "layer_norm_backward", seen.gamma_into_dy, "layer-norm",
            (("in place", "in-place", "chang", "modif", "overwr", "writes", "alter", "gamma"),),
            comment="dy is multiplied by gamma in place, so dgamma and dbeta carry gamma too and the caller's dy is changed."),
    Mistake("norm-two-gamma-and-beta", "layer_norm_backward", two_no_gamma_and_averaged_beta, "layer-norm", (("gamma", *AVERAGE),),
            comment="Two mistakes: gamma is missing in dx, and dbeta is a mean."),
    Mistake("norm-two-sign-and-inverse", "layer_norm_backward", two_plus_and_no_inverse, "layer-norm",
            (("sign", "plus", "added", "minus", "subtract", "negat", "inverse", "deviation", "variance"),),
            comment="Two mistakes: the variance's term is added, and the factor 1 / sqrt(variance + epsilon) is missing."),
    Mistake("norm-gated", "layer_norm_backward", gated, "layer-norm", ((*UNKNOWN, "dx", "layer-norm", "layernorm", "layer norm", "input", "tanh"),),
            comment="dx is multiplied by 1 - tanh(n)^2: arbitrary."),
    Mistake("norm-odd-power", "layer_norm_backward", odd_power_of_inverse, "layer-norm",
            ((*UNKNOWN, "power", "inverse", "deviation", "dx", "layer-norm", "layer norm", "input", "row"),),
            comment="The inverse deviation enters with the power 1.3: arbitrary."),
    Mistake("norm-median", "layer_norm_backward", median_for_mean, "layer-norm", ((*UNKNOWN, "mean", "dx", "layer-norm", "layer norm", "input", "row", "constant along"),),
            comment="The median of dn is subtracted instead of its mean."),
    Mistake("norm-forward-unbiased", "layer_norm_forward", held_out.forward_unbiased, "layer-norm", (FORWARD,),
            comment="forward divides by D - 1 in the variance, which the given backward does not."),
    Mistake("norm-forward-var-ddof", "layer_norm_forward", forward_torch_like_var, "layer-norm", ((*FORWARD, "complex", "imaginary"),),
            comment="forward uses x.var(ddof=1), as torch.var's default, written with np.var (not fit for complex numbers either)."),
    Mistake("norm-forward-no-root", "layer_norm_forward", forward_no_root, "layer-norm", (FORWARD,),
            comment="forward divides by the variance, without the square root; the given backward is for the root."),
    Mistake("norm-forward-root-of-deviation", "layer_norm_forward", forward_root_of_deviation, "layer-norm", (FORWARD,),
            comment="forward takes the square root of the standard deviation instead of the variance."),
    Mistake("norm-forward-rms", "layer_norm_forward", held_out.forward_without_mean, "layer-norm", (FORWARD,),
            comment="forward is RMSNorm (nothing is subtracted); the given backward is LayerNorm's."),
    Mistake("norm-forward-square-not-centred", "layer_norm_forward", forward_square_not_centred, "layer-norm", (FORWARD,),
            comment="forward's variance is the mean of x^2, not of (x - mean)^2."),
    Mistake("norm-forward-over-positions", "layer_norm_forward", forward_over_positions_too, "layer-norm", ((*FORWARD, "position"),),
            comment="forward takes mean and variance over positions and features together."),
    Mistake("norm-forward-batch-norm", "layer_norm_forward", forward_as_batch_norm, "layer-norm", ((*FORWARD, "batch", "shape", "raise", "other rows"),),
            comment="forward takes mean and variance over batch and positions, as batch normalisation does."),
    Mistake("norm-caches-centred", "layer_norm_forward", forward_caches_centred, "layer-norm", (("cache", "normed", " n ", "gamma", "centr", "variance", "deviation"),),
            comment="forward keeps x - mean instead of the normalised n."),
    Mistake("norm-caches-deviation", "layer_norm_forward", forward_caches_deviation, "layer-norm", (("inverse", "deviation", "sqrt", "std", "variance", "cache", "divid"),),
            comment="forward keeps the standard deviation where the backward expects its inverse."),
    Mistake("norm-caches-output", "layer_norm_forward", forward_caches_output, "layer-norm", (("cache", "normed", " n ", "gamma", "beta", "output", *UNKNOWN),),
            comment="forward keeps y (after gamma and beta) instead of the normalised n."),
    Mistake("norm-forward-one-plus-gamma", "layer_norm_forward", forward_one_plus_gamma, "layer-norm", (("gamma", "forward"),),
            comment="forward multiplies by 1 + gamma (a zero-centred gamma), the given backward by gamma."),
    Mistake("norm-forward-epsilon-outside", "layer_norm_forward", forward_epsilon_too_large_outside, "layer-norm",
            (("epsilon", *FORWARD),),
            comment="forward adds an epsilon of 0.1 to the deviation, outside the root, so that n's variance is not 1."),
    Mistake("norm-layer-assigns", LAYER, seen.assigned, "layer-norm", (("+=", "accumulat", "overwrit", "assign", "replac", "add"),), in_model="",
            comment="The layer assigns gamma's and beta's gradients instead of adding them."),
    Mistake("norm-layer-beta-to-gamma", LAYER, layer_adds_beta_to_gamma, "layer-norm", (("beta", "gamma"), (*MISSING, "beta", "swap", "added")),
            comment="dbeta is added to gamma's gradient; beta's stays zero."),
]
