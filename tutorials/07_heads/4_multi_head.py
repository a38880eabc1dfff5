"""Multi-head self-attention

Everything together: project, split, attend in each head, merge, project. There is no mask and no bias.
"""

import math

import numpy as np

from minitransformer.learn import also_right, edge, mistake


# %% reference
def multi_head(x, w_q, w_k, w_v, w_o, num_heads):
    """x: (B, T, d_model); w_q, w_k: (d_model, H d_k); w_v: (d_model, H d_v); w_o: (H d_v, d_model). Returns y (B, T, d_model)."""
    # your code: three projections, split; attention; merge, and the last projection
    B, T, _ = x.shape
    q = (x @ w_q).reshape(B, T, num_heads, -1).swapaxes(1, 2)
    k = (x @ w_k).reshape(B, T, num_heads, -1).swapaxes(1, 2)
    v = (x @ w_v).reshape(B, T, num_heads, -1).swapaxes(1, 2)
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    heads = p @ v
    return heads.swapaxes(1, 2).reshape(B, T, -1) @ w_o
    # end of your code


# %% what it is called with
returns = "y"
section = "Many small questions in place of a large one"
stars, minutes = 2, 15


def case(rng, B, T, H, d_k, d_v):
    d_model = H * d_k + d_v
    weights = (rng.standard_normal((d_model, H * d)) / math.sqrt(d_model) for d in (d_k, d_k, d_v))
    return 2 * rng.standard_normal((B, T, d_model)), *weights, rng.standard_normal((H * d_v, d_model)), H


@edge("one head")
def one_head(rng, B, T, d):
    return rng.standard_normal((B, T, d)), *(rng.standard_normal((d, d)) for _ in range(4)), 1


# %% hints
hints = (
    "How many numbers has a query of one head? So how many terms has its dot product with a key, and which root divides it?",
    "In order: three projections, each split to (B, H, T, d); scores / sqrt(d_k); softmax over keys; times v; merge; times W_O.",
    "scores = q @ k.swapaxes(-1, -2) / math.sqrt(___)",
)


# %% mistakes
def split(x, H):
    return x.reshape(*x.shape[:2], H, -1).swapaxes(1, 2)


def merge(heads):
    return heads.swapaxes(1, 2).reshape(heads.shape[0], heads.shape[2], -1)


def split_straight(x, H):
    return x.reshape(x.shape[0], H, x.shape[1], -1)


def merge_straight(heads):
    return heads.reshape(heads.shape[0], heads.shape[2], -1)


def softmax(s, axis=-1):
    e = np.exp(s - s.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def made(x, w_q, w_k, w_v, w_o, H, d=None, split=split, merge=merge, weights=softmax):
    q, k, v = (split(x @ w, H) for w in (w_q, w_k, w_v))
    p = weights(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1] if d is None else d))
    return merge(p @ v) @ w_o


@mistake("the heads are merged without the transpose: a position gets numbers of other positions", hint=2)
def merged_straight(*all):
    return made(*all, merge=merge_straight)


@mistake("the heads are split without the transpose: a head gets numbers of other positions", hint=2)
def split_without(*all):
    return made(*all, split=split_straight)


@mistake("split and merge both lack the transpose: each head sees only some of the positions", hint=2)
def both_straight(*all):
    return made(*all, split=split_straight, merge=merge_straight)


@mistake("the scale 1/sqrt(d_k) is missing", hint=2)
def unscaled(*all):
    return made(*all, d=1)


@mistake("the scale is that of all heads together, sqrt(H d_k): a dot product has only the d_k terms of one head", hint=1)
def scaled_by_all(*all):
    return made(*all, d=all[1].shape[1])


@mistake("the scale is sqrt(d_model), the size of x: a dot product has only the d_k terms of one head", hint=1)
def scaled_by_d_model(*all):
    return made(*all, d=all[0].shape[2])


@mistake("the scale is the root of the number of heads: a dot product has the d_k terms of one head", hint=1)
def scaled_by_heads(*all):
    return made(*all, d=all[5])


@mistake("the scale is sqrt(d_v), the size of a value, not sqrt(d_k)", hint=1)
def scaled_by_d_v(*all):
    return made(*all, d=all[3].shape[1] // all[5])


@mistake("the heads are never split: it is one large head", hint=2)
def one_large_head(x, w_q, w_k, w_v, w_o, num_heads):
    return made(x, w_q, w_k, w_v, w_o, 1)


@mistake("the softmax runs over the heads, not over the keys: the weights of one query over all keys have to sum to 1", hint=2)
def softmax_over_heads(*all):
    return made(*all, weights=lambda s: softmax(s, axis=1))


@mistake("the softmax runs over the queries, not over the keys", hint=2)
def softmax_over_queries(*all):
    return made(*all, weights=lambda s: softmax(s, axis=-2))


@mistake("the keys are made with the queries' weights, W_Q in place of W_K", hint=2)
def keys_from_queries(x, w_q, w_k, w_v, w_o, num_heads):
    return made(x, w_q, w_q, w_v, w_o, num_heads)


@mistake("the last projection, W_O, is missing", hint=2)
def without_w_o(x, w_q, w_k, w_v, w_o, num_heads):
    return made(x, w_q, w_k, w_v, np.eye(len(w_o), dtype=x.dtype), num_heads)


@mistake("the scores are divided by d_k, not by its square root", hint=1)
def by_d_k(*all):
    return made(*all, d=(all[1].shape[1] // all[5]) ** 2)


@mistake("the scale comes after the softmax, not before it", hint=2)
def scaled_after(*all):
    return made(*all, d=1) / math.sqrt(all[1].shape[1] // all[5])


@mistake("x is added to the result: the residual connection is around this layer, not in it", hint=2)
def with_residual(x, w_q, w_k, w_v, w_o, num_heads):
    return x + multi_head(x, w_q, w_k, w_v, w_o, num_heads)


@mistake("a causal mask is in it: here every position may attend to every other", hint=2)
def causal(*all):
    return made(*all, weights=lambda s: softmax(np.where(np.tri(s.shape[-1], dtype=bool), s, -np.inf)))


@mistake("the scale is missing, and the softmax runs over the queries, not over the keys", hint=2)
def unscaled_over_queries(*all):
    return made(*all, d=1, weights=lambda s: softmax(s, axis=-2))


# %% other right solutions
@also_right
def with_einsum(x, w_q, w_k, w_v, w_o, H):
    q, k, v = (np.einsum("btm,mhd->bhtd", x, w.reshape(len(w), H, -1)) for w in (w_q, w_k, w_v))
    s = np.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    p = p / p.sum(axis=-1, keepdims=True)
    return np.einsum("bhqk,bhkv,hvm->bqm", p, v, w_o.reshape(H, -1, w_o.shape[1]))


@also_right
def head_by_head(x, w_q, w_k, w_v, w_o, num_heads):
    y = np.zeros_like(x)
    parts = [np.split(w, num_heads, axis=1) for w in (w_q, w_k, w_v)]
    for a, b, c, d in zip(*parts, np.split(w_o, num_heads)):
        q, k, v = x @ a, x @ b, x @ c
        e = np.exp(q @ np.swapaxes(k, 1, 2) / math.sqrt(a.shape[1]))
        y += e / e.sum(axis=-1, keepdims=True) @ v @ d
    return y
