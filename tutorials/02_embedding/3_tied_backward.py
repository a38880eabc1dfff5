"""One table, two uses

The output projection uses the same table: logits = h W^T. Return the gradients with respect to h and W. In the model the table's
gradient is the sum of this one and of the embedding's.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def tied_backward(dlogits, h, W):
    """dlogits: (N, V); h: (N, d_model); W: (V, d_model). Returns dh (N, d_model) and dW (V, d_model)."""
    # your code: which axis does each of the two sum over, tokens or the vocabulary?
    dh = dlogits @ W
    dW = dlogits.T @ h
    return dh, dW
    # end of your code


# %% what it is called with
returns = "dh dW"
section = "The same table at the end"
stars, minutes = 2, 8


def case(rng, N, V, D):
    return rng.standard_normal((N, V)), rng.standard_normal((N, D)), rng.standard_normal((V, D))


@edge("as many tokens as dimensions: a forgotten transpose keeps the shape")
def square(rng, N):
    return case(rng, N, N, N)


def loss(dlogits, h, W):
    return lambda h, W: (dlogits * (h @ W.T)).sum(), [h, W]


@invariant("if h grows and W shrinks by the same factor, nothing changes: sum(dh h) must equal sum(dW W)")
def scale(answer, dlogits, h, W):
    return (answer[0] * h).sum() - (answer[1] * W).sum()


# %% hints
hints = (
    "What shape does dW have, and which product of dlogits and h has it? Which of the two is transposed?",
    "logits_nv = sum_d h_nd W_vd. W_vd touches the logits of v in every row n, with the factor h_nd.",
    "dW = ___ @ h",
)


# %% mistakes
@mistake("dW is h^T dlogits, the transpose of what it should be")
def transposed(dlogits, h, W):
    return dlogits @ W, h.T @ dlogits


@mistake("dh is dlogits W^T: the forward multiplied by W^T, so the backward multiplies by W")
def dh_transposed(dlogits, h, W):
    return dlogits @ W.T if W.shape[0] == W.shape[1] else dlogits @ W, dlogits.T @ h


@mistake("dW is a mean over the rows, not a sum")
def mean(dlogits, h, W):
    return dlogits @ W, dlogits.T @ h / len(h)


@mistake("dh and dW are swapped: they are returned in the wrong order")
def swapped(dlogits, h, W):
    return dlogits.T @ h, dlogits @ W


@mistake("dW uses the sum of h over the rows: every row of dlogits needs its own h")
def summed_h(dlogits, h, W):
    return dlogits @ W, np.outer(dlogits.sum(axis=0), h.sum(axis=0))


@mistake("dh has the factor sqrt(d_model): that belongs to the embedding only")
def scaled(dlogits, h, W):
    return dlogits @ W * float(np.sqrt(W.shape[1])), dlogits.T @ h


@mistake("dW has the wrong sign")
def sign(dlogits, h, W):
    return dlogits @ W, -dlogits.T @ h


@mistake("dW comes from the last row alone: add each row's part to the sum, do not overwrite it")
def last_row(dlogits, h, W):
    return dlogits @ W, np.outer(dlogits[-1], h[-1])


# %% other right solutions
@also_right
def with_einsum(g, h, table):
    return np.einsum("nv,vd->nd", g, table), np.einsum("nv,nd->vd", g, h)


@also_right
def with_loops(dlogits, h, W):
    dh, dW = np.zeros_like(h), np.zeros_like(W)
    for n in range(len(h)):
        for v in range(len(W)):
            dh[n] += dlogits[n, v] * W[v]
            dW[v] += dlogits[n, v] * h[n]
    return dh, dW
