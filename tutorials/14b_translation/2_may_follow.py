"""No n-gram twice

A text is to hold no n-gram twice. Which tokens may come next? The candidates are the ids 0 to V - 1, and one of them is ruled out
if the last n - 1 tokens, followed by it, are an n-gram that the text already holds.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def may_follow(written, n, V):
    """written: (T,), token ids; n: at least 1. Returns allowed, bool (V,): allowed[i] is True if token i may come next."""
    # your code: where in the text do the last n - 1 tokens occur, and what followed them there?
    grams = written[np.arange(len(written) - n + 1)[:, None] + np.arange(n)]
    again = (grams[:, :-1] == grams[-1:, 1:]).all(axis=1)
    return ~np.isin(np.arange(V), grams[again, -1])
    # end of your code


# %% what it is called with
returns = "allowed"
float64_only = True
section = "Why it repeats itself"
stars, minutes = 2, 15


def again(rng, T, n, V):
    """A text whose last n - 1 tokens have occurred before: at its beginning and twice more, each time followed by another token."""
    last = rng.permutation(V)[:n - 1]
    others = rng.integers(0, V, (2, T))
    return np.concatenate([last, [V - 3], others[0], last, [V - 1], others[1], last, [V - 2], last]), n, V


def case(rng, T, V):
    return again(rng, T + 2, 3, V + 6)


@edge("n = 1: no token twice")
def single(rng, T, V):
    return rng.integers(0, V + 4, T + 3), 1, V + 4


@edge("n = 2")
def pairs(rng, T, V):
    return again(rng, T + 1, 2, V + 5)


@edge("n = 4")
def four(rng, T, V):
    return again(rng, T + 2, 4, V + 6)


@edge("the text has fewer than n tokens")
def short(rng, V):
    return rng.integers(0, V + 3, 2), 4, V + 3


@edge("the last n - 1 tokens overlap with where they occurred before")
def overlapping(rng, V):
    return np.array([1, 0, 2, 2, 2]), 3, V + 3


@edge("n = 6, and a place where only three of the last five tokens occurred before")
def six(rng, T, V):
    written, n, V = again(rng, T + 2, 6, V + 9)
    return np.concatenate([[V - 4], written[-3:], [V - 5], written]), n, V


@edge("ids up to 1,100: with a base below them, different beginnings become one number")
def many(rng):
    base = np.array([[10, 16, 26, 30, 32, 50, 64, 99, 100, 128, 256, 512, 1000, 1024]]).T
    last, other = np.full_like(base, 11), rng.permutation(900)[:len(base), None] + 100
    earlier = np.hstack([last - 1, 2 + base, other, last + base, 1 + 0 * base, other + 1])
    return np.concatenate([[1, 12, 77], *rng.permutation(earlier), [11, 2]]), 3, 1_100


@invariant("each n-gram of the text rules out at most one token, so the excess of ruled-out tokens must be 0")
def at_most(allowed, written, n, V):
    return np.maximum(0, (~np.asarray(allowed, bool)).sum() - max(0, len(written) - n + 1))


# %% hints
hints = (
    "In `7 1 2 9 4 1 2`, with n = 3, the last two tokens are `1 2`. What followed them before?",
    "Make all n-grams. If the first n - 1 tokens of one are the last n - 1 of the text, rule out the n-th.",
    "again = (grams[:, :-1] == ___).all(axis=1)",
)


# %% mistakes
def ruled_out(V, tokens):
    return ~np.isin(np.arange(V), tokens)


def followers(written, n, last=None, ends=None):
    """The tokens that follow a run of n - 1 tokens that is `last`."""
    last = written[len(written) - n + 1:] if last is None else last
    return [written[i + n - 1] for i in range(len(written) - n + 1 if ends is None else ends)
            if np.array_equal(written[i:i + n - 1], last)]


@mistake("every token of the text is ruled out: only one that would complete a repeated n-gram is")
def any_token(written, n, V):
    return ruled_out(V, written)


@mistake("the answer is the other way round: True means that a token may come next")
def opposite(written, n, V):
    return ~ruled_out(V, followers(written, n))


@mistake("the last n tokens are compared, so this rules out n-grams of n + 1 tokens")
def longer(written, n, V):
    return ruled_out(V, followers(written, n + 1))


@mistake("only the last n - 2 tokens are compared, so this rules out n-grams of n - 1 tokens")
def shorter(written, n, V):
    return ruled_out(V, followers(written, max(1, n - 1)))


@mistake("only the first place where the last n - 1 tokens occur counts: rule out what followed at each of them")
def first_place(written, n, V):
    return ruled_out(V, followers(written, n)[:1])


@mistake("only the latest place where the last n - 1 tokens occur counts: rule out what followed at each of them")
def latest_place(written, n, V):
    return ruled_out(V, followers(written, n)[-1:])


@mistake("the last n-gram of the text is left out: it can be repeated as well")
def without_the_last(written, n, V):
    return ruled_out(V, followers(written, n, ends=max(0, len(written) - n)))


@mistake("the first n-gram of the text is left out: begin at 0")
def without_the_first(written, n, V):
    return ruled_out(V, [written[i + n - 1] for i in range(1, len(written) - n + 1)
                         if np.array_equal(written[i:i + n - 1], written[len(written) - n + 1:])])


@mistake("the order of the last n - 1 tokens is lost: compare them position by position")
def unordered(written, n, V):
    last = sorted(written[len(written) - n + 1:])
    return ruled_out(V, [written[i + n - 1] for i in range(len(written) - n + 1) if sorted(written[i:i + n - 1]) == last])


@mistake("for n = 1, written[-(n - 1):] is the whole text: the last 0 tokens are written[len(written):]")
def whole_text(written, n, V):
    return ruled_out(V, followers(written, n) if n > 1 else [])


@mistake("one equal token is enough here: all of the last n - 1 have to be equal")
def one_is_enough(written, n, V):
    last = written[len(written) - n + 1:]
    return ruled_out(V, [written[i + n - 1] for i in range(len(written) - n + 1) if n == 1 or (written[i:i + n - 1] == last).any()])


@mistake("the text is cut into pieces of n tokens: n-grams overlap, and one begins at each token")
def pieces(written, n, V):
    return ruled_out(V, [written[i + n - 1] for i in range(0, len(written) - n + 1, n)
                         if np.array_equal(written[i:i + n - 1], written[len(written) - n + 1:])])


# %% other right solutions
@also_right
def with_sets(ids, n, size):
    seen = {tuple(ids[i:i + n].tolist()) for i in range(len(ids) - n + 1)}
    tail = tuple(ids.tolist())[len(ids) - n + 1:] if len(ids) >= n else ()
    return np.array([(*tail, one) not in seen for one in range(size)])


@also_right
def with_a_loop(written, n, V):
    allowed = np.full(V, True)
    for i in range(len(written) - n + 1):
        if list(written[i:i + n - 1]) == list(written[len(written) - n + 1:]):
            allowed[written[i + n - 1]] = False
    return allowed
