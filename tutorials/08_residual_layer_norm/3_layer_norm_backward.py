"""The backward of LayerNorm

The most famous wrong gradient. Three ways lead from x to y: x itself, the mean, and the variance. Each of them gives a term.
"""

import numpy as np

from minitransformer.functional.layer_norm import layer_norm_backward as library
from minitransformer.learn import also_right, edge, invariant, mistake, plugs


# %% reference
def layer_norm_backward(dy, normed, inverse, gamma):
    """dy, normed: (..., D); inverse: (..., 1), 1 / sqrt(variance + epsilon); gamma: (D,). Returns dx (..., D), dgamma, dbeta (D,)."""
    # your code: the gradient of the normed row, its two means, then the three gradients
    dn = dy * gamma
    mean = dn.mean(axis=-1, keepdims=True)
    along = (dn * normed).mean(axis=-1, keepdims=True)
    dx = inverse * (dn - mean - normed * along)
    rows = tuple(range(dy.ndim - 1))
    return dx, (dy * normed).sum(axis=rows), dy.sum(axis=rows)
    # end of your code


# %% what it is called with
returns = "dx dgamma dbeta"
section = "The backward of LayerNorm"
EPSILON = 1e-5


def case(rng, B, T, D):
    x = 2 * rng.standard_normal((B, T, D))
    normed, inverse = norm(x)
    return rng.standard_normal(x.shape), normed, inverse, rng.standard_normal(D)


@edge("a single row")
def single(rng, D):
    normed, inverse = norm(rng.standard_normal((1, 1, D + 2)))
    return rng.standard_normal((1, 1, D + 2)), normed, inverse, rng.standard_normal(D + 2)


def norm(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    inverse = 1 / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + EPSILON)
    return centred * inverse, inverse


def loss(dy, normed, inverse, gamma):
    """x is known up to each row's mean, which LayerNorm does not notice."""
    return lambda x, gamma, beta: (dy * (gamma * norm(x)[0] + beta)).sum(), [normed / inverse, gamma, np.zeros_like(gamma)]


def terms(dy, normed, inverse, gamma):
    dn = dy * gamma
    return {"dn / std": inverse * dn, "- mean(dn) / std": -inverse * dn.mean(axis=-1, keepdims=True) * np.ones_like(dn),
            "- n mean(dn n) / std": -inverse * normed * (dn * normed).mean(axis=-1, keepdims=True)}


@invariant("each row of dx must sum to 0, because a constant added to a row of x changes nothing")
def shift(answer, dy, normed, inverse, gamma):
    return answer[0].sum(axis=-1)


@invariant("dx must be orthogonal to the normed row (but for epsilon), because a row that grows changes nothing")
def growth(answer, dy, normed, inverse, gamma):
    dn = dy * gamma
    rest = (1 - (normed * normed).mean(axis=-1)) * (dn * normed).sum(axis=-1) * inverse[..., 0]
    return (answer[0] * normed).sum(axis=-1) - rest


@plugs(library)
def in_the_model(own):
    return lambda dy, cache: own(dy, cache.normed, cache.inverse, cache.gamma)


# %% hints
hints = (
    "Add 1 to a row of x, then double it: what happens to y? So which two vectors must dx be orthogonal to?",
    "Three terms in brackets: dn; minus its mean, for the way through the mean; minus n times the mean of dn n, for the way through the variance.",
    "dx = inverse * (dn - mean - ___)",
)


# %% mistakes
def made(dy, normed, inverse, gamma, dx=None, dgamma=None, dbeta=None):
    dn, rows = dy * gamma, tuple(range(dy.ndim - 1))
    m, along = dn.mean(axis=-1, keepdims=True), (dn * normed).mean(axis=-1, keepdims=True)
    return (inverse * (dn - m - normed * along) if dx is None else dx(dn, m, along),
            (dy * normed).sum(axis=rows) if dgamma is None else dgamma, dy.sum(axis=rows) if dbeta is None else dbeta)


