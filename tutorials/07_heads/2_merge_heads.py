"""Merge the heads

The inverse of the split: lay the outputs of all heads side by side again.
"""

import numpy as np

from minitransformer.layers.attention import MultiHeadAttention
from minitransformer_course.judge import also_right, edge, invariant, mistake, plugs


# %% reference
def merge_heads(heads):
    """heads: (B, H, T, d). Returns y (B, T, H d), head by head in the last axis."""
    # your code: bring the numbers of one position together, then make one axis of two
    B, H, T, d = heads.shape
    together = heads.swapaxes(1, 2)
    return together.reshape(B, T, H * d)
    # end of your code


# %% what it is called with
returns = "y"
section = "Split: the heads lie side by side"
stars, minutes = 1, 8


def case(rng, B, H, T, d):
    return (rng.standard_normal((B, H, T, d)),)


@edge("one text, as many positions as heads")
def square(rng, H, d):
    return (rng.standard_normal((1, H, H, d)),)


@invariant("each position keeps its numbers: the sum of its row of y must be that of its numbers in all heads")
def positions(y, heads):
    return y.sum(axis=-1) - heads.sum(axis=(1, 3))


@plugs(MultiHeadAttention.merge)
def in_the_model(own):
    return lambda self, heads: own(heads)


# %% hints
hints = (
    "A reshape never reorders numbers. What comes after head 0, position 0, in heads: the next head or the next position?",
    "The split backwards: swap the axes of heads and positions first, (B, T, H, d), and then reshape to (B, T, H d).",
    "together = heads.swapaxes(___)",
)


# %% mistakes
@mistake("the transpose is missing: a reshape straight to (B, T, H d) gives a position numbers of other positions")
def reshaped(heads):
    B, H, T, d = heads.shape
    return heads.reshape(B, T, H * d)


@mistake("the heads are interleaved: first number 0 of all heads, then number 1; each head's numbers have to lie side by side")
def interleaved(heads):
    B, H, T, d = heads.shape
    return heads.transpose(0, 2, 3, 1).reshape(B, T, H * d)


@mistake("the heads are added up: they have to be laid side by side")
def added(heads):
    return heads.sum(axis=1)


@mistake("the heads are averaged: they have to be laid side by side")
def averaged(heads):
    return heads.mean(axis=1)


@mistake("the heads are laid one behind the other in time, (B, H T, d), not side by side")
def in_time(heads):
    B, H, T, d = heads.shape
    return heads.reshape(B, H * T, d)


@mistake("head h is written from column h on, not from column h d: the heads overwrite each other")
def overlapping(heads):
    B, H, T, d = heads.shape
    y = np.zeros((B, T, H * d), heads.dtype)
    for h in range(H):
        y[:, :, h:h + d] = heads[:, h]
    return y


@mistake("the wrong axes are swapped: heads with sizes, not heads with positions")
def wrong_axes(heads):
    B, H, T, d = heads.shape
    return heads.swapaxes(1, 3).reshape(B, T, H * d)


@mistake("positions and sizes are swapped before the reshape: heads have to change places with positions")
def sizes_first(heads):
    B, H, T, d = heads.shape
    return heads.swapaxes(2, 3).reshape(B, T, H * d)


@mistake("the positions come before the batch when the array is reshaped: swap only the axes of heads and positions")
def positions_first(heads):
    B, H, T, d = heads.shape
    return heads.transpose(2, 0, 1, 3).reshape(B, T, H * d)


@mistake("the heads are in reverse order")
def reversed_heads(heads):
    return merge_heads(heads[:, ::-1])


@mistake("every place gets the numbers of the first head")
def first_for_all(heads):
    return merge_heads(np.broadcast_to(heads[:, :1], heads.shape))


@mistake("the batch was taken for the heads: concatenate over the list of sentences joins sentences, not heads")
def sentences_joined(heads):
    return np.concatenate(list(heads), axis=-1)


@mistake("the reshape is missing: the heads are moved behind the positions, but not joined")
def not_joined(heads):
    return heads.swapaxes(1, 2)


# %% other right solutions
@also_right
def with_concatenate(heads):
    return np.concatenate([heads[:, h] for h in range(heads.shape[1])], axis=-1)


@also_right
def with_loops(heads):
    B, H, T, d = heads.shape
    y = np.empty((B, T, H * d), heads.dtype)
    for h in range(H):
        for t in range(T):
            y[:, t, h * d:(h + 1) * d] = heads[:, h, t]
    return y
