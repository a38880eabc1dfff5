"""What changes without the mean

RMSNorm leaves the mean alone: s = 1 / sqrt(mean(x x) + epsilon), n = x s, and y = gamma n. From dy, derive the gradients of x and
gamma. One of the two rules that LayerNorm's dx keeps still holds here. Which one?
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def rms_norm_backward(dy, n, s, gamma):
    """dy, n: (..., D); s: (..., 1), 1 / root of the mean square; gamma: (D,). Returns dx (..., D) and dgamma (D,)."""
    # your code: count the paths from x to n again
    dn = dy * gamma
    along = (dn * n).mean(axis=-1, keepdims=True)
    dx = s * (dn - n * along)
    rows = tuple(range(dy.ndim - 1))
    dgamma = (dy * n).sum(axis=rows)
    return dx, dgamma
    # end of your code


# %% what it is called with
returns = "dx dgamma"
section = "Your Transformer"
stars, minutes = 2, 10


def case(rng, B, T, D):
    return made(rng, (B, T, 6 + D))


@edge("rows without a batch")
def rows(rng, N, D):
    return made(rng, (N, 6 + D))


@edge("four axes")
def four_axes(rng, A, B, T, D):
    return made(rng, (A, B, T, 6 + D))


def made(rng, shape):
    n, s = norm(1 + 2 * rng.standard_normal(shape))
    return rng.standard_normal(shape), n, s, 1 + rng.standard_normal(shape[-1]) / 2


def norm(x):
    s = 1 / np.sqrt((x * x).mean(axis=-1, keepdims=True))    # without epsilon the invariant is exact
    return x * s, s


def loss(dy, n, s, gamma):
    return lambda x, gamma: (dy * gamma * norm(x)[0]).sum(), [n / s, gamma]


def terms(dy, n, s, gamma):
    dn = dy * gamma
    return {"s dn": s * dn, "- s n mean(dn n)": -s * n * (dn * n).mean(axis=-1, keepdims=True)}


@invariant("each row of dx must be orthogonal to n, because stretching a row of x changes nothing")
def stretched(answer, dy, n, s, gamma):
    return (answer[0] * n).sum(axis=-1)


# %% hints
hints = (
    "Add 1 to every number of a row, or double the row: which of them leaves n unchanged? So what is the dot product of dx and n?",
    "With dn = dy gamma: dn arrives directly, and the path through s removes its part along n. No path leads through a mean.",
    "dx = s * (dn - ___)",
)


# %% mistakes
def mean(x):
    return x.mean(axis=-1, keepdims=True)


def with_dx(dx, dy, n):
    return dx, (dy * n).sum(axis=tuple(range(dy.ndim - 1)))


@mistake("that is LayerNorm's dx: here no mean was subtracted, so no path leads through it")
def layer_norm(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(s * (dn - mean(dn) - n * mean(dn * n)), dy, n)


@mistake("s is treated as a constant: the path through it is missing")
def constant(dy, n, s, gamma):
    return with_dx(s * (dy * gamma), dy, n)


@mistake("mean(dn) is subtracted, but the path through s is missing: RMSNorm subtracts no mean, but s depends on x")
def mean_for_s(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(s * (dn - mean(dn)), dy, n)


@mistake("gamma is multiplied outside the mean: it belongs inside the mean, which averages dn n with dn = dy gamma")
def gamma_outside(dy, n, s, gamma):
    return with_dx(gamma * s * (dy - n * mean(dy * n)), dy, n)


@mistake("gamma is missing from dx: n was multiplied by it")
def gamma_missing(dy, n, s, gamma):
    return with_dx(s * (dy - n * mean(dy * n)), dy, n)


@mistake("gamma is missing inside the mean: it averages dn n, not dy n")
def gamma_not_in_mean(dy, n, s, gamma):
    return with_dx(s * (dy * gamma - n * mean(dy * n)), dy, n)


@mistake("the factor s is missing from dx")
def s_missing(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(dn - n * mean(dn * n), dy, n)


@mistake("dx is divided by s: s is 1 / root of the mean square already")
def divided_by_s(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx((dn - n * mean(dn * n)) / s, dy, n)


@mistake("s multiplies dn only: it belongs to both terms")
def s_for_the_first_term(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(s * dn - n * mean(dn * n), dy, n)


@mistake("the path through s is added, not subtracted: s falls as x grows")
def added(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(s * (dn + n * mean(dn * n)), dy, n)


@mistake("the mean is a sum: it is not divided by D")
def summed(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(s * (dn - n.shape[-1] * n * mean(dn * n)), dy, n)


@mistake("the path through s is counted twice: the 2 of the square and the 1/2 of the root cancel")
def doubled(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(s * (dn - 2 * n * mean(dn * n)), dy, n)


@mistake("the path through s lacks the factor n")
def n_missing(dy, n, s, gamma):
    dn = dy * gamma
    return with_dx(s * (dn - mean(dn * n)), dy, n)


@mistake("dgamma is the sum of dn n: take dy, the gradient after gamma")
def dgamma_of_dn(dy, n, s, gamma):
    dx, dgamma = rms_norm_backward(dy, n, s, gamma)
    return dx, dgamma * gamma


@mistake("dgamma lacks the factor n, by which gamma was multiplied")
def dgamma_without_n(dy, n, s, gamma):
    return rms_norm_backward(dy, n, s, gamma)[0], dy.sum(axis=tuple(range(dy.ndim - 1)))


@mistake("dgamma is a mean over the rows, not a sum")
def averaged(dy, n, s, gamma):
    dx, dgamma = rms_norm_backward(dy, n, s, gamma)
    return dx, dgamma / (dy.size // dy.shape[-1])


@mistake("dgamma is summed over the first axis only: every row, of every sentence, used gamma")
def first_axis_only(dy, n, s, gamma):
    return rms_norm_backward(dy, n, s, gamma)[0], (dy * n).sum(axis=0)


@mistake("dgamma is summed over the first two axes: right for (B, T, D), but x may have any number of axes")
def two_axes_only(dy, n, s, gamma):
    return rms_norm_backward(dy, n, s, gamma)[0], (dy * n).sum(axis=(0, 1))


# %% other right solutions
@also_right
def with_einsum(g, normed, inverse, weight):
    d = normed.shape[-1]
    dn = np.einsum("...d,d->...d", g, weight)
    dx = inverse * (dn - normed * (np.einsum("...d,...d->...", dn, normed)[..., None] / d))
    return dx, np.einsum("nd,nd->d", g.reshape(-1, d), normed.reshape(-1, d))


@also_right
def with_jacobian(dy, n, s, gamma):
    d, dx = n.shape[-1], np.empty_like(dy)
    for row in np.ndindex(n.shape[:-1]):
        dx[row] = s[row] * ((np.eye(d, dtype=n.dtype) - np.outer(n[row], n[row]) / d) @ (gamma * dy[row]))
    return dx, (dy.reshape(-1, d) * n.reshape(-1, d)).sum(axis=0)
