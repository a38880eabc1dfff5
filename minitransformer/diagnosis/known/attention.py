"""Scaled dot-product attention: dS = softmax_backward(dropout_backward(dy V^T)), dQ = dS K / sqrt(d_k), dK = dS^T Q / sqrt(d_k)."""

import math
from collections.abc import Callable

import numpy as np

from minitransformer.backend import Array
from minitransformer.diagnosis.mistakes import mistake
from minitransformer.diagnosis.terms import terms
from minitransformer.functional.dropout import dropout_backward
from minitransformer.functional.softmax import SoftmaxCache, softmax_backward


def turned(x) -> Array:
    return x.swapaxes(-1, -2)


def scaled(query=None, key=None, value=None) -> Callable:
    """A backward whose gradients are multiplied by functions of the cache."""
    def wrong(dy, cache) -> tuple[Array, Array, Array]:
        gradients = attention(dy, cache)
        factors = [factor(cache) if factor else 1 for factor in (query, key, value)]
        return tuple(factor * g for factor, g in zip(factors, gradients))
    return wrong


def attention(dy, cache, dweights=None, p=None, weights=None, dropout=True, dscores=None) -> tuple[Array, Array, Array]:
    """The right backward, with some of its intermediate values replaced."""
    query, key, value = cache.query, cache.key, cache.value
    dweights = dy @ turned(value) if dweights is None else dweights
    dp = dropout_backward(dweights, cache.dropout) if dropout else dweights
    if dscores is None:
        dscores = softmax_backward(dp, cache.softmax if p is None else SoftmaxCache(p))
    dscores = dscores / math.sqrt(query.shape[-1])
    return dscores @ key, turned(dscores) @ query, turned(cache.weights if weights is None else weights) @ dy


def root(size) -> Callable:
    return lambda cache: math.sqrt(size(cache))


def d_k(cache) -> int:
    return cache.query.shape[-1]


def d_v(cache) -> int:
    return cache.value.shape[-1]


def keys(cache) -> int:
    return cache.key.shape[-2]


def width(cache) -> int:
    return cache.query.shape[-1] * (cache.query.shape[-3] if cache.query.ndim > 3 else 1)


def over(numerator, denominator) -> Callable:
    return lambda cache: numerator(cache) / denominator(cache)


def inverse(of) -> Callable:
    return lambda cache: 1 / of(cache)


for where, places in (("", ("query", "key")), (" of the query's gradient only", ("query",)),
                      (" of the key's gradient only", ("key",))):
    for sentence, factor in (
            ("the scale 1/sqrt(d_k) is missing (forgotten)", root(d_k)),
            ("the scale 1/sqrt(d_k) is applied twice (divided by d_k, not by sqrt(d_k): 1/d_k for 1/sqrt(d_k))",
             inverse(root(d_k))),
            ("the scores are multiplied by sqrt(d_k), not divided: the scale 1/sqrt(d_k) is inverted", d_k),
            ("the scale is 1/sqrt(d_model) of all heads together, not 1/sqrt(d_k) of one head",
             over(root(d_k), root(width))),
            ("the scale is 1/sqrt(d_v) of the values, not 1/sqrt(d_k)", over(root(d_k), root(d_v))),
            ("the scale is 1/sqrt(T_k), the number of keys, not 1/sqrt(d_k)", over(root(d_k), root(keys)))):
        mistake("attention", f"{sentence} in the backward{where}")(scaled(**dict.fromkeys(places, factor)))

for name in ("query", "key", "value"):
    for what, times in (("is missing: it is zero", 0), ("has the wrong sign (negative)", -1), ("is counted twice (doubled)", 2)):
        mistake("attention", f"the gradient of the {name} (d{name}) {what}")(
            scaled(**{name: lambda cache, times=times: times}))
mistake("attention", "the gradient of the value (dvalue) is scaled by 1/sqrt(d_k), which belongs to the scores only")(
    scaled(value=inverse(root(d_k))))


def without_softmax(dy, cache) -> Array:
    return dropout_backward(dy @ turned(cache.value), cache.dropout)


def without_dropout(dy, cache) -> Array:
    return softmax_backward(dy @ turned(cache.value), cache.softmax)


def dropout_after_softmax(dy, cache) -> Array:
    return dropout_backward(without_dropout(dy, cache), cache.dropout)


