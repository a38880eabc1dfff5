"""A detector for leaks

Replace one token with another letter, whichever you like, and run the model again. Which outputs moved although the token comes
later? Do this for each token.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake
from minitransformer_course.judge.fixtures import StubModel


# %% reference
def find_leaks(model, ids):
    """model: a function, ids (T,) -> y (T, d), an output for each position; ids: (T,), letters: the ids 3 to 28.

    Returns leak, bool (T, T): leak[t, u] is True if token u comes after t, and some number of output t moves by more than 1e-3
    when token u, and no other, becomes another letter. Which letter that is does not matter.
    """
    # your code: run the model as it is, and once for each replaced token; rows of leak are outputs, columns are tokens
    T = len(ids)
    y = model(ids)
    touched = np.tile(ids, (T, 1))
    touched[np.arange(T), np.arange(T)] = 3 + (ids - 2) % 26
    changed = np.stack([model(row) for row in touched])
    moved = (np.abs(changed - y) > 1e-3).any(axis=-1)
    later = np.arange(T) > np.arange(T)[:, None]
    return moved.T & later
    # end of your code


# %% what it is called with
returns = "leak"
section = "Caught: touch one token"
stars, minutes = 3, 25


def case(rng, T, d):
    T += 4
    ids = rng.integers(3, 29, T)
    ids[-2:] = 28, 3
    step = 0.1 + rng.random((T, T, d))                 # every number of the output moves up, or
    kind = np.add.outer(np.arange(T), np.arange(T)) % 8
    step[kind == 1] = 0.0015 * np.eye(d)[0]            # one alone does, only a little, or
    step[kind == 2] *= -np.eye(d)[0]                   # one alone moves down, or
    step[kind == 3, 0] -= step[kind == 3].sum(axis=-1)    # their sum stays what it was, or
    step[kind == 4] = 0.005                            # every number moves, only a little, or
    step[kind == 5] = 0.0008                           # too little to count, though their sum is more than 1e-3, or
    step[kind == 6] = 0.1 * np.eye(d)[-1]              # the last one alone does, or
    step[kind == 7] = 0.0008 * np.eye(d)[0]            # one alone, too little to count
    touched = rng.random((T, T)) < 0.6
    touched[-2:] = True
    return StubModel(rng.standard_normal((T, d)), touched[..., None] * step, ids), ids


@edge("a model without a leak")
def causal(rng, T, d):
    step = np.triu(np.ones((T, T)))[..., None] * (0.1 + rng.random((T, T, d)))
    ids = rng.integers(3, 29, T)
    return StubModel(rng.standard_normal((T, d)), step, ids), ids


@edge("every letter occurs five times, and every later token leaks")
def alphabet(rng, d):
    ids = np.concatenate([rng.permutation(np.arange(3, 29)) for _time in range(5)])
    T = len(ids)
    return StubModel(rng.standard_normal((T, d)), np.full((T, T, d), 0.1), ids), ids


@invariant("only a later token can leak: the number of True on the diagonal and below it must be 0")
def below(leak, model, ids):
    return np.tril(leak).sum()


# %% hints
hints = (
    "May output 3 move if token 3 is replaced? If token 2 is? If token 4 is? Where in the matrix leak[t, u] are these three?",
    "Run the model on ids, then on T copies with one token replaced each. An output moved if any of its d numbers did. Keep u > t.",
    "moved = (np.abs(changed - y) > 1e-3).___",
)


# %% mistakes
def next_letters(ids):
    return 3 + (ids - 2) % 26


def runs(model, ids, others=None):
    """y (T, d), and changed (T, T, d): changed[u] is y after token u was replaced by others[u]."""
    touched = np.where(np.eye(len(ids), dtype=bool), next_letters(ids) if others is None else others, ids)
    return model(ids), np.stack([model(row) for row in touched])


def made(moved, later=None):
    """moved: (T, T), the replaced token first."""
    return moved.T & (np.triu(np.ones(moved.shape, bool), 1) if later is None else later)


def differences(model, ids):
    y, changed = runs(model, ids)
    return changed - y


def far(model, ids):
    return (np.abs(differences(model, ids)) > 1e-3).any(axis=-1)


@mistake("a token that was replaced stays replaced in the runs after it: begin each run with a new copy of ids")
def kept(model, ids):
    y, given, moved = model(ids), ids.copy(), []
    for u, letter in enumerate(next_letters(ids)):
        given[u] = letter
        moved.append((np.abs(model(given) - y) > 1e-3).any(axis=-1))
    return made(np.array(moved))


@mistake("each run is compared with the run before it, not with the model on ids: the previous token's effect counts again")
def compared_with_the_run_before(model, ids):
    y, changed = runs(model, ids)
    return made((np.abs(np.diff(changed, axis=0, prepend=y[None])) > 1e-3).any(axis=-1))


@mistake("every token is replaced by the same letter, and where ids already has that letter, nothing is replaced")
def by_one_letter(model, ids):
    y, changed = runs(model, ids, np.full_like(ids, 3))
    return made((np.abs(changed - y) > 1e-3).any(axis=-1))


@mistake("the last letter of the vocabulary is replaced with itself: choose another one")
def clipped(model, ids):
    y, changed = runs(model, ids, np.minimum(ids + 1, 28))
    return made((np.abs(changed - y) > 1e-3).any(axis=-1))


@mistake("the matrix is transposed: its rows have to be the outputs, and its columns the tokens that were replaced")
def transposed(model, ids):
    return find_leaks(model, ids).T.copy()


@mistake("moved is not transposed: its first axis is the run, and so the replaced token")
def moved_untransposed(model, ids):
    return made(far(model, ids).T)


@mistake("the diagonal counts as well: an output may depend on its own token")
def with_diagonal(model, ids):
    return made(far(model, ids), np.tri(len(ids), dtype=bool).T)


@mistake("it is the wrong triangle: earlier tokens may be attended to, later ones may not")
def earlier(model, ids):
    return made(far(model, ids), np.tri(len(ids), k=-1, dtype=bool))


@mistake("everything that moved counts, earlier tokens as well: only later ones are a leak")
def all_that_moved(model, ids):
    return far(model, ids).T.copy()


@mistake("this asks for all d numbers to move: a single one is a leak")
def all_numbers(model, ids):
    return made((np.abs(differences(model, ids)) > 1e-3).all(axis=-1))


@mistake("the absolute value is missing: a number that gets smaller moved as well")
def without_abs(model, ids):
    return made((differences(model, ids) > 1e-3).any(axis=-1))


@mistake("the numbers of an output are added up first: upward and downward moves cancel")
def summed(model, ids):
    return made(np.abs(differences(model, ids).sum(axis=-1)) > 1e-3)


@mistake("the mean of the d moves is compared: one number that moves alone disappears in it")
def mean_move(model, ids):
    return made(np.abs(differences(model, ids)).mean(axis=-1) > 1e-3)


@mistake("the moves of the d numbers are added up: many small ones are then taken for a large one")
def added_up(model, ids):
    return made(np.abs(differences(model, ids)).sum(axis=-1) > 1e-3)


@mistake("the threshold is larger than 1e-3: an output that moved a little is missed")
def large_threshold(model, ids):
    return made((np.abs(differences(model, ids)) > 1e-2).any(axis=-1))


@mistake("any difference counts, even rounding: it has to be more than 1e-3")
def any_difference(model, ids):
    return made((differences(model, ids) != 0).any(axis=-1))


@mistake("only the first of the d numbers is compared: any of them may move")
def first_number(model, ids):
    return made(np.abs(differences(model, ids))[..., 0] > 1e-3)


@mistake("the move is compared relative to y: an output counts by how far it moved, however large it is")
def relative(model, ids):
    y, changed = runs(model, ids)
    return made((np.abs(changed - y) > 1e-3 * np.abs(y)).any(axis=-1))


@mistake("the threshold is smaller than 1e-3: an output that moves less than that does not count")
def small_threshold(model, ids):
    return made((np.abs(differences(model, ids)) > 1e-4).any(axis=-1))


@mistake("the token becomes padding (0), which the model does not look at: replace it with another letter")
def replaced_by_padding(model, ids):
    y, changed = runs(model, ids, 0 * ids)
    return made((np.abs(changed - y) > 1e-3).any(axis=-1))


# %% other right solutions
@also_right
def with_a_loop(model, ids):
    y = model(ids)
    leak = np.zeros((len(ids), len(ids)), bool)
    for u in range(len(ids)):
        other = ids.copy()
        other[u] = 3 if ids[u] != 3 else 4
        leak[:u, u] = np.abs(model(other) - y).max(axis=1)[:u] > 1e-3
    return leak


@also_right
def with_triu(f, tokens):
    before = f(tokens)
    moved = []
    for u, token in enumerate(tokens):
        moved.append(np.abs(f(np.concatenate([tokens[:u], [31 - token], tokens[u + 1:]])) - before).max(axis=-1))
    return np.triu(np.array(moved).T > 1e-3, 1)
