"""A factor for each column

The forward was y = x * g: every row of x is multiplied by the same g. Return the gradients with respect to both.
"""

import numpy as np

from minitransformer.learn import also_right, invariant, mistake


# %% reference
def broadcast_backward(dy, x, g):
    """dy, x: (N, D); g: (D,). Returns dx (N, D) and dg (D,)."""
    # your code: g touches every row
    dx = dy * g
    dg = (dy * x).sum(axis=0)
    return dx, dg
    # end of your code


# %% what it is called with
returns = "dx dg"
section = "The backward, derived"
stars, minutes = 2, 15


def case(rng, N, D):
    return rng.standard_normal((N, D)), rng.standard_normal((N, D)), rng.standard_normal(D)


def loss(dy, x, g):
    return lambda x, g: (dy * (x * g)).sum(), [x, g]


@invariant("doubling a column of x and halving its g changes nothing: for each column, sum(dx x) must equal dg g")
def scale(answer, dy, x, g):
    dx, dg = answer
    return (dx * x).sum(axis=0) - dg * g


# %% hints
hints = (
    "Through how many numbers of y does one number of g touch the loss? So over what is dg a sum?",
    "dg needs the factor x and a sum over the rows: what forward copied, backward sums.",
    "dg = (dy * ___).sum(axis=0)",
)


# %% mistakes
@mistake("dg is not summed over the rows: g touches every one of them", hint=2)
def unsummed(dy, x, g):
    return dy * g, dy * x


@mistake("dx is dy @ g, which sums over the columns: the forward multiplied with *, number by number", hint=1)
def matrix_product(dy, x, g):
    return dy @ g, (dy * x).sum(axis=0)


@mistake("dg is x^T dy, which multiplies every column with every other: column d of y has only column d of x", hint=2)
def outer(dy, x, g):
    return dy * g, x.T @ dy


@mistake("dg lacks the factor x", hint=2)
def without_x(dy, x, g):
    return dy * g, dy.sum(axis=0)


@mistake("dx lacks the factor g: dy is passed on unchanged", hint=2)
def passed_on(dy, x, g):
    return dy.copy(), (dy * x).sum(axis=0)


@mistake("dg is a mean over the rows, not their sum", hint=2)
def mean(dy, x, g):
    return dy * g, (dy * x).mean(axis=0)


@mistake("the sums are taken before the product: sum(dy) sum(x) is not sum(dy x)", hint=2)
def sums_first(dy, x, g):
    return dy * g, dy.sum(axis=0) * x.sum(axis=0)


@mistake("dx is divided by g, not multiplied", hint=1)
def divided(dy, x, g):
    return dy / g, (dy * x).sum(axis=0)


@mistake("dg is multiplied by g: that is the derivative of another function", hint=2)
def with_g(dy, x, g):
    return dy * g, (dy * x * g).sum(axis=0)


@mistake("the two factors are swapped: dx needs g, dg needs x", hint=2)
def swapped(dy, x, g):
    return dy * x, (dy * g).sum(axis=0)


# %% other right solutions
@also_right
def with_einsum(gradient, data, factors):
    return np.einsum("nd,d->nd", gradient, factors), np.einsum("nd,nd->d", gradient, data)


@also_right
def with_loops(dy, x, g):
    dx, dg = np.empty_like(x), np.zeros_like(g)
    for n in range(len(x)):
        dx[n] = dy[n] * g
        dg += dy[n] * x[n]
    return dx, dg
