"""LayerNorm

Bring each row to mean 0 and variance 1, then stretch it by gamma and shift it by beta. Also return what backward needs: the
normalised rows n, and s, the factor that a centred row is multiplied by. epsilon prevents a division by 0 when all numbers of a row
are equal.
"""

import numpy as np

from minitransformer.functional.layer_norm import LayerNormCache, layer_norm_forward
from minitransformer_course.judge import also_right, edge, invariant, mistake, plugs


# %% reference
def layer_norm(x, gamma, beta, epsilon):
    """x: (..., D); gamma, beta: (D,); epsilon: a number. Returns y (..., D), n (..., D) and s (..., 1)."""
    # your code: s, n and y, row by row, without a loop
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    s = 1 / np.sqrt(variance + epsilon)
    n = centred * s
    return gamma * n + beta, n, s
    # end of your code


# %% what it is called with
returns = "y n s"
section = "LayerNorm: every row on the same scale"
stars, minutes = 1, 10


def case(rng, B, T, D):
    return made(rng, 1 + 2 * rng.standard_normal((B, T, 6 + D)))


@edge("a row whose numbers are all equal")
def constant(rng, T, D):
    x = rng.standard_normal((T, 6 + D))
    x[0] = 3
    return made(rng, x)


@edge("four axes")
def four_axes(rng, A, B, T, D):
    return made(rng, rng.standard_normal((A, B, T, 6 + D)))


def made(rng, x):
    return x, 1 + rng.standard_normal(x.shape[-1]) / 4, rng.standard_normal(x.shape[-1]), float(10 ** -rng.uniform(2, 5))


@invariant("each row of n must have mean 0")
def centred_rows(answer, x, gamma, beta, epsilon):
    return answer[1].mean(axis=-1)


@invariant("n must be centred x times s")
def scaled_rows(answer, x, gamma, beta, epsilon):
    return answer[1] - (x - x.mean(axis=-1, keepdims=True)) * answer[2]


@invariant("y must be gamma n + beta")
def affine(answer, x, gamma, beta, epsilon):
    return answer[0] - gamma * answer[1] - beta


@plugs(layer_norm_forward)
def in_the_model(own):
    def forward(x, gamma, beta, epsilon=1e-5):
        y, n, s = own(x, gamma, beta, epsilon)
        return y, LayerNormCache(n, s, gamma)
    return forward


# %% hints
hints = (
    "What are the mean and the variance of each row of n? Over which axis are they taken, if every token is normalised on its own?",
    "n = (x - mean) s with s = 1 / sqrt(variance + epsilon); the variance is the mean of the squared distances from the mean.",
    "s = 1 / np.sqrt(___)",
)


# %% mistakes
def norm(x, gamma, beta, epsilon, axis=-1, count=None, s=None):
    centred = x - x.mean(axis=axis, keepdims=True)
    variance = (centred * centred).mean(axis=axis, keepdims=True) if count is None else (
        (centred * centred).sum(axis=axis, keepdims=True) / count)
    factor = 1 / np.sqrt(variance + epsilon) if s is None else s(variance, epsilon)
    return gamma * (centred * factor) + beta, centred * factor, factor


@mistake("epsilon is missing: a row of equal numbers has variance 0, and 0 / 0 is NaN")
def epsilon_missing(x, gamma, beta, epsilon):
    return norm(x, gamma, beta, 0)


@mistake("epsilon is outside the square root: add it to the variance")
def epsilon_outside(x, gamma, beta, epsilon):
    return norm(x, gamma, beta, epsilon, s=lambda variance, epsilon: 1 / (np.sqrt(variance) + epsilon))


@mistake("the square root is missing: divide by the standard deviation, not by the variance")
def by_variance(x, gamma, beta, epsilon):
    return norm(x, gamma, beta, epsilon, s=lambda variance, epsilon: 1 / (variance + epsilon))


@mistake("the variance is divided by D - 1: LayerNorm takes the mean over all D")
def unbiased(x, gamma, beta, epsilon):
    return norm(x, gamma, beta, epsilon, count=x.shape[-1] - 1)


