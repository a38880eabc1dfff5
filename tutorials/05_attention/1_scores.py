"""How well does a key answer a query?

Give each query a score for each key: their dot product, divided by the square root of the head size.
"""

import math

import numpy as np

from minitransformer.learn import also_right, edge, mistake


# %% reference
def scores(query, key):
    """query: (B, H, T_q, d_k); key: (B, H, T_k, d_k). Returns S (B, H, T_q, T_k)."""
    # your code: a matrix product over d_k, and a scale
    d_k = query.shape[-1]
    dot_products = query @ key.swapaxes(-1, -2)
    return dot_products / math.sqrt(d_k)
    # end of your code


# %% what it is called with
returns = "S"
section = "Queries ask, keys answer"
stars, minutes = 2, 15


def case(rng, B, H, T_q, T_k, d_k):
    return rng.standard_normal((B, H, T_q, d_k)), rng.standard_normal((B, H, T_k, d_k))


@edge("as many queries as keys")
def square(rng, H, T, d_k):
    return rng.standard_normal((2, H, T, d_k)), rng.standard_normal((2, H, T, d_k))


# %% hints
hints = (
    "Which two axes of query and key are multiplied and summed away? Which shape must be left, and which axis comes first?",
    "query times key transposed (the last two axes only), divided by sqrt(d_k), where d_k is the length of one query.",
    "dot_products = query @ key.swapaxes(___)",
)


# %% mistakes
def unscaled(query, key):
    return query @ key.swapaxes(-1, -2)


@mistake("the scale 1/sqrt(d_k) is missing", hint=2)
def scale_missing(query, key):
    return unscaled(query, key)


@mistake("the scores are divided by d_k, not by its square root", hint=2)
def by_d_k(query, key):
    return unscaled(query, key) / query.shape[-1]


@mistake("the scale is that of all heads together, 1/sqrt(d_model): the dot product has only d_k terms", hint=2)
def by_d_model(query, key):
    return unscaled(query, key) / math.sqrt(query.shape[1] * query.shape[-1])


@mistake("the softmax is already in it: here the scores before the softmax are asked for", hint=2)
def with_softmax(query, key):
    s = scores(query, key)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@mistake("the scores are multiplied by sqrt(d_k), not divided", hint=1)
def multiplied(query, key):
    return unscaled(query, key) * math.sqrt(query.shape[-1])


@mistake("the scale is the root of the number of keys, not of the length of one query", hint=2)
def by_keys(query, key):
    return unscaled(query, key) / math.sqrt(key.shape[-2])


@mistake("the scale is the root of the number of queries, not of the length of one", hint=2)
def by_queries(query, key):
    return unscaled(query, key) / math.sqrt(query.shape[-2])


@mistake("the scale is the root of the number of heads, not of the length of one query", hint=2)
def by_heads(query, key):
    return unscaled(query, key) / math.sqrt(query.shape[1])


@mistake("every head uses the keys of the first one: each head has its own", hint=2)
def first_heads_keys(query, key):
    return scores(query, key[:, :1])


@mistake("keys ask and queries answer: rows and columns are swapped", hint=1)
def transposed(query, key):
    return scores(key, query)


@mistake("each vector is divided by its length: that is a cosine, not a dot product", hint=2)
def cosine(query, key):
    q = query / np.sqrt((query * query).sum(axis=-1, keepdims=True))
    k = key / np.sqrt((key * key).sum(axis=-1, keepdims=True))
    return unscaled(q, k)


# %% other right solutions
@also_right
def with_einsum(q, k):
    return np.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5


@also_right
def with_loops(query, key):
    s = np.zeros((*query.shape[:-1], key.shape[-2]), query.dtype)
    for i in range(query.shape[-2]):
        for j in range(key.shape[-2]):
            s[..., i, j] = (query[..., i, :] * key[..., j, :]).sum(axis=-1)
    return s / math.sqrt(query.shape[-1])
