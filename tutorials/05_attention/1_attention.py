"""Attention

Each query gets a weighted mean of the values. The weights are the softmax of its scores: its dot product with each key, divided
by the square root of d_k. A key for which the mask says False gets weight 0. Scores may be as large as 1,000. Return the
means and the weights, which the backward needs.
"""

import math

import numpy as np

from minitransformer.functional.attention import AttentionCache, DropoutCache, SoftmaxCache, attention_forward
from minitransformer_course.judge import also_right, edge, invariant, mistake, plugs


# %% reference
def attention(query, key, value, mask):
    """query: (..., T_q, d_k); key: (..., T_k, d_k); value: (..., T_k, d_v); mask: bool (..., T_q, T_k), True = may attend.

    Returns y (..., T_q, d_v) and the weights p (..., T_q, T_k). Each query may attend to something.
    """
    # your code: all queries at once; the mask comes before the softmax
    scores = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])
    scores = np.where(mask, scores, -np.inf)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return p @ value, p
    # end of your code


# %% what it is called with
returns = "y p"
section = "All queries at once"
stars, minutes = 2, 15


def case(rng, B, T_q, T_k, d_k, d_v):
    mask = rng.random((B, T_q, T_k)) < 0.7
    mask |= np.arange(T_k) == rng.integers(0, T_k, (B, T_q, 1))
    return (2 * rng.standard_normal((B, T_q, d_k)), rng.standard_normal((B, T_k, d_k)), rng.standard_normal((B, T_k, d_v)), mask)


@edge("as many queries as keys, and the causal mask")
def causal(rng, T, d):
    return (*(rng.standard_normal((T, d)) for _ in range(3)), np.tri(T, dtype=bool))


@edge("scores of 1,000")
def large(rng, T_q, T_k, d):
    return (1000 * rng.standard_normal((T_q, d)), *(rng.standard_normal((T_k, d)) for _ in range(2)), np.ones((T_q, T_k), bool))


@edge("allowed scores near -1,000, but near 1,000 for one query")
def low(rng, B, T_q, T_k, d):
    along = np.full(d, d ** -0.25)    # a query times a key is sqrt(d) times these
    query, key = 10 * along + rng.standard_normal((B, T_q, d)) / 9, -100 * along + rng.standard_normal((B, T_k, d))
    query[0, rng.integers(T_q)] *= -1
    return query, key, rng.standard_normal((B, T_k, d)), np.arange(T_k) != rng.integers(0, T_k, (B, T_q, 1))


@edge("heads: four axes")
def heads(rng, B, H, T_q, T_k, d):
    query, key, value = (rng.standard_normal((B, H, T, d)) for T in (T_q, T_k, T_k))
    return query, key, value, np.arange(T_k) != rng.integers(0, T_k, (B, H, T_q, 1))


@invariant("the weights of each query must sum to 1")
def rows(answer, query, key, value, mask):
    return answer[1].sum(axis=-1) - 1


@invariant("a key that is masked out must get weight 0")
def masked(answer, query, key, value, mask):
    return np.where(mask, 0, answer[1])


@invariant("the output must be the weighted mean p V")
def mean(answer, query, key, value, mask):
    return answer[0] - answer[1] @ value


@plugs(attention_forward)
def in_the_model(own):
    def forward(query, key, value, mask=None, dropout_rate=0.0, rng=None):
        scores = (*query.shape[:-1], key.shape[-2])
        y, p = own(query, key, value, np.broadcast_to(True if mask is None else mask, scores))
        return y, AttentionCache(query, key, value, SoftmaxCache(p), DropoutCache(None), p)
    return forward


# %% hints
hints = (
    "What must the weights of one query sum to? Over which axis, queries or keys, is the softmax taken?",
    "Four steps: Q K^T / sqrt(d_k); minus infinity where the mask is False; softmax over the keys; times V.",
    "scores = np.where(mask, scores, ___)",
)


# %% mistakes
def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def made(query, key, value, mask, scale=None, weights=softmax):
    s = query @ key.swapaxes(-1, -2) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    p = weights(np.where(mask, s, -np.inf))
    return p @ value, p