@mistake("the variance is a sum: the division by D is missing")
def summed(x, gamma, beta, epsilon):
    return norm(x, gamma, beta, epsilon, count=1)


@mistake("mean and variance are taken over the wrong axis: over the tokens, not over each token's features")
def over_tokens(x, gamma, beta, epsilon):
    return norm(x, gamma, beta, epsilon, axis=-2)


@mistake("mean and variance are taken over the batch (axis 0), not over each token's features")
def over_batch(x, gamma, beta, epsilon):
    return norm(x, gamma, beta, epsilon, axis=0)


@mistake("mean and variance are taken over the complete array, not for each row")
def over_all(x, gamma, beta, epsilon):
    return norm(x, gamma, beta, epsilon, axis=tuple(range(x.ndim)))


@mistake("the mean is not subtracted: that is RMSNorm")
def root_mean_square(x, gamma, beta, epsilon):
    s = 1 / np.sqrt((x * x).mean(axis=-1, keepdims=True) + epsilon)
    return gamma * (x * s) + beta, x * s, s


@mistake("gamma and beta are swapped: y = beta n + gamma")
def swapped(x, gamma, beta, epsilon):
    return norm(x, beta, gamma, epsilon)


@mistake("beta is missing")
def beta_missing(x, gamma, beta, epsilon):
    return norm(x, gamma, 0 * beta, epsilon)


@mistake("s is the standard deviation: return 1 divided by it")
def inverted(x, gamma, beta, epsilon):
    y, n, s = norm(x, gamma, beta, epsilon)
    return y, n, 1 / s


@mistake("beta is multiplied by gamma: it has to be added last")
def beta_inside(x, gamma, beta, epsilon):
    _, n, s = norm(x, gamma, beta, epsilon)
    return gamma * (n + beta), n, s


@mistake("n is not divided by the standard deviation: the factor s is missing")
def undivided(x, gamma, beta, epsilon):
    s = norm(x, gamma, beta, epsilon)[2]
    n = x - x.mean(axis=-1, keepdims=True)
    return gamma * n + beta, n, s


@mistake("gamma is missing")
def gamma_missing(x, gamma, beta, epsilon):
    return norm(x, np.ones_like(gamma), beta, epsilon)


@mistake("the variance is the mean of x squared: subtract the mean first")
def uncentred_variance(x, gamma, beta, epsilon):
    return norm(x, gamma, beta, epsilon, s=lambda variance, epsilon: 1 / np.sqrt((x * x).mean(axis=-1, keepdims=True) + epsilon))


@mistake("the array returned as n is x - mean: it has to be multiplied by s")
def centred_for_n(x, gamma, beta, epsilon):
    y, _, s = norm(x, gamma, beta, epsilon)
    return y, x - x.mean(axis=-1, keepdims=True), s


@mistake("n and s are returned in the wrong order")
def wrong_order(x, gamma, beta, epsilon):
    y, n, s = norm(x, gamma, beta, epsilon)
    return y, s, n


@mistake("mean and variance run over all rows, for each column, as in batch norm: each row has its own")
def batch_norm(x, gamma, beta, epsilon):
    rows = x.reshape(-1, x.shape[-1])
    centred = rows - rows.mean(axis=0)
    n = (centred / np.sqrt((centred ** 2).mean(axis=0) + epsilon)).reshape(x.shape)
    return gamma * n + beta, n, 1 / np.sqrt(x.var(axis=-1, keepdims=True) + epsilon)


# %% other right solutions
@also_right
def with_var(a, g, b, e):
    inverse = (a.var(axis=-1, keepdims=True) + e) ** -0.5
    normed = (a - a.mean(axis=-1, keepdims=True)) * inverse
    return normed * g + b, normed, inverse


@also_right
def with_loops(x, gamma, beta, epsilon):
    y, n, s = np.empty_like(x), np.empty_like(x), np.empty_like(x[..., :1])
    for row in np.ndindex(x.shape[:-1]):
        centred = x[row] - x[row].sum() / x.shape[-1]
        s[row] = 1 / np.sqrt(centred @ centred / x.shape[-1] + epsilon)
        n[row] = centred * s[row]
        y[row] = gamma * n[row] + beta
    return y, n, s
