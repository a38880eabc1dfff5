"""One merge of byte-pair encoding

A text is a row of ids, and 0 is the space between two words. Find the pair of neighbours that occurs most often, within words
only, and replace every such pair with the id `new`. One pair is more frequent than all others, and its two ids are different.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def merged(ids, new):
    """ids: (T,); new: an id that is not among them. Returns pair (2,) and text (T - n,), if the pair occurs n times."""
    # your code: all pairs of neighbours, how often each occurs, and the text without what has been merged
    pairs = np.stack([ids[:-1], ids[1:]], axis=1)
    counts = (pairs[:, None] == pairs).all(axis=-1).sum(axis=1) * (pairs != 0).all(axis=1)
    pair = pairs[counts.argmax()]
    found = (pairs == pair).all(axis=1)
    replaced = np.where(np.append(found, False), new, ids)
    return pair, replaced[~np.append(False, found)]
    # end of your code


# %% what it is called with
returns = "pair text"
varies = "text"    # its length depends on the numbers
float64_only = True
section = "Pieces of words"
stars, minutes = 2, 15


def clear(ids):
    """Whether one pair of two different ids is the most frequent one, within words, and one if pairs with a space count, too."""
    every = neighbours(ids)
    for pairs in (every, [pair for pair in every if 0 not in pair]):
        counts = sorted(((pairs.count(pair), pair) for pair in set(pairs)), reverse=True)
        if len(counts) < 3 or counts[0][0] == counts[1][0] or counts[0][1][0] == counts[0][1][1]:
            return False
    return True


def drawn(rng, T, chances):
    ids, names = np.zeros(1, int), np.append(0, rng.permutation(np.arange(1, 40))[:len(chances) - 1])
    while not clear(ids):
        ids = names[rng.choice(len(chances), T, p=chances)]
    return ids, int(rng.integers(40, 99))


def case(rng, T):
    return drawn(rng, 4 * T + 12, (0.25, 0.25, 0.2, 0.15, 0.15))


@edge("a pair that occurs side by side, twice in one word")
def side_by_side(rng):
    return np.array([3, 1, 2, 1, 2, 0, 2, 1, 0, 1, 2]), 7


@edge("most words end with the same letter")
def endings(rng):
    return np.array([1, 4, 0, 2, 4, 0, 3, 4, 0, 2, 4, 0, 1, 4, 0, 2, 4, 0, 4, 3, 1, 3, 0]), 8


@edge("ids up to 70,000: with a base below them, different pairs become one number")
def many(rng):
    new = int(rng.integers(200, 250))
    words = 4 * [[31, 29]] + 3 * [[1, 12], [11, 2]]
    bases = 10, 16, 32, 50, 64, 99, 100, 128, 256, 1000, 10_000, 65_536, new, 534
    for i, base in enumerate(bases):
        a, c = 40 + 4 * i, 42 + 4 * i
        words += 3 * [[a + base, c], [a, c + 1]] + 3 * [[c, a + base], [c + 1, a]]
    once = 30_000 + np.arange(2 * len(words)).reshape(-1, 2)    # around each word, so that no pair with a space is frequent
    order = rng.permutation(len(words))
    return np.concatenate([[first, *words[i], last, 0] for i, (first, last) in zip(order, once)]), new


@invariant("with the pair put back in place of `new`, the text is what it was")
def undone(answer, ids, new):
    pair, text = answer
    again = np.concatenate([pair if one == new else [one] for one in text])
    return again - ids if len(again) == len(ids) else np.ones(1)


# %% hints
hints = (
    "In `1 2 0 1 2 3`, which pairs are within a word, and how many ids does the text have after the merge?",
    "Count each pair among all pairs; one with a 0 counts 0. In each place of the best pair, one id becomes new and one goes.",
    "found = (pairs == ___).all(axis=1)",
)


# %% mistakes
def neighbours(ids):
    return list(zip(ids[:-1].tolist(), ids[1:].tolist()))


def most_frequent(pairs, best=max):
    return best(dict.fromkeys(pairs), key=pairs.count)


def right_pair(ids):
    return most_frequent([pair for pair in neighbours(ids) if 0 not in pair])


def put(ids, pair, pieces, times=None):
    """The pair, and the text with `pieces` in place of each pair, the first `times` of them only."""
    text, i, done = [], 0, 0
    while i < len(ids):
        found = tuple(ids[i:i + 2].tolist()) == tuple(pair) and done != times
        text += pieces if found else [ids[i]]
        done += found
        i += 2 if found else 1
    return np.array(pair), np.array(text)


@mistake("pairs with a space count: a merge stays within a word")
def across_spaces(ids, new):
    return put(ids, most_frequent(neighbours(ids)), [new])


@mistake("the spaces are thrown away: the words have to stay apart")
def no_spaces(ids, new):
    return put(ids[ids != 0], right_pair(ids), [new])


@mistake("the spaces are thrown away before the pairs are counted: then two neighbours may belong to two words")
def no_spaces_at_all(ids, new):
    return put(ids[ids != 0], most_frequent(neighbours(ids[ids != 0])), [new])


@mistake("only the first occurrence is merged: merge all of them")
def once(ids, new):
    return put(ids, right_pair(ids), [new], times=1)


@mistake("the second id of the pair is still there: one id takes the place of both")
def second_stays(ids, new):
    pair = right_pair(ids)
    return put(ids, pair, [new, pair[1]])


@mistake("the first id of the pair is still there: one id takes the place of both")
def first_stays(ids, new):
    pair = right_pair(ids)
    return put(ids, pair, [pair[0], new])


@mistake("the second id of the pair takes the place of both: it has to be the new id")
def second_alone(ids, new):
    pair = right_pair(ids)
    return put(ids, pair, [pair[1]])


@mistake("both ids of the pair became the new id: one takes the place of both")
def both(ids, new):
    return put(ids, right_pair(ids), [new, new])


@mistake("the pair is gone: the new id has to take its place")
def gone(ids, new):
    return put(ids, right_pair(ids), [])


@mistake("the text is unchanged: the pair has to be merged in it")
def unchanged(ids, new):
    return np.array(right_pair(ids)), ids.copy()


@mistake("the rarest pair is merged: the most frequent one has to be")
def rarest(ids, new):
    return put(ids, most_frequent([pair for pair in neighbours(ids) if 0 not in pair], min), [new])


@mistake("the order of the two is lost, and the pair's mirror image is counted with it: a pair has a first and a second id")
def unordered(ids, new):
    pairs = [tuple(sorted(pair)) for pair in neighbours(ids) if 0 not in pair]
    return put(ids, most_frequent(pairs), [new])


@mistake("the mirror image is merged too: merge the pair in its own order only")
def mirrored(ids, new):
    pair = right_pair(ids)
    return np.array(pair), put(put(ids, pair, [new])[1], pair[::-1], [new])[1]


@mistake("the first pair of the text is merged: count how often each occurs")
def first(ids, new):
    return put(ids, next(pair for pair in neighbours(ids) if 0 not in pair), [new])


@mistake("each of the two ids is replaced everywhere: replace them only as neighbours in this order")
def each(ids, new):
    pair = right_pair(ids)
    return np.array(pair), np.where(np.isin(ids, pair), new, ids)


@mistake("a pair is coded as 10 a + b: with ids of 10 and more, different pairs get the same number")
def tens(ids, new):
    codes = [10 * a + b for a, b in neighbours(ids) if a and b]
    code = max(sorted(set(codes)), key=codes.count)
    return put(ids, (code // 10, code % 10), [new])


# %% other right solutions
@also_right
def with_a_dictionary(text, new):
    counts = {}
    for i in range(len(text) - 1):
        pair = text[i], text[i + 1]
        if 0 not in pair:
            counts[pair] = counts.get(pair, 0) + 1
    best = max(counts, key=counts.get)
    made = []
    for one in text:
        if made and (made[-1], one) == best:
            made[-1] = new
        else:
            made.append(one)
    return np.array(best), np.array(made)


@also_right
def with_codes(ids, new):
    base = ids.max() + 1
    codes = np.where((ids[:-1] > 0) & (ids[1:] > 0), ids[:-1] * base + ids[1:], -1)
    values, counts = np.unique(codes[codes >= 0], return_counts=True)
    best = values[counts.argmax()]
    places = np.flatnonzero(codes == best)
    text = ids.copy()
    text[places] = new
    return np.array([best // base, best % base]), np.delete(text, places + 1)
