"""Do not look at padding

Short sentences are filled up with the id 0. No head and no query may look at those places. True means "may attend".
"""

import numpy as np

from minitransformer import functional
from minitransformer.learn import also_right, edge, invariant, mistake, plugs


# %% reference
def padding_mask(ids):
    """ids: (B, T), 0 is padding. Returns mask (B, 1, 1, T), bool: the same for each head and each query."""
    # your code: which ids are real; then two axes of length 1, for heads and queries
    real = ids != 0
    return real[:, None, None, :]
    # end of your code


# %% what it is called with
returns = "mask"
section = "Padding: not a word"


def case(rng, B, T):
    ids = rng.integers(1, 5, (B, T))
    ids[0, 1:] = 0
    ids[1, -1:] = 0
    return ids,


@edge("no padding at all")
def full(rng, B, T):
    return rng.integers(1, 5, (B, T)),


@invariant("the number of True must be the number of real tokens")
def count(mask, ids):
    return mask.sum() - (ids != 0).sum()


@plugs(functional.padding_mask)
def in_the_model(own):
    return own


# %% hints
hints = (
    "The scores have the shape (B, H, T_q, T_k). Which of the four axes does padding depend on? Which length have the others in the mask?",
    "ids != 0 has the shape (B, T). The places are keys, so T is the last axis, and heads and queries get an axis of length 1.",
    "return real[___]",
)


# %% mistakes
@mistake("True and False are swapped: padding is allowed, tokens are not; here True means \"may attend\"", hint=2)
def swapped(ids):
    return (ids == 0)[:, None, None, :]


@mistake("the axes for heads and queries are missing: (B, T) would be taken for (T_q, T_k)", hint=1)
def two_axes(ids):
    return ids != 0


@mistake("the axis for the queries is missing: the mask has three axes, and B would stand where the heads are", hint=1)
def three_axes(ids):
    return (ids != 0)[:, None, :]


@mistake("the padding is masked as a query, (B, 1, T, 1): it has to be masked as a key", hint=4)
def as_query(ids):
    return (ids != 0)[:, None, :, None]


@mistake("the mask holds the ids, not True and False", hint=3)
def of_ids(ids):
    return ids[:, None, None, :].copy()


@mistake("the last place is masked too, whatever stands there", hint=2)
def last_place(ids):
    real = ids != 0
    real[:, -1] = False
    return real[:, None, None, :]


@mistake("id 1 is masked too: only 0 is padding", hint=2)
def other_ids(ids):
    return (ids > 1)[:, None, None, :]


@mistake("nothing is masked", hint=2)
def nothing(ids):
    return np.ones((len(ids), 1, 1, ids.shape[1]), bool)


# %% other right solutions
@also_right
def with_reshape(tokens):
    batch, length = tokens.shape
    return np.not_equal(tokens, 0).reshape(batch, 1, 1, length)


@also_right
def with_loops(ids):
    mask = np.zeros((len(ids), 1, 1, len(ids[0])), dtype=bool)
    for b in range(len(ids)):
        for t in range(len(ids[0])):
            mask[b, 0, 0, t] = ids[b, t] > 0
    return mask
