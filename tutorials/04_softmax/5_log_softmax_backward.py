"""The gradient of the logarithm of a softmax

A loss needs log p, and log(softmax(x)) is x - log(sum(exp(x))). You get `dy`, the gradient with respect to y = log p.
Return `dx`. It is not the gradient of the softmax with something in front: derive it.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def log_softmax_backward(dy, y):
    """dy, y: (..., K), y = log p. Returns dx (..., K)."""
    # your code: dx, from dy and y alone
    p = np.exp(y)
    total = dy.sum(axis=-1, keepdims=True)
    return dy - p * total
    # end of your code


# %% what it is called with
returns = "dx"
section = "The logarithm, for the loss"
stars, minutes = 2, 10


def case(rng, B, T, K):
    return rng.standard_normal((B, T, K)), log_softmax(rng.standard_normal((B, T, K)))


@edge("rows without a batch, and probabilities far below 1")
def flat(rng, T, K):
    return rng.standard_normal((T, K)), log_softmax(9 * rng.standard_normal((T, K)))


def log_softmax(x):
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


def loss(dy, y):
    """y is x up to a constant in each row, which a softmax does not notice."""
    return lambda x: (dy * log_softmax(x)).sum(), [y]


def terms(dy, y):
    return {"dy": dy, "- p sum(dy)": -np.exp(y) * dy.sum(axis=-1, keepdims=True)}


@invariant("each row of dx must sum to 0, because a constant added to a row of scores changes no probability")
def rows(dx, dy, y):
    return dx.sum(axis=-1)


# %% hints
hints = (
    "Add 1 to every score of a row: what happens to log p? So what must a row of dx sum to?",
    "Two terms: dy itself, from x, and p times the row's sum of dy, from the logarithm of the sum.",
    "total = ___.sum(axis=-1, keepdims=True)",
)


# %% mistakes
@mistake("this is the gradient of the softmax, not of its logarithm: dx = p (dy - sum(dy p))")
def softmax(dy, y):
    p = np.exp(y)
    return p * (dy - (dy * p).sum(axis=-1, keepdims=True))


@mistake("only the diagonal is used: dx = (1 - p) dy; a score moves every log p of its row")
def diagonal(dy, y):
    return dy * (1 - np.exp(y))


@mistake("the second term is missing: the sum inside the logarithm depends on every score")
def sum_missing(dy, y):
    return dy.copy()


@mistake("y is used as p: take exp(y) first")
def y_for_p(dy, y):
    return dy - y * dy.sum(axis=-1, keepdims=True)


@mistake("the sum is weighted with p: here it is the sum of dy alone")
def weighted(dy, y):
    p = np.exp(y)
    return dy - p * (dy * p).sum(axis=-1, keepdims=True)


@mistake("the sum is not multiplied by p")
def without_p(dy, y):
    return dy - dy.sum(axis=-1, keepdims=True)


@mistake("the second term is added, not subtracted")
def added(dy, y):
    return dy + np.exp(y) * dy.sum(axis=-1, keepdims=True)


@mistake("the sum over the row became a mean")
def mean(dy, y):
    return dy - np.exp(y) * dy.mean(axis=-1, keepdims=True)


@mistake("the sum runs over the wrong axis: down the columns, not along each row")
def wrong_axis(dy, y):
    return dy - np.exp(y) * dy.sum(axis=-2, keepdims=True)


@mistake("this is p - dy, the gradient of one loss with one-hot targets: here dy is any gradient")
def one_hot(dy, y):
    return np.exp(y) - dy


# %% other right solutions
@also_right
def with_einsum(g, log_p):
    return g - np.einsum("...j,...k->...k", g, np.exp(log_p))


@also_right
def with_jacobian(dy, y):
    dx = np.empty_like(dy)
    for row in np.ndindex(y.shape[:-1]):
        jacobian = np.eye(y.shape[-1]) - np.exp(y[row])
        dx[row] = jacobian.T @ dy[row]
    return dx
