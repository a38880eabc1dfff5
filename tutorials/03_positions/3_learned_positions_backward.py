"""Positions that are learned

The forward was y = x + W[:T], for a batch x (B, T, D) and a table of parameters W (L, D). Return the gradients with respect to
x and W.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def learned_positions_backward(dy, W):
    """dy: (B, T, D); W: (L, D), L >= T rows. Returns dx (B, T, D) and dW (L, D)."""
    # your code: which numbers of y does row t of W touch?
    T = dy.shape[1]
    dW = np.zeros_like(W)
    dW[:T] = dy.sum(axis=0)
    return dy.copy(), dW
    # end of your code


# %% what it is called with
returns = "dx dW"
section = "Learned positions"
stars, minutes = 1, 5


def case(rng, B, T, more, D):
    return rng.standard_normal((B, T, D)), rng.standard_normal((T + more, D))


@edge("sentences as long as the table")
def full(rng, B, T, D):
    return rng.standard_normal((B, T, D)), rng.standard_normal((T, D))


def loss(dy, W):
    return lambda x, W: (dy * (x + W[:dy.shape[1]])).sum(), [np.zeros_like(dy), W]


@invariant("what arrives at all places goes to the rows of W: dW summed over the rows must be dy summed over sentences and places")
def total(answer, dy, W):
    return answer[1].sum(axis=0) - dy.sum(axis=(0, 1))


# %% hints
hints = (
    "Through how many numbers of y does one number of row t affect the loss? And one number of a row after the last place?",
    "dx is dy. dW[t] is dy summed over the sentences at place t, and 0 for t >= T.",
    "dW[:T] = dy.sum(axis=___)",
)


# %% mistakes
def made(dy, W, rows=lambda dy: dy.sum(axis=0), at=lambda T, L: slice(0, T)):
    dW = np.zeros_like(W)
    dW[at(dy.shape[1], len(W))] = rows(dy)
    return dy.copy(), dW


@mistake("dW is a mean over the sentences, not their sum")
def mean(dy, W):
    return made(dy, W, lambda dy: dy.mean(axis=0))


@mistake("dW comes from the first sentence only: every sentence uses the same rows")
def first_sentence(dy, W):
    return made(dy, W, lambda dy: dy[0])


@mistake("every row gets the sum over all places: row t belongs to place t")
def all_places(dy, W):
    return made(dy, W, lambda dy: dy.sum(axis=(0, 1)))


@mistake("the gradient goes to the last rows of the table, not to the first")
def last_rows(dy, W):
    return made(dy, W, at=lambda T, L: slice(L - T, L))


@mistake("dx is summed over the sentences too: every sentence has its own x")
def dx_summed(dy, W):
    return np.broadcast_to(dy.sum(axis=0), dy.shape).copy(), made(dy, W)[1]


@mistake("W is added to dx: the forward adds W, which is no reason for the backward to do so")
def added(dy, W):
    return dy + W[:dy.shape[1]], made(dy, W)[1]


@mistake("the places are reversed: the last place's gradient goes to row 0")
def backwards(dy, W):
    return made(dy, W, lambda dy: dy.sum(axis=0)[::-1])


@mistake("dW has as many rows as there are places: it needs the shape of W, with zeros in the rows that were not used")
def too_short(dy, W):
    return dy.copy(), dy.sum(axis=0) if len(W) > dy.shape[1] else made(dy, W)[1]


@mistake("dW comes from the last sentence only: add each sentence's dy to the sum, do not overwrite it")
def last_sentence(dy, W):
    dW = np.zeros_like(W)
    dW[:dy.shape[1]] = dy[-1]
    return dy.copy(), dW


# %% other right solutions
@also_right
def with_pad(g, table):
    return g + 0, np.pad(np.einsum("btd->td", g), ((0, len(table) - g.shape[1]), (0, 0)))


@also_right
def with_loops(dy, W):
    dW = W * 0
    for sentence in dy:
        for t, gradient in enumerate(sentence):
            dW[t] += gradient
    return np.array(dy), dW
