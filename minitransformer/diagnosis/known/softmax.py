"""Softmax: dx = p (dp - sum(dp * p)), over the last axis."""

import numpy as np

from minitransformer.backend import Array
from minitransformer.diagnosis.mistakes import mistake
from minitransformer.diagnosis.terms import terms


def total(array, axis=-1) -> Array:
    return array.sum(axis=axis, keepdims=True)


@mistake("softmax", "only the diagonal of the Jacobian is used, dx = p (1 - p) dp: "
                    "the off-diagonal terms -p_i p_j are missing")
def diagonal(dp, cache) -> Array:
    return cache.p * (1 - cache.p) * dp


@mistake("softmax", "the sum over the row is missing: dx = p dp, without - p sum(dp * p)")
def sum_missing(dp, cache) -> Array:
    return cache.p * dp


@mistake("softmax", "the sum over the row is added, not subtracted (wrong sign): dx = p (dp + sum(dp * p))")
def sum_added(dp, cache) -> Array:
    return cache.p * (dp + total(dp * cache.p))


@mistake("softmax",
         "the factor p is missing inside the sum over the row (dp is not multiplied by p there): sum(dp) in place of "
         "sum(dp * p)")
def sum_unweighted(dp, cache) -> Array:
    return cache.p * (dp - total(dp))


@mistake("softmax",
         "the sum over the row is a mean (average), divided by the row's length: mean(dp * p) in place of sum(dp * p)")
def mean_for_sum(dp, cache) -> Array:
    return cache.p * (dp - (dp * cache.p).mean(axis=-1, keepdims=True))


@mistake("softmax",
         "the sum over the row is a plain average of dp, without the weights p: mean(dp) in place of sum(dp * p)")
def plain_mean(dp, cache) -> Array:
    return cache.p * (dp - dp.mean(axis=-1, keepdims=True))


@mistake("softmax", "the sum runs over the wrong axis: over the rows (queries), not over the last axis (keys)")
def rows_summed(dp, cache) -> Array:
    return cache.p * (dp - total(dp * cache.p, -2))


@mistake("softmax", "the sum runs over the wrong axis: over the first axis (the batch), not over the last axis")
def batch_summed(dp, cache) -> Array:
    return cache.p * (dp - total(dp * cache.p, 0))


@mistake("softmax", "the sum runs over all axes, not only over the last axis")
def all_summed(dp, cache) -> Array:
    return cache.p * (dp - (dp * cache.p).sum())


@mistake("softmax", "the sum runs over the last two axes (a whole matrix), not only over the last axis")
def matrix_summed(dp, cache) -> Array:
    return cache.p * (dp - total(dp * cache.p, (-2, -1)))


@mistake("softmax", "the factor p in front is missing: dx = dp - sum(dp * p)")
def without_p(dp, cache) -> Array:
    return dp - total(dp * cache.p)


@mistake("softmax", "the sum is not multiplied by p: dx = p dp - sum(dp * p)")
def sum_without_p(dp, cache) -> Array:
    return cache.p * dp - total(dp * cache.p)


@mistake("softmax", "the factor p is missing in the first term (dp is not multiplied by p): dx = dp - p sum(dp * p)")
def p_on_sum_only(dp, cache) -> Array:
    return dp - cache.p * total(dp * cache.p)


@mistake("softmax", "the factor p is applied twice (p squared): dx = p p (dp - sum(dp * p))")
def p_twice(dp, cache) -> Array:
    return cache.p * cache.p * (dp - total(dp * cache.p))


@mistake("softmax", "the sum is multiplied by p twice (p squared): dx = p (dp - p sum(dp * p))")
def sum_times_p_twice(dp, cache) -> Array:
    return cache.p * (dp - cache.p * total(dp * cache.p))


@mistake("softmax", "the sum is weighted with p squared: sum(dp p p) in place of sum(dp * p)")
def sum_of_squares(dp, cache) -> Array:
    return cache.p * (dp - total(dp * cache.p * cache.p))


@mistake("softmax", "this is the backward of the log of a softmax: dx = dp - p sum(dp)")
def log_softmax(dp, cache) -> Array:
    return dp - cache.p * total(dp)


@mistake("softmax", "the sum lacks one factor p and has it outside: dx = p (dp - p sum(dp))")
def p_outside(dp, cache) -> Array:
    return cache.p * (dp - cache.p * total(dp))


@mistake("softmax", "the largest entry is subtracted in place of the sum: dx = p (dp - max(dp * p))")
def maximum(dp, cache) -> Array:
    return cache.p * (dp - (dp * cache.p).max(axis=-1, keepdims=True))


@mistake("softmax",
         "the derivative is that of an exponential without its normalisation by the sum (1 - p missing): dx = p dp p")
def p_dp_p(dp, cache) -> Array:
    return cache.p * dp * cache.p


@mistake("softmax", "dp is passed on unchanged: the softmax is skipped in backward, dx = dp")
def skipped(dp, cache) -> Array:
    return dp


@mistake("softmax", "the mask is ignored in backward: p is that of the softmax without a mask")
def mask_ignored(dp, cache, x) -> Array:
    p = np.exp(x - x.real.max(axis=-1, keepdims=True))
    p = p / total(p)
    return p * (dp - total(dp * p))


@terms("softmax")
def parts(dp, cache) -> dict[str, dict[str, Array]]:
    return {"x": {"p dp": cache.p * dp, "- p sum(dp * p)": -cache.p * total(dp * cache.p)}}
