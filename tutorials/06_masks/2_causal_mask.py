"""The causal mask

A decoder writes from left to right. Which positions may position t attend to, so that it sees all that is known when it writes,
and nothing of what it has to predict?
"""

import numpy as np

from minitransformer import functional
from minitransformer_course.judge import also_right, edge, invariant, mistake, plugs


# %% reference
def causal_mask(ids):
    """ids: (B, T). Returns mask, bool (T, T): mask[t, u] is True if position t may attend to position u."""
    # your code: compare each position with each; the row is the query
    position = np.arange(ids.shape[1])
    return position[:, None] >= position
    # end of your code


# %% what it is called with
returns = "mask"
section = "The future: the causal mask"
stars, minutes = 1, 10


def case(rng, B, T):
    return (rng.integers(3, 20, (B, T)),)


@edge("hundreds of positions, some of which are padding")
def long(rng):
    return (rng.integers(0, 5, (2, int(rng.integers(520, 600)))),)


@invariant("the number of pairs in which a position may attend to a later one must be 0")
def future(mask, ids):
    return np.triu(mask, 1).sum()


@invariant("position t may attend to t + 1 positions, itself included: row t of the mask must sum to t + 1")
def rows(mask, ids):
    return mask.sum(axis=-1) - 1 - np.arange(len(mask))


@plugs(functional.causal_mask)
def in_the_model(own):
    return own


# %% hints
hints = (
    "How many keys may the first position attend to? And the last one? What does the first row of the mask look like?",
    "Make the positions 0 .. T - 1 once as a column (the queries) and once as a row (the keys). Compare: t >= u.",
    "return position[:, None] ___ position",
)


# %% mistakes
def positions(ids):
    return np.arange(ids.shape[1])


@mistake("a position may not attend to itself: the first one has nothing left to attend to")
def without_itself(ids):
    return positions(ids)[:, None] > positions(ids)


@mistake("one column too many: each position sees the next one, which holds the very token that it has to predict")
def one_ahead(ids):
    return positions(ids)[:, None] + 1 >= positions(ids)


@mistake("rows and columns are swapped: each position sees itself and what comes after it, and nothing before")
def transposed(ids):
    return positions(ids)[:, None] <= positions(ids)


@mistake("the mask is the wrong way round: True marks the future, but here True means \"may attend\"")
def inverted(ids):
    return positions(ids)[:, None] < positions(ids)


@mistake("nothing is forbidden: every position sees the complete target")
def everything(ids):
    return np.ones((ids.shape[1], ids.shape[1]), bool)


@mistake("each position sees only itself: it may attend to all positions before it as well")
def only_itself(ids):
    return np.eye(ids.shape[1], dtype=bool)


@mistake("the size is that of the batch: T is the second axis of ids")
def of_the_batch(ids):
    return np.tri(len(ids), dtype=bool)


@mistake("these are numbers to add to the scores, 0 and minus infinity; here a mask is True or False")
def to_add(ids):
    return np.where(positions(ids)[:, None] >= positions(ids), 0.0, -np.inf)


@mistake("the triangle is mirrored: it runs from the lower left to the upper right")
def mirrored(ids):
    return np.tri(ids.shape[1], dtype=bool)[:, ::-1].copy()


@mistake("a position sees only itself and the one before it: it may attend to all positions before it")
def window(ids):
    return (positions(ids)[:, None] >= positions(ids)) & (positions(ids)[:, None] <= positions(ids) + 1)


@mistake("a position sees only itself and its two neighbours: it may attend to all before it, and not to the next one")
def neighbours(ids):
    return abs(positions(ids)[:, None] - positions(ids)) <= 1


@mistake("every sentence has a mask of its own, but all of them are the same: leave the axis of the batch out")
def for_each_sentence(ids):
    return np.repeat(np.tri(ids.shape[1], dtype=bool)[None], len(ids), axis=0)


@mistake(
    "padding is masked out as well: that takes another mask, and this one has no axis for the "
    "batch"
)
def padding_hidden(ids):
    return causal_mask(ids) & (ids[0] != 0)


# %% other right solutions
@also_right
def with_tri(tokens):
    return np.tri(tokens.shape[1], dtype=bool)


@also_right
def with_loops(ids):
    T = ids.shape[1]
    mask = np.zeros((T, T), bool)
    for t in range(T):
        mask[t, :t + 1] = True
    return mask
