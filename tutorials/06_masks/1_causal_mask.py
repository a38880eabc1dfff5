"""No looking ahead

While it writes place t, the decoder may look at the places up to t and at no later one. True means "may attend".
"""

import numpy as np

from minitransformer import functional
from minitransformer.learn import also_right, edge, invariant, mistake, plugs


# %% reference
def causal_mask(ids):
    """ids: (B, T). Returns mask (T, T), bool: mask[t, s] says whether place t (the query) may look at place s (the key)."""
    # your code: compare the number of each place, as a column, with the number of each, as a row
    places = np.arange(ids.shape[1])
    return places[:, None] >= places
    # end of your code


# %% what it is called with
returns = "mask"
section = "Causal: no looking ahead"


def case(rng, B, T):
    return rng.integers(1, 9, (B, T)),


@edge("a single place")
def single(rng, B):
    return rng.integers(1, 9, (B, 1)),


@invariant("every place must be allowed to look at itself")
def itself(mask, ids):
    return 1 - np.diag(mask)


@invariant("no place may look at a later one")
def later(mask, ids):
    return np.triu(mask, 1)


@plugs(functional.causal_mask)
def in_the_model(own):
    return own


# %% hints
hints = (
    "May the first place look at the second? May the second look at the first? At itself? Which of the four cells of a 2 x 2 mask are True?",
    "Row t (the query) is True at the columns 0 to t: a lower triangle with its diagonal.",
    "return ___ >= places",
)


# %% mistakes
@mistake("a place may not look at itself: the comparison has to include equality", hint=1)
def strict(ids):
    return np.tri(ids.shape[1], k=-1, dtype=bool)


@mistake("the triangle is the wrong one: each place looks at the later ones", hint=2)
def upper(ids):
    return np.tri(ids.shape[1], dtype=bool).T


@mistake("each place may look at the next one: that is the token it has to predict", hint=1)
def one_ahead(ids):
    return np.tri(ids.shape[1], k=1, dtype=bool)


@mistake("nothing is forbidden", hint=2)
def all_allowed(ids):
    return np.ones((ids.shape[1],) * 2, bool)


@mistake("True and False are swapped: here True means \"may attend\"", hint=4)
def swapped(ids):
    return ~np.tri(ids.shape[1], dtype=bool)


@mistake("a place looks at itself only", hint=2)
def diagonal(ids):
    return np.eye(ids.shape[1], dtype=bool)


@mistake("the mask has the size of the batch: ids.shape[1] is the length, ids.shape[0] the number of sentences", hint=3)
def of_the_batch(ids):
    return np.tri(ids.shape[0], dtype=bool)


# %% other right solutions
@also_right
def with_tril(tokens):
    return np.tril(np.ones((tokens.shape[-1], tokens.shape[-1]), dtype=bool))


@also_right
def with_loops(ids):
    length = ids.shape[1]
    return np.array([[s <= t for s in range(length)] for t in range(length)])
