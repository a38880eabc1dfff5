"""Mistakes in layer normalisation."""

import numpy as np

from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes.held_out import layer_norm as held_out
from tests.course.doctor.mistakes.right import changed, mean, norm, norm_forward, over_rows
from tests.course.doctor.mistakes.seen import layer_norm as seen
from tests.course.doctor.mistakes.words import LEFT_OUT, UNKNOWN

MISSING = (*LEFT_OUT, "does not", "not multiplied", "constant")
TERM = ("mean", "variance", "along", "n *", "term", "deviation", "projection")

gamma_not_in_first_mean = norm(lambda dn, n, s, dy, gamma: s * (dn - mean(dy) - n * mean(dn * n)))
inverse_squared = norm(lambda dn, n, s, *_: s * (dn - mean(dn)) - s ** 2 * n * mean(dn * n))
median_for_mean = norm(lambda dn, n, s, *_: s * (dn - np.median(dn, axis=-1, keepdims=True) - n * mean(dn * n)))
gamma_gradient_with_gamma = norm(dgamma=lambda dy, n, s, gamma: over_rows(dy * gamma * n),
                                 dbeta=lambda dy, n, s, gamma: over_rows(dy * gamma))
two_no_gamma_and_averaged_beta = norm(lambda dn, n, s, dy, gamma: s * (dy - mean(dy) - n * mean(dy * n)),
                                      dbeta=lambda dy, *_: dy.mean(axis=tuple(range(dy.ndim - 1))))
