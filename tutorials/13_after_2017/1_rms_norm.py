"""RMSNorm

Divide each row by the root of its mean square and multiply it by gamma. Epsilon prevents a row of zeros from being divided by 0
and keeps the function differentiable there. Also return what backward needs: the normalised rows n and the factor s by which
each row of x is multiplied.
"""

import numpy as np

from minitransformer.zoo.modern.rms_norm import RMSNormCache, rms_norm_forward
from minitransformer_course.judge import also_right, edge, invariant, mistake, plugs


# %% reference
def rms_norm(x, gamma, epsilon):
    """x: (..., D); gamma: (D,); epsilon: a number. Returns y (..., D), n (..., D) and s (..., 1)."""
    # your code: the mean square of each row, s, n and y, without a loop
    mean_square = (x * x).mean(axis=-1, keepdims=True)
    s = 1 / np.sqrt(mean_square + epsilon)
    n = x * s
    return gamma * n, n, s
    # end of your code


# %% what it is called with
returns = "y n s"
section = "A norm that only divides"
stars, minutes = 1, 10


def case(rng, B, T, D):
    return made(rng, 1 + 2 * rng.standard_normal((B, T, 6 + D)))


@edge("a row of zeros, and a row so small that epsilon matters")
def small(rng, T, D):
    x = rng.standard_normal((2 + T, 6 + D))
    x[0] = 0
    x[1] *= 0.003
    return made(rng, x)


@edge("four axes")
def four_axes(rng, A, B, T, D):
    return made(rng, rng.standard_normal((A, B, T, 6 + D)))


def made(rng, x):
    return x, 1 + rng.standard_normal(x.shape[-1]) / 4, float(10 ** -rng.uniform(2, 5))


@invariant("n must be x times s")
def scaled_rows(answer, x, gamma, epsilon):
    return answer[1] - x * answer[2]


@invariant("y must be gamma n")
def stretched(answer, x, gamma, epsilon):
    return answer[0] - gamma * answer[1]


@plugs(rms_norm_forward)
def in_the_model(own):
    def forward(x, gamma, epsilon=1e-5):
        y, n, s = own(x, gamma, epsilon)
        return y, RMSNormCache(n, s, gamma)
    return forward


# %% hints
hints = (
    "What is the mean square of a row of n, if epsilon is negligible? And what is s for a row of zeros?",
    "s = 1 / sqrt(mean square + epsilon): epsilon is added before the root is taken. Then n = x s and y = gamma n.",
    "s = 1 / np.sqrt(___)",
)


# %% mistakes
def mean_square_of(x):
    return (x * x).mean(axis=-1, keepdims=True)


def scaled(x, s, gamma):
    return gamma * (x * s), x * s, s


@mistake("epsilon is outside the root: add it to the mean square before you take the root")
def epsilon_outside(x, gamma, epsilon):
    return scaled(x, 1 / (np.sqrt(mean_square_of(x)) + epsilon), gamma)


@mistake("x is divided by the reciprocal of the root, so large rows become larger: multiply by it instead")
def divided_by_the_reciprocal(x, gamma, epsilon):
    return scaled(x, np.sqrt(mean_square_of(x) + epsilon), gamma)


@mistake("x is divided by its mean square: divide by the root of it")
def without_root(x, gamma, epsilon):
    return scaled(x, 1 / (mean_square_of(x) + epsilon), gamma)


@mistake("the mean is subtracted, which makes it LayerNorm without beta: RMSNorm only divides")
def layer_norm(x, gamma, epsilon):
    centred = x - x.mean(axis=-1, keepdims=True)
    return scaled(centred, 1 / np.sqrt(mean_square_of(centred) + epsilon), gamma)


@mistake("x is divided by its standard deviation: subtract no mean, not even inside the square")
def standard_deviation(x, gamma, epsilon):
    return scaled(x, 1 / np.sqrt(x.var(axis=-1, keepdims=True) + epsilon), gamma)


@mistake("the squares are summed, so the size of y depends on D: average them")
def summed(x, gamma, epsilon):
    return scaled(x, 1 / np.sqrt((x * x).sum(axis=-1, keepdims=True) + epsilon), gamma)


@mistake("the mean runs over the positions: take it over the numbers of each row")
def over_positions(x, gamma, epsilon):
    return scaled(x, 1 / np.sqrt((x * x).mean(axis=-2, keepdims=True) + epsilon), gamma)


@mistake("all rows share one mean square: each row has its own")
def one_for_all(x, gamma, epsilon):
    return scaled(x, np.full_like(x[..., :1], 1 / np.sqrt((x * x).mean() + epsilon)), gamma)


@mistake("x is divided by its mean absolute value: square, take the mean, then take the root")
def mean_absolute(x, gamma, epsilon):
    return scaled(x, 1 / (np.abs(x).mean(axis=-1, keepdims=True) + epsilon), gamma)


@mistake("gamma is missing from y: multiply n by it")
def without_gamma(x, gamma, epsilon):
    return scaled(x, 1 / np.sqrt(mean_square_of(x) + epsilon), np.ones_like(gamma))


@mistake("y is (1 + gamma) n, as for models that store gamma - 1 in their files: here y is gamma n")
def one_plus_gamma(x, gamma, epsilon):
    return scaled(x, 1 / np.sqrt(mean_square_of(x) + epsilon), 1 + gamma)


@mistake("x is multiplied by gamma before it is normalised, so gamma changes the mean square: multiply n by gamma")
def gamma_first(x, gamma, epsilon):
    n = gamma * x
    s = 1 / np.sqrt(mean_square_of(n) + epsilon)
    return n * s, x * s, s


@mistake("epsilon is not used, so a row of zeros is divided by 0: add it to the mean square")
def without_epsilon(x, gamma, epsilon):
    return scaled(x, 1 / np.sqrt(mean_square_of(x)), gamma)


@mistake("s is the root itself: s is what x is multiplied by, so return 1 / root")
def s_is_the_root(x, gamma, epsilon):
    root = np.sqrt(mean_square_of(x) + epsilon)
    return gamma * (x / root), x / root, root


@mistake("epsilon is added to s, after the division: add it to the mean square before you take the root")
def epsilon_last(x, gamma, epsilon):
    return scaled(x, 1 / np.sqrt(mean_square_of(x)) + epsilon, gamma)


# %% other right solutions
@also_right
def with_powers(rows, weight, eps):
    s = (np.einsum("...d,...d->...", rows, rows)[..., None] / rows.shape[-1] + eps) ** -0.5
    return rows * s * weight, s * rows, s


@also_right
def with_loops(x, gamma, epsilon):
    n, s = np.empty_like(x), np.empty_like(x[..., :1])
    for row in np.ndindex(x.shape[:-1]):
        s[row] = 1 / (np.dot(x[row], x[row]) / len(x[row]) + epsilon) ** 0.5
        n[row] = x[row] * s[row]
    return n * gamma, n, s
