"""All numbers at once, without a subtraction

Again L = sum(dy f(x)), and all of x moves at once, in the direction v: how fast does L change? Measure it with a single call of f,
by the complex step. `h` is 1e-20, and the answer has all its digits.
"""

from functools import partial

import numpy as np

from minitransformer_course.judge import also_right, edge, mistake


# %% reference
def slope_along(f, dy, x, v, h):
    """f: also takes complex arrays; dy: of f(x)'s shape; x, v: arrays of one shape; h: the step. Returns slope, a number."""
    # your code: where does x go, and which part of f tells how far L went?
    moved = f(x + 1j * h * v)
    return (dy * moved.imag).sum() / h
    # end of your code


# %% what it is called with
returns = "slope"
float64_only = True
section = "Step sideways"
stars, minutes = 2, 8

cube = partial(np.linalg.matrix_power, n=3)    # x x x


def case(rng, N):
    return cube, *rng.standard_normal((3, N, N)), float(10 ** -rng.uniform(20, 30))


@edge("a matrix that is not square, and tanh of each of its numbers")
def tanh(rng, N, D):
    return np.tanh, *rng.standard_normal((3, N, D)), float(10 ** -rng.uniform(20, 30))


@edge("an array of three axes, and an f that multiplies the numbers of each matrix: f(x) has another shape")
def products(rng, B, N, D):
    f, x = partial(np.prod, axis=(1, 2)), rng.uniform(0.5, 1.5, (B, N, D))
    return f, rng.standard_normal(B), x, rng.standard_normal((B, N, D)), float(10 ** -rng.uniform(20, 30))


# %% hints
hints = (
    "What is (3 + ih)^2, and in which part of it is the derivative of x^2? If two numbers of x move at once, how far does L move?",
    "The imaginary part of f(x + i h v) is h times how fast each number of f moves. L sums them with the weights dy.",
    "moved = f(x + ___)",
)


# %% mistakes
@mistake("the real part is taken: it is f(x), and the slope is in the imaginary part")
def real(f, dy, x, v, h):
    return (dy * f(x + 1j * h * v).real).sum() / h


@mistake("the division by h is missing")
def undivided(f, dy, x, v, h):
    return (dy * f(x + 1j * h * v).imag).sum()


@mistake("the step is real: x + 1e-20 v is x, so the difference is 0")
def real_step(f, dy, x, v, h):
    return (dy * (f(x + h * v) - f(x))).sum() / h


@mistake("the imaginary part is divided by 2 h, as in a central difference: here there is one step, not two")
def halved(f, dy, x, v, h):
    return (dy * f(x + 1j * h * v).imag).sum() / (2 * h)


@mistake("the step goes down the imaginary axis: the sign of the slope is wrong")
def downwards(f, dy, x, v, h):
    return (dy * f(x - 1j * h * v).imag).sum() / h


@mistake("the direction v is left out: every number of x moves by the same h")
def without_direction(f, dy, x, v, h):
    return (dy * f(x + 1j * h).imag).sum() / h


@mistake("dy is left out: this is the slope of sum(f(x))")
def without_dy(f, dy, x, v, h):
    return f(x + 1j * h * v).imag.sum() / h


@mistake("v weights the numbers of f, and x moves by h alone: v is the direction in which x moves")
def direction_outside(f, dy, x, v, h):
    return (dy * v * f(x + 1j * h).imag).sum() / h


@mistake("the slopes are not summed: L is one number")
def unsummed(f, dy, x, v, h):
    return dy * f(x + 1j * h * v).imag / h


@mistake("the absolute value is taken: it mixes the real part with the imaginary one")
def absolute(f, dy, x, v, h):
    return (dy * abs(f(x + 1j * h * v))).sum() / h


# %% other right solutions
@also_right
def with_np_imag(function, upstream, array, direction, step):
    return np.imag(np.sum(upstream * function(array + step * 1j * direction))) / step


@also_right
def number_by_number(f, dy, x, v, h):
    slope = 0.0
    for place in np.ndindex(x.shape):
        nudged = x.astype(complex)
        nudged[place] += 1j * h
        slope += v[place] * (dy * f(nudged)).sum().imag / h
    return slope
