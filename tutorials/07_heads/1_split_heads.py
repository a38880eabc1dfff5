"""One row, several heads

Cut each token's vector into H pieces, one for each head, and bring the heads in front of the places.
"""

import numpy as np

from minitransformer.layers import MultiHeadAttention
from minitransformer.learn import also_right, edge, invariant, mistake, plugs


# %% reference
def split_heads(x, H):
    """x: (B, T, H d); H: the number of heads. Returns (B, H, T, d)."""
    # your code: cut the last axis into (H, d), then swap two axes
    B, T, width = x.shape
    pieces = x.reshape(B, T, H, width // H)
    return pieces.swapaxes(1, 2)
    # end of your code


# %% what it is called with
returns = "heads"
section = "Split and merge"


def case(rng, B, T, H, d):
    return rng.standard_normal((B, T, H * d)), H


@edge("as many heads as places")
def square(rng, B, T, d):
    return rng.standard_normal((B, T, T * d)), T


@invariant("head 0 must hold the first d numbers of each token")
def first_head(heads, x, H):
    return heads[:, 0] - x[:, :, :x.shape[-1] // H]


@plugs(MultiHeadAttention.split)
def in_the_model(own):
    return lambda self, x: own(x, self.num_heads)


# %% hints
hints = (
    "One sentence of two tokens, (1 2 3 4) and (5 6 7 8), and two heads. Which four numbers belong to the first head?",
    "Two steps: reshape to (B, T, H, d), which cuts each token's vector; then swap T and H. A reshape alone cannot swap.",
    "pieces = x.reshape(___)",
)


# %% mistakes
@mistake("reshape straight to (B, H, T, d) mixes the tokens: the first head gets all of the first tokens", hint=1)
def reshaped(x, H):
    B, T, width = x.shape
    return x.reshape(B, H, T, width // H)


@mistake("the axes of places and heads are not swapped: the shape is (B, T, H, d)", hint=2)
def not_swapped(x, H):
    B, T, width = x.shape
    return x.reshape(B, T, H, width // H).copy()


@mistake("the vector is cut into (d, H), not (H, d): each head gets every H-th number", hint=4)
def every_hth(x, H):
    B, T, width = x.shape
    return x.reshape(B, T, width // H, H).transpose(0, 3, 1, 2)


@mistake("the heads are in the wrong order, the last one first", hint=1)
def backwards(x, H):
    return split_heads(x, H)[:, ::-1]


@mistake("the last two axes are swapped, too: (B, H, d, T)", hint=3)
def turned(x, H):
    return split_heads(x, H).swapaxes(2, 3)


@mistake("batch and heads are swapped: (H, B, T, d)", hint=3)
def heads_first(x, H):
    return split_heads(x, H).swapaxes(0, 1)


@mistake("every head gets the first piece of the vector", hint=1)
def first_piece(x, H):
    heads = split_heads(x, H)
    return np.broadcast_to(heads[:, :1], heads.shape).copy()


# %% other right solutions
@also_right
def with_split(tokens, num_heads):
    return np.stack(np.split(tokens, num_heads, axis=-1), axis=1)


@also_right
def with_loops(x, H):
    d = x.shape[-1] // H
    heads = np.zeros((len(x), H, x.shape[1], d), x.dtype)
    for h in range(H):
        heads[:, h] = x[..., h * d:(h + 1) * d]
    return heads
