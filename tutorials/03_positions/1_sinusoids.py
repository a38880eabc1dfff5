"""The table of positions

Each pair of columns is the hand of a clock: first how far it points to the right, a sine, then how far it points up, a cosine.
At position 0 all hands point straight up. Clock i needs 2 pi 10000^(2i / d_model) positions for one turn. Derive the angles.
"""

import numpy as np

from minitransformer import functional
from minitransformer_course.judge import also_right, edge, invariant, mistake, plugs


# %% reference
def sinusoids(positions, d_model):
    """positions: (T,), whole numbers in any order, such as [4, 0, 7]; d_model: even. Returns PE (T, d_model).

    Columns 2i and 2i + 1 are the sine and the cosine of clock i.
    """
    # your code: how far is each hand at each position?
    frequencies = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    angles = positions[:, None] * frequencies
    PE = np.empty((len(positions), d_model))
    PE[:, 0::2] = np.sin(angles)
    PE[:, 1::2] = np.cos(angles)
    return PE
    # end of your code


# %% what it is called with
returns = "PE"
section = "A row of clocks"
stars, minutes = 2, 15


def case(rng, T, half):
    return rng.permutation(3 * T)[:T], 2 * half


@edge("position 0 alone")
def zero(rng, half):
    return np.zeros(1, int), 2 * half


@edge("positions in the thousands")
def far(rng, T, half):
    return rng.integers(5_000, 9_000, T), 2 * half


@invariant("each pair of columns is a point on a circle: sine squared plus cosine squared must be 1")
def circle(PE, positions, d_model):
    return PE[:, 0::2] ** 2 + PE[:, 1::2] ** 2 - 1


@invariant("the first pair must be sin(t) and cos(t)")
def first(PE, positions, d_model):
    return PE[:, 0] - np.sin(positions)


@plugs(functional.sinusoids)
def in_the_model(own):
    def sinusoids(length, d_model, xp=np, dtype="float64"):
        return own(np.arange(length), d_model).astype(dtype)
    return sinusoids


# %% hints
hints = (
    "What are sine and cosine of 0? So what must the row of position 0 look like: 0 1 0 1 or 0 0 1 1?",
    "After t of its w positions a hand has made t / w of a turn, and a turn is an angle of 2 pi: what does 2 pi t / w simplify to? "
    "Its sine goes to column 2i, its cosine to 2i + 1.",
    "PE[:, ___] = np.cos(angles)",
)


# %% mistakes
def made(positions, d_model, exponent=lambda i, d: 2 * i / d, base=10000.0, interleave=True):
    i = np.arange(d_model // 2)
    angles = positions[:, None] * base ** -exponent(i, d_model)
    if not interleave:
        return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(positions), d_model)


@mistake("all sines come first, then all cosines: they have to alternate, sine in the even columns, cosine in the odd ones")
def halves(positions, d_model):
    return made(positions, d_model, interleave=False)


@mistake("the exponent is i / d_model, not 2i / d_model: the clocks do not slow down enough")
def exponent_halved(positions, d_model):
    return made(positions, d_model, lambda i, d: i / d)


@mistake("the exponent is 4i / d_model: 2i already stands for the column, and was doubled")
def exponent_doubled(positions, d_model):
    return made(positions, d_model, lambda i, d: 4 * i / d)


@mistake("sine and cosine are swapped: the cosine belongs to the odd columns")
def swapped(positions, d_model):
    return made(positions, d_model).reshape(len(positions), -1, 2)[..., ::-1].reshape(len(positions), d_model)


@mistake("the odd columns have frequencies of their own: the two columns of a pair share one")
def own_frequency(positions, d_model):
    columns = np.arange(d_model)
    angles = positions[:, None] / 10000.0 ** (columns / d_model)
    return np.where(columns % 2 == 0, np.sin(angles), np.cos(angles))


@mistake("i counts columns, not pairs, in 2i / d_model: column 2 and column 3 both belong to i = 1")
def columns_doubled(positions, d_model):
    columns = np.arange(d_model)
    angles = positions[:, None] / 10000.0 ** (2 * columns / d_model)
    return np.where(columns % 2 == 0, np.sin(angles), np.cos(angles))


@mistake("the base is 1,000, not 10,000")
def other_base(positions, d_model):
    return made(positions, d_model, base=1000.0)


@mistake("the positions begin at 1: position t gets the row of t + 1")
def from_one(positions, d_model):
    return made(positions + 1, d_model)


@mistake("the rows are those of 0, 1, 2, ..., whatever the positions are")
def row_numbers(positions, d_model):
    return made(np.arange(len(positions)), d_model)


@mistake("t is multiplied by 10000^(2i / d_model), not divided: the clocks get faster")
def faster(positions, d_model):
    return made(positions, d_model, lambda i, d: -2 * i / d)


@mistake("the positions are multiplied by the wavelength: t of w positions are t / w of a turn")
def times_wavelength(positions, d_model):
    return made(2 * np.pi * positions, d_model, lambda i, d: -2 * i / d)


@mistake("2 pi is left in the angle: it has to cancel, because the wavelength contains it too")
def two_pi_left(positions, d_model):
    return made(2 * np.pi * positions, d_model)


@mistake("2 pi is missing from the angle: a turn is 2 pi, not 1")
def two_pi_below(positions, d_model):
    return made(positions / (2 * np.pi), d_model)


@mistake("every pair has the frequency 1: the exponent is missing, or 2i // d_model made it 0")
def one_frequency(positions, d_model):
    return made(positions, d_model, lambda i, d: 2 * i // d)


@mistake("every column holds a sine: the odd ones need the cosine")
def sines_only(positions, d_model):
    PE = made(positions, d_model)
    PE[:, 1::2] = PE[:, 0::2]
    return PE


@mistake("the exponents run from 0 to 1, i / (d_model / 2 - 1), as in Tensor2Tensor: here they are 2i / d_model")
def tensor2tensor(positions, d_model):
    return made(positions, d_model, lambda i, d: i / max(d // 2 - 1, 1))


@mistake("the base is e, not 10,000: exp(-2i / d_model) lacks the factor log(10000) in the exponent")
def base_e(positions, d_model):
    return made(positions, d_model, base=np.e)


# %% other right solutions
@also_right
def with_complex_numbers(t, d):
    z = np.exp(1j * np.outer(t, np.exp(-np.log(10000.0) * np.arange(0, d, 2) / d)))
    return np.stack([z.imag, z.real], axis=2).reshape(len(t), d)


@also_right
def with_loops(positions, d_model):
    PE = np.zeros((len(positions), d_model))
    for row, t in enumerate(positions):
        for column in range(d_model):
            angle = t / 10000 ** ((column - column % 2) / d_model)
            PE[row, column] = np.cos(angle) if column % 2 else np.sin(angle)
    return PE
