"""LayerNorm

Shift and scale each row to mean 0 and variance 1, then give each column a factor gamma and a shift beta. Return the output, and what
backward will need: the normed rows, and 1 / standard deviation.
"""

import numpy as np

from minitransformer.functional.layer_norm import LayerNormCache, layer_norm_forward
from minitransformer.learn import also_right, edge, invariant, mistake, plugs


# %% reference
def layer_norm(x, gamma, beta, epsilon):
    """x: (..., D); gamma, beta: (D,); epsilon: a small number. Returns y (..., D), normed (..., D) and inverse (..., 1)."""
    # your code: centre each row, divide by sqrt(variance + epsilon), then gamma and beta
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    inverse = 1 / np.sqrt(variance + epsilon)
    normed = centred * inverse
    return gamma * normed + beta, normed, inverse
    # end of your code


# %% what it is called with
returns = "y normed inverse"
section = "LayerNorm: every row to one scale"


def case(rng, B, T, D):
    return 2 * rng.standard_normal((B, T, D)) + 1, rng.standard_normal(D), rng.standard_normal(D), 0.1


@edge("a row of equal numbers, whose variance is 0")
def constant(rng, N, D):
    x = rng.standard_normal((N, D))
    x[0] = 1
    return x, rng.standard_normal(D), rng.standard_normal(D), 0.01


@invariant("each normed row must have the mean 0")
def mean(answer, x, gamma, beta, epsilon):
    return answer[1].mean(axis=-1)


@invariant("the variance of a normed row must be v / (v + epsilon), with v the variance of x")
def variance(answer, x, gamma, beta, epsilon):
    v = ((x - x.mean(axis=-1, keepdims=True)) ** 2).mean(axis=-1)
    return (answer[1] ** 2).mean(axis=-1) - v / (v + epsilon)


@plugs(layer_norm_forward)
def in_the_model(own):
    def forward(x, gamma, beta, epsilon=1e-5):
        y, normed, inverse = own(x, gamma, beta, epsilon)
        return y, LayerNormCache(normed, inverse, gamma)
    return forward


# %% hints
hints = (
    "Add 5 to a row, or multiply it by 3: how much of that may be seen in the normed row? Over which axis is the mean, then?",
    "Four steps: minus the row's mean; the mean of the squares; 1 / sqrt(variance + epsilon); gamma times that, plus beta.",
    "inverse = 1 / np.sqrt(___)",
)


# %% mistakes
def made(x, gamma, beta, epsilon, axis=-1, inverse=None, centre=True):
    centred = x - x.mean(axis=axis, keepdims=True) if centre else x
    v = (centred * centred).mean(axis=axis, keepdims=True)
    s = 1 / np.sqrt(v + epsilon) if inverse is None else inverse(v, x.shape[-1], epsilon)
    return gamma * (centred * s) + beta, centred * s, s


@mistake("epsilon stands outside the root: 1 / (sqrt(variance) + epsilon)", hint=4)
def epsilon_outside(x, gamma, beta, epsilon):
    return made(x, gamma, beta, epsilon, inverse=lambda v, d, e: 1 / (np.sqrt(v) + e))


@mistake("epsilon is missing: a row of equal numbers becomes 0 / 0", hint=4)
def epsilon_missing(x, gamma, beta, epsilon):
    return made(x, gamma, beta, epsilon, inverse=lambda v, d, e: 1 / np.sqrt(v))


@mistake("the variance is divided by D - 1, not by D", hint=2)
def unbiased(x, gamma, beta, epsilon):
    return made(x, gamma, beta, epsilon, inverse=lambda v, d, e: 1 / np.sqrt(v * (d / (d - 1)) + e))


@mistake("the root is missing: the row is divided by its variance, not by its standard deviation", hint=4)
def root_missing(x, gamma, beta, epsilon):
    return made(x, gamma, beta, epsilon, inverse=lambda v, d, e: 1 / (v + e))


@mistake("mean and variance are those of the columns, not of each row: that is nearer to BatchNorm", hint=1)
def columns(x, gamma, beta, epsilon):
    y, normed, s = made(x, gamma, beta, epsilon, axis=-2)
    return y, normed, s


@mistake("mean and variance are those of the complete array, not of each row", hint=1)
def all_axes(x, gamma, beta, epsilon):
    y, normed, s = made(x, gamma, beta, epsilon, axis=tuple(range(x.ndim)))
    return y, normed, np.broadcast_to(s, (*x.shape[:-1], 1)).copy()


@mistake("the mean is not subtracted: this is an RMS norm", hint=2)
def not_centred(x, gamma, beta, epsilon):
    return made(x, gamma, beta, epsilon, centre=False)


@mistake("gamma is missing", hint=3)
def gamma_missing(x, gamma, beta, epsilon):
    _y, normed, s = made(x, gamma, beta, epsilon)
    return normed + beta, normed, s


@mistake("beta is missing", hint=3)
def beta_missing(x, gamma, beta, epsilon):
    _y, normed, s = made(x, gamma, beta, epsilon)
    return gamma * normed, normed, s


@mistake("normed holds y, with gamma and beta: backward needs the row before them", hint=3)
def normed_after(x, gamma, beta, epsilon):
    y, _normed, s = made(x, gamma, beta, epsilon)
    return y, y.copy(), s


# %% other right solutions
@also_right
def with_var(x, g, b, eps):
    inverse = (x.var(axis=-1) + eps)[..., None] ** -0.5
    normed = (x - np.mean(x, -1)[..., None]) * inverse
    return normed * g + b, normed, inverse


@also_right
def with_loops(x, gamma, beta, epsilon):
    y, normed, inverse = np.empty_like(x), np.empty_like(x), np.empty_like(x[..., :1])
    for row in np.ndindex(x.shape[:-1]):
        centred = x[row] - sum(x[row]) / len(x[row])
        inverse[row] = 1 / np.sqrt(centred @ centred / len(centred) + epsilon)
        normed[row] = centred * inverse[row]
        y[row] = gamma * normed[row] + beta
    return y, normed, inverse