@mistake("the scale 1/sqrt(d_k) is missing")
def unscaled(query, key, value, mask):
    return made(query, key, value, mask, 1)


@mistake("the scores are divided by d_k, not by its square root")
def by_d_k(query, key, value, mask):
    return made(query, key, value, mask, 1 / query.shape[-1])


@mistake("the scale is the root of d_v, the length of a value, not of d_k")
def by_d_v(query, key, value, mask):
    return made(query, key, value, mask, 1 / math.sqrt(value.shape[-1]))


@mistake("the mask is ignored")
def mask_ignored(query, key, value, mask):
    return made(query, key, value, np.ones_like(mask))


@mistake("the mask is the wrong way round: here True means \"may attend\"")
def mask_inverted(query, key, value, mask):
    return made(query, key, value, ~mask)


@mistake("the mask is the wrong way round: the large negative number goes where True says \"may attend\"")
def large_negative_inverted(query, key, value, mask):
    s = np.where(mask, -1e9, query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])).astype(query.dtype)
    return softmax(s) @ value, softmax(s)


@mistake("axis=1 holds the keys only if there is a single table; in any array they are the last axis, axis=-1")
def axis_of_a_table(query, key, value, mask):
    return made(query, key, value, mask, weights=lambda s: softmax(np.where(np.isinf(s), -1e9, s).astype(s.dtype), axis=1))


@mistake("masked scores are set to 0, but exp(0) is 1: those keys are still attended to")
def zero_scores(query, key, value, mask):
    s = np.where(mask, query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1]), 0)
    return softmax(s) @ value, softmax(s)


@mistake("the mask is added to the scores as 1 and 0: what is masked out has to get minus infinity")
def mask_added(query, key, value, mask):
    s = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1]) + mask
    return softmax(s) @ value, softmax(s)


@mistake("the mask is applied after the softmax: the weights that are left no longer sum to 1")
def mask_too_late(query, key, value, mask):
    p = made(query, key, value, np.ones_like(mask))[1] * mask
    return p @ value, p


@mistake("the softmax runs over the queries, not over the keys")
def over_queries(query, key, value, mask):
    return made(query, key, value, mask, weights=lambda s: softmax(np.where(np.isinf(s), -1e30, s), axis=-2))


@mistake("the largest score of a query is not subtracted: exp(1000) overflows, as in chapter 4")
def overflowing(query, key, value, mask):
    return made(query, key, value, mask, weights=lambda s: np.exp(s) / np.exp(s).sum(axis=-1, keepdims=True))


@mistake("the scale comes after the softmax, not before it")
def scale_after(query, key, value, mask):
    y, p = made(query, key, value, mask, 1)
    return y / math.sqrt(query.shape[-1]), p / math.sqrt(query.shape[-1])


@mistake("the softmax is missing: the scores themselves weight the values")
def no_softmax(query, key, value, mask):
    s = np.where(mask, query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1]), 0)
    return s @ value, s


# %% other right solutions
@also_right
def with_einsum(q, k, v, allowed):
    s = np.einsum("...qd,...kd->...qk", q, k) / math.sqrt(q.shape[-1])
    e = np.where(allowed, np.exp(s - s.max(axis=-1, keepdims=True)), 0).astype(q.dtype)
    weights = e / np.einsum("...qk->...q", e)[..., None]
    return np.einsum("...qk,...kv->...qv", weights, v), weights


@also_right
def with_loops(query, key, value, mask):
    y = np.zeros((*query.shape[:-1], value.shape[-1]), query.dtype)
    p = np.zeros(mask.shape, query.dtype)
    for place in np.ndindex(query.shape[:-1]):
        front, allowed = place[:-1], mask[place]
        s = key[front][allowed] @ query[place] / math.sqrt(query.shape[-1])
        e = np.exp(s - s.max())
        p[place][allowed] = e / e.sum()
        y[place] = p[place] @ value[front]
    return y, p
