"""Clipped n-grams

An n-gram is n tokens in a row. Count the n-grams of a hypothesis that are in the reference, but each of them at most as often as it
occurs in the reference. Return that number, and the number of all n-grams that the hypothesis has.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def clipped_matches(hypothesis, reference, n):
    """hypothesis: (T,), reference: (U,), token ids; n: at least 1. Returns matches () and total (), two whole numbers."""
    # your code: the n-grams of both; which occurrence of its n-gram is each, and does the reference have as many?
    found = hypothesis[np.arange(len(hypothesis) - n + 1)[:, None] + np.arange(n)]
    right = reference[np.arange(len(reference) - n + 1)[:, None] + np.arange(n)]
    occurrence = np.tril((found[:, None] == found).all(axis=-1)).sum(axis=1)
    available = (found[:, None] == right).all(axis=-1).sum(axis=1)
    matches = (occurrence <= available).sum()
    return matches, len(found)
    # end of your code


# %% what it is called with
returns = "matches total"
float64_only = True
section = "Count what is right, but not twice"
stars, minutes = 2, 20


def case(rng, T, U):
    ids = rng.permutation([1, 2, 3, 11, 12, 21, 22])[:3]
    return rng.choice(ids, T + 8), rng.choice(ids, U + 6), 2


@edge("single tokens, n = 1, one of them seven times")
def single(rng, U):
    return np.array([5, 5, 5, 5, 5, 5, 5, 2]), np.append(rng.permutation(9) + 1, [5, 2]), 1


@edge("the ids 1 12 and 11 2 are different pairs, and so are 5 6 and 6 5")
def digits(rng, T, U):
    hypothesis, reference = (rng.integers(30, 99, size) for size in (T, U))
    return np.append(hypothesis, [1, 12, 5, 6]), np.append([11, 2, 2, 4, 16, 6, 5], reference), 2


@edge("n = 3")
def three(rng, T, U):
    return rng.integers(1, 3, T + 9), rng.integers(1, 3, U + 9), 3


@edge("a hypothesis of fewer than n tokens")
def short(rng, U):
    return rng.integers(1, 4, 2), rng.integers(1, 4, U + 4), 4


@edge("a hypothesis that is the reference")
def same(rng, T):
    ids = rng.integers(1, 4, T + 4)
    return ids, ids.copy(), 2


@edge(
    "rare tokens in the reference: with a base below their ids, different pairs become one "
    "number"
)
def rare(rng):
    rare, frequent = mistaken(rng)
    return frequent, rare, 2


@edge(
    "rare tokens in the hypothesis: with a base below their ids, different pairs become one "
    "number"
)
def rare_hypothesis(rng):
    rare, frequent = mistaken(rng)
    return rare, frequent, 2


@edge("n = 5")
def five(rng, T, U):
    hypothesis, reference = (rng.integers(1, 3, size + 9) for size in (T, U))
    return np.append(hypothesis, [1, 2, 1, 2, 1]), np.append([1, 2, 1, 2, 1, 2], reference), 5


@edge("a reference of fewer than n tokens")
def short_reference(rng, T):
    return rng.integers(1, 4, T + 4), rng.integers(1, 4, 2), 3


def mistaken(rng):
    """Two texts. In each of many bases, the pair a + base, c of the first one is the same number as
    a, c + 1 of the second one, and so are the two from right to left.
    """
    base = np.append(np.arange(2, 65), [100, 128, 256, 1000, 1024, 10_000, 65_536])[:, None]
    a, c = rng.integers(1, 9, (2, *base.shape))
    rare = np.hstack([a + base, c, c, a + base])
    return rare.ravel(), np.append(np.hstack([a, c + 1, c + 1, a]), 9)


@invariant("no more n-grams can match than the hypothesis has, or than the reference has")
def bounded(answer, hypothesis, reference, n):
    matches, total = answer
    return np.maximum(0, matches - min(total, max(0, len(reference) - n + 1)))


# %% hints
hints = (
    "The hypothesis says a word seven times, the reference twice. How many of the seven are right, and out of how many?",
    "The k-th occurrence of an n-gram matches if the reference has at least k. Or count it in both and take the smaller count.",
    "available = (found[:, None] == ___).all(axis=-1).sum(axis=1)",
)


# %% mistakes
def grams(ids, n, step=1):
    return [tuple(ids[i:i + n].tolist()) for i in range(0, len(ids) - n + 1, step)]


def counted(ours, theirs, smaller=min):
    return sum(smaller(ours.count(one), theirs.count(one)) for one in set(ours))


def made(ours, theirs):
    return counted(ours, theirs), len(ours)


@mistake("the ids of an n-gram are joined without anything between them: 1 12 and 11 2 are both 112")
def joined(hypothesis, reference, n):
    ours, theirs = (["".join(map(str, gram)) for gram in grams(ids, n)] for ids in (hypothesis, reference))
    return made(ours, theirs)


@mistake("nothing is clipped: a word that is said seven times counts seven times")
def unclipped(hypothesis, reference, n):
    ours, theirs = grams(hypothesis, n), grams(reference, n)
    return sum(one in theirs for one in ours), len(ours)


@mistake("each occurrence of an n-gram adds the smaller of the two counts: each different n-gram has to add it once")
def at_each_occurrence(hypothesis, reference, n):
    ours, theirs = grams(hypothesis, n), grams(reference, n)
    return sum(min(ours.count(one), theirs.count(one)) for one in ours), len(ours)


@mistake("an n-gram that the hypothesis has too often does not count at all: as many as the reference has still match")
def dropped(hypothesis, reference, n):
    ours, theirs = grams(hypothesis, n), grams(reference, n)
    return sum(ours.count(one) <= theirs.count(one) for one in ours), len(ours)


@mistake("each different n-gram counts once: one that both have twice counts twice")
def different(hypothesis, reference, n):
    ours, theirs = grams(hypothesis, n), grams(reference, n)
    return len(set(ours) & set(theirs)), len(ours)


@mistake("each different n-gram counts once, in matches and in total: one that both have twice counts twice")
def sets(hypothesis, reference, n):
    ours, theirs = grams(hypothesis, n), grams(reference, n)
    return len(set(ours) & set(theirs)), len(set(ours))


@mistake("total is the number of different n-grams: each occurrence counts")
def different_total(hypothesis, reference, n):
    ours = grams(hypothesis, n)
    return counted(ours, grams(reference, n)), len(set(ours))


@mistake("the larger of the two counts is taken: the smaller one is what can be matched")
def larger(hypothesis, reference, n):
    ours, theirs = grams(hypothesis, n), grams(reference, n)
    return sum(max(ours.count(one), theirs.count(one)) for one in set(ours) & set(theirs)), len(ours)


@mistake("matches counts the reference's n-grams that are in the hypothesis: it has to count the hypothesis's")
def of_the_reference(hypothesis, reference, n):
    ours, theirs = grams(hypothesis, n), grams(reference, n)
    return sum(one in ours for one in theirs), len(ours)


@mistake("total is the number of n-grams of the reference: that would be recall, and BLEU is made of precisions")
def recall(hypothesis, reference, n):
    ours, theirs = grams(hypothesis, n), grams(reference, n)
    return counted(ours, theirs), len(theirs)


@mistake("total is the number of tokens: there are n - 1 fewer n-grams")
def tokens(hypothesis, reference, n):
    return counted(grams(hypothesis, n), grams(reference, n)), len(hypothesis)


@mistake("total is negative for a hypothesis of fewer than n tokens: it has no n-gram")
def negative(hypothesis, reference, n):
    return counted(grams(hypothesis, n), grams(reference, n)), len(hypothesis) - n + 1


@mistake("the last n-gram of each text is missing: there are T - n + 1")
def last_missing(hypothesis, reference, n):
    return made(grams(hypothesis, n)[:-1], grams(reference, n)[:-1])


@mistake("the texts are cut into pieces of n tokens: n-grams overlap, and one begins at each token")
def pieces(hypothesis, reference, n):
    return made(grams(hypothesis, n, n), grams(reference, n, n))


@mistake("the order within an n-gram is lost: its tokens have to agree position by position")
def unordered(hypothesis, reference, n):
    return made([tuple(sorted(one)) for one in grams(hypothesis, n)], [tuple(sorted(one)) for one in grams(reference, n)])


@mistake("an n-gram matches only at the same position in both: it may be anywhere in the reference")
def same_place(hypothesis, reference, n):
    ours = grams(hypothesis, n)
    return sum(a == b for a, b in zip(ours, grams(reference, n))), len(ours)


@mistake("n is ignored: these are single tokens")
def single_tokens(hypothesis, reference, n):
    return made(grams(hypothesis, 1), grams(reference, 1))


@mistake("all n-grams up to n are added up: only those of n tokens count here")
def all_up_to_n(hypothesis, reference, n):
    parts = [made(grams(hypothesis, k), grams(reference, k)) for k in range(1, n + 1)]
    return sum(part[0] for part in parts), sum(part[1] for part in parts)


@mistake("an n-gram is coded as a number with one digit for each id: ids of 10 and more collide")
def decimal(hypothesis, reference, n):
    def coded(gram):
        return sum(int(token) * 10 ** k for k, token in enumerate(reversed(gram)))

    ours, theirs = ([coded(gram) for gram in grams(ids, n)] for ids in (hypothesis, reference))
    return made(ours, theirs)


# %% other right solutions
@also_right
def with_a_list(hypothesis, reference, n):
    left = [tuple(reference[i:i + n]) for i in range(len(reference) - n + 1)]
    matches, total = 0, max(0, len(hypothesis) - n + 1)
    for i in range(total):
        if (one := tuple(hypothesis[i:i + n])) in left:
            left.remove(one)
            matches += 1
    return matches, total


@also_right
def with_counts(ours, theirs, n):
    counts = {}
    for ids, place in ((ours, 0), (theirs, 1)):
        for i in range(len(ids) - n + 1):
            counts.setdefault(tuple(ids[i:i + n]), [0, 0])[place] += 1
    return sum(min(both) for both in counts.values()), sum(both[0] for both in counts.values())
