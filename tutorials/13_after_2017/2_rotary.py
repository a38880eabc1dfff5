"""Rotary positions

Turn the pairs of numbers in each row of x, where the numbers 2i and 2i + 1 form pair i. At position t, pair i turns
counterclockwise by t base^(-2i / d), in radians, and a quarter turn takes (1, 0) to (0, 1). The rows need not be the first ones
of their text, so their positions are given.
"""

import numpy as np

from minitransformer.zoo.modern.rotary import RotaryCache, rotary_angles, rotary_forward
from minitransformer_course.judge import also_right, edge, invariant, mistake, plugs


# %% reference
def rotary(x, positions, base):
    """x: (..., T, d), d is even; positions: (T,), whole numbers; base: a number. Returns y (..., T, d)."""
    # your code: an angle for each position and pair, (T, d / 2), and the two numbers of each pair after the turn
    d = x.shape[-1]
    angles = positions[:, None] * base ** (-np.arange(0, d, 2) / d)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    first, second = x[..., 0::2], x[..., 1::2]
    y = np.empty_like(x)
    y[..., 0::2] = first * cos - second * sin
    y[..., 1::2] = first * sin + second * cos
    return y
    # end of your code


# %% what it is called with
returns = "y"
section = "Positions that turn"
stars, minutes = 2, 15


def case(rng, B, T, half):
    return rng.standard_normal((B, T, 2 * half)), rng.permutation(4 * T)[:T], 50.0


@edge("heads, and another base")
def heads(rng, B, H, T, half):
    return rng.standard_normal((B, H, T, 2 * half)), np.arange(T), 10000.0


@edge("one row, at position 7, as when a model writes")
def one_row(rng, B, half):
    return rng.standard_normal((B, 1, 2 * half)), np.array([7]), 50.0


@edge("rows without a batch, at positions in the thousands")
def far(rng, T, half):
    return rng.standard_normal((T, 2 * half)), rng.integers(5_000, 9_000, T), 10000.0


@invariant("a turn changes no length: the sum of the squares of each row must stay the same")
def length(y, x, positions, base):
    return (y * y).sum(axis=-1) - (x * x).sum(axis=-1)


