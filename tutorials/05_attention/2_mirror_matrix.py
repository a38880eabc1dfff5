"""A question, written by hand

To write letter t of a word of n letters backwards, a model has to read letter n - 1 - t. If the keys are the rows of positions,
the query has to be the row of that letter's position. Make the matrix W that turns the row of any position t into the row of
position n - 1 - t. Applied twice, it leads back.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def mirror_matrix(frequencies, n):
    """frequencies: (d_model / 2,), f_i is the angle between two positions of clock i.

    n: the number of letters. Row t of the table: sin(t f_0), cos(t f_0), sin(t f_1), ...
    Returns W (d_model, d_model): row t times W is row n - 1 - t, for every t.
    """
    # your code: each clock has four numbers of W to itself
    angle = (n - 1) * frequencies
    W = np.zeros((2 * len(frequencies), 2 * len(frequencies)))
    sine = np.arange(0, len(W), 2)
    cosine = sine + 1
    W[sine, sine] = -np.cos(angle)
    W[sine, cosine] = np.sin(angle)
    W[cosine, sine] = np.sin(angle)
    W[cosine, cosine] = np.cos(angle)
    return W
    # end of your code


# %% what it is called with
returns = "W"
section = "A question, written by hand"
stars, minutes = 3, 20
float64_only = True    # nothing trains with it


def case(rng, half, n):
    return rng.uniform(0.2, 1.2, half), n


@edge("a word of one letter: position 0 stays where it is, and position t becomes -t")
def one_letter(rng, half):
    return rng.uniform(0.2, 1.2, half), 1


def table(frequencies, positions):
    angles = positions[:, None] * frequencies
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(positions), -1)


@invariant("mirrored twice, a position is back where it was: W W must be the identity")
def twice(W, frequencies, n):
    return W @ W - np.eye(len(W), dtype=W.dtype)


@invariant("the row of position 0 times W must be the row of position n - 1")
def first(W, frequencies, n):
    rows = table(frequencies, np.array([0, n - 1]))
    return rows[0] @ W - rows[1]


# %% hints
hints = (
    "Mirror a position twice: where are you? So what must W W be? And which angle does a clock show at position n - 1 - t, if it "
    "shows a at t?",
    "With b = (n - 1) f the new angle is b - a: sin(b - a) = sin b cos a - cos b sin a, cos(b - a) = cos b cos a + sin b sin a. "
    "The old sine and cosine choose a row of W, the new ones a column.",
    "W[sine, sine] = ___",
)


# %% mistakes
def made(frequencies, n, signs=((-1, 1), (1, 1)), last=-1):
    b, W = (n + last) * frequencies, np.zeros((2 * len(frequencies), 2 * len(frequencies)), frequencies.dtype)
    for i, block in enumerate(np.array([[np.cos(b), np.sin(b)], [np.sin(b), np.cos(b)]]).transpose(2, 0, 1)):
        W[2 * i:2 * i + 2, 2 * i:2 * i + 2] = block * np.array(signs)
    return W


@mistake("the mirror is one position too far: this W turns t into n - t, but the last of n letters is n - 1")
def one_too_far(frequencies, n):
    return made(frequencies, n, last=0)


@mistake("this W walks n - 1 positions on: it turns t into t + n - 1, the same way for all t, and mirrors nothing")
def walked_on(frequencies, n):
    return made(frequencies, n, ((1, -1), (1, 1)))


@mistake("the sine has the wrong sign: sin(b - a) = sin b cos a - cos b sin a. This W walks n - 1 positions back")
def walked_back(frequencies, n):
    return made(frequencies, n, ((1, 1), (-1, 1)))


@mistake("the sine is that of a sum: sin(b - a) has a minus before cos b sin a")
def sine_of_a_sum(frequencies, n):
    return made(frequencies, n, ((1, 1), (1, 1)))


@mistake("the cosine is that of a sum: cos(b - a) = cos b cos a + sin b sin a")
def cosine_of_a_sum(frequencies, n):
    return made(frequencies, n, ((-1, -1), (1, 1)))


@mistake("the cosine has the wrong sign: cos(b - a) = cos b cos a + sin b sin a")
def cosine_negated(frequencies, n):
    return made(frequencies, n, ((-1, -1), (1, -1)))


@mistake("the clocks are mirrored at position 0: this W turns t into -t, whatever n is")
def at_zero(frequencies, n):
    return made(frequencies, 1)


@mistake("b is half of what it should be: this W turns t into (n - 1) / 2 - t")
def half_the_angle(frequencies, n):
    return made(frequencies, (n - 1) / 2 + 1)


@mistake("every clock is turned by the first one's frequency: each has its own")
def one_frequency(frequencies, n):
    return made(np.full_like(frequencies, frequencies[0]), n)


@mistake("the columns are reversed, not the positions")
def columns_reversed(frequencies, n):
    return np.eye(2 * len(frequencies), dtype=frequencies.dtype)[::-1].copy()


@mistake("the sines are taken from the first half of the columns, the cosines from the second: they alternate")
def halves(frequencies, n):
    order = np.arange(2 * len(frequencies)).reshape(-1, 2).T.ravel()
    return made(frequencies, n)[order][:, order]


# %% other right solutions
@also_right
def with_loops(f, n):
    W = np.zeros((2 * f.size, 2 * f.size), f.dtype)
    for i, one in enumerate(f):
        b = one * (n - 1)
        W[2 * i:2 * i + 2, 2 * i:2 * i + 2] = [[-np.cos(b), np.sin(b)], [np.sin(b), np.cos(b)]]
    return W


@also_right
def with_kron(f, n):
    blocks = [np.kron(np.diag(np.arange(len(f)) == i), [[-np.cos(b), np.sin(b)], [np.sin(b), np.cos(b)]])
              for i, b in enumerate(f * (n - 1))]
    return sum(blocks).astype(f.dtype)
