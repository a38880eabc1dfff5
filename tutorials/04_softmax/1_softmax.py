"""Softmax that does not overflow

Turn scores into probabilities along the last axis. Scores as large as 1,000 must give numbers, not NaN.
"""

import numpy as np

from minitransformer import functional
from minitransformer.functional.softmax import SoftmaxCache
from minitransformer_course.judge import also_right, edge, invariant, mistake, plugs


# %% reference
def softmax(x):
    """x: (..., K), scores. Returns p (..., K), probabilities: each row sums to 1."""
    # your code: no exponential may overflow, and no row's sum may be 0
    shifted = x - x.max(axis=-1, keepdims=True)
    e = np.exp(shifted)
    return e / e.sum(axis=-1, keepdims=True)
    # end of your code


# %% what it is called with
returns = "p"
section = "One score is 1,000"
stars, minutes = 1, 10


def case(rng, B, T, K):
    return 2 * rng.standard_normal((B, T, K)),


@edge("scores of 1,000 and of -1,000 in one row, and of -1,000 alone in another")
def large(rng, T, K):
    x = rng.standard_normal((T + 1, K))
    x[0, [0, -1]] += 1000, -1000
    x[1, [0, -1]] += -1000, 1000    # neither the first nor the last is the largest in each row
    x[-1] -= 1000
    return x,


@edge("all scores near -1,000")
def low(rng, T, K):
    return rng.standard_normal((T, K)) - 1000,


@invariant("each row of p must sum to 1")
def rows(p, x):
    return p.sum(axis=-1) - 1


@plugs(functional.softmax_forward)
def in_the_model(own):
    def forward(x, mask=None):
        p = own(x if mask is None else np.where(mask, x, x.dtype.type(-1e9)))
        return p, SoftmaxCache(p)
    return forward


# %% hints
hints = (
    "Add 100 to every score of a row: which probabilities change? So which number may you subtract from a row, to keep exp small?",
    "The largest score of each row is subtracted before exp. Then the largest exp is 1, and the row's sum is at least 1.",
    "shifted = x - x.max(axis=___, keepdims=True)",
)


# %% mistakes
@mistake("the largest score of the row is not subtracted: exp(1000) overflows")
def overflow(x):
    e = np.exp(x)
    return e / e.sum(axis=-1, keepdims=True)


@mistake("two mistakes at once: the sum runs over the complete array, and exp(1000) overflows")
def textbook(x):
    return np.exp(x) / np.exp(x).sum()


@mistake("the smallest score or the mean is subtracted, not the largest: exp of the difference can still overflow")
def smallest(x):
    e = np.exp(x - x.min(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@mistake("axis=1 is the last axis of a table only; axis=-1 is the last axis of any array")
def axis_of_a_table(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@mistake("the largest score of the complete array is subtracted, not each row's: a row far below it becomes 0 / 0")
def one_maximum(x):
    e = np.exp(x - x.max())
    return e / e.sum(axis=-1, keepdims=True)


@mistake("the division by the row's sum is missing")
def undivided(x):
    return np.exp(x - x.max(axis=-1, keepdims=True))


@mistake("the sum runs over the complete array: all rows together sum to 1")
def all_axes(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum()


@mistake("maximum and sum run over the wrong axis: down the columns, not along each row")
def wrong_axis(x):
    e = np.exp(x - x.max(axis=-2, keepdims=True))
    return e / e.sum(axis=-2, keepdims=True)


@mistake("the maximum runs along each row, but the sum down the columns")
def sum_of_columns(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-2, keepdims=True)


@mistake("the maximum is subtracted from the row after exp, not before")
def after_exp(x):
    e = np.exp(x)
    e = e - e.max(axis=-1, keepdims=True)
    return e / e.sum(axis=-1, keepdims=True)


@mistake("the largest score is divided out, not subtracted: exp(x / max) gives other probabilities")
def divided_by_maximum(x):
    e = np.exp(x / x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@mistake("exp is missing: scores can be negative, probabilities cannot")
def without_exp(x):
    return x / x.sum(axis=-1, keepdims=True)


@mistake("this is the logarithm of the softmax")
def logarithm(x):
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


@mistake("the row's mean is subtracted, not its largest score: a score far above the mean still overflows")
def mean_subtracted(x):
    e = np.exp(x - x.mean(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@mistake("this is the sigmoid of each score by itself: the probabilities of a row have to share one sum")
def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@also_right
def with_mean_score(scores):
    peak = np.amax(scores, -1)[..., None]
    logs = scores - peak - np.log(np.sum(np.exp(scores - peak), axis=-1))[..., None]
    return np.exp(logs)


@also_right
def with_loops(x):
    p = np.zeros_like(x)
    for row in np.ndindex(x.shape[:-1]):
        e = np.exp(x[row] - max(x[row]))
        p[row] = e / sum(e)
    return p


@mistake("the scores are clipped: two large scores that differ then get the same probability; subtract the largest instead")
def clipped(x):
    e = np.exp(np.clip(x, -500, 500))
    return e / e.sum(axis=-1, keepdims=True)
