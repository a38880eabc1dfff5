"""The definition of a derivative, computed

Differentiate a function of one number, such as `np.tanh`, at every number of `x` by central differences.
"""

import numpy as np

from minitransformer.learn import also_right, edge, mistake


# %% reference
def central_difference(f, x, h):
    """f: a function applied to each number of x, (N,); h: the step. Returns df (N,), its derivative at each x."""
    # your code: how much f changes from x - h to x + h, and how far apart those are
    rise = f(x + h) - f(x - h)
    run = 2 * h
    return rise / run
    # end of your code


# %% what it is called with
returns = "df"
float64_only = True
section = "Checked: central differences"
stars, minutes = 2, 15


def case(rng, N):
    return np.tanh, rng.standard_normal(N), float(rng.uniform(0.1, 0.3))


@edge("another function, sin")
def sine(rng, N):
    return np.sin, rng.standard_normal(N), 0.1


# %% hints
hints = (
    "For f(x) = x^2 a central difference is exact, whatever h is. What does yours give for f = np.square, x = 3, h = 0.1?",
    "Two values of f: one step to the right of x, one to the left. They lie 2 h apart.",
    "rise = f(x + h) - f(___)",
)


# %% mistakes
@mistake("this is a forward difference, from x to x + h: its error falls with h, that of a central one with h squared", hint=2)
def forward(f, x, h):
    return (f(x + h) - f(x)) / h


@mistake("this is a backward difference, from x - h to x: step to both sides", hint=2)
def backward(f, x, h):
    return (f(x) - f(x - h)) / h


@mistake("the difference is divided by h: the two points lie 2 h apart", hint=2)
def by_h(f, x, h):
    return (f(x + h) - f(x - h)) / h


@mistake("the division by 2 h is missing", hint=2)
def undivided(f, x, h):
    return f(x + h) - f(x - h)


@mistake("the wrong sign: f at the right is subtracted from f at the left", hint=2)
def sign(f, x, h):
    return (f(x - h) - f(x + h)) / (2 * h)


@mistake("the brackets are missing: / 2 * h divides by 2 and multiplies by h", hint=2)
def brackets(f, x, h):
    return (f(x + h) - f(x - h)) / 2 * h


@mistake("the brackets are missing: f(x + h) - f(x - h) / 2 * h divides only f(x - h) by 2", hint=2)
def no_brackets(f, x, h):
    return f(x + h) - f(x - h) / 2 * h


@mistake("the answer is summed: every x has a derivative of its own", hint=2)
def summed(f, x, h):
    return ((f(x + h) - f(x - h)) / (2 * h)).sum()


@mistake("this is (nearly) the exact derivative of f: compute the central difference with the h that is given", hint=2)
def exact(f, x, h):
    return f(x + 1e-20j).imag / 1e-20


@mistake("the difference goes from x to x + h but is divided by 2 h", hint=2)
def half(f, x, h):
    return (f(x + h) - f(x)) / (2 * h)


@mistake("this is the second derivative: f(x + h) - 2 f(x) + f(x - h), divided by h squared", hint=2)
def second_derivative(f, x, h):
    return (f(x + h) - 2 * f(x) + f(x - h)) / h ** 2


@mistake("the two points lie h apart, half a step to each side, but the difference is divided by 2 h", hint=2)
def half_steps(f, x, h):
    return (f(x + h / 2) - f(x - h / 2)) / (2 * h)


@mistake("the two points lie 4 h apart, two steps to each side, but the difference is divided by 2 h", hint=2)
def double_steps(f, x, h):
    return (f(x + 2 * h) - f(x - 2 * h)) / (2 * h)


@mistake("the difference is divided by h squared: that belongs to a second derivative", hint=2)
def by_h_squared(f, x, h):
    return (f(x + h) - f(x - h)) / h ** 2


# %% other right solutions
@also_right
def mean_of_both_sides(f, x, h):
    return ((f(x + h) - f(x)) / h + (f(x) - f(x - h)) / h) / 2


@also_right
def with_loop(function, points, step):
    slopes = np.empty_like(points)
    for i, point in enumerate(points):
        slopes[i] = (function(point + step) - function(point - step)) / step / 2
    return slopes
