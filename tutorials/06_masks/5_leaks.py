"""A detector for leaks

A model was run on T tokens, and then T times more, each time with one token replaced by another. Which outputs moved although
the replaced token comes later?
"""

import numpy as np

from minitransformer.learn import also_right, edge, invariant, mistake


# %% reference
def leaks(y, changed):
    """y: (T, d), an output for each position; changed: (T, T, d), changed[u] is y after token u was replaced.

    Returns leak, bool (T, T): leak[t, u] is True if token u comes after t, and some number of output t moved by more than 1e-3.
    """
    # your code: what moved, and which of it comes later; rows are outputs, columns are tokens
    difference = np.abs(changed - y)
    moved = (difference > 1e-3).any(axis=-1)
    position = np.arange(len(y))
    later = position > position[:, None]
    return moved.T & later
    # end of your code


# %% what it is called with
returns = "leak"
section = "Caught: touch one token"
stars, minutes = 2, 15


def case(rng, T, d):
    T += 4
    y = rng.standard_normal((T, d))
    touched = rng.random((T, T)) < 0.6
    touched[-1] = True
    step = 0.1 + rng.random((T, T, d))                 # every number of the output moves up, or
    kind = np.add.outer(np.arange(T), np.arange(T)) % 7
    step[kind == 1] = 0.0015 * np.eye(d)[0]            # one alone does, only a little, or
    step[kind == 2] *= -np.eye(d)[0]                   # one alone moves down, or
    step[kind == 3, 0] -= step[kind == 3].sum(axis=-1)    # their sum stays what it was, or
    step[kind == 4] = 0.005                            # every number moves, only a little, or
    step[kind == 5] = 0.0008                           # too little to count, though their sum is more than 1e-3, or
    step[kind == 6] = 0.1 * np.eye(d)[-1]              # the last one alone does
    return y, y + touched[..., None] * step + 1e-6 * rng.standard_normal((T, T, d))


@edge("a model without a leak")
def causal(rng, T, d):
    y = rng.standard_normal((T, d))
    touched = np.tri(T, dtype=bool).T
    return y, y + touched[..., None] * (0.1 + rng.random((T, T, d)))


@invariant("only a later token can leak: the number of True on the diagonal and below it must be 0")
def below(leak, y, changed):
    return np.tril(leak).sum()


# %% hints
hints = (
    "May output 3 move if token 3 is replaced? If token 2 is? If token 4 is? Where in the matrix leak[t, u] do these three stand?",
    "Three steps: the absolute difference; has any of the d numbers moved? Transpose (changed has the token first), keep u > t.",
    "moved = (difference > 1e-3).___",
)


# %% mistakes
def made(y, changed, moved, later=None):
    position = np.arange(len(y))
    return moved.T & (position > position[:, None] if later is None else later)


def moved(y, changed):
    return (np.abs(changed - y) > 1e-3).any(axis=-1)


@mistake("the matrix is transposed: its rows have to be the outputs, and its columns the tokens that were replaced", hint=2)
def transposed(y, changed):
    return leaks(y, changed).T.copy()


@mistake("moved is not transposed: changed has the replaced token on its first axis", hint=2)
def moved_untransposed(y, changed):
    return made(y, changed, moved(y, changed).T)


@mistake("the diagonal counts as well: an output may depend on its own token", hint=1)
def with_diagonal(y, changed):
    return made(y, changed, moved(y, changed), np.tri(len(y), dtype=bool).T)


@mistake("it is the wrong triangle: earlier tokens may be attended to, later ones may not", hint=1)
def earlier(y, changed):
    return made(y, changed, moved(y, changed), np.tri(len(y), k=-1, dtype=bool))


@mistake("everything that moved counts, earlier tokens as well: only later ones are a leak", hint=1)
def all_that_moved(y, changed):
    return moved(y, changed).T.copy()


@mistake("all d numbers have to move: one that moves is a leak", hint=2)
def all_numbers(y, changed):
    return made(y, changed, (np.abs(changed - y) > 1e-3).all(axis=-1))


@mistake("the absolute value is missing: a number that gets smaller moved as well", hint=2)
def without_abs(y, changed):
    return made(y, changed, (changed - y > 1e-3).any(axis=-1))


@mistake("the numbers of an output are added up first: what moves up and what moves down cancel", hint=2)
def summed(y, changed):
    return made(y, changed, np.abs((changed - y).sum(axis=-1)) > 1e-3)


@mistake("the mean of the d moves is compared: one number that moves alone disappears in it", hint=2)
def mean_move(y, changed):
    return made(y, changed, np.abs(changed - y).mean(axis=-1) > 1e-3)


@mistake("the last axis is still there: one True or False for each output is asked for, not for each of its d numbers", hint=2)
def without_any(y, changed):
    moved = np.abs(changed - y) > 1e-3
    return moved.T & np.triu(np.ones((len(y), len(y)), bool), 1)


@mistake("the threshold is larger than 1e-3: an output that moved a little is missed", hint=2)
def large_threshold(y, changed):
    return made(y, changed, (np.abs(changed - y) > 1e-2).any(axis=-1))


@mistake("any difference counts, that of rounding too: it has to be more than 1e-3", hint=2)
def any_difference(y, changed):
    return made(y, changed, (changed != y).any(axis=-1))


@mistake("each output is compared with that of the replaced position: y has to be broadcast over the first axis of changed", hint=2)
def wrong_rows(y, changed):
    return made(y, changed, (np.abs(changed - y[:, None]) > 1e-3).any(axis=-1))


@mistake("only the first of the d numbers is compared: any of them may move", hint=2)
def first_number(y, changed):
    return made(y, changed, np.abs(changed - y)[..., 0] > 1e-3)


@mistake("the moves of the d numbers are added up: many small ones are then taken for a large one", hint=2)
def added_up(y, changed):
    return made(y, changed, np.abs(changed - y).sum(axis=-1) > 1e-3)


# %% other right solutions
@also_right
def with_max(outputs, after):
    largest = np.abs(after - outputs[np.newaxis]).max(axis=2)
    return np.triu(largest.swapaxes(0, 1) > 1e-3, 1)


@also_right
def with_loops(y, changed):
    T = len(y)
    leak = np.zeros((T, T), bool)
    for t in range(T):
        for u in range(t + 1, T):
            leak[t, u] = max(abs(changed[u, t] - y[t])) > 1e-3
    return leak
