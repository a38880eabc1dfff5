"""A derivative without a subtraction

Differentiate a function of one number at every number of `x` by the complex step. `h` is 1e-20, and the answer has all its digits.
"""

import numpy as np

from minitransformer.learn import also_right, edge, mistake


# %% reference
def complex_step(f, x, h):
    """f: a function applied to each number of x, (N,), that also takes complex numbers; h: the step. Returns df (N,)."""
    # your code: step along the imaginary axis, and see how far f moves along it
    moved = f(x + 1j * h)
    return moved.imag / h
    # end of your code


# %% what it is called with
returns = "df"
float64_only = True
section = "Checked again: the complex step"
stars, minutes = 2, 15


def case(rng, N):
    return np.tanh, rng.standard_normal(N), 1e-20


@edge("another function, sin")
def sine(rng, N):
    return np.sin, rng.standard_normal(N), 1e-20


# %% hints
hints = (
    "Take f(x) = x^2: what is (x + ih)^2, and in which part of it does the derivative 2x stand?",
    "The imaginary part of f(x + ih) is h f'(x). The real part is f(x), which you do not need.",
    "moved = f(x + ___ * h)",
)


# %% mistakes
@mistake("the real part is taken: it is f(x), and the derivative is in the imaginary part", hint=2)
def real(f, x, h):
    return f(x + 1j * h).real


@mistake("the real part, f(x), is still in the answer: the derivative is the imaginary part alone", hint=2)
def still_complex(f, x, h):
    return f(x + 1j * h) / h


@mistake("the division by h is missing", hint=2)
def undivided(f, x, h):
    return f(x + 1j * h).imag


@mistake("the step is real: x + 1e-20 is x, so the difference is 0", hint=2)
def real_step(f, x, h):
    return (f(x + h) - f(x)) / h


@mistake("the imaginary part is divided by 2 h, as in a central difference: here is one step, not two", hint=2)
def halved(f, x, h):
    return f(x + 1j * h).imag / (2 * h)


@mistake("the step goes down the imaginary axis: the sign of the derivative is wrong", hint=2)
def downwards(f, x, h):
    return f(x - 1j * h).imag / h


@mistake("the absolute value is taken: it mixes the real part with the imaginary one", hint=2)
def absolute(f, x, h):
    return abs(f(x + 1j * h)) / h


@mistake("the angle of f(x + ih) is taken: the derivative is in its imaginary part", hint=2)
def angle(f, x, h):
    return np.angle(f(x + 1j * h)) / h


@mistake("the step is i h x, not i h: df is x times too large", hint=2)
def step_of_x(f, x, h):
    return f(x + 1j * h * x).imag / h


# %% other right solutions
@also_right
def with_np_imag(function, points, step):
    return np.imag(function(points + step * 1j)) / step


@also_right
def with_loop(f, x, h):
    df = np.zeros_like(x)
    for i in range(len(x)):
        df[i] = f(complex(x[i], h)).imag / h
    return df
