"""Back together

Put what the heads have found for a token side by side again. This is the inverse of `split_heads`, and so its backward.
"""

import numpy as np

from minitransformer.layers import MultiHeadAttention
from minitransformer.learn import also_right, edge, invariant, mistake, plugs


# %% reference
def merge_heads(heads):
    """heads: (B, H, T, d). Returns x (B, T, H d)."""
    # your code: swap two axes, then join the last two
    B, H, T, d = heads.shape
    pieces = heads.swapaxes(1, 2)
    return pieces.reshape(B, T, H * d)
    # end of your code


# %% what it is called with
returns = "x"
section = "Split and merge"


def case(rng, B, H, T, d):
    return rng.standard_normal((B, H, T, d)),


@edge("as many heads as places")
def square(rng, B, T, d):
    return rng.standard_normal((B, T, T, d)),


@invariant("the first d numbers of a token must be those of head 0")
def first_head(x, heads):
    return x[:, :, :heads.shape[-1]] - heads[:, 0]


@plugs(MultiHeadAttention.merge)
def in_the_model(own):
    return lambda self, x: own(x)


# %% hints
hints = (
    "After the merge, which numbers stand in the row of token 0: all places of head 0, or place 0 of all heads?",
    "Two steps: swap H and T, so that the pieces of one token lie side by side; then reshape to (B, T, H d).",
    "pieces = heads.swapaxes(___)",
)


# %% mistakes
@mistake("the swap of heads and places is missing: a token gets the pieces of other tokens. It has the right shape, and trains", hint=2)
def not_swapped(heads):
    B, H, T, d = heads.shape
    return heads.reshape(B, T, H * d)


@mistake("the pieces are interleaved: (d, H) is joined, not (H, d)", hint=3)
def interleaved(heads):
    B, H, T, d = heads.shape
    return heads.transpose(0, 2, 3, 1).reshape(B, T, H * d)


@mistake("the heads are added, not put side by side", hint=1)
def added(heads):
    return heads.sum(axis=1)


@mistake("the heads are averaged, not put side by side", hint=1)
def averaged(heads):
    return heads.mean(axis=1)


@mistake("the heads are put side by side in the wrong order", hint=3)
def backwards(heads):
    return merge_heads(heads[:, ::-1])


@mistake("the places come last: (B, H d, T)", hint=3)
def turned(heads):
    return merge_heads(heads).swapaxes(1, 2)


@mistake("the last two axes of the heads are swapped before the join", hint=4)
def wrong_axes(heads):
    B, H, T, d = heads.shape
    return heads.swapaxes(2, 3).reshape(B, T, H * d)


# %% other right solutions
@also_right
def with_concatenate(parts):
    return np.concatenate([parts[:, h] for h in range(parts.shape[1])], axis=-1)


@also_right
def with_einsum(heads):
    return np.einsum("bhtd->bthd", heads).reshape(len(heads), heads.shape[2], -1)
