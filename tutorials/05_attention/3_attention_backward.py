"""Attention, from the bottom up

You get `dy`, the gradient of the loss with respect to attention's output. Return those with respect to query, key and value. The
weights p of the forward are given, and the mask has already done its work in them.
"""

import math

import numpy as np

from minitransformer.functional.attention import attention_backward as library
from minitransformer_course.judge import also_right, edge, invariant, mistake, plugs


# %% reference
def attention_backward(dy, query, key, value, p):
    """dy: (..., T_q, d_v); query: (..., T_q, d_k); key: (..., T_k, d_k); value: (..., T_k, d_v); p: (..., T_q, T_k).

    Returns dquery, dkey, dvalue, with the shapes of query, key and value.
    """
    # your code: read your attention from its last line to its first
    dp = dy @ value.swapaxes(-1, -2)
    dvalue = p.swapaxes(-1, -2) @ dy
    dscores = p * (dp - (dp * p).sum(axis=-1, keepdims=True))
    dscores = dscores / math.sqrt(query.shape[-1])
    dquery = dscores @ key
    dkey = dscores.swapaxes(-1, -2) @ query
    return dquery, dkey, dvalue
    # end of your code


# %% what it is called with
returns = "dquery dkey dvalue"
section = "Backward"
stars, minutes = 3, 20


def case(rng, B, T_q, T_k, d_k, d_v):
    query, key, value = (rng.standard_normal(shape) for shape in ((B, T_q, d_k), (B, T_k, d_k), (B, T_k, d_v)))
    return rng.standard_normal((B, T_q, d_v)), query, key, value, weights(query, key)


@edge("self-attention: as many queries as keys, d_v = d_k")
def square(rng, B, T, d):
    query, key, value, dy = (rng.standard_normal((B, T, d)) for _ in range(4))
    return dy, query, key, value, weights(query, key)


@edge("heads: four axes, and weights of nearly 0 and nearly 1")
def heads(rng, B, H, T_q, T_k, d):
    query, key, value, dy = (rng.standard_normal((B, H, T, d)) for T in (T_q, T_k, T_k, T_q))
    return dy, 9 * query, key, value, weights(9 * query, key)


