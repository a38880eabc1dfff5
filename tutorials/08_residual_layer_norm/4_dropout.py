"""Dropout that does not change the mean

Drop each number with the probability `rate`, and scale the others so that the mean stays. `noise` holds a random number from 0 to 1 for
each. Return the output and the mask with its scale: backward multiplies by the same mask.
"""

import numpy as np

from minitransformer.learn import also_right, edge, invariant, mistake


# %% reference
def dropout(x, noise, rate):
    """x, noise: (N, D); rate: the dropout rate, 0 <= rate < 1. Drop where noise < rate. Returns y (N, D) and mask (N, D)."""
    # your code: a mask of 0 and 1 / (1 - rate), of x's dtype
    keep = noise >= rate
    mask = keep.astype(x.dtype) / (1 - rate)
    return x * mask, mask
    # end of your code


# %% what it is called with
returns = "y mask"
section = "Dropout: noise with the right mean"


def case(rng, N, D):
    return rng.standard_normal((N, D)), rng.random((N, D)), float(rng.uniform(0.2, 0.4))


@edge("a dropout rate of 0")
def nothing_dropped(rng, N, D):
    return rng.standard_normal((N, D)), rng.random((N, D)), 0.0


@invariant("y must be x times the mask: backward will use that very mask")
def product(answer, x, noise, rate):
    return answer[0] - x * answer[1]


# %% hints
hints = (
    "Of 100 equal numbers 20 are dropped. By what must the other 80 be multiplied, so that the sum stays the same?",
    "The mask is 0 where noise < rate, and 1 / (1 - rate) elsewhere.",
    "keep = noise ___ rate",
)


# %% mistakes
@mistake("the scale 1 / (1 - rate) is missing: the mean of y is too small", hint=1)
def unscaled(x, noise, rate):
    mask = (noise >= rate).astype(x.dtype)
    return x * mask, mask


@mistake("the mask is the wrong way round: it keeps what should be dropped", hint=4)
def inverted(x, noise, rate):
    mask = (noise < rate).astype(x.dtype) / (1 - rate)
    return x * mask, mask


@mistake("the scale is 1 - rate, not 1 / (1 - rate): what is kept shrinks", hint=2)
def scale_inverted(x, noise, rate):
    mask = (noise >= rate).astype(x.dtype) * (1 - rate)
    return x * mask, mask


@mistake("the rate is taken for the probability to keep: mask and scale are those of the dropout rate 1 - rate", hint=2)
def keep_probability(x, noise, rate):
    mask = (noise < rate).astype(x.dtype) / (rate or 1)
    return x * mask, mask


@mistake("y is scaled but the mask is not: backward would use another one", hint=3)
def mask_unscaled(x, noise, rate):
    mask = (noise >= rate).astype(x.dtype)
    return x * mask / (1 - rate), mask


@mistake("nothing is dropped: the mask scales only", hint=2)
def nothing(x, noise, rate):
    mask = np.full_like(x, 1 / (1 - rate))
    return x * mask, mask


@mistake("the scale is applied twice to y", hint=3)
def scaled_twice(x, noise, rate):
    mask = (noise >= rate).astype(x.dtype) / (1 - rate)
    return x * mask / (1 - rate), mask


# %% other right solutions
@also_right
def with_where(values, uniform, p):
    mask = np.where(uniform < p, 0, 1 / (1 - p)).astype(values.dtype)
    return values * mask, mask


@also_right
def with_loops(x, noise, rate):
    y, mask = np.zeros_like(x), np.zeros_like(x)
    for place in np.ndindex(x.shape):
        if noise[place] >= rate:
            mask[place] = 1 / (1 - rate)
            y[place] = x[place] * mask[place]
    return y, mask
