"""The padding mask

Sentences of a batch are filled up to one length with padding, the id 0. Say which keys are real tokens: True means "may attend".
"""

import numpy as np

from minitransformer import functional
from minitransformer.learn import also_right, edge, invariant, mistake, plugs


# %% reference
def padding_mask(ids):
    """ids: (B, T), 0 is padding. Returns mask, bool (B, 1, 1, T): the same for every head and every query."""
    # your code: True for real tokens; the last axis is that of the keys
    real = ids != 0
    return real[:, None, None, :]
    # end of your code


# %% what it is called with
returns = "mask"
section = "Padding: what is not there must not count"
stars, minutes = 2, 15


def case(rng, B, T):
    ids = rng.integers(3, 20, (B, T))
    ids[:, 0] = 1
    ids[0, T - 1] = 0
    for row, length in zip(ids[1:], rng.integers(1, T + 1, B - 1)):
        row[length:] = 0
    return (ids,)


@edge("padding stands in front")
def in_front(rng, B, T):
    return (np.ascontiguousarray(case(rng, B, T)[0][:, ::-1]),)


@invariant("the number of padding tokens that may be attended to must be 0")
def padding(mask, ids):
    return (mask[:, 0, 0] * (ids == 0)).sum()


@invariant("the number of real tokens that may be attended to must be that of all real tokens")
def real_tokens(mask, ids):
    return (mask[:, 0, 0] * (ids != 0)).sum() - (ids != 0).sum()


@plugs(functional.padding_mask)
def in_the_model(own):
    return own


# %% hints
hints = (
    "The scores have the shape (B, heads, queries, keys). Which of these axes does padding depend on? What size are the others?",
    "Compare the ids with 0: a real token is True. Then add two axes of size 1, for the heads and for the queries.",
    "return real[:, ___, :]",
)


# %% mistakes
def of(real):
    return real[:, None, None, :]


@mistake("the mask is the wrong way round: here True means \"may attend\"", hint=2)
def inverted(ids):
    return of(ids == 0)


@mistake("the mask hides queries, not keys: the last axis has to be the keys", hint=1)
def of_queries(ids):
    return (ids != 0)[:, None, :, None]


@mistake("queries that are padding are masked out too, so they have nothing to attend to: only the keys need a mask", hint=1)
def of_both(ids):
    return of(ids != 0) & (ids != 0)[:, None, :, None]


@mistake("every query has a row of its own, but all rows are the same: leave the axis of the queries at size 1", hint=2)
def all_rows(ids):
    return np.repeat(of(ids != 0), ids.shape[1], axis=2)


@mistake("an axis is missing: (B, 1, T) is broadcast so that the batch stands where the heads are", hint=2)
def three_axes(ids):
    return (ids != 0)[:, None, :]


@mistake("both new axes are missing: (B, T) is broadcast so that the batch stands where the queries are", hint=2)
def two_axes(ids):
    return ids != 0


@mistake("the other special tokens are hidden as well: only padding, the id 0, is", hint=2)
def special_hidden(ids):
    return of(ids > 2)


@mistake("it counts the tokens and takes as many from the front: right only while padding stands at the end", hint=2)
def by_length(ids):
    return of(np.arange(ids.shape[1]) < (ids != 0).sum(axis=1, keepdims=True))


@mistake("it counts the tokens and takes one fewer from the front: the last token is hidden, and padding in front is not", hint=2)
def by_length_less_one(ids):
    return of(np.arange(ids.shape[1]) + 1 < (ids != 0).sum(axis=1, keepdims=True))


@mistake("with n tokens in a sentence, only n - 1 places are looked at: its last token is hidden", hint=2)
def one_place_fewer(ids):
    return of(ids != 0) & by_length_less_one(ids)


@mistake("the last token of each sentence is hidden as well: only padding, the id 0, is", hint=2)
def last_token_hidden(ids):
    real = ids != 0
    after = real.sum(axis=1, keepdims=True) - real.cumsum(axis=1)
    return of(real & (after > 0))


@mistake("these are numbers to add to the scores, 0 and minus infinity; here a mask is True or False", hint=2)
def to_add(ids):
    return of(np.where(ids != 0, 0.0, -np.inf))


@mistake("one sentence's padding hides that place in all sentences", hint=1)
def for_all(ids):
    return of(np.broadcast_to((ids != 0).all(axis=0), ids.shape))


@mistake("a token in one sentence makes its place visible in all sentences, padding or not", hint=1)
def for_any(ids):
    return of(np.broadcast_to((ids != 0).any(axis=0), ids.shape))


@mistake("the mask is causal as well: padding hides keys, whichever the query is", hint=1)
def causal_too(ids):
    return of(ids != 0) & np.tri(ids.shape[1], dtype=bool)


# %% other right solutions
@also_right
def with_reshape(tokens):
    return np.not_equal(tokens, 0).reshape(len(tokens), 1, 1, -1)


@also_right
def with_loops(ids):
    mask = np.zeros((len(ids), 1, 1, ids.shape[1]), bool)
    for b, t in np.ndindex(ids.shape):
        mask[b, 0, 0, t] = ids[b, t] > 0
    return mask
