"""One input, three ways

In self-attention x is query, key and value: q = x W_q, k = x W_k, v = x W_v. From the gradients of the three, return that of x.
"""

import numpy as np

from minitransformer.learn import also_right, invariant, mistake


# %% reference
def three_ways_backward(dq, dk, dv, W_q, W_k, W_v):
    """dq, dk: (B, T, d_k); dv: (B, T, d_v); W_q, W_k: (D, d_k); W_v: (D, d_v). Returns dx (B, T, D)."""
    # your code: each way is a linear layer, and x touches all three
    through_query = dq @ W_q.T
    through_key = dk @ W_k.T
    through_value = dv @ W_v.T
    return through_query + through_key + through_value
    # end of your code


# %% what it is called with
returns = "dx"
section = "Backward: one input, three ways"


def case(rng, B, T, D, d_k, d_v):
    shapes = (B, T, d_k), (B, T, d_k), (B, T, d_v), (D, d_k), (D, d_k), (D, d_v)
    return tuple(rng.standard_normal(shape) for shape in shapes)


def loss(dq, dk, dv, W_q, W_k, W_v):
    x = np.zeros((*dq.shape[:2], len(W_q)))
    return lambda x: (dq * (x @ W_q)).sum() + (dk * (x @ W_k)).sum() + (dv * (x @ W_v)).sum(), [x]


def terms(dq, dk, dv, W_q, W_k, W_v):
    return {"through the query": dq @ W_q.T, "through the key": dk @ W_k.T, "through the value": dv @ W_v.T}


@invariant("for x = 1 everywhere the loss changes by what all three ways carry: sum(dx) must be the sum of dq W_q^T, dk W_k^T and dv W_v^T")
def total(dx, dq, dk, dv, W_q, W_k, W_v):
    return dx.sum() - sum((gradient * W.sum(axis=0)).sum() for gradient, W in ((dq, W_q), (dk, W_k), (dv, W_v)))


# %% hints
hints = (
    "If W_k and W_v were 0, only the query would depend on x: what would dx be? And if only W_k is not 0? And if none is?",
    "dx is a sum of three: dq W_q^T, dk W_k^T and dv W_v^T. Every way back is added.",
    "return through_query + through_key + ___",
)


# %% mistakes
@mistake("only the way through the query is there: key and value are made from x, too", hint=2)
def query_only(dq, dk, dv, W_q, W_k, W_v):
    return dq @ W_q.T


@mistake("only the way through the value is there", hint=2)
def value_only(dq, dk, dv, W_q, W_k, W_v):
    return dv @ W_v.T


@mistake("the way through the value is missing", hint=4)
def value_missing(dq, dk, dv, W_q, W_k, W_v):
    return dq @ W_q.T + dk @ W_k.T


@mistake("the way through the key is missing", hint=2)
def key_missing(dq, dk, dv, W_q, W_k, W_v):
    return dq @ W_q.T + dv @ W_v.T


@mistake("the way through the query is missing", hint=2)
def query_missing(dq, dk, dv, W_q, W_k, W_v):
    return dk @ W_k.T + dv @ W_v.T


@mistake("the three are averaged: they are added", hint=2)
def averaged(dq, dk, dv, W_q, W_k, W_v):
    return (dq @ W_q.T + dk @ W_k.T + dv @ W_v.T) / 3


@mistake("the weights of query and key are swapped", hint=3)
def swapped(dq, dk, dv, W_q, W_k, W_v):
    return dq @ W_k.T + dk @ W_q.T + dv @ W_v.T


@mistake("the way through the key is subtracted", hint=3)
def subtracted(dq, dk, dv, W_q, W_k, W_v):
    return dq @ W_q.T - dk @ W_k.T + dv @ W_v.T


# %% other right solutions
@also_right
def side_by_side(dq, dk, dv, W_q, W_k, W_v):
    return np.concatenate([dq, dk, dv], axis=-1) @ np.concatenate([W_q, W_k, W_v], axis=-1).T


@also_right
def with_einsum(a, b, c, q, k, v):
    dx = np.einsum("bte,de->btd", a, q)
    dx += np.einsum("bte,de->btd", b, k)
    return dx + np.einsum("bte,de->btd", c, v)
