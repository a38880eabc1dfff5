"""Softmax: dx = p (dp - sum(dp * p)), over the last axis."""

from collections.abc import Callable

import numpy as np

from minitransformer.backend import Array
from minitransformer.diagnosis.mistakes import mistake
from minitransformer.diagnosis.terms import terms


def total(array, axis=-1) -> Array:
    return array.sum(axis=axis, keepdims=True)


def mean(array) -> Array:
    return array.mean(axis=-1, keepdims=True)


def of_p(dx) -> Callable:
    """A backward with this dx(dp, p)."""
    return lambda dp, cache: dx(dp, cache.p)


for sentence, dx in (
        ("the sum over the row is a plain average of dp, without the weights p: mean(dp) in place of sum(dp * p)",
         lambda dp, p: p * (dp - mean(dp))),
        ("the sum runs over the wrong axis: over the first axis (the batch), not over the last axis",
         lambda dp, p: p * (dp - total(dp * p, 0))),
        ("the sum runs over the last two axes (a whole matrix), not only over the last axis",
         lambda dp, p: p * (dp - total(dp * p, (-2, -1)))),
        ("the factor p is applied twice (p squared): dx = p p (dp - sum(dp * p))", lambda dp, p: p * p * (dp - total(dp * p))),
        ("the sum is weighted with p squared: sum(dp p p) in place of sum(dp * p)", lambda dp, p: p * (dp - total(dp * p * p))),
        ("the sum lacks one factor p and has it outside: dx = p (dp - p sum(dp))", lambda dp, p: p * (dp - p * total(dp))),
        ("the largest entry is subtracted in place of the sum: dx = p (dp - max(dp * p))",
         lambda dp, p: p * (dp - (dp * p).max(axis=-1, keepdims=True))),
        ("the derivative is that of an exponential without its normalisation by the sum (1 - p missing): dx = p dp p",
         lambda dp, p: p * dp * p),
        ("dp is passed on unchanged: the softmax is skipped in backward, dx = dp", lambda dp, p: dp)):
    mistake("softmax", sentence)(of_p(dx))


@mistake("softmax", "the mask is ignored in backward: p is that of the softmax without a mask")
def mask_ignored(dp, cache, x) -> Array:
    p = np.exp(x - x.real.max(axis=-1, keepdims=True))
    p = p / total(p)
    return p * (dp - total(dp * p))


@terms("softmax")
def parts(dp, cache) -> dict[str, dict[str, Array]]:
    return {"x": {"p dp": cache.p * dp, "- p sum(dp * p)": -cache.p * total(dp * cache.p)}}
