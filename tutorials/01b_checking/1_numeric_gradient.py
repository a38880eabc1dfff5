"""The definition of a derivative, computed

f takes an array and returns one. Take L = sum(dy f(x)) as a stand-in for the loss. Return its gradient with respect to x, measured
by nudging one number of x at a time by h. If L is a parabola in each number of x, your answer has to be exact, whatever h is.
"""

from functools import partial

import numpy as np

from minitransformer_course.judge import also_right, edge, mistake


# %% reference
def numeric_gradient(f, dy, x, h):
    """f: a function of an array of x's shape; dy: an array of f(x)'s shape; h: the step. Returns dx, of x's shape."""
    # your code: what happens to the loss if a single number of x moves?
    nudges = h * np.eye(x.size).reshape(x.size, *x.shape)
    right = [(dy * f(x + nudge)).sum() for nudge in nudges]
    left = [(dy * f(x - nudge)).sum() for nudge in nudges]
    dx = (np.array(right) - np.array(left)) / (2 * h)
    return dx.reshape(x.shape)
    # end of your code


# %% what it is called with
returns = "dx"
float64_only = True
section = "Nudge it"
stars, minutes = 2, 12

cube = partial(np.linalg.matrix_power, n=3)    # x x x: every number of x touches every number of it


def case(rng, N):
    return cube, rng.standard_normal((N, N)), rng.standard_normal((N, N)), float(rng.uniform(0.1, 0.3))


@edge("a matrix that is not square, and tanh of each of its numbers")
def tanh(rng, N, D):
    return np.tanh, rng.standard_normal((N, D)), rng.standard_normal((N, D)), float(rng.uniform(0.1, 0.3))


@edge("an array of three axes, and an f that multiplies the numbers of each matrix: f(x) has another shape")
def products(rng, B, N, D):
    f = partial(np.prod, axis=(1, 2))
    return f, rng.standard_normal(B), rng.uniform(0.5, 1.5, (B, N, D)), float(rng.uniform(0.1, 0.3))


# %% hints
hints = (
    "For L = x^2 at x = 3 and h = 0.1, which two values of L, and which distance between them, give exactly 6?",
    "For each number of x: L with this number h larger, minus L with it h smaller, divided by 2 h. L sums dy f over all of f.",
    "dx = (np.array(right) - np.array(left)) / ___",
)


# %% mistakes
def measured(f, dy, x, up, down, far):
    """The slope between x + up nudges and x - down nudges, over a distance of `far`."""
    nudges = np.eye(x.size).reshape(x.size, *x.shape)
    return np.array([(dy * (f(x + up * one) - f(x - down * one))).sum() for one in nudges]).reshape(x.shape) / far


@mistake("this is a forward difference, from x to x + h: its error grows with h, a central difference's with h squared")
def forward(f, dy, x, h):
    return measured(f, dy, x, h, 0, h)


@mistake("this is a backward difference, from x - h to x: nudge in both directions")
def backward(f, dy, x, h):
    return measured(f, dy, x, 0, h, h)


@mistake("the difference is divided by h: the two points lie 2 h apart")
def by_h(f, dy, x, h):
    return measured(f, dy, x, h, h, h)


@mistake("the division by 2 h is missing")
def undivided(f, dy, x, h):
    return measured(f, dy, x, h, h, 1)


@mistake("the sign is wrong: L at the right is subtracted from L at the left")
def sign(f, dy, x, h):
    return measured(f, dy, x, -h, -h, 2 * h)


@mistake("the brackets are missing: / 2 * h divides by 2 and multiplies by h")
def brackets(f, dy, x, h):
    return measured(f, dy, x, h, h, 2 / h)


@mistake("dy is left out: this is the gradient of sum(f(x))")
def without_dy(f, dy, x, h):
    return measured(f, np.ones_like(dy), x, h, h, 2 * h)


@mistake("all numbers of x are nudged at once: each needs a measurement of its own")
def all_at_once(f, dy, x, h):
    return dy * (f(x + h) - f(x - h)) / (2 * h)


@mistake("all numbers of x are nudged at once, and dy is left out: each number of x needs two values of L of its own")
def all_at_once_without_dy(f, dy, x, h):
    return (f(x + h) - f(x - h)) / (2 * h)


@mistake("the difference goes from x to x + h but is divided by 2 h")
def half(f, dy, x, h):
    return measured(f, dy, x, h, 0, 2 * h)


@mistake("this is (nearly) the exact gradient: measure with the given h")
def exact(f, dy, x, h):
    nudges = 1e-20j * np.eye(x.size).reshape(x.size, *x.shape)
    return np.array([(dy * f(x + nudge)).sum().imag for nudge in nudges]).reshape(x.shape) / 1e-20


@mistake("the two points lie h apart, half a step to each side, but the difference is divided by 2 h")
def half_steps(f, dy, x, h):
    return measured(f, dy, x, h / 2, h / 2, 2 * h)


@mistake("the nudges are never undone: put each number back before you nudge the next one")
def not_put_back(f, dy, x, h):
    x, dx = x.copy(), np.zeros_like(x)
    for place in np.ndindex(x.shape):
        x[place] += h
        up = (dy * f(x)).sum()
        x[place] -= 2 * h
        dx[place] = (up - (dy * f(x)).sum()) / (2 * h)
    return dx


# %% other right solutions
@also_right
def with_loop(function, upstream, array, step):
    array, found = array.copy(), np.empty_like(array)
    for place in np.ndindex(array.shape):
        saved = array[place]
        array[place] = saved + step
        up = (upstream * function(array)).sum()
        array[place] = saved - step
        found[place] = (up - (upstream * function(array)).sum()) / step / 2
        array[place] = saved
    return found


@also_right
def mean_of_both_sides(f, dy, x, h):
    flat, dx, here = x.ravel(), np.zeros(x.size), np.vdot(dy, f(x))
    for i in range(x.size):
        up, down = flat.copy(), flat.copy()
        up[i] += h
        down[i] -= h
        right, left = np.vdot(dy, f(up.reshape(x.shape))) - here, here - np.vdot(dy, f(down.reshape(x.shape)))
        dx[i] = (right / h + left / h) / 2
    return dx.reshape(x.shape)
