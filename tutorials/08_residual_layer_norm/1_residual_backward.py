"""A path around

The forward was y = x + x W: a layer, and a path around it. Return the gradients with respect to x and W.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def residual_backward(dy, x, W):
    """dy, x: (N, D); W: (D, D). Returns dx (N, D) and dW (D, D)."""
    # your code: how many paths lead from x to y?
    dx = dy + dy @ W.T
    dW = x.T @ dy
    return dx, dW
    # end of your code


# %% what it is called with
returns = "dx dW"
section = "Residual: a path around each layer"
stars, minutes = 1, 10


def case(rng, N, D):
    return rng.standard_normal((N, D)), rng.standard_normal((N, D)), rng.standard_normal((D, D))


@edge("a single token")
def one_token(rng, D):
    return case(rng, 1, D)


def loss(dy, x, W):
    return lambda x, W: (dy * (x + x @ W)).sum(), [x, W]


def terms(dy, x, W):
    return {"dy, around the layer": dy, "dy W^T, through the layer": dy @ W.T}


@invariant("y is linear in x, so sum(dx x) must equal sum(dy y)")
def linear(answer, dy, x, W):
    return (answer[0] * x).sum() - (dy * (x + x @ W)).sum()


# %% hints
hints = (
    "If W is 0, the layer does nothing and y = x. What must dx be then?",
    "dx is a sum of two terms: one for the path around, and one for the layer, a product as in chapter 1.",
    "dx = ___ + dy @ W.T",
)


# %% mistakes
@mistake("the path around is missing: dx is the layer's gradient alone")
def shortcut_missing(dy, x, W):
    return dy @ W.T, x.T @ dy


@mistake("the layer's gradient is missing: dx is dy alone")
def layer_missing(dy, x, W):
    return dy.copy(), x.T @ dy


@mistake("the path around is counted twice")
def shortcut_twice(dy, x, W):
    return 2 * dy + dy @ W.T, x.T @ dy


@mistake("the two paths are averaged: they have to be added")
def averaged(dy, x, W):
    return (dy + dy @ W.T) / 2, x.T @ dy


@mistake("W is not transposed")
def untransposed(dy, x, W):
    return dy + dy @ W, x.T @ dy


@mistake("the path around has the wrong sign")
def sign(dy, x, W):
    return dy @ W.T - dy, x.T @ dy


@mistake("dW counts the path around: only the layer has a weight")
def weight_of_both(dy, x, W):
    return dy + dy @ W.T, x.T @ dy + dy.T @ dy


@mistake("dW is transposed: a square W keeps the shape")
def weight_transposed(dy, x, W):
    return dy + dy @ W.T, dy.T @ x


@mistake("dW uses y, the output: W was multiplied by x")
def weight_of_y(dy, x, W):
    return dy + dy @ W.T, (x + x @ W).T @ dy


# %% other right solutions
@also_right
def as_one_matrix(dy, x, W):
    return dy @ (np.eye(len(W), dtype=W.dtype) + W).T, np.einsum("ni,nj->ij", x, dy)


@also_right
def by_adding(upstream, tokens, weight):
    dx = np.zeros_like(tokens)
    dx += upstream
    dx += np.matmul(upstream, weight.T)
    return dx, np.matmul(tokens.T, upstream)