@mistake("the term of the mean is missing: - mean(dn)", hint=2)
def mean_missing(dy, normed, inverse, gamma):
    return made(dy, normed, inverse, gamma, lambda dn, m, along: inverse * (dn - normed * along))


@mistake("the term of the variance is missing: - n mean(dn n)", hint=4)
def variance_missing(dy, normed, inverse, gamma):
    return made(dy, normed, inverse, gamma, lambda dn, m, along: inverse * (dn - m))


@mistake("both mean terms are missing: mean and variance are treated as constants", hint=2)
def both_missing(dy, normed, inverse, gamma):
    return made(dy, normed, inverse, gamma, lambda dn, m, along: inverse * dn)


@mistake("the factor 1 / standard deviation is missing", hint=3)
def inverse_missing(dy, normed, inverse, gamma):
    return made(dy, normed, inverse, gamma, lambda dn, m, along: dn - m - normed * along)


@mistake("dx has the wrong sign: with an upstream gradient of ones nobody would notice", hint=3)
def sign(dy, normed, inverse, gamma):
    return made(dy, normed, inverse, gamma, lambda dn, m, along: -inverse * (dn - m - normed * along))


@mistake("gamma is multiplied outside the two means: they have to be means of dy gamma", hint=3)
def gamma_outside(dy, normed, inverse, gamma):
    m, along = dy.mean(axis=-1, keepdims=True), (dy * normed).mean(axis=-1, keepdims=True)
    return made(dy, normed, inverse, gamma, lambda *_: inverse * gamma * (dy - m - normed * along))


@mistake("gamma is missing in dx", hint=3)
def gamma_missing(dy, normed, inverse, gamma):
    return made(dy, normed, inverse, np.ones_like(gamma))


@mistake("the means are sums: they are not divided by D", hint=2)
def sums(dy, normed, inverse, gamma):
    D = dy.shape[-1]
    return made(dy, normed, inverse, gamma, lambda dn, m, along: inverse * (dn - D * m - normed * D * along))


@mistake("the term of the variance is added, not subtracted", hint=4)
def variance_added(dy, normed, inverse, gamma):
    return made(dy, normed, inverse, gamma, lambda dn, m, along: inverse * (dn - m + normed * along))


@mistake("the term of the variance lacks the factor n", hint=4)
def variance_without_n(dy, normed, inverse, gamma):
    return made(dy, normed, inverse, gamma, lambda dn, m, along: inverse * (dn - m - along))


@mistake("dgamma lacks the factor n: it is dy summed over the rows, as dbeta", hint=3)
def dgamma_without_n(dy, normed, inverse, gamma):
    return made(dy, normed, inverse, gamma, dgamma=dy.sum(axis=tuple(range(dy.ndim - 1))))


@mistake("dgamma and dbeta are means over the rows, not sums", hint=3)
def parameter_means(dy, normed, inverse, gamma):
    rows = tuple(range(dy.ndim - 1))
    return made(dy, normed, inverse, gamma, dgamma=(dy * normed).mean(axis=rows), dbeta=dy.mean(axis=rows))


# %% other right solutions
@also_right
def with_einsum(g, n, s, scale):
    d, h = g.shape[-1], g * scale
    a, b = h.sum(-1)[..., None] / d, np.einsum("...d,...d->...", h, n)[..., None] / d
    return (h - a - n * b) * s, np.einsum("nd,nd->d", g.reshape(-1, d), n.reshape(-1, d)), g.reshape(-1, d).sum(0)


@also_right
def with_jacobian(dy, normed, inverse, gamma):
    dx, D = np.empty_like(dy), dy.shape[-1]
    for row in np.ndindex(dy.shape[:-1]):
        jacobian = inverse[row] * (np.eye(D) - 1 / D - np.outer(normed[row], normed[row]) / D)
        dx[row] = jacobian.T @ (dy[row] * gamma)
    return dx, (dy * normed).reshape(-1, D).sum(0), dy.reshape(-1, D).sum(0)
