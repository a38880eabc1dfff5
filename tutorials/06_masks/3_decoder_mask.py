"""Both masks at once

In the decoder a place may look at a place if it is not later *and* not padding.
"""

import numpy as np

from minitransformer.learn import also_right, edge, invariant, mistake


# %% reference
def decoder_mask(ids):
    """ids: (B, T), 0 is padding. Returns mask (B, 1, T, T), bool: sentence, head, query, key."""
    # your code: a causal mask (T, T) and a padding mask (B, 1, 1, T), combined
    places = np.arange(ids.shape[1])
    causal = places[:, None] >= places
    real = (ids != 0)[:, None, None, :]
    return causal & real
    # end of your code


# %% what it is called with
returns = "mask"
section = "Both at once"


def case(rng, B, T):
    ids = rng.integers(1, 5, (B, T))
    ids[0, 1:] = 0
    ids[1, -1:] = 0
    return ids,


@edge("as many sentences as places")
def square(rng, T):
    return case(rng, T, T)


@invariant("no place may look at a later one")
def later(mask, ids):
    return np.triu(mask, 1)


@invariant("no place may look at padding")
def padding(mask, ids):
    return mask & (ids == 0)[:, None, None, :]


# %% hints
hints = (
    "Place 3 asks for place 2, which is padding. The causal mask says True, the padding mask False. What should the answer be?",
    "A place must satisfy both rules. With & the shapes (T, T) and (B, 1, 1, T) broadcast to (B, 1, T, T).",
    "return causal ___ real",
)


# %% mistakes
def causal(ids):
    return np.tri(ids.shape[1], dtype=bool)


def real(ids):
    return (ids != 0)[:, None, None, :]


@mistake("the two are joined by or: a place needs to satisfy both", hint=4)
def either(ids):
    return causal(ids) | real(ids)


@mistake("the padding mask is missing", hint=2)
def causal_only(ids):
    return np.broadcast_to(causal(ids), (len(ids), 1, *causal(ids).shape)).copy()


@mistake("the causal mask is missing: the decoder sees what it has to predict", hint=2)
def padding_only(ids):
    return np.broadcast_to(real(ids), (len(ids), 1, ids.shape[1], ids.shape[1])).copy()


@mistake("the causal triangle is the wrong one", hint=3)
def upper(ids):
    return causal(ids).T & real(ids)


@mistake("a place may not look at itself", hint=3)
def strict(ids):
    return np.tri(ids.shape[1], k=-1, dtype=bool) & real(ids)


@mistake("the padding is masked as a query, not as a key", hint=3)
def as_query(ids):
    return causal(ids) & (ids != 0)[:, None, :, None]


@mistake("True and False are swapped: here True means \"may attend\"", hint=1)
def swapped(ids):
    return ~(causal(ids) & real(ids))


@mistake("the masks are added: the answer holds numbers, not True and False", hint=4)
def added(ids):
    return causal(ids).astype(int) + real(ids)


@mistake("the two must differ: exclusive or forbids what both allow", hint=4)
def exclusive(ids):
    return causal(ids) ^ real(ids)


# %% other right solutions
@also_right
def with_logical_and(tokens):
    length = tokens.shape[1]
    return np.logical_and(np.tril(np.ones((1, 1, length, length), bool)), tokens.reshape(-1, 1, 1, length) != 0)


@also_right
def with_loops(ids):
    B, T = ids.shape
    mask = np.zeros((B, 1, T, T), bool)
    for b, t, s in np.ndindex(B, T, T):
        mask[b, 0, t, s] = s <= t and ids[b, s] != 0
    return mask
