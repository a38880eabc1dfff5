"""The masks of two layers with a window

Which positions does each position see in one layer? Return two masks of shape (T, T), with a row for each position that looks
and True wherever it sees. In *restricted* attention, a position sees itself and `radius` positions to each side. A *dilated
causal convolution* has a kernel of `k` positions, and the last of them is the position itself. The others come before it, each
`dilation` positions before the next.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def window_masks(T, radius, k, dilation):
    """All are whole numbers: radius is at least 0, k and dilation at least 1. Returns restricted and dilated, each (T, T) bool."""
    # your code: how far before the position that looks does the other one lie?
    before = np.arange(T)[:, None] - np.arange(T)
    restricted = np.abs(before) <= radius
    in_reach = (before >= 0) & (before < k * dilation)
    dilated = in_reach & (before % dilation == 0)
    return restricted, dilated
    # end of your code


# %% what it is called with
returns = "restricted dilated"
section = "Who sees whom"
stars, minutes = 1, 15


def case(rng, T):
    return T + 12, int(rng.integers(2, 5)), int(rng.integers(3, 5)), int(rng.integers(2, 4))


@edge("dilation 1: a window without gaps")
def contiguous(rng, T):
    return T + 5, 1, 3, 1


@edge("windows wider than the sequence")
def wide(rng, T):
    return T, T + 3, 4, T


@edge("radius 0 and k = 1: each position sees only itself")
def alone(rng, T):
    return T, 0, 1, 2


@invariant("every position sees itself: the diagonal must be True")
def diagonal(answer, T, radius, k, dilation):
    return np.concatenate([~mask.diagonal() for mask in answer]) * 1


@invariant("restricted attention sees as far ahead as back: its mask is its own transpose")
def symmetric(answer, T, radius, k, dilation):
    return (answer[0] != answer[0].T) * 1


# %% hints
hints = (
    "With k = 3 and dilation 2, which three positions does position 5 see? How far before position 5 does each of them lie?",
    "Row minus column is the distance back. Restricted: at most radius, either way. Dilated: 0, dilation, ..., (k - 1) dilation.",
    "dilated = in_reach & (___ == 0)",
)


# %% mistakes
def before_of(T):
    return np.arange(T)[:, None] - np.arange(T)


def right_restricted(T, radius):
    return np.abs(before_of(T)) <= radius


def right_dilated(T, k, dilation):
    return np.isin(before_of(T), dilation * np.arange(k))


@mistake("restricted attention looks only back: it has to see radius positions to each side")
def back_only(T, radius, k, dilation):
    before = before_of(T)
    return (before >= 0) & (before <= radius), right_dilated(T, k, dilation)


@mistake("the restricted window is one position too narrow on each side: a distance of exactly radius is inside")
def strictly(T, radius, k, dilation):
    return np.abs(before_of(T)) < max(radius, 1), right_dilated(T, k, dilation)


@mistake("the restricted window has radius positions in all: it needs radius on each side, plus its own")
def radius_in_all(T, radius, k, dilation):
    return np.abs(before_of(T)) <= radius // 2, right_dilated(T, k, dilation)


@mistake("the restricted mask is the wrong way round: True marks where a position may look")
def inverted(T, radius, k, dilation):
    return ~right_restricted(T, radius), right_dilated(T, k, dilation)


@mistake("the dilated window has no gaps: it has to skip dilation - 1 positions between each that it sees and the next")
def without_gaps(T, radius, k, dilation):
    before = before_of(T)
    return right_restricted(T, radius), (before >= 0) & (before <= (k - 1) * dilation)


@mistake("the dilated convolution looks ahead: it is causal, so the distance is row minus column, not column minus row")
def looks_ahead(T, radius, k, dilation):
    return right_restricted(T, radius), right_dilated(T, k, dilation).T


@mistake("the dilated convolution sees k + 1 positions: it has to see k, and its own is one of them")
def one_too_many(T, radius, k, dilation):
    return right_restricted(T, radius), right_dilated(T, k + 1, dilation)


@mistake("the dilated convolution does not see its own position: the last of its k positions is its own")
def not_itself(T, radius, k, dilation):
    return right_restricted(T, radius), np.isin(before_of(T), dilation * np.arange(1, k + 1))


@mistake("the dilation is missing: the k positions have to lie dilation apart, not side by side")
def not_dilated(T, radius, k, dilation):
    return right_restricted(T, radius), right_dilated(T, k, 1)


@mistake("dilation is taken as the number of positions left out: positions lie dilation apart, so dilation - 1 are left "
         "out")
def gaps_of_dilation(T, radius, k, dilation):
    return right_restricted(T, radius), right_dilated(T, k, dilation + 1)


@mistake("the dilated window is centred: it is causal, so it has to end at its own position")
def centred(T, radius, k, dilation):
    return right_restricted(T, radius), np.isin(before_of(T), dilation * (np.arange(k) - k // 2))


@mistake("the dilated convolution looks ahead as well as back: it is causal, so row minus column must be at least 0")
def both_ways(T, radius, k, dilation):
    return right_restricted(T, radius), right_dilated(T, k, dilation) | right_dilated(T, k, dilation).T


@mistake("the dilated convolution sees later positions: it is causal, so row minus column must not be negative")
def all_later(T, radius, k, dilation):
    before = before_of(T)
    return right_restricted(T, radius), (before % dilation == 0) & (before < k * dilation)


# %% other right solutions
@also_right
def with_isin(T, radius, k, dilation):
    t = np.arange(T)
    return abs(t - t[:, None]) < radius + 1, np.isin(t[:, None] - t, np.arange(0, k * dilation, dilation))


@also_right
def with_loops(T, radius, k, dilation):
    restricted, dilated = np.zeros((T, T), bool), np.zeros((T, T), bool)
    for t in range(T):
        restricted[t, max(0, t - radius):t + radius + 1] = True
        for tap in range(k):
            if t - tap * dilation >= 0:
                dilated[t, t - tap * dilation] = True
    return restricted, dilated


@also_right
def with_diagonals(T, radius, k, dilation):
    eyes = {shift: np.eye(T, k=shift, dtype=bool) for shift in range(-T + 1, T)}
    none = np.zeros((T, T), bool)
    near = sum((eyes[s] for s in eyes if -radius <= s <= radius), none)
    taps = sum((eyes[-tap * dilation] for tap in range(k) if tap * dilation < T), none)
    return near, taps
