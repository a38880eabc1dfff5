"""Backward: from the heads to x

Attention's backward gave the gradients of all heads' queries, keys and values. Go through the split and the three projections,
to x and to the weights. In self-attention all three were made from the same x.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, mistake


# %% reference
def projections_backward(dq, dk, dv, x, w_q, w_k, w_v):
    """dq, dk: (B, H, T, d_k); dv: (B, H, T, d_v); x: (B, T, d_model); w_q, w_k: (d_model, H d_k); w_v: (d_model, H d_v).

    Returns dx, dw_q, dw_k, dw_v, with the shapes of x, w_q, w_k and w_v.
    """
    # your code: the backward of a split is a merge; then three linear layers that read the same x
    B, T, d_model = x.shape
    dq = dq.swapaxes(1, 2).reshape(B * T, -1)
    dk = dk.swapaxes(1, 2).reshape(B * T, -1)
    dv = dv.swapaxes(1, 2).reshape(B * T, -1)
    dx = dq @ w_q.T + dk @ w_k.T + dv @ w_v.T
    rows = x.reshape(B * T, d_model)
    return dx.reshape(x.shape), rows.T @ dq, rows.T @ dk, rows.T @ dv
    # end of your code


# %% what it is called with
returns = "dx dw_q dw_k dw_v"
section = "Backward: merge where the forward split"
stars, minutes = 2, 20


def case(rng, B, T, H, d_k, d_v):
    d_model = H + d_v
    shapes = ((B, H, T, d_k), (B, H, T, d_k), (B, H, T, d_v), (B, T, d_model), (d_model, H * d_k), (d_model, H * d_k),
              (d_model, H * d_v))
    return tuple(map(rng.standard_normal, shapes))


@edge("one text, as many positions as heads, d_v = d_k")
def square(rng, H, d):
    heads = (rng.standard_normal((1, H, H, d)) for _ in range(3))
    weights = (rng.standard_normal((H * d, H * d)) for _ in range(3))
    return *heads, rng.standard_normal((1, H, H * d)), *weights


def loss(dq, dk, dv, x, w_q, w_k, w_v):
    def value(x, *weights):
        heads = [(x @ w).reshape(*x.shape[:2], dq.shape[1], -1).swapaxes(1, 2) for w in weights]
        return sum((g * head).sum() for g, head in zip((dq, dk, dv), heads))
    return value, [x, w_q, w_k, w_v]


def terms(dq, dk, dv, x, w_q, w_k, w_v):
    paths = (("dq W_Q^T, through the queries", dq, w_q), ("dk W_K^T, through the keys", dk, w_k),
             ("dv W_V^T, through the values", dv, w_v))
    return {name: merge(g) @ w.T for name, g, w in paths}


# %% hints
hints = (
    "x was read three times. If x moves a little, through how many paths does the loss change? What happens to their gradients?",
    "Merge dq, dk, dv to (B, T, H d), the split's backward. Then dx is a sum of three products, and each dW is x^T dq, ...",
    "dx = dq @ w_q.T + ___ + dv @ w_v.T",
)


# %% mistakes
def merge(g):
    return g.swapaxes(1, 2).reshape(g.shape[0], g.shape[2], -1)


def merge_straight(g):
    return g.reshape(g.shape[0], g.shape[2], -1)


def merge_interleaved(g):
    return g.transpose(0, 2, 3, 1).reshape(g.shape[0], g.shape[2], -1)


def made(dq, dk, dv, x, w_q, w_k, w_v, paths=(1, 1, 1), merge=merge, rows=slice(None)):
    merged = [merge(g) for g in (dq, dk, dv)]
    dx = sum(path * (g @ w.T) for path, g, w in zip(paths, merged, (w_q, w_k, w_v)))
    return dx, *(np.einsum("btm,btd->md", x[rows], g[rows]) for g in merged)


@mistake("the gradients are merged without the transpose: a position gets gradients of other positions")
def merged_straight(*all):
    return made(*all, merge=merge_straight)


@mistake("the heads are merged interleaved: each head's numbers have to lie side by side")
def interleaved(*all):
    return made(*all, merge=merge_interleaved)


@mistake("dx has only the path through the queries: the keys and the values are made from x, too")
def queries_only(*all):
    return made(*all, paths=(1, 0, 0))


@mistake("dx lacks the path through the keys")
def without_keys(*all):
    return made(*all, paths=(1, 0, 1))


@mistake("dx lacks the path through the values")
def without_values(*all):
    return made(*all, paths=(1, 1, 0))


@mistake("dx lacks the path through the queries")
def without_queries(*all):
    return made(*all, paths=(0, 1, 1))


@mistake("the three paths to x are averaged: they have to be added")
def averaged(*all):
    return made(*all, paths=(1 / 3, 1 / 3, 1 / 3))


@mistake("the gradients of the weights are averaged over the batch: every sentence adds its part")
def batch_mean(*all):
    dx, *dw = made(*all)
    return dx, *(g / len(all[3]) for g in dw)


@mistake("the gradients of the weights are not summed over the batch: every sentence used the same weights")
def not_summed(dq, dk, dv, x, w_q, w_k, w_v):
    dx = made(dq, dk, dv, x, w_q, w_k, w_v)[0]
    return dx, *(x.swapaxes(1, 2) @ merge(g) for g in (dq, dk, dv))


@mistake("the gradients of the weights come from the first sentence only")
def first_sentence(*all):
    return made(*all, rows=slice(1))


@mistake("dw_q and dw_k are swapped: they are returned in the wrong order")
def swapped(*all):
    dx, dw_q, dw_k, dw_v = made(*all)
    return dx, dw_k, dw_q, dw_v


@mistake("W_Q and W_K are swapped in dx: the keys' gradient goes through W_Q, and the queries' through W_K")
def crossed(dq, dk, dv, x, w_q, w_k, w_v):
    dx = merge(dq) @ w_k.T + merge(dk) @ w_q.T + merge(dv) @ w_v.T
    return dx, *made(dq, dk, dv, x, w_q, w_k, w_v)[1:]


@mistake("dq and dk are divided by sqrt(d_k) again: attention's backward has already done that")
def scaled_again(dq, dk, *others):
    root = dq.shape[-1] ** 0.5
    return made(dq / root, dk / root, *others)


# %% other right solutions
@also_right
def with_einsum(dq, dk, dv, x, w_q, w_k, w_v):
    H, dx, dw = dq.shape[1], 0, []
    for g, w in ((dq, w_q), (dk, w_k), (dv, w_v)):
        dx = dx + np.einsum("bhtd,mhd->btm", g, w.reshape(len(w), H, -1))
        dw.append(np.einsum("btm,bhtd->mhd", x, g).reshape(w.shape))
    return dx, *dw


@also_right
def head_by_head(dq, dk, dv, x, w_q, w_k, w_v):
    dx, dw = np.zeros_like(x), [np.zeros_like(w) for w in (w_q, w_k, w_v)]
    for g, w, own in zip((dq, dk, dv), (w_q, w_k, w_v), dw):
        d = g.shape[-1]
        for h in range(g.shape[1]):
            part = slice(h * d, (h + 1) * d)
            dx += g[:, h] @ w[:, part].T
            own[:, part] = (np.swapaxes(x, 1, 2) @ g[:, h]).sum(axis=0)
    return dx, *dw
