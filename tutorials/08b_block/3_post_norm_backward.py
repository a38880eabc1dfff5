"""Backward through a post-norm residual

Forward, as in the paper: z = x + x W, then y = LayerNorm(z). Here the sub-layer is one matrix, gamma is 1 and beta is 0. You get
n and s of z from the forward. Return the gradients of x and W.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def post_norm_backward(dy, x, W, n, s):
    """dy, x, n: (..., D); W: (D, D); s: (..., 1), 1 / standard deviation of z. Returns dx (..., D) and dW (D, D)."""
    # your code: dy comes from above; what does it meet first?
    along = (dy * n).mean(axis=-1, keepdims=True)
    dz = s * (dy - dy.mean(axis=-1, keepdims=True) - n * along)
    dx = dz + dz @ W.T
    D = W.shape[0]
    dW = x.reshape(-1, D).T @ dz.reshape(-1, D)
    return dx, dW
    # end of your code


# %% what it is called with
returns = "dx dW"
section = "Pre-norm and post-norm"
stars, minutes = 3, 20


def case(rng, B, T, D):
    return made(rng, (B, T, 6 + D))


@edge("rows without a batch")
def rows(rng, N, D):
    return made(rng, (N, 6 + D))


@edge("four axes")
def four_axes(rng, A, B, T, D):
    return made(rng, (A, B, T, 6 + D))


def made(rng, shape):
    x, W = rng.standard_normal(shape), rng.standard_normal((shape[-1], shape[-1]))
    return rng.standard_normal(shape), x, W, *norm(x + x @ W)


def norm(z):
    centred = z - z.mean(axis=-1, keepdims=True)
    s = 1 / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)
    return centred * s, s


def loss(dy, x, W, n, s):
    return lambda x, W: (dy * norm(x + x @ W)[0]).sum(), [x, W]


@invariant("a constant added to a row of z changes nothing: each row of dW must sum to 0")
def shifted(answer, dy, x, W, n, s):
    return answer[1].sum(axis=-1)


# %% hints
hints = (
    "x reaches z by two paths: which? And can the gradient of either of them avoid the LayerNorm, which comes after both?",
    "LayerNorm's backward (chapter 8, gamma = 1) turns dy into dz. Two paths lead from x to z: add what comes through each.",
    "dx = dz + ___",
)


# %% mistakes
def mean(x):
    return x.mean(axis=-1, keepdims=True)


def through(dy, n, s):
    return s * (dy - mean(dy) - n * mean(dy * n))


def of_weight(x, dz):
    return x.reshape(-1, x.shape[-1]).T @ dz.reshape(-1, x.shape[-1])


@mistake("the residual path is missing: dx lacks dz itself")
def shortcut_missing(dy, x, W, n, s):
    dz = through(dy, n, s)
    return dz @ W.T, of_weight(x, dz)


@mistake("the sub-layer's path is missing: dx is dz alone")
def branch_missing(dy, x, W, n, s):
    dz = through(dy, n, s)
    return dz.copy(), of_weight(x, dz)


@mistake("the residual path takes dy around the LayerNorm: in post-norm the norm comes after the sum, so it needs dz")
def around_the_norm(dy, x, W, n, s):
    dz = through(dy, n, s)
    return dy + dz @ W.T, of_weight(x, dz)


@mistake("the LayerNorm is skipped: dz = dy")
def norm_skipped(dy, x, W, n, s):
    return dy + dy @ W.T, of_weight(x, dy)


@mistake("dW uses dy, which comes from above the LayerNorm: it needs dz")
def weight_of_dy(dy, x, W, n, s):
    dz = through(dy, n, s)
    return dz + dz @ W.T, of_weight(x, dy)


@mistake("that is pre-norm's order: the LayerNorm's backward is applied after the sub-layer's, on its path only")
def pre_norm(dy, x, W, n, s):
    return dy + through(dy @ W.T, n, s), of_weight(x, dy)


@mistake("W is not transposed in dx: a square W keeps the shape")
def untransposed(dy, x, W, n, s):
    dz = through(dy, n, s)
    return dz + dz @ W, of_weight(x, dz)


@mistake("the LayerNorm's mean and variance are treated as constants: dz = s dy")
def constants(dy, x, W, n, s):
    return s * dy + (s * dy) @ W.T, of_weight(x, s * dy)


@mistake("the two paths are averaged, not added")
def halved(dy, x, W, n, s):
    dz = through(dy, n, s)
    return (dz + dz @ W.T) / 2, of_weight(x, dz)


@mistake("the residual path is counted twice")
def twice(dy, x, W, n, s):
    dz = through(dy, n, s)
    return dz + dz + dz @ W.T, of_weight(x, dz)


@mistake("dW uses n, the output of the LayerNorm: the sub-layer received x")
def weight_of_n(dy, x, W, n, s):
    dz = through(dy, n, s)
    return dz + dz @ W.T, of_weight(n, dz)


@mistake("the sub-layer's path takes dy, which comes from above the LayerNorm: it needs dz, as the residual path does")
def branch_around_the_norm(dy, x, W, n, s):
    dz = through(dy, n, s)
    return dz + dy @ W.T, of_weight(x, dz)


@mistake("LayerNorm's mean term, mean(dy), is missing from dz")
def mean_constant(dy, x, W, n, s):
    dz = s * (dy - n * mean(dy * n))
    return dz + dz @ W.T, of_weight(x, dz)


@mistake("LayerNorm's variance term, n mean(dy n), is missing from dz")
def variance_constant(dy, x, W, n, s):
    dz = s * (dy - mean(dy))
    return dz + dz @ W.T, of_weight(x, dz)


@mistake("dW is transposed: a square W keeps the shape")
def weight_transposed(dy, x, W, n, s):
    dz = through(dy, n, s)
    return dz + dz @ W.T, of_weight(dz, x)


@mistake("LayerNorm's means are sums: they are not divided by D")
def sums(dy, x, W, n, s):
    dz = s * (dy - dy.shape[-1] * (mean(dy) + n * mean(dy * n)))
    return dz + dz @ W.T, of_weight(x, dz)


@mistake("LayerNorm's second mean, that of dy n, is a sum: it is not divided by D")
def sum_along(dy, x, W, n, s):
    dz = s * (dy - mean(dy) - dy.shape[-1] * n * mean(dy * n))
    return dz + dz @ W.T, of_weight(x, dz)


@mistake("the factor s is missing from dz")
def s_missing(dy, x, W, n, s):
    dz = through(dy, n, s) / s
    return dz + dz @ W.T, of_weight(x, dz)


@mistake("dz is divided by s: s is 1 / standard deviation already")
def divided_by_s(dy, x, W, n, s):
    dz = through(dy, n, s) / (s * s)
    return dz + dz @ W.T, of_weight(x, dz)


@mistake("LayerNorm's two means are added, not subtracted")
def means_added(dy, x, W, n, s):
    dz = s * (dy + mean(dy) + n * mean(dy * n))
    return dz + dz @ W.T, of_weight(x, dz)


@mistake("LayerNorm's variance term lacks the factor n")
def n_missing(dy, x, W, n, s):
    dz = s * (dy - mean(dy) - mean(dy * n))
    return dz + dz @ W.T, of_weight(x, dz)


@mistake("the sub-layer's path is subtracted, not added")
def subtracted(dy, x, W, n, s):
    dz = through(dy, n, s)
    return dz - dz @ W.T, of_weight(x, dz)


@mistake("dy is added to dx: there is no path around the LayerNorm")
def with_dy(dy, x, W, n, s):
    dz = through(dy, n, s)
    return dy + dz + dz @ W.T, of_weight(x, dz)


@mistake("dW is a mean over the rows, not a sum")
def averaged(dy, x, W, n, s):
    dz = through(dy, n, s)
    return dz + dz @ W.T, of_weight(x, dz) / (x.size // x.shape[-1])


@mistake("LayerNorm's two means are swapped: n belongs to the mean of dy n")
def means_swapped(dy, x, W, n, s):
    dz = s * (dy - mean(dy * n) - n * mean(dy))
    return dz + dz @ W.T, of_weight(x, dz)


@mistake("dW uses z, the sum: the sub-layer received x")
def weight_of_z(dy, x, W, n, s):
    dz = through(dy, n, s)
    return dz + dz @ W.T, of_weight(x + x @ W, dz)


# %% other right solutions
@also_right
def with_einsum(g, rows, weight, normed, inverse):
    d = weight.shape[0]
    dz = inverse * (g - (np.einsum("...d->...", g)[..., None] + normed * np.einsum("...d,...d->...", g, normed)[..., None]) / d)
    return dz @ (np.eye(d, dtype=g.dtype) + weight).T, np.einsum("nd,ne->de", rows.reshape(-1, d), dz.reshape(-1, d))


@also_right
def with_loops(dy, x, W, n, s):
    dx, dW = np.zeros_like(x), np.zeros_like(W)
    for row in np.ndindex(x.shape[:-1]):
        dz = s[row] * (dy[row] - dy[row].mean() - n[row] * (dy[row] * n[row]).mean())
        dx[row] = dz + W @ dz
        dW += np.outer(x[row], dz)
    return dx, dW
