"""The target that was not shifted

In training the decoder sees the target sentence up to a place, and has to predict the next token. From sentences that begin with
<bos> and end with <eos>, make what it sees and what it has to predict.
"""

import numpy as np

from minitransformer.learn import also_right, edge, invariant, mistake


# %% reference
def shift(ids):
    """ids: (B, T + 1), each beginning with <bos>. Returns inputs (B, T) and targets (B, T): targets[t] follows inputs[t]."""
    # your code: all but the last, and all but the first
    inputs = ids[:, :-1]
    targets = ids[:, 1:]
    return inputs, targets
    # end of your code


# %% what it is called with
returns = "inputs targets"
section = "The target that was not shifted"


def case(rng, B, T):
    ids = rng.integers(3, 30, (B, T + 2))
    ids[:, 0] = 1
    ids[:, -1] = 2
    return ids,


@edge("the shortest sentence: one token between <bos> and <eos>")
def short(rng, B):
    return case(rng, B, 1)


@invariant("what has to be predicted at a place must be what is seen at the next")
def next_seen(answer, ids):
    inputs, targets = answer
    return inputs[:, 1:] - targets[:, :-1]


# %% hints
hints = (
    "The decoder has seen <bos> and nothing else. What should it predict? So which token of ids stands at place 0 of the targets?",
    "inputs are all tokens but the last, targets all but the first. Nothing follows <eos>, and <bos> is never predicted.",
    "inputs = ids[:, ___]",
)


# %% mistakes
@mistake("the target is not shifted: the model sees the token that it has to predict", hint=1)
def unshifted(ids):
    return ids[:, :-1].copy(), ids[:, :-1].copy()


@mistake("inputs and targets are swapped: the model predicts the token before", hint=1)
def swapped(ids):
    return ids[:, 1:].copy(), ids[:, :-1].copy()


@mistake("both begin after <bos>: the target is not shifted, and the model never learns how a sentence begins", hint=2)
def without_bos(ids):
    return ids[:, 1:].copy(), ids[:, 1:].copy()


@mistake("nothing was cut off: both are the complete sentences", hint=2)
def uncut(ids):
    return ids.copy(), ids.copy()


@mistake("the sentences are rolled: <bos> comes back as the last target", hint=2)
def rolled(ids):
    return ids.copy(), np.roll(ids, -1, axis=1)


@mistake("the batch is cut, not the sentences: the places are the second axis", hint=4)
def wrong_axis(ids):
    return ids[:-1].copy(), ids[1:].copy()


@mistake("the target is shifted by two places", hint=2)
def two_places(ids):
    return ids[:, :-2].copy(), ids[:, 2:].copy()


# %% other right solutions
@also_right
def with_delete(sentences):
    return np.delete(sentences, -1, axis=1), np.delete(sentences, 0, axis=1)


@also_right
def with_loops(ids):
    pairs = [[(row[t], row[t + 1]) for t in range(len(row) - 1)] for row in ids]
    both = np.array(pairs)
    return both[..., 0], both[..., 1]
