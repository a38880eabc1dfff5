"""Multi-head self-attention

Four matrices and the attention of chapter 5, for all heads at once. No biases and no mask here.
"""

import math

import numpy as np

from minitransformer.learn import also_right, edge, mistake


# %% reference
def multi_head(x, W_q, W_k, W_v, W_o, H):
    """x: (B, T, D); W_q, W_k: (D, H d_k); W_v: (D, H d_v); W_o: (H d_v, D); H: the number of heads. Returns y (B, T, D)."""
    # your code: project, split, attend, merge, project
    B, T, _ = x.shape
    query, key, value = ((x @ W).reshape(B, T, H, -1).swapaxes(1, 2) for W in (W_q, W_k, W_v))
    scores = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    heads = (p @ value).swapaxes(1, 2).reshape(B, T, -1)
    return heads @ W_o
    # end of your code


# %% what it is called with
returns = "y"
section = "Several heads"


def case(rng, B, T, D, H, d):
    d_k, d_v = d, d + 1
    shapes = (B, T, D), (D, H * d_k), (D, H * d_k), (D, H * d_v), (H * d_v, D)
    return (*(rng.standard_normal(shape) for shape in shapes), H)


@edge("a single head")
def one_head(rng, B, T, D, d):
    shapes = (B, T, D), (D, d), (D, d), (D, d), (d, D)
    return (*(rng.standard_normal(shape) for shape in shapes), 1)


# %% hints
hints = (
    "With H = 1, what is left of multi-head attention? Does yours give that?",
    "Five steps: x W for query, key and value; split each; attention with 1/sqrt(d_k), d_k the width of one head; merge; times W_o.",
    "scores = query @ key.swapaxes(-1, -2) / math.sqrt(___)",
)


# %% mistakes
def split(x, H):
    return x.reshape(*x.shape[:2], H, -1).swapaxes(1, 2)


def merge(heads):
    return heads.swapaxes(1, 2).reshape(heads.shape[0], heads.shape[2], -1)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def made(x, W_q, W_k, W_v, W_o, H, scale=None, split=split, merge=merge, softmax=softmax):
    q, k, v = (split(x @ W, H) for W in (W_q, W_k, W_v))
    s = q @ k.swapaxes(-1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    return merge(softmax(s) @ v) @ W_o


@mistake("the scale is that of all heads together: d_k is the width of one head", hint=4)
def width_of_all(x, W_q, W_k, W_v, W_o, H):
    return made(x, W_q, W_k, W_v, W_o, H, 1 / math.sqrt(W_q.shape[1])) if H > 1 else made(x, W_q, W_k, W_v, W_o, H)


@mistake("the scale is 1/sqrt(d_model), not that of one head", hint=4)
def d_model(x, W_q, W_k, W_v, W_o, H):
    return made(x, W_q, W_k, W_v, W_o, H, 1 / math.sqrt(x.shape[-1]))


@mistake("the scale is missing", hint=2)
def unscaled(x, W_q, W_k, W_v, W_o, H):
    return made(x, W_q, W_k, W_v, W_o, H, 1)


@mistake("the heads are merged without swapping heads and places", hint=3)
def merged_wrong(x, W_q, W_k, W_v, W_o, H):
    return made(x, W_q, W_k, W_v, W_o, H, merge=lambda heads: heads.reshape(heads.shape[0], heads.shape[2], -1))


@mistake("the heads are split by a reshape alone: tokens are mixed", hint=3)
def split_wrong(x, W_q, W_k, W_v, W_o, H):
    return made(x, W_q, W_k, W_v, W_o, H, split=lambda x, H: x.reshape(len(x), H, x.shape[1], -1))


@mistake("the softmax runs over the queries, not over the keys", hint=2)
def over_queries(x, W_q, W_k, W_v, W_o, H):
    return made(x, W_q, W_k, W_v, W_o, H, softmax=lambda s: softmax(s, -2))


@mistake("the softmax is missing", hint=2)
def no_softmax(x, W_q, W_k, W_v, W_o, H):
    return made(x, W_q, W_k, W_v, W_o, H, softmax=lambda s: s)


@mistake("query and key are swapped", hint=1)
def swapped(x, W_q, W_k, W_v, W_o, H):
    return made(x, W_k, W_q, W_v, W_o, H)


@mistake("one head only: attention over the complete vectors, not split", hint=2)
def one(x, W_q, W_k, W_v, W_o, H):
    return made(x, W_q, W_k, W_v, W_o, 1)


# %% other right solutions
@also_right
def with_einsum(x, a, b, c, o, H):
    D = x.shape[-1]
    q, k, v = (np.einsum("btd,dhe->bhte", x, W.reshape(D, H, -1)) for W in (a, b, c))
    s = np.einsum("bhqe,bhke->bhqk", q, k) * q.shape[-1] ** -0.5
    w = np.exp(s - s.max(-1)[..., None])
    w = w / w.sum(-1)[..., None]
    return np.einsum("bhqk,bhke,hed->bqd", w, v, o.reshape(H, -1, D))


@also_right
def with_loops(x, W_q, W_k, W_v, W_o, H):
    y = np.zeros_like(x)
    for b in range(len(x)):
        for q, k, v, o in zip(*(np.split(W, H, axis=1) for W in (W_q, W_k, W_v)), np.split(W_o, H, axis=0)):
            s = (x[b] @ q) @ (x[b] @ k).T / math.sqrt(q.shape[1])
            w = np.exp(s - s.max(axis=1, keepdims=True))
            y[b] += w / w.sum(axis=1, keepdims=True) @ (x[b] @ v) @ o
    return y
