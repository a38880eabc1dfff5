"""Additive attention

Each query asks every key, but the score is not a product. Query and key are *added*, tanh is applied, and a vector w turns the
result into one number. The rest is as in chapter 5, without a mask. Return the output and the weights.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def additive_attention(query, key, value, w):
    """query: (B, T_q, A); key: (B, T_k, A); value: (B, T_k, d_v); w: (A,). Returns y (B, T_q, d_v), p (B, T_q, T_k)."""
    # your code: pairing every query with every key needs a new axis
    hidden = np.tanh(query[:, :, None] + key[:, None])
    scores = hidden @ w
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return p @ value, p
    # end of your code


# %% what it is called with
returns = "y p"
section = "Let it look back"
stars, minutes = 2, 15


def case(rng, B, T_q, T_k, A, d_v):
    return (rng.standard_normal((B, T_q, A)), rng.standard_normal((B, T_k, A)), rng.standard_normal((B, T_k, d_v)),
            2 * rng.standard_normal(A))


@edge("one text, as many queries as keys")
def square(rng, T, A, d_v):
    return case(rng, 1, T, T, A, d_v)


@edge("a w with entries in the thousands")
def large(rng, B, T_q, T_k, A, d_v):
    query, key, value, w = case(rng, B, T_q, T_k, A, d_v)
    return query, key, value, 3000 * w


@invariant("the weights of each query must sum to 1")
def total(answer, query, key, value, w):
    return answer[1].sum(axis=-1) - 1


@invariant("scores lie between -sum|w| and sum|w|, so two weights of a query must differ by at most a factor of exp(2 sum|w|)")
def bounded(answer, query, key, value, w):
    p = answer[1].astype(float)
    apart = np.log(np.maximum(p.max(axis=-1), 1e-300)) - np.log(np.maximum(p.min(axis=-1), 1e-300))
    return np.maximum(apart - 2 * np.abs(w).sum() - 1e-6, 0)


# %% hints
hints = (
    "With T_q = 2, T_k = 3 and A = 4, how many sums of a query and a key are there, and how many numbers does each have?",
    "In order: query + key for each pair, (B, T_q, T_k, A); tanh; the product with w; a softmax over the keys; the weighted sum.",
    "hidden = np.tanh(___ + key[:, None])",
)


# %% mistakes
def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def pairs(query, key):
    return query[:, :, None, :] + key[:, None, :, :]


def made(scores, value, axis=-1):
    p = softmax(scores, axis)
    return np.einsum("bqk,bkv->bqv", p, value), p


@mistake("tanh is missing, so a query adds the same number to all of its scores and the softmax ignores it: apply tanh to "
         "the sum")
def linear(query, key, value, w):
    return made(pairs(query, key) @ w, value)


@mistake("query and key are multiplied: add them")
def multiplied(query, key, value, w):
    return made(np.tanh(query[:, :, None] * key[:, None]) @ w, value)


@mistake("tanh is applied to query and key before they are added: apply it to their sum")
def tanh_before(query, key, value, w):
    return made((np.tanh(query)[:, :, None] + np.tanh(key)[:, None]) @ w, value)


@mistake("w is inside the tanh: it has to multiply what comes out of it")
def w_inside(query, key, value, w):
    return made(np.tanh(pairs(query, key) * w).sum(axis=-1), value)


@mistake("tanh is applied to the scores: apply it before you multiply by w")
def tanh_of_scores(query, key, value, w):
    return made(np.tanh(pairs(query, key) @ w), value)


@mistake("the scores are divided by sqrt(A): only dot products, whose size grows with the width, need that")
def scaled(query, key, value, w):
    return made(np.tanh(pairs(query, key)) @ w / len(w) ** 0.5, value)


@mistake("the softmax runs over the queries: each query has to distribute its weights over the keys")
def over_queries(query, key, value, w):
    return made(np.tanh(pairs(query, key)) @ w, value, axis=1)


@mistake("the exponential of a large score is infinite: subtract the maximum in the softmax")
def overflow(query, key, value, w):
    e = np.exp(np.tanh(pairs(query, key)) @ w)
    p = e / e.sum(axis=-1, keepdims=True)
    return p @ value, p


@mistake("the scores themselves weight the values: apply a softmax to them first")
def without_softmax(query, key, value, w):
    scores = np.tanh(pairs(query, key)) @ w
    return scores @ value, scores


@mistake("w is not used, so all numbers of a pair count equally: multiply them by w")
def without_w(query, key, value, w):
    return made(np.tanh(pairs(query, key)).sum(axis=-1), value)


# %% other right solutions
@also_right
def with_einsum(q, k, v, weight):
    s = np.einsum("bqka,a->bqk", np.tanh(q[..., :, None, :] + k[..., None, :, :]), weight)
    e = np.exp(s - np.amax(s, axis=2)[..., np.newaxis])
    p = e / np.einsum("bqk->bq", e)[..., None]
    return np.einsum("bqk,bkv->bqv", p, v), p


@also_right
def with_loops(query, key, value, w):
    p = np.zeros((len(query), query.shape[1], key.shape[1]), query.dtype)
    for b, asked in enumerate(query):
        for i, one in enumerate(asked):
            scores = np.array([np.tanh(one + other) @ w for other in key[b]])
            p[b, i] = softmax(scores)
    return np.matmul(p, value), p