@plugs(rotary_forward)
def in_the_model(own):
    def forward(x, positions=None, base=10000.0, layout="interleaved"):
        d = x.shape[-1]
        positions = np.arange(x.shape[-2]) if positions is None else positions
        cache = RotaryCache(*rotary_angles(positions, d, base, np, x.real.dtype.name), layout)
        if layout == "interleaved":
            return own(x, positions, base), cache
        order = np.arange(d).reshape(2, d // 2).T.ravel()    # as neighbours: 0, d/2, 1, d/2 + 1, ...
        return own(x[..., order], positions, base)[..., np.argsort(order)], cache
    return forward


# %% hints
hints = (
    "Where does a quarter turn take (1, 0), and where (0, 1)? By which angles does a row at position 0 turn?",
    "The pair (a, b) becomes (a cos - b sin, a sin + b cos). The angles are positions (T, 1) times frequencies (d / 2,).",
    "y[..., 1::2] = first * sin + ___",
)


# %% mistakes
def frequencies(x, base):
    d = x.shape[-1]
    return base ** (-np.arange(0, d, 2) / d)


def turned(x, angles, a=-1, b=1):
    """(first cos + a second sin, b first sin + second cos)."""
    cos, sin, y = np.cos(angles), np.sin(angles), np.empty_like(x)
    y[..., 0::2] = x[..., 0::2] * cos + a * x[..., 1::2] * sin
    y[..., 1::2] = b * x[..., 0::2] * sin + x[..., 1::2] * cos
    return y


@mistake("the pairs turn clockwise: swap the signs of the two sine terms")
def clockwise(x, positions, base):
    return turned(x, positions[:, None] * frequencies(x, base), 1, -1)


@mistake("the sine term is added to both numbers: subtract it in the first one")
def both_added(x, positions, base):
    return turned(x, positions[:, None] * frequencies(x, base), 1, 1)


@mistake("numbers i and i + d/2 are turned as a pair: here the neighbours 2i and 2i + 1 are a pair")
def halves(x, positions, base):
    order = np.arange(x.shape[-1]).reshape(2, -1).T.ravel()
    return turned(x[..., order], positions[:, None] * frequencies(x, base))[..., np.argsort(order)]


@mistake("the rows are taken to be at positions 0, 1, 2, ...: use the positions that are given")
def counted(x, positions, base):
    return turned(x, np.arange(len(positions))[:, None] * frequencies(x, base))


@mistake("the positions are counted from 1: position 0 must not turn")
def from_one(x, positions, base):
    return turned(x, (positions + 1)[:, None] * frequencies(x, base))


@mistake("all pairs turn at the same speed: pair i has to turn by t base^(-2i / d)")
def one_speed(x, positions, base):
    return turned(x, positions[:, None] * np.ones(x.shape[-1] // 2))


@mistake("the exponent is -i / d for pair i: it has to be -2i / d")
def half_the_exponent(x, positions, base):
    return turned(x, positions[:, None] * base ** (-np.arange(x.shape[-1] // 2) / x.shape[-1]))


@mistake("the exponent has no minus sign: later pairs have to turn more slowly")
def faster(x, positions, base):
    return turned(x, positions[:, None] / frequencies(x, base))


@mistake("the second number is computed from the first one after its turn: it needs the value from before the turn")
def overwritten(x, positions, base):
    angles = positions[:, None] * frequencies(x, base)
    y = turned(x, angles)
    y[..., 1::2] = y[..., 0::2] * np.sin(angles) + x[..., 1::2] * np.cos(angles)
    return y


@mistake("the sine terms are missing, so pairs shrink: a turn needs both sine and cosine")
def only_cosine(x, positions, base):
    return turned(x, positions[:, None] * frequencies(x, base), 0, 0)


@mistake("only the first number of each pair is replaced: the second one changes, too")
def only_first(x, positions, base):
    y = turned(x, positions[:, None] * frequencies(x, base))
    y[..., 1::2] = x[..., 1::2]
    return y


@mistake("sines and cosines are added to x, as in chapter 3: turn the pairs instead")
def added(x, positions, base):
    angles = positions[:, None] * frequencies(x, base)
    return x + np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(x.shape[-2:])


@mistake("the signs pair neighbours, but the angles are laid out for halves: number k needs the angle of pair k // 2")
def mixed(x, positions, base):
    angles = np.tile(positions[:, None] * frequencies(x, base), 2)
    swapped = np.stack([-x[..., 1::2], x[..., 0::2]], axis=-1).reshape(x.shape)
    return x * np.cos(angles) + swapped * np.sin(angles)


@mistake("the exponent is -4i / d for pair i: it has to be -2i / d, and arange(0, d, 2) is 2i already")
def twice_the_exponent(x, positions, base):
    return turned(x, positions[:, None] * frequencies(x, base) ** 2)


@mistake("the angles are taken as degrees: they are in radians")
def degrees(x, positions, base):
    return turned(x, np.radians(positions[:, None] * frequencies(x, base)))


@mistake("all first numbers come before all second ones: put each pair back at 2i and 2i + 1")
def laid_out_as_halves(x, positions, base):
    y = turned(x, positions[:, None] * frequencies(x, base))
    return np.concatenate([y[..., 0::2], y[..., 1::2]], axis=-1)


# %% other right solutions
@also_right
def with_complex_numbers(x, t, base):
    z = x.reshape(*x.shape[:-1], -1, 2)
    z = (z[..., 0] + 1j * z[..., 1]) * np.exp(1j * np.outer(t, base ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])))
    return np.stack([z.real, z.imag], axis=-1).reshape(x.shape).astype(x.dtype)


@also_right
def with_matrices(x, positions, base):
    d = x.shape[-1]
    y = np.zeros_like(x)
    for row, t in enumerate(positions):
        for i in range(0, d, 2):
            b = t / base ** (i / d)
            turn = np.array([[np.cos(b), -np.sin(b)], [np.sin(b), np.cos(b)]], x.dtype)
            y[..., row, i:i + 2] = x[..., row, i:i + 2] @ turn.T
    return y
