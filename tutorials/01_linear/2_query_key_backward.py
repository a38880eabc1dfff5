"""Dot products of tokens

Every token of a sentence gets a query and a key, and each query meets each key of its sentence: s = q k^T, with q = x W_q and
k = x W_k. From ds, the gradient with respect to the scores, return the gradients with respect to x and both weights. No loops.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def query_key_backward(ds, x, w_q, w_k):
    """ds: (B, T, T); x: (B, T, d_model); w_q, w_k: (d_model, d_k). Returns dx, dw_q, dw_k, shaped like x, w_q, w_k."""
    q, k = x @ w_q, x @ w_k    # (B, T, d_k)
    # your code: the gradients of q and k, back through s = q k^T
    dq = ds @ k
    dk = ds.swapaxes(-1, -2) @ q
    # end of your code
    # your code: from there to x and to the weights, of which all sentences share one
    dx = dq @ w_q.T + dk @ w_k.T
    rows = x.reshape(-1, x.shape[-1])
    dw_q = rows.T @ dq.reshape(-1, dq.shape[-1])
    dw_k = rows.T @ dk.reshape(-1, dk.shape[-1])
    return dx, dw_q, dw_k
    # end of your code


# %% what it is called with
returns = "dx dw_q dw_k"
section = "Sentences have more axes"
stars, minutes = 3, 20


def case(rng, B, T, d_model, d_k):
    return tuple(map(rng.standard_normal, ((B, T, T), (B, T, d_model), (d_model, d_k), (d_model, d_k))))


@edge("one sentence, and all sizes are equal: a forgotten transpose keeps the shape")
def square(rng, T):
    return tuple(map(rng.standard_normal, ((1, T, T), (1, T, T), (T, T), (T, T))))


def loss(ds, x, w_q, w_k):
    return lambda x, w_q, w_k: (ds * ((x @ w_q) @ (x @ w_k).swapaxes(-1, -2))).sum(), [x, w_q, w_k]


def terms(ds, x, w_q, w_k):
    return {"dq W_q^T, through the queries": ds @ (x @ w_k) @ w_q.T,
            "dk W_k^T, through the keys": ds.swapaxes(-1, -2) @ (x @ w_q) @ w_k.T}


@invariant("s grows with W_q as it does with W_k, so sum(dW_q W_q) must equal sum(dW_k W_k)")
def same_degree(answer, ds, x, w_q, w_k):
    return (answer[1] * w_q).sum() - (answer[2] * w_k).sum()


@invariant("s grows with the square of x, so sum(dx x) must be sum(dW_q W_q) + sum(dW_k W_k)")
def degree(answer, ds, x, w_q, w_k):
    dx, dw_q, dw_k = answer
    return (dx * x).sum() - (dw_q * w_q).sum() - (dw_k * w_k).sum()


# %% hints
hints = (
    "q k^T is a linear layer too: which of the two is its input, and which its weight? And how many tokens share W_q?",
    "dq = ds k, and dk = ds^T q. Both q and k come from x, so dx has two terms. dW_q and dW_k sum over all B T tokens.",
    "dx = dq @ w_q.T + ___",
)


# %% mistakes
def right(ds, x, w_q, w_k):
    return query_key_backward(ds, x, w_q, w_k)


def given(dq, dk, x, w_q, w_k):
    """What the second blank returns for dq and dk."""
    return dq @ w_q.T + dk @ w_k.T, np.einsum("btd,btk->dk", x, dq), np.einsum("btd,btk->dk", x, dk)


@mistake("dx has only the part that came through the queries: the keys are made from x, too")
def queries_only(ds, x, w_q, w_k):
    return ds @ (x @ w_k) @ w_q.T, *right(ds, x, w_q, w_k)[1:]


@mistake("dx has only the part that came through the keys: the queries are made from x, too")
def keys_only(ds, x, w_q, w_k):
    return ds.swapaxes(-1, -2) @ (x @ w_q) @ w_k.T, *right(ds, x, w_q, w_k)[1:]


@mistake("the two parts of dx are averaged: they have to be added")
def averaged(ds, x, w_q, w_k):
    dx, dw_q, dw_k = right(ds, x, w_q, w_k)
    return dx / 2, dw_q, dw_k


@mistake("a transpose is missing: a row of ds belongs to a query, but dk needs a row for each key: take ds^T")
def untransposed(ds, x, w_q, w_k):
    return given(ds @ (x @ w_k), ds @ (x @ w_q), x, w_q, w_k)


@mistake("q and k are swapped: dq needs k, and dk needs q")
def own_vector(ds, x, w_q, w_k):
    return given(ds @ (x @ w_q), ds.swapaxes(-1, -2) @ (x @ w_k), x, w_q, w_k)


@mistake("dq and dk are swapped on their way to x: dq goes back through W_q, dk through W_k")
def weights_swapped(ds, x, w_q, w_k):
    q, k = x @ w_q, x @ w_k
    return (ds @ k) @ w_k.T + (ds.swapaxes(-1, -2) @ q) @ w_q.T, *right(ds, x, w_q, w_k)[1:]


@mistake("dw_q and dw_k are swapped: they are returned in the wrong order")
def swapped(ds, x, w_q, w_k):
    dx, dw_q, dw_k = right(ds, x, w_q, w_k)
    return dx, dw_k, dw_q


@mistake("the weights' gradients are not summed over the sentences: there is one W for all of them")
def unsummed(ds, x, w_q, w_k):
    q, k, turned = x @ w_q, x @ w_k, x.swapaxes(-1, -2)
    return right(ds, x, w_q, w_k)[0], turned @ (ds @ k), turned @ (ds.swapaxes(-1, -2) @ q)


@mistake("the weights' gradients are a mean over the sentences, not their sum")
def batch_mean(ds, x, w_q, w_k):
    dx, dw_q, dw_k = right(ds, x, w_q, w_k)
    return dx, dw_q / len(x), dw_k / len(x)


@mistake("the weights' gradients come from the first sentence alone: sum over all")
def first_sentence(ds, x, w_q, w_k):
    return right(ds, x, w_q, w_k)[0], *right(ds[:1], x[:1], w_q, w_k)[1:]


@mistake("the weights' gradients come from the last sentence alone: add each sentence's gradient to the sum")
def last_sentence(ds, x, w_q, w_k):
    return right(ds, x, w_q, w_k)[0], *right(ds[-1:], x[-1:], w_q, w_k)[1:]


@mistake("x.reshape(d_model, -1) is not a transpose: it cuts the same sequence of numbers into different pieces")
def cut_otherwise(ds, x, w_q, w_k):
    dq, dk = ds @ (x @ w_k), ds.swapaxes(-1, -2) @ (x @ w_q)
    cut = x.reshape(x.shape[-1], -1)
    return dq @ w_q.T + dk @ w_k.T, cut @ dq.reshape(-1, dq.shape[-1]), cut @ dk.reshape(-1, dk.shape[-1])


# %% other right solutions
@also_right
def with_einsum(g, x, a, b):
    q, k = np.einsum("btd,dk->btk", x, a), np.einsum("btd,dk->btk", x, b)
    dq, dk = np.einsum("bqk,bkd->bqd", g, k), np.einsum("bqk,bqd->bkd", g, q)
    return (np.einsum("btk,dk->btd", dq, a) + np.einsum("btk,dk->btd", dk, b),
            np.einsum("btd,btk->dk", x, dq), np.einsum("btd,btk->dk", x, dk))


@also_right
def sentence_by_sentence(ds, x, w_q, w_k):
    dx, dw_q, dw_k = np.zeros_like(x), np.zeros_like(w_q), np.zeros_like(w_k)
    for b in range(len(x)):
        dq, dk = ds[b] @ (x[b] @ w_k), ds[b].T @ (x[b] @ w_q)
        dw_q += x[b].T @ dq
        dw_k += x[b].T @ dk
        dx[b] = dq @ w_q.T + dk @ w_k.T
    return dx, dw_q, dw_k


@also_right
def summed_afterwards(ds, x, w_q, w_k):
    dq, dk = np.matmul(ds, x @ w_k), np.matmul(np.transpose(ds, (0, 2, 1)), x @ w_q)
    across = np.transpose(x, (0, 2, 1))
    return np.matmul(dq, w_q.T) + np.matmul(dk, w_k.T), np.matmul(across, dq).sum(axis=0), np.matmul(across, dk).sum(axis=0)
