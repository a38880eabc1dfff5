"""The gradient of a softmax

You get `dp`, the gradient of the loss with respect to the probabilities. Return `dx`, the gradient of the loss with respect to
the scores. Each of its rows sums to 0. Do not build the Jacobian: it is K times as large as p.
"""

import numpy as np

from minitransformer import functional
from minitransformer_course.judge import also_right, edge, invariant, mistake, plugs


# %% reference
def softmax_backward(dp, p):
    """dp, p: (..., K), the gradient with respect to p, and p itself; each row of p sums to 1. Returns dx (..., K)."""
    # your code: what arrives at a score, through all probabilities of its row?
    along = (dp * p).sum(axis=-1, keepdims=True)
    return p * (dp - along)
    # end of your code


# %% what it is called with
returns = "dx"
section = "The Jacobian that nobody builds"
stars, minutes = 3, 20


def case(rng, B, T, K):
    return rng.standard_normal((B, T, K)), softmax(rng.standard_normal((B, T, K)))


@edge("an entry of each row is masked out: p is 0 there")
def masked(rng, T, K):
    x = rng.standard_normal((T, K))
    x[np.arange(T), rng.integers(0, K, T)] = -np.inf
    return rng.standard_normal((T, K)), softmax(x)


def softmax(x):
    e = np.exp(x - x.real.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def loss(dp, p):
    """x is known from p up to a constant in each row, which softmax does not notice."""
    return lambda x: (dp * softmax(x)).sum(), [np.log(p)]


def terms(dp, p):
    return {"p dp": p * dp, "- p sum(dp p)": -p * (dp * p).sum(axis=-1, keepdims=True)}


@invariant("each row of dx must sum to 0, because a constant added to a row of scores changes no probability")
def rows(dx, dp, p):
    return dx.sum(axis=-1)


@plugs(functional.softmax_backward)
def in_the_model(own):
    return lambda dp, cache: own(dp, cache.p)


# %% hints
hints = (
    "Add 1 to every score of a row: what happens to p? So what must a row of dx sum to, whatever dp is?",
    "Two terms: p dp, and p times the sum of dp p over the row. The second is what makes the row sum to 0.",
    "along = (dp * p).sum(axis=___, keepdims=True)",
)


# %% mistakes
@mistake("the sum over the row is missing: dx = p dp")
def sum_missing(dp, p):
    return p * dp


@mistake("only the diagonal of the Jacobian is used: dx = p (1 - p) dp; a score moves every probability of its row")
def diagonal(dp, p):
    return p * (1 - p) * dp


@mistake("the diagonal of the Jacobian is missing: a score moves its own probability, too")
def without_diagonal(dp, p):
    return p * (p * dp - (dp * p).sum(axis=-1, keepdims=True))


@mistake("the first term lacks p: the Jacobian is diag(p) - p p^T, not I - p p^T")
def identity(dp, p):
    return dp - p * (dp * p).sum(axis=-1, keepdims=True)


@mistake("the second term has the factor p once too often: dx = p (dp - p sum(dp p))")
def p_twice(dp, p):
    return p * (dp - p * (dp * p).sum(axis=-1, keepdims=True))


@mistake("dp is outside the sum: the sum over the row is that of the products dp p")
def sum_of_p(dp, p):
    return p * (dp - dp * p.sum(axis=-1, keepdims=True))


@mistake("the sum over the row is added, not subtracted")
def sum_added(dp, p):
    return p * (dp + (dp * p).sum(axis=-1, keepdims=True))


@mistake("the sum is that of dp alone, without p: sum(dp) in place of sum(dp p)")
def sum_unweighted(dp, p):
    return p * (dp - dp.sum(axis=-1, keepdims=True))


@mistake("both factors p are in front of the sum: one of them belongs inside, with its dp")
def p_in_front(dp, p):
    return p * (dp - p * dp.sum(axis=-1, keepdims=True))


@mistake("the sum runs over the wrong axis: over the rows, not along each row")
def wrong_axis(dp, p):
    return p * (dp - (dp * p).sum(axis=-2, keepdims=True))


@mistake("the sum runs over the complete array, not along each row")
def all_axes(dp, p):
    return p * (dp - (dp * p).sum())


@mistake("the sum became a mean: it is divided by the length of the row")
def mean_for_sum(dp, p):
    return p * (dp - (dp * p).mean(axis=-1, keepdims=True))


@mistake("the factor p in front is missing: dx = dp - sum(dp p)")
def without_p(dp, p):
    return dp - (dp * p).sum(axis=-1, keepdims=True)


@mistake("the sum is not multiplied by p: dx = p dp - sum(dp p)")
def sum_without_p(dp, p):
    return p * dp - (dp * p).sum(axis=-1, keepdims=True)


@mistake("this is p - dp, the gradient of a loss that contains the softmax: here dp is any gradient")
def cross_entropy(dp, p):
    return p - dp


@mistake("this is p (1 - p), the diagonal of the Jacobian by itself: dp is missing, and so are all other scores")
def without_dp(dp, p):
    return p * (1 - p)


@mistake("this is the gradient of the logarithm of the softmax: dx = dp - p sum(dp)")
def of_the_logarithm(dp, p):
    return dp - p * dp.sum(axis=-1, keepdims=True)


# %% other right solutions
@also_right
def with_einsum(gradient, probabilities):
    return probabilities * (gradient - np.einsum("...k,...k->...", gradient, probabilities)[..., None])


@also_right
def with_jacobian(dp, p):
    dx = np.empty_like(dp)
    for row in np.ndindex(p.shape[:-1]):
        jacobian = np.diag(p[row]) - np.outer(p[row], p[row])
        dx[row] = jacobian.T @ dp[row]
    return dx
