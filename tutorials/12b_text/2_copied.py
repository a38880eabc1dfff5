"""How much of it is copied?

A model wrote a text. For each passage of n characters in it, say whether the same passage occurs somewhere in the training text.
Passages overlap: the first one begins at character 0, the second one at character 1, and so on.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def copied(written, train, n, V):
    """written: (T,); train: (N,), ids below V; n: at most T and N. Returns found (T - n + 1,), bool."""
    # your code: a passage is n digits of base V, so it can be one number; which numbers occur in both texts?
    weights = V ** np.arange(n, dtype=np.int64)
    mine = np.lib.stride_tricks.sliding_window_view(written, n) @ weights
    known = np.lib.stride_tricks.sliding_window_view(train, n) @ weights
    return np.isin(mine, known)
    # end of your code


# %% what it is called with
returns = "found"
section = "Learned, or copied?"
stars, minutes = 2, 15
float64_only = True


def case(rng, T, N, n):
    return made(rng, 12 * T, 8 * N, 1 + n // 2)


@edge("all of it is copied")
def all_copied(rng, T, N, n):
    _written, train, n, V = made(rng, 12 * T, 12 * N, n)
    return train[T:T + n + 4].copy(), train, n, V


@edge("the text that was written is one passage")
def one(rng, N, n):
    return made(rng, n, 8 * N, n)


@edge("passages of one character")
def characters(rng, T, N):
    return made(rng, 6 * T, N, 1)


@edge("an alphabet of 40 letters, where a smaller base takes many passages for others")
def many_letters(rng):
    return rng.integers(0, 40, 300), rng.integers(0, 40, 300), 2, 40


@edge("a vocabulary of 70,000 tokens, of which the model wrote rare ones")
def rare_ones_written(rng):
    rare, frequent = mistaken(rng)
    return rare, frequent, 2, 70_000


@edge("a vocabulary of 70,000 tokens, of which the training text has rare ones")
def rare_ones_read(rng):
    rare, frequent = mistaken(rng)
    return frequent, rare, 2, 70_000


def mistaken(rng):
    """Two texts. In each of many bases below V, the pair a + base, c of the first one is the same
    number as a, c + 1 of the second one, and so are the two from right to left.
    """
    base = np.append(np.arange(2, 65), [100, 128, 256, 1000, 1024, 10_000, 65_536])[:, None]
    a, c = rng.integers(1, 9, (2, *base.shape))
    rare = np.hstack([a + base, c, c, a + base])
    return rare.ravel(), np.append(np.hstack([a, c + 1, c + 1, a]), 9)


def made(rng, T, N, n):
    V, N = int(rng.integers(5, 9)), max(N, n + 2)
    written, train = rng.integers(V - 3, V, T), rng.integers(V - 3, V, N)
    return written, train, n, V


@invariant("there must be as many answers as passages, and each must be 0 or 1")
def sizes(found, written, train, n, V):
    return np.concatenate([[np.size(found) - (len(written) - n + 1)], np.asarray(found) * (1 - np.asarray(found))])


# %% hints
hints = (
    "The model wrote *abab*, and n is 3. Which passages are there, and how many answers?",
    "A loop over all pairs of passages takes too long for a real text. Turn each passage into one number, as digits turn into a "
    "number, and ask which numbers of the one text occur in the other.",
    "mine = np.lib.stride_tricks.sliding_window_view(written, n) @ ___",
)


# %% mistakes
windows = np.lib.stride_tricks.sliding_window_view


def occurs(written, train, n, key=tuple, step=1):
    known = {key(train[i:i + n]) for i in range(0, len(train) - n + 1, step)}
    return np.array([key(written[i:i + n]) in known for i in range(len(written) - n + 1)])


@mistake("the order of the characters is lost: *abc* is not *cab*")
def any_order(written, train, n, V):
    return occurs(written, train, n, lambda passage: tuple(sorted(passage)))


@mistake("this asks which characters a passage consists of: they have to come in the same order, and as often")
def as_sets(written, train, n, V):
    return occurs(written, train, n, lambda passage: frozenset(passage.tolist()))


@mistake("the passages of the training text do not overlap here: one may begin at any character")
def apart(written, train, n, V):
    return occurs(written, train, n, step=n)


@mistake("this asks for single characters: all n of a passage have to follow each other in the training text")
def characters_known(written, train, n, V):
    return np.isin(windows(written, n), train).all(axis=-1)


@mistake("this is about passages of n - 1 characters")
def too_short(written, train, n, V):
    return occurs(written[:len(written) - 1] if n > 1 else written, train, max(n - 1, 1))


@mistake("a passage counts only at the same place of the training text: it may be anywhere in it")
def same_place(written, train, n, V):
    found = np.zeros(len(written) - n + 1, bool)
    both = min(len(written), len(train)) - n + 1
    found[:both] = (windows(written, n)[:both] == windows(train, n)[:both]).all(axis=-1)
    return found


@mistake("the last passage of the training text is left out: there are N - n + 1 of them")
def without_last(written, train, n, V):
    return occurs(written, train[:-1], n) if len(train) > n else np.zeros(len(written) - n + 1, bool)


@mistake("this is the opposite: whether a passage is new")
def new(written, train, n, V):
    return ~occurs(written, train, n)


@mistake(
    "a passage is coded as a number of base 100: in a vocabulary of more than 100 tokens, "
    "different passages collide"
)
def base_100(written, train, n, V):
    return copied(written, train, n, 100)


# %% other right solutions
@also_right
def with_a_set(text, read, length, size):
    known = {tuple(read[i:i + length].tolist()) for i in range(len(read) - length + 1)}
    return np.array([tuple(text[i:i + length].tolist()) in known for i in range(len(text) - length + 1)])


@also_right
def all_pairs(written, train, n, V):
    return (windows(written, n)[:, None] == windows(train, n)).all(axis=-1).any(axis=-1)
