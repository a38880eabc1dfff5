"""The backward of a linear layer

The forward was y = x W + b. From dy, the gradient with respect to y, return the gradients with respect to x, W and b. Write it
without a loop, because a model calls it thousands of times.
"""

import numpy as np

from minitransformer.layers import Linear
from minitransformer_course.judge import also_right, edge, invariant, mistake, plugs


# %% reference
def linear_backward(dy, x, W):
    """dy: (N, d_out); x: (N, d_in); W: (d_in, d_out). Returns dx (N, d_in), dW (d_in, d_out), db (d_out,)."""
    # your code: each gradient has the shape of the array that it belongs to
    dx = dy @ W.T
    dW = x.T @ dy
    db = dy.sum(axis=0)
    return dx, dW, db
    # end of your code


# %% what it is called with
returns = "dx dW db"
section = "One number by hand"
stars, minutes = 2, 15


def case(rng, N, d_in, d_out):
    return rng.standard_normal((N, d_out)), rng.standard_normal((N, d_in)), rng.standard_normal((d_in, d_out))


@edge("as many tokens as inputs and outputs: a forgotten transpose keeps the shape")
def square(rng, N):
    return case(rng, N, N, N)


@edge("a single token")
def one_token(rng, d_in, d_out):
    return case(rng, 1, d_in, d_out)


def loss(dy, x, W):
    return lambda x, W, b: (dy * (x @ W + b)).sum(), [x, W, np.zeros(W.shape[1])]


@invariant("x W does not change if x grows and W shrinks by the same factor, so sum(dx x) must equal sum(dW W)")
def scale(answer, dy, x, W):
    dx, dW, _db = answer
    return (dx * x).sum() - (dW * W).sum()


@plugs(Linear.backward)
def in_the_model(own):
    def backward(self, dy, cache):
        d_in, d_out = self.weight.shape
        dx, dW, db = own(dy.reshape(-1, d_out), cache.x.reshape(-1, d_in), self.weight.data)
        self.weight.grad += dW
        self.bias.grad += db
        return dx.reshape(cache.x.shape)
    return backward


# %% hints
hints = (
    "Which shape must each of the three have? Which products of dy with x or W have that shape?",
    "W touches every row of y, with the factor x: dW is x^T dy. For b the factor is 1. x touches every column, with the factor W.",
    "db = dy.sum(axis=___)",
)


# %% mistakes
@mistake("dW is dy^T x, the transpose of x^T dy: its shape is that of W only if d_in = d_out")
def transposed_weight(dy, x, W):
    return dy @ W.T, dy.T @ x, dy.sum(axis=0)


@mistake("db is only the first row of dy: b touches every row, so sum over them")
def first_row(dy, x, W):
    return dy @ W.T, x.T @ dy, dy[0].copy()


@mistake("db is a mean over the rows, not their sum")
def mean_bias(dy, x, W):
    return dy @ W.T, x.T @ dy, dy.mean(axis=0)


@mistake("dW is divided by the number of rows: the sum over them became a mean")
def mean_weight(dy, x, W):
    return dy @ W.T, x.T @ dy / len(x), dy.sum(axis=0)


@mistake("dW and db are divided by the number of rows: their sums over the rows became means")
def mean_both(dy, x, W):
    return dy @ W.T, x.T @ dy / len(x), dy.mean(axis=0)


@mistake("db is summed over the columns too: every bias gets the sum of all of dy")
def all_of_dy(dy, x, W):
    return dy @ W.T, x.T @ dy, np.full(dy.shape[1], dy.sum(), dy.dtype)


@mistake("dW and dx are swapped: the gradients are returned in the wrong order")
def swapped(dy, x, W):
    return x.T @ dy, dy @ W.T, dy.sum(axis=0)


@mistake("db is not summed over the rows: b has no rows")
def bias_unsummed(dy, x, W):
    return dy @ W.T, x.T @ dy, dy.copy()


@mistake("db keeps an axis of length 1: its shape has to be that of b, so leave keepdims out")
def kept_axis(dy, x, W):
    return dy @ W.T, x.T @ dy, dy.sum(axis=0, keepdims=True)


@mistake("dx has the wrong sign")
def sign(dy, x, W):
    return -dy @ W.T, x.T @ dy, dy.sum(axis=0)


@mistake("db is the last row of dy: add each row to the sum, do not overwrite it")
def last_row(dy, x, W):
    return dy @ W.T, x.T @ dy, dy[-1].copy()


@mistake("dW comes from the last row alone: add each row's x^T dy to the sum, do not overwrite it")
def last_row_of_weight(dy, x, W):
    return dy @ W.T, np.outer(x[-1], dy[-1]), dy.sum(axis=0)


@mistake("db counts the rows and forgets dy")
def counted(dy, x, W):
    return dy @ W.T, x.T @ dy, np.ones_like(dy).sum(axis=0)


# %% other right solutions
@also_right
def with_einsum(dy, x, W):
    return np.einsum("no,io->ni", dy, W), np.einsum("ni,no->io", x, dy), np.einsum("no->o", dy)


@also_right
def with_loops(dy, x, W):
    dx, dW, db = np.zeros_like(x), np.zeros_like(W), np.zeros_like(dy[0])
    for token, gradient in zip(range(len(x)), dy):
        dx[token] = W @ gradient
        dW += np.outer(x[token], gradient)
        db += gradient
    return dx, dW, db