def of_scores(dy, cache) -> Array:
    """The right gradient of the scores."""
    return softmax_backward(without_softmax(dy, cache), cache.softmax)


def swapped(one, other) -> Callable:
    """A backward that returns two of its gradients in the wrong order, if their shapes allow it."""
    def wrong(dy, cache) -> tuple[Array, Array, Array]:
        gradients = list(attention(dy, cache))
        if gradients[one].shape == gradients[other].shape:
            gradients[one], gradients[other] = gradients[other], gradients[one]
        return tuple(gradients)
    return wrong


for sentence, wrong in (
        ("the dropout of the attention weights is ignored in backward: its mask is applied neither to dp nor in dvalue",
         lambda dy, c: attention(dy, c, dropout=False, weights=c.softmax.p)),
        ("the dropout mask is not applied to dp: the dropout of the attention weights is ignored (skipped) on the way to the "
         "scores", lambda dy, c: attention(dy, c, dropout=False)),
        ("dvalue is made from p before dropout, not from the weights after dropout: the dropout mask is missing in dvalue",
         lambda dy, c: attention(dy, c, weights=c.softmax.p)),
        ("the dropout mask is applied twice to dp", lambda dy, c: attention(dy, c, without_softmax(dy, c))),
        ("the softmax backward uses the weights after dropout as p, not the probabilities before dropout",
         lambda dy, c: attention(dy, c, p=c.weights)),
        ("the dropout mask is applied after the softmax backward, not before it: the wrong order",
         lambda dy, c: attention(dy, c, dscores=dropout_after_softmax(dy, c))),
        ("the softmax is skipped in backward: dscores = dp, the softmax's derivative (Jacobian) is missing",
         lambda dy, c: attention(dy, c, dscores=without_softmax(dy, c))),
        ("the gradients of query and key are swapped: returned in the wrong order", swapped(0, 1)),
        ("the gradients of key and value are swapped: returned in the wrong order", swapped(1, 2)),
        ("dvalue uses the gradient of the scores in place of the attention weights: dS^T dy, not A^T dy",
         lambda dy, c: attention(dy, c, weights=of_scores(dy, c))),
        ("the causal mask is applied again with a wrong triangle: later keys get no gradient although they were attended to",
         lambda dy, c: attention(dy, c, dscores=of_scores(dy, c) * np.tri(c.query.shape[-2], c.key.shape[-2])))):
    mistake("attention", sentence)(wrong)


def on_one_path(path, dscores) -> Callable:
    """Other gradients of the scores, on the way to the query (0) or to the key (1) only; dscores(dy, cache)."""
    def wrong(dy, cache) -> tuple[Array, ...]:
        right, other = attention(dy, cache), attention(dy, cache, dscores=dscores(dy, cache))
        return tuple(other[i] if i == path else right[i] for i in range(3))
    return wrong


for path, which in enumerate(("query", "key")):
    mistake("attention", f"the softmax's backward (its Jacobian) is skipped on the way to the {which} (d{which}) only: the "
                         f"{which}'s gradient misses the softmax")(on_one_path(path, without_softmax))
    mistake("attention", f"the dropout mask is skipped on the way to the {which} (d{which}) only")(
        on_one_path(path, without_dropout))


@mistake("attention", "the mask is ignored in backward: the softmax is computed again without the mask")
def mask_ignored(dy, cache) -> tuple[Array, Array, Array]:
    scores = cache.query @ turned(cache.key) / math.sqrt(d_k(cache))
    p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return attention(dy, cache, p=p / p.sum(axis=-1, keepdims=True))


@terms("attention")
def parts(dy, cache) -> dict[str, dict[str, Array]]:
    p = cache.softmax.p
    pdp = p * dropout_backward(dy @ turned(cache.value), cache.dropout) / math.sqrt(d_k(cache))
    rows = -p * pdp.sum(axis=-1, keepdims=True)
    first, second = "p dp (of the softmax)", "- p sum(dp p) (of the softmax, over the row)"
    return {"query": {first: pdp @ cache.key, second: rows @ cache.key},
            "key": {first: turned(pdp) @ cache.query, second: turned(rows) @ cache.query},
            "value": {"A^T dy": turned(cache.weights) @ dy}}
