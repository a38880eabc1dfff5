"""Additive attention, backward

You get `dy`, the gradient with respect to the output of your additive attention, and its weights p. Return the gradients with
respect to query, key, value and w.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def additive_backward(dy, query, key, value, w, p):
    """dy: (B, T_q, d_v); query: (B, T_q, A); key: (B, T_k, A); value: (B, T_k, d_v); w: (A,); p: (B, T_q, T_k).

    Returns dquery, dkey, dvalue, dw, with the shapes of query, key, value and w.
    """
    # your code: from the weighted sum back to the scores, then through tanh to each pair
    hidden = np.tanh(query[:, :, None] + key[:, None])
    dvalue = p.swapaxes(1, 2) @ dy
    dp = dy @ value.swapaxes(1, 2)
    dscores = p * (dp - (dp * p).sum(axis=-1, keepdims=True))
    dw = dscores.reshape(-1) @ hidden.reshape(-1, len(w))
    dpairs = dscores[..., None] * w * (1 - hidden ** 2)
    dquery, dkey = dpairs.sum(axis=2), dpairs.sum(axis=1)
    return dquery, dkey, dvalue, dw
    # end of your code


# %% what it is called with
returns = "dquery dkey dvalue dw"
section = "Let it look back"
stars, minutes = 3, 20


def weights(query, key, w):
    s = np.tanh(query[:, :, None] + key[:, None]) @ w
    e = np.exp(s - s.real.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def case(rng, B, T_q, T_k, A, d_v):
    query, key, w = rng.standard_normal((B, T_q, A)), rng.standard_normal((B, T_k, A)), rng.standard_normal(A)
    return rng.standard_normal((B, T_q, d_v)), query, key, rng.standard_normal((B, T_k, d_v)), w, weights(query, key, w)


@edge("as many queries as keys")
def square(rng, B, T, A, d_v):
    return case(rng, B, T, T, A, d_v)


def loss(dy, query, key, value, w, p):
    return lambda query, key, value, w: (dy * (weights(query, key, w) @ value)).sum(), [query, key, value, w]


@invariant("every query was added to every key: moving a vector from all queries to all keys changes nothing, so dquery and "
           "dkey must have the same sum")
def moved(answer, dy, query, key, value, w, p):
    return answer[0].sum(axis=1) - answer[1].sum(axis=1)


@invariant("summed over the keys, dvalue must equal dy summed over the queries, because each query's weights sum to 1")
def values(answer, dy, query, key, value, w, p):
    return answer[2].sum(axis=1) - dy.sum(axis=1)


# %% hints
hints = (
    "Add a vector to all queries and subtract it from all keys: what happens to the scores? So what do dquery and dkey share?",
    "The softmax's backward gives dscores. Times tanh it sums to dw; times w (1 - tanh^2) it is the gradient of each pair's sum.",
    "dpairs = dscores[..., None] * w * ___",
)


# %% mistakes
def made(dy, query, key, value, w, p, softmax=None, slope=None, factor=None):
    hidden = np.tanh(query[:, :, None] + key[:, None])
    dp = np.einsum("bqv,bkv->bqk", dy, value)
    ds = p * (dp - (dp * p).sum(axis=-1, keepdims=True)) if softmax is None else softmax(dp)
    dpairs = ds[..., None] * (w if factor is None else factor) * (1 - hidden ** 2 if slope is None else slope(hidden))
    return dpairs.sum(axis=2), dpairs.sum(axis=1), np.einsum("bqk,bqv->bkv", p, dy), np.einsum("bqk,bqka->a", ds, hidden)


@mistake("the softmax is skipped, so the scores get dp itself: go back through the softmax first")
def softmax_skipped(dy, query, key, value, w, p):
    return made(dy, query, key, value, w, p, softmax=lambda dp: dp)


@mistake("the softmax's backward is only p dp: subtract from dp its sum over the keys, weighted with p")
def sum_missing(dy, query, key, value, w, p):
    return made(dy, query, key, value, w, p, softmax=lambda dp: p * dp)


@mistake("the softmax's backward uses only the diagonal, p (1 - p) dp: each weight depends on all scores of its query")
def diagonal(dy, query, key, value, w, p):
    return made(dy, query, key, value, w, p, softmax=lambda dp: p * (1 - p) * dp)


@mistake("the slope of tanh is missing: multiply by 1 - tanh^2")
def no_slope(dy, query, key, value, w, p):
    return made(dy, query, key, value, w, p, slope=lambda hidden: 1.0)


@mistake("the slope is computed from the sum of query and key: compute it from the tanh of that sum")
def slope_of_the_sum(dy, query, key, value, w, p):
    return made(dy, query, key, value, w, p, slope=lambda hidden: 1 - (query[:, :, None] + key[:, None]) ** 2)


@mistake("w is missing on the way to query and key: each number of a pair was multiplied by its entry of w")
def no_w(dy, query, key, value, w, p):
    return made(dy, query, key, value, w, p, factor=np.ones_like(w))


@mistake("dquery and dkey are swapped: a query's gradient is the sum over the keys that it was added to")
def swapped(dy, query, key, value, w, p):
    dquery, dkey, dvalue, dw = made(dy, query, key, value, w, p)
    return dkey, dquery, dvalue, dw


@mistake("dquery and dkey are means over the pairs: add the gradients of all uses")
def means(dy, query, key, value, w, p):
    dquery, dkey, dvalue, dw = made(dy, query, key, value, w, p)
    return dquery / key.shape[1], dkey / query.shape[1], dvalue, dw


@mistake("dw is the mean over the sentences: w is used in all of them, so its gradient is the sum")
def mean_over_batch(dy, query, key, value, w, p):
    dquery, dkey, dvalue, dw = made(dy, query, key, value, w, p)
    return dquery, dkey, dvalue, dw / len(dy)


@mistake("dw has the slope of tanh as a factor: w was multiplied by tanh itself")
def slope_in_dw(dy, query, key, value, w, p):
    dquery, dkey, dvalue, _dw = made(dy, query, key, value, w, p)
    dp = np.einsum("bqv,bkv->bqk", dy, value)
    ds = p * (dp - (dp * p).sum(axis=-1, keepdims=True))
    return dquery, dkey, dvalue, np.einsum("bqk,bqka->a", ds, 1 - np.tanh(query[:, :, None] + key[:, None]) ** 2)


@mistake("dw is computed from the weights p: use the gradient of the scores")
def dw_of_weights(dy, query, key, value, w, p):
    dquery, dkey, dvalue, _dw = made(dy, query, key, value, w, p)
    return dquery, dkey, dvalue, np.einsum("bqk,bqka->a", p, np.tanh(query[:, :, None] + key[:, None]))


# %% other right solutions
@also_right
def with_einsum(g, q, k, v, weight, a):
    t = np.tanh(q[..., :, None, :] + k[..., None, :, :])
    da = np.einsum("bqv,bkv->bqk", g, v)
    ds = a * da - a * np.einsum("bqk,bqk->bq", a, da)[..., None]
    return (np.einsum("bqk,bqka,a->bqa", ds, 1 - t * t, weight), np.einsum("bqk,bqka,a->bka", ds, 1 - t * t, weight),
            np.einsum("bqk,bqv->bkv", a, g), np.tensordot(ds, t, axes=3))


@also_right
def key_by_key(dy, query, key, value, w, p):
    dp = np.matmul(dy, np.swapaxes(value, 1, 2))
    ds = p * (dp - np.sum(p * dp, axis=2)[..., None])
    dq, dk, dw = np.zeros_like(query), np.zeros_like(key), np.zeros_like(w)
    for j in range(key.shape[1]):
        t = np.tanh(query + key[:, j:j + 1])
        pair = ds[:, :, j, None] * w * (1 - t) * (1 + t)
        dq, dw = dq + pair, dw + (ds[:, :, j, None] * t).sum(axis=(0, 1))
        dk[:, j] = pair.sum(axis=1)
    return dq, dk, np.matmul(np.swapaxes(p, 1, 2), dy), dw