def weights(query, key):
    s = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])
    e = np.exp(s - s.real.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def loss(dy, query, key, value, p):
    return lambda query, key, value: (dy * (weights(query, key) @ value)).sum(), [query, key, value]


@invariant("a vector added to all keys adds the same to all of a query's scores and changes no weight: "
           "summed over the keys, dkey must be 0")
def keys(answer, dy, query, key, value, p):
    return answer[1].sum(axis=-2)


@invariant("summed over the keys, dvalue must equal dy summed over the queries, because each query's weights sum to 1")
def values(answer, dy, query, key, value, p):
    return answer[2].sum(axis=-2) - dy.sum(axis=-2)


@invariant("if queries grow and keys shrink by the same factor, nothing changes: sum(dquery query) must equal sum(dkey key)")
def scale(answer, dy, query, key, value, p):
    return (answer[0] * query).sum() - (answer[1] * key).sum()


@plugs(library)
def in_the_model(own):
    return lambda dy, cache: own(dy, cache.query, cache.key, cache.value, cache.weights)


# %% hints
hints = (
    "Add the same vector to every key: by how much does each score of a query change? And each weight? So what must dkey sum to?",
    "Five products in all: dy V^T, p^T dy, the softmax's backward, dS K, dS^T Q. The factor 1/sqrt(d_k) belongs to dS.",
    "dscores = p * (dp - ___)",
)


# %% mistakes
def turned(x):
    return x.swapaxes(-1, -2)


def made(dy, query, key, value, p, softmax=None, scale=None, dvalue=None):
    dp = dy @ turned(value)
    ds = p * (dp - (dp * p).sum(axis=-1, keepdims=True)) if softmax is None else softmax(dp, p)
    ds = ds * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    return ds @ key, turned(ds) @ query, turned(p) @ dy if dvalue is None else dvalue(ds)


@mistake("the factor 1/sqrt(d_k) is missing: the forward divided the scores by it")
def unscaled(dy, query, key, value, p):
    return made(dy, query, key, value, p, scale=1)


@mistake("the factor is 1/d_k, not 1/sqrt(d_k): it is applied twice")
def scaled_twice(dy, query, key, value, p):
    return made(dy, query, key, value, p, scale=1 / query.shape[-1])


@mistake("the softmax is skipped: its input gets dp itself")
def softmax_skipped(dy, query, key, value, p):
    return made(dy, query, key, value, p, softmax=lambda dp, p: dp)


@mistake("in the softmax's backward the sum over the keys is missing: dS = p dp")
def sum_missing(dy, query, key, value, p):
    return made(dy, query, key, value, p, softmax=lambda dp, p: p * dp)


@mistake("in the softmax's backward only the diagonal is used: dS = p (1 - p) dp")
def diagonal(dy, query, key, value, p):
    return made(dy, query, key, value, p, softmax=lambda dp, p: p * (1 - p) * dp)


@mistake("in the softmax's backward the sum runs over the queries, not over the keys")
def wrong_axis(dy, query, key, value, p):
    return made(dy, query, key, value, p, softmax=lambda dp, p: p * (dp - (dp * p).sum(axis=-2, keepdims=True)))


@mistake("in the softmax's backward the sum lacks the factor p: sum(dp) in place of sum(dp p)")
def unweighted(dy, query, key, value, p):
    return made(dy, query, key, value, p, softmax=lambda dp, p: p * (dp - dp.sum(axis=-1, keepdims=True)))


@mistake("the softmax's backward is that of its logarithm: dS = dp - p sum(dp)")
def of_the_logarithm(dy, query, key, value, p):
    return made(dy, query, key, value, p, softmax=lambda dp, p: dp - p * dp.sum(axis=-1, keepdims=True))


@mistake("dvalue uses the gradient of the scores in place of the weights")
def value_of_scores(dy, query, key, value, p):
    return made(dy, query, key, value, p, dvalue=lambda ds: turned(ds) @ dy)


@mistake("the key's gradient lacks the factor 1/sqrt(d_k): it belongs to dS, from which both gradients are made")
def key_unscaled(dy, query, key, value, p):
    dquery, dkey, dvalue = made(dy, query, key, value, p)
    return dquery, dkey * math.sqrt(query.shape[-1]), dvalue


@mistake("dquery and dkey are swapped: they are returned in the wrong order")
def swapped(dy, query, key, value, p):
    dquery, dkey, dvalue = made(dy, query, key, value, p)
    return dkey, dquery, dvalue


@mistake("dvalue is divided by sqrt(d_k): the scale belongs to the scores only")
def value_scaled(dy, query, key, value, p):
    return made(dy, query, key, value, p, dvalue=lambda ds: turned(p) @ dy / math.sqrt(query.shape[-1]))


# %% other right solutions
@also_right
def with_einsum(g, q, k, v, a):
    da = np.einsum("...qv,...kv->...qk", g, v)
    ds = a * (da - np.einsum("...qk,...qk->...q", da, a)[..., None]) * q.shape[-1] ** -0.5
    return np.einsum("...qk,...kd->...qd", ds, k), np.einsum("...qk,...qd->...kd", ds, q), np.einsum("...qk,...qv->...kv", a, g)


@also_right
def scaled_at_the_end(dy, query, key, value, p):
    root = math.sqrt(query.shape[-1])
    pdp = p * (dy @ np.swapaxes(value, -2, -1))
    ds = pdp - p * pdp.sum(axis=-1)[..., np.newaxis]
    return ds @ key / root, np.swapaxes(ds, -2, -1) @ query / root, np.swapaxes(p, -2, -1) @ dy
