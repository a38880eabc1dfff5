"""From token ids to vectors

Look up the vector of each token id in the table W, and scale it: numbers of W that were drawn with standard deviation
1 / sqrt(d_model) come out with standard deviation 1, whatever d_model is. Loops over tokens are too slow for a model.
"""

import math

import numpy as np

from minitransformer.layers import Embedding
from minitransformer.layers.embedding import EmbeddingCache
from minitransformer_course.judge import also_right, edge, mistake, plugs


# %% reference
def embedding(ids, W):
    """ids: (B, T), whole numbers from 0 to V - 1; W: (V, d_model). Returns y (B, T, d_model)."""
    # your code: one row of W for each id, and a scale
    d_model = W.shape[1]
    rows = W[ids]
    return math.sqrt(d_model) * rows
    # end of your code


# %% what it is called with
returns = "y"
section = "A table of vectors"
stars, minutes = 1, 5


def case(rng, B, T, V, D):
    return rng.integers(0, V, (B, T)), rng.standard_normal((V, D))


@edge("the same token again and again")
def repeated(rng, T, V, D):
    return np.full((1, T), V - 1), rng.standard_normal((V, D))


@plugs(Embedding.forward)
def in_the_model(own):
    return lambda self, ids: (own(ids, self.weight.data), EmbeddingCache(ids))


# %% hints
hints = (
    "How long is one row of W, and how many rows are taken? Which of the two sizes belongs under the root?",
    "W[ids] takes one row for each id, for ids of any shape. Then the factor sqrt(d_model).",
    "d_model = W.shape[___]",
)


# %% mistakes
@mistake("the factor sqrt(d_model) is missing")
def unscaled(ids, W):
    return W[ids]


@mistake("the rows are divided by sqrt(d_model), not multiplied")
def divided(ids, W):
    return W[ids] / math.sqrt(W.shape[1])


@mistake("the factor is 2: that is sqrt(d_model) for d_model = 4, the size in the chapter")
def always_two(ids, W):
    return 2 * W[ids]


@mistake("the factor is d_model, without the root")
def without_root(ids, W):
    return W[ids] * W.shape[1]


@mistake("the factor is the root of the vocabulary's size, not of d_model")
def vocabulary(ids, W):
    return math.sqrt(W.shape[0]) * W[ids]


@mistake("the ids are off by one: row 0 belongs to id 0")
def off_by_one(ids, W):
    return math.sqrt(W.shape[1]) * W[ids - 1]


@mistake("each id gets the row after its own: the rows are counted from 0, as the ids are")
def one_too_far(ids, W):
    return math.sqrt(W.shape[1]) * W[(ids + 1) % len(W)]


@mistake("the positions are looked up, not the ids: every sentence gets the same rows")
def positions(ids, W):
    places = np.broadcast_to(np.arange(ids.shape[1]) % len(W), ids.shape)
    return math.sqrt(W.shape[1]) * W[places]


@mistake("the ids of a sentence are reversed")
def backwards(ids, W):
    return math.sqrt(W.shape[1]) * W[ids[:, ::-1]]


# %% other right solutions
@also_right
def with_one_hot(tokens, table):
    one_hot = (tokens[..., None] == np.arange(len(table))).astype(table.dtype)
    return np.einsum("btv,vd->btd", one_hot, table) * table.shape[-1] ** 0.5


@also_right
def with_loops(ids, W):
    y = np.empty((*ids.shape, W.shape[1]), W.dtype)
    for place in np.ndindex(ids.shape):
        y[place] = W[ids[place]] * math.sqrt(W.shape[1])
    return y
