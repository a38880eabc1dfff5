"""What each head adds

Merge and output projection together are a sum: each head is multiplied by its own rows of W_O. Return the terms of this sum.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def contributions(heads, w_o):
    """heads: (B, H, T, d_v); w_o: (H d_v, d_model). Returns c (B, H, T, d_model), whose sum over the heads is merge(heads) W_O."""
    # your code: give each head its own rows of w_o, then multiply
    H, d_v = heads.shape[1], heads.shape[3]
    w = w_o.reshape(H, d_v, -1)
    return heads @ w
    # end of your code


# %% what it is called with
returns = "c"
section = "W_O: every head adds something"
stars, minutes = 2, 12


def case(rng, B, H, T, d_v, d_model):
    return rng.standard_normal((B, H, T, d_v)), rng.standard_normal((H * d_v, d_model))


@edge("one text, as many heads as numbers in a head")
def square(rng, H, T):
    return rng.standard_normal((1, H, T, H)), rng.standard_normal((H * H, H * H))


@invariant("summed over the heads, the contributions must be merge(heads) W_O")
def complete(c, heads, w_o):
    B, H, T, d_v = heads.shape
    return c.sum(axis=1) - heads.swapaxes(1, 2).reshape(B, T, H * d_v) @ w_o


# %% hints
hints = (
    "Row 0 of W_O is multiplied by one number of one head. Which head is it? Which head do rows d_v and d_v + 1 belong to?",
    "Cut W_O by rows: (H d_v, d_model) to (H, d_v, d_model). The product heads @ w then pairs each head with its own matrix.",
    "w = w_o.reshape(___)",
)


# %% mistakes
def blocks(heads, w_o):
    return w_o.reshape(heads.shape[1], heads.shape[3], -1)


@mistake("the rows of W_O are interleaved: each head's rows lie one below the other, (H, d_v), not (d_v, H)")
def interleaved(heads, w_o):
    return heads @ w_o.reshape(heads.shape[3], heads.shape[1], -1).swapaxes(0, 1)


@mistake("every head uses the first head's rows of W_O")
def first_rows(heads, w_o):
    return heads @ blocks(heads, w_o)[:1]


@mistake("the contributions are already added up: the axis of the heads is gone")
def summed(heads, w_o):
    return (heads @ blocks(heads, w_o)).sum(axis=1)


@mistake("the contributions are divided by the number of heads: they have to add up to the output")
def averaged(heads, w_o):
    return heads @ blocks(heads, w_o) / heads.shape[1]


@mistake("head h's rows begin at row h: they have to begin at row h d_v, after those of all heads before it")
def overlapping_rows(heads, w_o):
    d_v = heads.shape[3]
    return np.stack([heads[:, h] @ w_o[h:h + d_v] for h in range(heads.shape[1])], axis=1)


@mistake("the axis of the heads comes before that of the batch: the axes are (H, B, T, d_model), not (B, H, T, d_model)")
def heads_first(heads, w_o):
    return (heads @ blocks(heads, w_o)).swapaxes(0, 1).copy()


@mistake("the rows of W_O are given to the heads in reverse order")
def reversed_rows(heads, w_o):
    return heads @ blocks(heads, w_o)[::-1]


@mistake("every head gets the complete output, the sum of all contributions")
def everything(heads, w_o):
    c = heads @ blocks(heads, w_o)
    return np.broadcast_to(c.sum(axis=1, keepdims=True), c.shape).copy()


@mistake("the output is shared out equally: each head gets the same part of the sum")
def shared_out(heads, w_o):
    c = heads @ blocks(heads, w_o)
    return np.broadcast_to(c.mean(axis=1, keepdims=True), c.shape).copy()


@mistake("only the first head contributes, and the others are 0")
def first_only(heads, w_o):
    c = heads @ blocks(heads, w_o)
    c[:, 1:] = 0
    return c


# %% other right solutions
@also_right
def with_einsum(z, w):
    return np.einsum("bhtv,hvm->bhtm", z, w.reshape(z.shape[1], z.shape[3], w.shape[1]))


@also_right
def with_loops(heads, w_o):
    B, H, T, d_v = heads.shape
    c = np.zeros((B, H, T, w_o.shape[1]), heads.dtype)
    for h in range(H):
        c[:, h] = heads[:, h] @ w_o[h * d_v:(h + 1) * d_v]
    return c
