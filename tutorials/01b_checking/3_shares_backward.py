"""Shares of a sum

Each row of x becomes shares that add up to 1: y = x / s, where s is the sum of the row. Return the gradient with respect to x.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def shares_backward(dy, x):
    """dy, x: (N, D), the numbers of x positive. Returns dx (N, D)."""
    # your code: each number of a row touches every share of the row, directly or through the sum
    s = x.sum(axis=-1, keepdims=True)
    y = x / s
    lost = (dy * y).sum(axis=-1, keepdims=True)
    return (dy - lost) / s
    # end of your code


# %% what it is called with
returns = "dx"
section = "What a check with ones does not see"
stars, minutes = 3, 15


def case(rng, N, D):
    return rng.standard_normal((N, D)), rng.uniform(0.5, 2, (N, D))


@edge("rows of small numbers")
def small(rng, N, D):
    dy, x = case(rng, N, D)
    return dy, x * 10 ** -rng.uniform(3, 5, (N, 1))


def loss(dy, x):
    return lambda x: (dy * (x / x.sum(axis=-1, keepdims=True))).sum(), [x]


def terms(dy, x):
    s = x.sum(axis=-1, keepdims=True)
    return {"dy / s": dy / s, "- sum(dy x) / s^2": -(dy * x).sum(axis=-1, keepdims=True) / s ** 2 * np.ones_like(x)}


@invariant("a row that is twice as large has the same shares, so each row of dx x must sum to 0")
def scale(dx, dy, x):
    return (dx * x).sum(axis=-1)


# %% hints
hints = (
    "If the row becomes twice as large, what happens to its shares? So which sum over a row of dx and x is 0?",
    "y_i = x_i / s: x_i counts directly, with 1 / s, and through s, which is in every share of the row, with - x_j / s^2.",
    "return (dy - ___) / s",
)


# %% mistakes
def parts(dy, x):
    s = x.sum(axis=-1, keepdims=True)
    return s, (dy * x).sum(axis=-1, keepdims=True) / s


@mistake("the path through the sum is missing: s contains every number of the row")
def direct_only(dy, x):
    return dy / parts(dy, x)[0]


@mistake("the direct path is missing: x_i is the numerator of its own share")
def through_sum_only(dy, x):
    s, lost = parts(dy, x)
    return -lost / s * np.ones_like(x)


@mistake("the path through the sum is added: a larger sum makes every share smaller")
def added(dy, x):
    s, lost = parts(dy, x)
    return (dy + lost) / s


@mistake("the path through the sum counts only a number's own share: s is in all the other shares too")
def own_share_only(dy, x):
    s = parts(dy, x)[0]
    return (dy - dy * x / s) / s


@mistake("the division by the sum is missing")
def undivided(dy, x):
    return dy - parts(dy, x)[1]


@mistake("in the path through the sum, the upstream gradients are added without the shares")
def without_shares(dy, x):
    return (dy - dy.sum(axis=-1, keepdims=True)) / parts(dy, x)[0]


@mistake("in the path through the sum, dy_j is multiplied by the share of x_i: each dy_j needs its own share, that of x_j")
def share_in_front(dy, x):
    s = parts(dy, x)[0]
    return (dy - dy.sum(axis=-1, keepdims=True) * x / s) / s


@mistake("in the path through the sum, x is in place of the shares")
def x_for_shares(dy, x):
    return (dy - (dy * x).sum(axis=-1, keepdims=True)) / parts(dy, x)[0]


@mistake("in the path through the sum, the mean is taken, not the sum")
def mean(dy, x):
    s, lost = parts(dy, x)
    return (dy - lost / x.shape[-1]) / s


@mistake("the sums run down the columns: a share is a share of its row")
def down_the_columns(dy, x):
    s = x.sum(axis=0, keepdims=True)
    return (dy - (dy * x / s).sum(axis=0, keepdims=True)) / s


@mistake("the gradient has the wrong sign")
def sign(dy, x):
    s, lost = parts(dy, x)
    return (lost - dy) / s


@mistake("the gradient is 0 everywhere: that is right only for a dy of ones")
def zeros(dy, x):
    return 0 * x


# %% other right solutions
@also_right
def by_the_jacobian(g, x):
    dx = np.zeros_like(x)
    for n in range(len(x)):
        s = x[n].sum()
        jacobian = np.eye(x.shape[1], dtype=x.dtype) / s - x[n][:, None] / s ** 2
        dx[n] = g[n] @ jacobian
    return dx


@also_right
def quotient_rule(dy, x):
    total = x.sum(axis=1)[:, None]
    return (dy * total - (dy * x).sum(axis=1)[:, None]) / total ** 2


@also_right
def with_einsum(dy, x):
    inverse = 1 / np.einsum("nd->n", x)
    return np.einsum("nd,n->nd", dy, inverse) - np.einsum("nd,nd,n,n->n", dy, x, inverse, inverse)[:, None]
