"""Walking k steps is a turn

You get rows of the table of sinusoids, but not their positions. Make the rows k positions further on: the row of t
becomes that of t + k, whatever t is. Walking k steps and then k steps back has to lead home.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def rotate_positions(PE, k):
    """PE: (T, d_model), rows of the table of sinusoids, of unknown positions t.

    k: a whole number. Returns moved (T, d_model), the rows of t + k.
    """
    # your code: t is unknown, but two numbers say where each of its hands points
    d_model = PE.shape[1]
    turn = k * 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    sine, cosine = PE[:, 0::2], PE[:, 1::2]
    moved = np.empty_like(PE)
    moved[:, 0::2] = sine * np.cos(turn) + cosine * np.sin(turn)
    moved[:, 1::2] = cosine * np.cos(turn) - sine * np.sin(turn)
    return moved
    # end of your code


# %% what it is called with
returns = "moved"
section = "Walking is turning"
stars, minutes = 3, 15
float64_only = True


def case(rng, T, half, k):
    return table(rng.permutation(3 * T)[:T], 2 * half), k


@edge("k = 0: nothing moves")
def standing(rng, T, half):
    return table(np.arange(T), 2 * half), 0


@edge("k = -3: walking back")
def back(rng, T, half):
    return table(np.arange(T), 2 * half), -3


@edge("positions in the thousands, where the slowest of three clocks has turned more than once")
def far(rng, T, k):
    return table(rng.integers(3_000, 9_000, T), 6), k


def table(positions, d_model):
    angles = positions[:, None] * 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(positions), d_model)


@invariant("a turn changes no length: sine squared plus cosine squared must stay what it was, for each pair")
def length(moved, PE, k):
    return (moved ** 2).reshape(*PE.shape[:1], -1, 2).sum(axis=-1) - (PE ** 2).reshape(*PE.shape[:1], -1, 2).sum(axis=-1)


# %% hints
hints = (
    "After the turn, what is sine squared plus cosine squared of a pair? Which two numbers of the old pair does the new sine need?",
    "sin(a + b) = sin a cos b + cos a sin b, and cos(a + b) = cos a cos b - sin a sin b. sin a and cos a are given, a is not.",
    "moved[:, 0::2] = sine * np.cos(turn) + ___ * np.sin(turn)",
)


# %% mistakes
def made(PE, k, turn=lambda k, i, d: k * 10000.0 ** (-i / d), a=1, b=-1):
    d = PE.shape[1]
    t = turn(k, np.arange(0, d, 2), d)
    s, c = PE[:, 0::2], PE[:, 1::2]
    turned = np.stack([s * np.cos(t) + a * c * np.sin(t), c * np.cos(t) + b * s * np.sin(t)], axis=-1)
    return turned.reshape(PE.shape).astype(PE.dtype)


@mistake("the turn goes the other way: this is the row of t - k")
def backwards(PE, k):
    return made(PE, k, a=-1, b=1)


@mistake("the cosine has the wrong sign: cos(a + b) = cos a cos b - sin a sin b")
def cosine_sign(PE, k):
    return made(PE, k, b=1)


@mistake("the sine has the wrong sign: sin(a + b) = sin a cos b + cos a sin b")
def sine_sign(PE, k):
    return made(PE, k, a=-1)


@mistake("every pair is turned by k: each pair has its own frequency")
def one_frequency(PE, k):
    return made(PE, k, lambda k, i, d: k + 0.0 * i)


@mistake("the frequencies are multiplied by k in the exponent: the turn is k times the frequency")
def exponent(PE, k):
    return made(PE, k, lambda k, i, d: 10000.0 ** (-k * i / d) * (k != 0))


@mistake("sin(k) is added to the sines and cos(k) to the cosines: the sine of a sum is not a sum of sines")
def added(PE, k):
    d = PE.shape[1]
    t = k * 10000.0 ** (-np.arange(0, d, 2) / d)
    return (PE + np.stack([np.sin(t), np.cos(t)], axis=-1).reshape(d)).astype(PE.dtype)


@mistake("the rows are moved by k places: that takes the rows of other positions, which may not be there")
def rolled(PE, k):
    return np.roll(PE, -k, axis=0)


@mistake("the new cosines are computed from the new sines, because the old ones were overwritten")
def overwritten(PE, k):
    old, moved = PE, made(PE, k)
    turn = k * 10000.0 ** (-np.arange(0, PE.shape[1], 2) / PE.shape[1])
    moved[:, 1::2] = old[:, 1::2] * np.cos(turn) - moved[:, 0::2] * np.sin(turn)
    return moved


@mistake("the second term is missing: sin(a + b) needs cos a, too")
def first_term(PE, k):
    return made(PE, k, a=0, b=0)


@mistake("only the sines are turned: the cosines are left as they were")
def cosine_left(PE, k):
    moved = rotate_positions(PE, k)
    moved[:, 1::2] = PE[:, 1::2]
    return moved


@mistake("the sines are taken from the first half of the columns, the cosines from the second: they alternate")
def halves(PE, k):
    half = PE.shape[1] // 2
    turned = made(np.stack([PE[:, :half], PE[:, half:]], axis=-1).reshape(PE.shape), k)
    return np.concatenate([turned[:, 0::2], turned[:, 1::2]], axis=1)


@mistake("row t is taken for position t: the positions of the rows are unknown, and need not be 0 to T - 1")
def rows_as_positions(PE, k):
    d = PE.shape[1]
    angles = (np.arange(len(PE)) + k)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(PE.shape).astype(PE.dtype)


@mistake("the position is read from the first hand alone, which turns several times: from t = 4 on it says less than t")
def from_the_first_hand(PE, k):
    d = PE.shape[1]
    t = np.round(np.arctan2(PE[:, 0], PE[:, 1]))
    angles = (t + k)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(PE.shape).astype(PE.dtype)


@mistake(
    "the position is read from the slowest hand, which turns more than once, too: turn each "
    "hand, whatever t is"
)
def read_from_the_slowest(PE, k):
    frequencies = 10000.0 ** (-np.arange(0, PE.shape[1], 2) / PE.shape[1])
    positions = np.round(np.arctan2(PE[:, -2], PE[:, -1]) / frequencies[-1])
    return table(positions + k, PE.shape[1])


# %% other right solutions
@also_right
def with_complex_numbers(rows, steps):
    d = rows.shape[1]
    z = (rows[:, 1::2] + 1j * rows[:, 0::2]) * np.exp(1j * steps * 10000.0 ** (-np.arange(0, d, 2) / d))
    return np.stack([z.imag, z.real], axis=2).reshape(rows.shape).astype(rows.dtype)


@also_right
def with_matrices(PE, k):
    moved = np.zeros(PE.shape)    # float64, whatever PE is
    for i in range(0, PE.shape[1], 2):
        b = k / 10000 ** (i / PE.shape[1])
        turn = np.array([[np.cos(b), np.sin(b)], [-np.sin(b), np.cos(b)]])
        moved[:, i:i + 2] = PE[:, i:i + 2] @ turn.T
    return moved
