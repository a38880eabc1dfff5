"""One weight, used twice

The forward was h = x W, then y = h W with the same square W. Return the gradients with respect to x and W.
"""

import numpy as np

from minitransformer_course.judge import also_right, invariant, mistake


# %% reference
def twice_backward(dy, x, W):
    """dy, x: (N, D); W: (D, D). Returns dx (N, D) and dW (D, D)."""
    # your code: from the last line to the first
    h = x @ W
    dh = dy @ W.T
    dx = dh @ W.T
    dW = h.T @ dy + x.T @ dh
    return dx, dW
    # end of your code


# %% what it is called with
returns = "dx dW"
section = "What a layer alone does not show"
stars, minutes = 2, 10


def case(rng, N, D):
    return rng.standard_normal((N, D)), rng.standard_normal((N, D)), rng.standard_normal((D, D))


def loss(dy, x, W):
    return lambda x, W: (dy * (x @ W @ W)).sum(), [x, W]


@invariant("y grows with the square of W, so sum(dW W) must be twice sum(dx x)")
def degree(answer, dy, x, W):
    dx, dW = answer
    return (dW * W).sum() - 2 * (dx * x).sum()


# %% hints
hints = (
    "Suppose the two layers had weights of their own, V and W. What are dV and dW? And if V is W, what is dW?",
    "dW is a sum of two terms: h^T dy from the second use, and x^T dh from the first.",
    "dW = h.T @ dy + x.T @ ___",
)


# %% mistakes
@mistake("only the gradient of W's second use is there: that of the first, x^T dh, is missing")
def second_only(dy, x, W):
    return dy @ W.T @ W.T, (x @ W).T @ dy


@mistake("only the gradient of W's first use is there: that of the second, h^T dy, is missing")
def first_only(dy, x, W):
    return dy @ W.T @ W.T, x.T @ (dy @ W.T)


@mistake("the two gradients of W are averaged: they have to be added")
def averaged(dy, x, W):
    dh = dy @ W.T
    return dh @ W.T, ((x @ W).T @ dy + x.T @ dh) / 2


@mistake("the first use gets dy, not dh: its gradient has to pass through the second use first")
def dy_for_both(dy, x, W):
    return dy @ W.T @ W.T, (x @ W).T @ dy + x.T @ dy


@mistake("dx passes through only one of the two layers")
def one_layer(dy, x, W):
    dh = dy @ W.T
    return dh, (x @ W).T @ dy + x.T @ dh


@mistake("the second use has x as its input: it has to be h")
def x_for_h(dy, x, W):
    dh = dy @ W.T
    return dh @ W.T, x.T @ dy + x.T @ dh


@mistake("a transpose is missing: backward multiplies by W^T, not by W")
def untransposed(dy, x, W):
    dh = dy @ W
    return dh @ W, (x @ W).T @ dy + x.T @ dh


@mistake("the inputs of the two uses are swapped: the second, y = h W, needs h and dy, and the first needs x and dh")
def inputs_swapped(dy, x, W):
    dh = dy @ W.T
    return dh @ W.T, x.T @ dy + (x @ W).T @ dh


@mistake("dW is that of one linear layer, x^T dy, doubled: the second use has the input h, not x")
def one_layer_doubled(dy, x, W):
    return dy @ W.T @ W.T, 2 * x.T @ dy


@mistake("the gradient of W is doubled, as if both uses gave the same gradient: h^T dy + h^T dy")
def doubled(dy, x, W):
    return dy @ W.T @ W.T, 2 * (x @ W).T @ dy


# %% other right solutions
@also_right
def with_einsum(dy, x, W):
    h, dh = np.einsum("ni,ij->nj", x, W), np.einsum("nj,ij->ni", dy, W)
    return np.einsum("nj,ij->ni", dh, W), np.einsum("ni,nj->ij", h, dy) + np.einsum("ni,nj->ij", x, dh)


@also_right
def by_adding(dy, x, W):
    grad = np.zeros_like(W)
    hidden = np.matmul(x, W)
    grad += np.matmul(hidden.T, dy)
    dy = np.matmul(dy, W.T)
    grad += np.matmul(x.T, dy)
    return np.matmul(dy, W.T), grad
