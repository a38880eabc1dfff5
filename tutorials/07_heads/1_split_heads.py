"""Split into heads

The queries of all heads lie side by side in one array. Give each head its own: the axes are (batch, head, position, size).
"""

import numpy as np

from minitransformer.layers.attention import MultiHeadAttention
from minitransformer_course.judge import also_right, edge, invariant, mistake, plugs


# %% reference
def split_heads(x, num_heads):
    """x: (B, T, H d), head by head in the last axis. Returns heads (B, H, T, d), H = num_heads."""
    # your code: cut the last axis into two, then move the heads to the front of the positions
    B, T, width = x.shape
    cut = x.reshape(B, T, num_heads, width // num_heads)
    return cut.swapaxes(1, 2)
    # end of your code


# %% what it is called with
returns = "heads"
section = "Split: the heads lie side by side"
stars, minutes = 1, 10


def case(rng, B, T, H, d):
    return rng.standard_normal((B, T, H * d)), H


@edge("one text, as many positions as heads: a forgotten transpose keeps the shape")
def square(rng, H, d):
    return rng.standard_normal((1, H, H * d)), H


@invariant("each position keeps its numbers: the sum of its numbers over all heads must be that of its row of x")
def positions(heads, x, num_heads):
    return heads.sum(axis=(1, 3)) - x.sum(axis=-1)


@plugs(MultiHeadAttention.split)
def in_the_model(own):
    return lambda self, x: own(x, self.num_heads)


# %% hints
hints = (
    "Which numbers of x belong to position 0? Where must all of them be after the split?",
    "First reshape: (B, T, H d) to (B, T, H, d). A reshape never reorders numbers. Then swap the axes of positions and heads.",
    "cut = x.reshape(B, T, ___)",
)


# %% mistakes
def sizes(x, num_heads):
    return x.shape[0], x.shape[1], num_heads, x.shape[2] // num_heads


@mistake("the transpose is missing: a reshape straight to (B, H, T, d) gives a head numbers of other positions")
def reshaped(x, num_heads):
    B, T, H, d = sizes(x, num_heads)
    return x.reshape(B, H, T, d)


@mistake("the transpose is missing after the reshape: the axes are (B, T, H, d), not (B, H, T, d)")
def not_swapped(x, num_heads):
    return x.reshape(sizes(x, num_heads)).copy()


@mistake("the heads are interleaved: the last axis is cut into (d, H), but each head's numbers lie side by side, (H, d)")
def interleaved(x, num_heads):
    B, T, H, d = sizes(x, num_heads)
    return x.reshape(B, T, d, H).transpose(0, 3, 1, 2).copy()


@mistake("the number of heads and the size of a head are swapped")
def exchanged(x, num_heads):
    B, T, H, d = sizes(x, num_heads)
    return x.reshape(B, T, d, H).swapaxes(1, 2).copy()


@mistake("the columns of head h begin at h, not at h d: the heads overlap")
def overlapping(x, num_heads):
    B, T, H, d = sizes(x, num_heads)
    return np.stack([x[:, :, h:h + d] for h in range(H)], axis=1)


@mistake("positions and columns are swapped before the reshape: cut each row into its heads first")
def swapped_first(x, num_heads):
    B, T, H, d = sizes(x, num_heads)
    return x.swapaxes(1, 2).reshape(B, H, T, d)


@mistake("positions and sizes are swapped: the axes are (B, H, d, T)")
def sizes_before_positions(x, num_heads):
    return x.reshape(sizes(x, num_heads)).transpose(0, 2, 3, 1).copy()


@mistake("the axis of the heads comes before that of the batch: the axes are (H, B, T, d)")
def heads_first(x, num_heads):
    return x.reshape(sizes(x, num_heads)).transpose(2, 0, 1, 3).copy()


@mistake("`.T` reverses all axes, the batch too: swap only those of positions and heads")
def all_axes_reversed(x, num_heads):
    return x.reshape(sizes(x, num_heads)).T.copy()


@mistake("the heads are in reverse order")
def reversed_heads(x, num_heads):
    return split_heads(x, num_heads)[:, ::-1].copy()


@mistake("every head gets the numbers of the first one")
def first_for_all(x, num_heads):
    heads = split_heads(x, num_heads)
    return np.broadcast_to(heads[:, :1], heads.shape).copy()


# %% other right solutions
@also_right
def with_stack(x, num_heads):
    return np.stack(np.split(x, num_heads, axis=-1), axis=1)


@also_right
def with_loops(features, H):
    B, T, width = features.shape
    d = width // H
    heads = np.empty((B, H, T, d), features.dtype)
    for h in range(H):
        heads[:, h] = features[:, :, h * d:(h + 1) * d]
    return heads
