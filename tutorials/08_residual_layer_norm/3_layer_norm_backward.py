"""The gradient of LayerNorm

From dy, the gradient of the loss with respect to y = gamma n + beta, derive the gradients of x, gamma and beta. Three paths lead
from a number of x to the n of its row: do not forget two of them. A row of dx sums to 0, and it is orthogonal to n.
"""

import numpy as np

from minitransformer import functional
from minitransformer_course.judge import also_right, edge, invariant, mistake, plugs


# %% reference
def layer_norm_backward(dy, n, s, gamma):
    """dy, n: (..., D); s: (..., 1), 1 / standard deviation; gamma: (D,). Returns dx (..., D), dgamma (D,), dbeta (D,)."""
    # your code: three terms make dx; gamma and beta were used in every row
    dn = dy * gamma
    mean = dn.mean(axis=-1, keepdims=True)
    along = (dn * n).mean(axis=-1, keepdims=True)
    dx = s * (dn - mean - n * along)
    rows = tuple(range(dy.ndim - 1))
    dgamma = (dy * n).sum(axis=rows)
    dbeta = dy.sum(axis=rows)
    return dx, dgamma, dbeta
    # end of your code


# %% what it is called with
returns = "dx dgamma dbeta"
section = "LayerNorm's backward: three paths to the loss"
stars, minutes = 3, 40


def case(rng, B, T, D):
    return made(rng, (B, T, 6 + D))


@edge("rows without a batch")
def rows(rng, N, D):
    return made(rng, (N, 6 + D))


@edge("four axes")
def four_axes(rng, A, B, T, D):
    return made(rng, (A, B, T, 6 + D))


def made(rng, shape):
    n, s = norm(2 * rng.standard_normal(shape))
    return rng.standard_normal(shape), n, s, 1 + rng.standard_normal(shape[-1]) / 2


