"""The gradient of a temperature

With a temperature t > 0 the probabilities are p = softmax(x / t). You get `ds`, the gradient of the loss with respect to
s = x / t, as `softmax_backward` returns it. Return `dx` and `dt`, the gradients with respect to the scores and to t.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def temperature_backward(ds, x, t):
    """ds, x: (..., K); t: (), one number for all rows. Returns dx (..., K) and dt ()."""
    # your code: which numbers of s does t touch?
    dx = ds / t
    dt = -(ds * x).sum() / t ** 2
    return dx, dt
    # end of your code


# %% what it is called with
returns = "dx dt"
section = "Temperature"
stars, minutes = 2, 10


def case(rng, B, K):
    return rng.standard_normal((B, K)), rng.standard_normal((B, K)), np.array(rng.uniform(1.5, 3))


@edge("three axes, and a temperature below 1")
def cold(rng, B, T, K):
    return rng.standard_normal((B, T, K)), rng.standard_normal((B, T, K)), np.array(rng.uniform(0.2, 0.7))


def loss(ds, x, t):
    return lambda x, t: (ds * (x / t)).sum(), [x, t]


@invariant("if scores and temperature grow by the same factor, nothing changes, so sum(dx x) + dt t must be 0")
def scale(answer, ds, x, t):
    dx, dt = answer
    return (dx * x).sum() + dt * t


# %% hints
hints = (
    "Double all scores and double t: what happens to x / t? So what must sum(dx x) + dt t be?",
    "The derivative of x / t with respect to t is -x / t^2, and t touches every element: dt is a sum over all of them.",
    "dt = -(ds * x).sum() / ___",
)


# %% mistakes
@mistake("dt is a mean over the elements: t touches every one of them, so dt is their sum")
def mean(ds, x, t):
    return ds / t, -(ds * x).mean() / t ** 2


@mistake("dt has a number for each row: t is one number for all rows, so sum over them too")
def each_row(ds, x, t):
    return ds / t, -(ds * x).sum(axis=-1) / t ** 2


@mistake("dt is not summed: t touches every element, so dt is the sum over all of them")
def unsummed(ds, x, t):
    return ds / t, -ds * x / t ** 2


@mistake("dx and dt are swapped: they are returned in the wrong order")
def swapped(ds, x, t):
    return -(ds * x).sum() / t ** 2, ds / t


@mistake("dt is divided by t three times: dx already holds 1/t")
def from_dx(ds, x, t):
    return ds / t, -(ds / t * x).sum() / t ** 2


@mistake("dt has the wrong sign: a larger temperature makes x / t smaller")
def sign(ds, x, t):
    return ds / t, (ds * x).sum() / t ** 2


@mistake("dt is divided by t once, not twice: the derivative of 1/t is -1/t^2")
def once(ds, x, t):
    return ds / t, -(ds * x).sum() / t


@mistake("dx is multiplied by t, not divided")
def multiplied(ds, x, t):
    return ds * t, -(ds * x).sum() / t ** 2


@mistake("dx lacks the factor 1/t")
def unscaled(ds, x, t):
    return ds.copy(), -(ds * x).sum() / t ** 2


@mistake("dt uses ds without x: the derivative of x / t with respect to t is -x / t^2")
def without_x(ds, x, t):
    return ds / t, -ds.sum() / t ** 2


@mistake("dx is divided by t twice: only dt has t squared")
def twice(ds, x, t):
    return ds / t ** 2, -(ds * x).sum() / t ** 2


@mistake("dt is 0: the temperature is treated as a constant")
def constant(ds, x, t):
    return ds / t, np.zeros_like(t)


@mistake("a temperature below 1 is taken for 1: any t above 0 divides the scores")
def at_least_1(ds, x, t):
    return temperature_backward(ds, x, np.maximum(t, 1))


# %% other right solutions
@also_right
def through_dx(ds, x, t):
    dx = ds * (1 / t)
    return dx, -np.vdot(dx, x) / t


@also_right
def with_loops(gradient, scores, temperature):
    dx, dt = np.zeros_like(scores), 0 * temperature
    for place in np.ndindex(scores.shape):
        dx[place] = gradient[place] / temperature
        dt = dt - gradient[place] * scores[place] / temperature / temperature
    return dx, dt