gated = changed(norm(), lambda dx, dgamma, dbeta, dy, cache: (dx * (1 - np.tanh(cache.normed) ** 2), dgamma, dbeta))
forward_torch_like_var = norm_forward(variance=lambda c, x, axis: x.var(axis=axis, ddof=1, keepdims=True))
forward_root_of_deviation = norm_forward(inverse=lambda v, epsilon: 1 / np.sqrt(np.sqrt(v) + epsilon))
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
    makers.norm("norm-no-mean", seen.mean_forgotten, TERM, MISSING),
    makers.norm("norm-statistics-constant", held_out.both_means_forgotten, TERM, MISSING),
    makers.norm("norm-no-gamma", held_out.gamma_forgotten, ("gamma",)),
    makers.norm("norm-gamma-at-the-end", seen.gamma_outside, ("gamma",)),
    makers.norm("norm-gamma-twice", norm(lambda dn, n, s, dy, gamma: gamma * s * (dn - mean(dn) - n * mean(dn * n))), ("gamma",)),
    makers.norm("norm-gamma-not-in-first-mean", gamma_not_in_first_mean, ("gamma", "mean", "dy")),
    makers.norm("norm-gamma-not-in-second-mean", seen.gamma_not_in_variance_term, ("gamma", "mean", "dy", "variance")),
    makers.norm("norm-no-inverse", seen.inverse_forgotten, ("inverse", "deviation", "sqrt", "std", "variance")),
    makers.norm("norm-inverse-squared-in-one-term", inverse_squared,
            ("inverse", "deviation", "variance", "std", "sqrt", "power", "square", "twice", *TERM),
            comment="In the variance's term the inverse deviation enters squared (the s^3 c of the derivation half converted to n)."),
    makers.norm("norm-d-minus-one", held_out.one_less, ("d - 1", "d-1", "6 / 7", "7 / 6", "6/7", "7/6", "times 7", "7 times", "unbiased", "variance", "factor", *TERM)),
    makers.norm("norm-sums-for-means", seen.sums_for_means, ("sum", "divid", "mean", "factor", "times 7", "7 times")),
    makers.norm("norm-means-over-positions", held_out.mean_over_positions, ("axis", "axes", "position", "column", *TERM)),
    makers.norm("norm-variance-term-sign", held_out.plus_variance, ("sign", "plus", "added", "minus", "subtract", "negat")),
    makers.norm("norm-variance-term-twice", seen.variance_term_doubled, ("twice", "doubl", "2 times", "times 2", "2x", "factor"), TERM,
            comment="The variance's term is doubled (the 2 of the square is not cancelled by the root's 1/2)."),
    makers.norm("norm-variance-term-without-n", held_out.n_not_in_variance_term, (*TERM, " n ")),
    makers.norm("norm-gamma-of-centred", held_out.dgamma_from_centred, ("gamma",)),
    makers.norm("norm-parameters-with-gamma", gamma_gradient_with_gamma, ("gamma",)),
    makers.norm("norm-gamma-beta-swapped", seen.parameters_swapped, ("swap", "exchang", "order", "each other")),
    makers.norm("norm-parameters-averaged", seen.parameters_averaged, AVERAGE),
    makers.norm("norm-in-place-gamma", seen.gamma_into_dy,
            ("in place", "in-place", "chang", "modif", "overwr", "writes", "alter", "gamma")),
    makers.norm("norm-two-gamma-and-beta", two_no_gamma_and_averaged_beta, ("gamma", *AVERAGE)),
    makers.norm("norm-two-sign-and-inverse", norm(lambda dn, n, s, *_: dn - mean(dn) + n * mean(dn * n)),
            ("sign", "plus", "added", "minus", "subtract", "negat", "inverse", "deviation", "variance")),
    makers.norm("norm-gated", gated, (*UNKNOWN, "dx", "layer-norm", "layernorm", "layer norm", "input", "tanh")),
    makers.norm("norm-odd-power", norm(lambda dn, n, s, *_: s ** 1.3 * (dn - mean(dn) - n * mean(dn * n))),
            (*UNKNOWN, "power", "inverse", "deviation", "dx", "layer-norm", "layer norm", "input", "row")),
    makers.norm("norm-median", median_for_mean, (*UNKNOWN, "mean", "dx", "layer-norm", "layer norm", "input", "row", "constant along")),
    makers.norm_forward("norm-forward-unbiased", held_out.forward_unbiased, FORWARD),
    makers.norm_forward("norm-forward-var-ddof", forward_torch_like_var, (*FORWARD, "complex", "imaginary"),
            comment="forward uses x.var(ddof=1), as torch.var's default, written with np.var (not fit for complex numbers either)."),
    makers.norm_forward("norm-forward-no-root", norm_forward(inverse=lambda v, epsilon: 1 / (v + epsilon)), FORWARD),
    makers.norm_forward("norm-forward-root-of-deviation", forward_root_of_deviation, FORWARD),
    makers.norm_forward("norm-forward-rms", held_out.forward_without_mean, FORWARD,
            comment="forward is RMSNorm (nothing is subtracted); the given backward is LayerNorm's."),
    makers.norm_forward("norm-forward-square-not-centred", norm_forward(variance=lambda c, x, axis: mean(x * x)), FORWARD),
    makers.norm_forward("norm-forward-over-positions", norm_forward(axis=(-2, -1)), (*FORWARD, "position")),
    makers.norm_forward("norm-forward-batch-norm", norm_forward(axis=(0, 1)), (*FORWARD, "batch", "shape", "raise", "other rows")),
    makers.norm_forward("norm-caches-centred", forward_caches_centred, ("cache", "normed", " n ", "gamma", "centr", "variance", "deviation")),
    makers.norm_forward("norm-caches-deviation", forward_caches_deviation, ("inverse", "deviation", "sqrt", "std", "variance", "cache", "divid")),
    makers.norm_forward("norm-caches-output", forward_caches_output, ("cache", "normed", " n ", "gamma", "beta", "output", *UNKNOWN)),
    makers.norm_forward("norm-forward-one-plus-gamma", forward_one_plus_gamma, ("gamma", "forward")),
    makers.norm_forward("norm-forward-epsilon-outside", forward_epsilon_too_large_outside, ("epsilon", *FORWARD)),
    makers.layer_norm("norm-layer-assigns", seen.assigned, ("+=", "accumulat", "overwrit", "assign", "replac", "add"), in_model=""),
    makers.layer_norm("norm-layer-beta-to-gamma", layer_adds_beta_to_gamma, ("beta", "gamma"), (*MISSING, "beta", "swap", "added")),
]