def norm(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    s = 1 / np.sqrt((centred * centred).mean(axis=-1, keepdims=True))    # without epsilon the invariants are exact
    return centred * s, s


def loss(dy, n, s, gamma):
    """x is known from n and s up to a constant in each row, which LayerNorm does not notice."""
    return lambda x, gamma, beta: (dy * (gamma * norm(x)[0] + beta)).sum(), [n / s, gamma, np.zeros_like(gamma)]


def terms(dy, n, s, gamma):
    dn = dy * gamma
    return {"s dn": s * dn, "- s mean(dn)": 0 * dn - s * dn.mean(axis=-1, keepdims=True),
            "- s n mean(dn n)": -s * n * (dn * n).mean(axis=-1, keepdims=True)}


@invariant("each row of dx must sum to 0, because a constant added to a row of x changes nothing")
def shifted(answer, dy, n, s, gamma):
    return answer[0].sum(axis=-1)


@invariant("each row of dx must be orthogonal to n, because stretching a row of x changes nothing")
def stretched(answer, dy, n, s, gamma):
    return (answer[0] * n).sum(axis=-1)


@plugs(functional.layer_norm_backward)
def in_the_model(own):
    return lambda dy, cache: own(dy, cache.normed, cache.inverse, cache.gamma)


# %% hints
hints = (
    "Add 1 to every number of a row: what happens to n? Double the row: what happens now? So what are sum(dx) and sum(dx n)?",
    "With dn = dy gamma: dn arrives directly, the path through the mean removes its mean, and the one through s its part along n.",
    "dx = s * (dn - mean - ___)",
)


# %% mistakes
def mean(x, axis=-1):
    return x.mean(axis=axis, keepdims=True)


def with_dx(dx, dy, n):
    return dx, (dy * n).sum(axis=tuple(range(dy.ndim - 1))), dy.sum(axis=tuple(range(dy.ndim - 1)))


@mistake("the variance term, n mean(dn n), is missing")
def variance_constant(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(s * (dn - mean(dn)), dy, n)


@mistake("the mean term, mean(dn), is missing")
def mean_constant(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(s * (dn - n * mean(dn * n)), dy, n)


@mistake("mean and variance are treated as constants: two of the three terms are missing")
def both_constant(dy, n, s, gamma):
    return with_dx(s * (dy * gamma), dy, n)


@mistake("gamma is multiplied outside the two means: it belongs inside them, because they average dn = dy gamma")
def gamma_outside(dy, n, s, gamma):
    return with_dx(gamma * s * (dy - mean(dy) - n * mean(dy * n)), dy, n)


@mistake("gamma is missing from dx: n was multiplied by it")
def gamma_missing(dy, n, s, gamma):
    return with_dx(s * (dy - mean(dy) - n * mean(dy * n)), dy, n)


@mistake("the factor s, 1 / standard deviation, is missing from dx")
def s_missing(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(dn - mean(dn) - n * mean(dn * n), dy, n)


@mistake("the two means are added, not subtracted")
def added(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(s * (dn + mean(dn) + n * mean(dn * n)), dy, n)


@mistake("the variance term lacks the factor n: mean(dn n) is subtracted from every number alike")
def n_missing(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(s * (dn - mean(dn) - mean(dn * n)), dy, n)


@mistake("the two means are sums: they are not divided by D")
def sums(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(s * (dn - n.shape[-1] * (mean(dn) + n * mean(dn * n))), dy, n)


@mistake("the two means run over the rows (axis -2), not along each row")
def wrong_axis(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(s * (dn - mean(dn, -2) - n * mean(dn * n, -2)), dy, n)


@mistake("this is BatchNorm's backward: the two means run over all rows, for each column, not along each row")
def batch_norm(dy, n, s, gamma):
    dn, rows = dy * gamma, tuple(range(dy.ndim - 1))
    return with_dx(s * (dn - mean(dn, rows) - n * mean(dn * n, rows)), dy, n)


@mistake("dgamma and dbeta are swapped: they are returned in the wrong order")
def swapped(dy, n, s, gamma):
    dx, dgamma, dbeta = layer_norm_backward(dy, n, s, gamma)
    return dx, dbeta, dgamma


@mistake("dgamma lacks the factor n, by which gamma was multiplied")
def dgamma_without_n(dy, n, s, gamma):
    dx, dgamma, dbeta = layer_norm_backward(dy, n, s, gamma)
    return dx, dbeta, dbeta.copy()


@mistake("dgamma and dbeta are sums of dn: take dy, the gradient after gamma and beta")
def parameters_of_dn(dy, n, s, gamma):
    dx, dgamma, dbeta = layer_norm_backward(dy, n, s, gamma)
    return dx, dgamma * gamma, dbeta * gamma


@mistake("dgamma is multiplied by gamma: it has to be the sum of dy n, not of dn n")
def dgamma_of_dn(dy, n, s, gamma):
    dx, dgamma, dbeta = layer_norm_backward(dy, n, s, gamma)
    return dx, dgamma * gamma, dbeta


@mistake("dgamma and dbeta are means over the rows, not sums")
def averaged(dy, n, s, gamma):
    dx, dgamma, dbeta = layer_norm_backward(dy, n, s, gamma)
    count = dy.size // dy.shape[-1]
    return dx, dgamma / count, dbeta / count


@mistake("the variance term is counted twice: the 2 of the square and the 1/2 of the root cancel")
def variance_doubled(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(s * (dn - mean(dn) - 2 * n * mean(dn * n)), dy, n)


@mistake("gamma is missing inside the two means: they average dn, not dy")
def gamma_not_in_means(dy, n, s, gamma):
    return with_dx(s * (dy * gamma - mean(dy) - n * mean(dy * n)), dy, n)


@mistake("dx is divided by s: s is 1 / standard deviation already")
def divided_by_s(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx((dn - mean(dn) - n * mean(dn * n)) / s, dy, n)


@mistake("dgamma and dbeta are summed over the first axis only: every row, of every sentence, used them")
def first_axis_only(dy, n, s, gamma):
    return layer_norm_backward(dy, n, s, gamma)[0], (dy * n).sum(axis=0), dy.sum(axis=0)


@mistake("dgamma and dbeta are summed over the first two axes: right for (B, T, D), but x may have any number of axes")
def two_axes_only(dy, n, s, gamma):
    return layer_norm_backward(dy, n, s, gamma)[0], (dy * n).sum(axis=(0, 1)), dy.sum(axis=(0, 1))


@mistake("the mean term, mean(dn), is added, not subtracted")
def mean_added(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(s * (dn + mean(dn) - n * mean(dn * n)), dy, n)


@mistake("the variance term, n mean(dn n), is added, not subtracted")
def variance_added(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(s * (dn - mean(dn) + n * mean(dn * n)), dy, n)


@mistake("the first mean, that of dn, is a sum: it is not divided by D")
def first_sum(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(s * (dn - n.shape[-1] * mean(dn) - n * mean(dn * n)), dy, n)


@mistake("the second mean, that of dn n, is a sum: it is not divided by D")
def second_sum(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(s * (dn - mean(dn) - n.shape[-1] * n * mean(dn * n)), dy, n)


@mistake("s multiplies dn only: it belongs to all three terms")
def s_for_the_first_term(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(s * dn - mean(dn) - n * mean(dn * n), dy, n)


@mistake("s, 1 / standard deviation, is applied twice in dx")
def s_twice(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(s * s * (dn - mean(dn) - n * mean(dn * n)), dy, n)


@mistake("gamma is applied twice in dx")
def gamma_twice(dy, n, s, gamma):
    dn = dy * gamma * gamma
    return with_dx(s * (dn - mean(dn) - n * mean(dn * n)), dy, n)


@mistake("the variance term averages dy n: gamma is missing from it")
def gamma_not_in_variance(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(s * (dn - mean(dn) - n * mean(dy * n)), dy, n)


@mistake("the mean term averages dy: gamma is missing from it")
def gamma_not_in_mean(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(s * (dn - mean(dy) - n * mean(dn * n)), dy, n)


@mistake("the two means are swapped: n belongs to the mean of dn n")
def means_swapped(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(s * (dn - mean(dn * n) - n * mean(dn)), dy, n)


@mistake("dx is D times too large: a 1/D that was moved out of the means got lost")
def d_times(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(s * (n.shape[-1] * dn - n.shape[-1] * mean(dn) - n.shape[-1] * n * mean(dn * n)), dy, n)


# %% other right solutions
@also_right
def with_einsum(g, normed, inverse, weight):
    d = normed.shape[-1]
    dn = np.einsum("...d,d->...d", g, weight)
    dx = dn - np.einsum("...d->...", dn)[..., None] / d - normed * (np.einsum("...d,...d->...", dn, normed)[..., None] / d)
    g, normed = g.reshape(-1, d), normed.reshape(-1, d)
    return dx * inverse, np.einsum("nd,nd->d", g, normed), np.einsum("nd->d", g)


@also_right
def with_jacobian(dy, n, s, gamma):
    d, dx = n.shape[-1], np.empty_like(dy)
    for row in np.ndindex(n.shape[:-1]):
        jacobian = s[row] * (np.eye(d) - 1 / d - np.outer(n[row], n[row]) / d)
        dx[row] = jacobian.T @ (gamma * dy[row])
    flat = dy.reshape(-1, d)
    return dx, (flat * n.reshape(-1, d)).sum(axis=0), flat.sum(axis=0)
