"""A token that occurs twice

The forward is y = sqrt(d_model) W[ids]. Return the gradient with respect to the table W. A token may occur in many places, and
each counts.
"""

import math

import numpy as np

from minitransformer.layers import Embedding
from minitransformer_course.judge import also_right, edge, invariant, mistake, plugs


# %% reference
def embedding_backward(dy, ids, W):
    """dy: (B, T, d_model); ids: (B, T); W: (V, d_model), of which only shape and dtype matter. Returns dW (V, d_model)."""
    # your code: what does each place give back, and to which row?
    dW = np.zeros_like(W)
    np.add.at(dW, ids, dy)
    return math.sqrt(W.shape[1]) * dW
    # end of your code


# %% what it is called with
returns = "dW"
section = "Two arrows into one row"
stars, minutes = 2, 12


def case(rng, B, T, V, D):
    ids = rng.integers(0, V, (B, T))
    ids[:, 0] = ids[0, -1] = V - 1    # one token repeats at any size, in a sentence and across sentences
    return rng.standard_normal((B, T, D)), ids, rng.standard_normal((V, D))


@edge("the same token again and again")
def repeated(rng, T, V, D):
    return rng.standard_normal((1, T, D)), np.full((1, T), V - 1), rng.standard_normal((V, D))


@edge("tokens that do not occur, the last ones of the table among them")
def rare(rng, B, T, V, D):
    return rng.standard_normal((B, T, D)), rng.integers(0, V, (B, T)), rng.standard_normal((V + 3, D))


def loss(dy, ids, W):
    return lambda W: (dy * math.sqrt(W.shape[1]) * W[ids]).sum(), [W]


@invariant("every place gives its dy to one row: summed over the rows, dW must be sqrt(d_model) times dy summed over the places")
def total(dW, dy, ids, W):
    return dW.sum(axis=0) - math.sqrt(W.shape[1]) * dy.sum(axis=(0, 1))


@plugs(Embedding.backward)
def in_the_model(own):
    def backward(self, dy, cache):
        self.weight.grad += own(dy, cache.ids, self.weight.data)
    return backward


# %% hints
hints = (
    "Token 7 occurs in two places. If its vector changes, how many of these places affect the loss? So what is its row's gradient?",
    "Sum dy over all places of a token. dW[ids] += dy reads each row once, adds, and writes it back: only the last repeat remains.",
    "np.add.at(dW, ___, dy)",
)


# %% mistakes
def scaled(dW):
    return math.sqrt(dW.shape[1]) * dW


def summed(dy, ids, W):
    dW = np.zeros_like(W)
    np.add.at(dW, ids, dy)
    return dW


@mistake("repeated tokens are lost: dW[ids] += dy keeps only the last place of each token")
def last_place(dy, ids, W):
    dW = np.zeros_like(W)
    dW[ids] += dy
    return scaled(dW)


@mistake("repeated tokens are lost within a sentence: only a token's last place in each sentence counts")
def last_of_sentence(dy, ids, W):
    dW = np.zeros_like(W)
    for one, gradient in zip(ids, dy):
        dW[one] += gradient
    return scaled(dW)


@mistake("repeated tokens are lost: only the first place of each token counts")
def first_place(dy, ids, W):
    dW = np.zeros_like(W)
    tokens, places = np.unique(ids, return_index=True)
    dW[tokens] = dy.reshape(-1, dy.shape[-1])[places]
    return scaled(dW)


@mistake("repeated tokens are averaged, not added")
def averaged(dy, ids, W):
    counts = np.bincount(ids.ravel(), minlength=len(W))
    return scaled(summed(dy, ids, W) / np.maximum(counts, 1)[:, None])


@mistake("the factor sqrt(d_model) is missing: the forward multiplied by it")
def unscaled(dy, ids, W):
    return summed(dy, ids, W)


@mistake("the gradient is divided by sqrt(d_model), not multiplied")
def divided(dy, ids, W):
    return summed(dy, ids, W) / math.sqrt(W.shape[1])


@mistake("the factor is the root of the vocabulary's size, not of d_model")
def vocabulary(dy, ids, W):
    return math.sqrt(len(W)) * summed(dy, ids, W)


@mistake("two mistakes: the factor sqrt(d_model) is missing, and only the last place of a repeated token is kept")
def both(dy, ids, W):
    dW = np.zeros_like(W)
    dW[ids] += dy
    return dW


@mistake("the gradient is a mean over the sentences of the batch, not a sum")
def batch_mean(dy, ids, W):
    return scaled(summed(dy, ids, W)) / len(ids)


@mistake("only the first sentence counts: add the places of every sentence")
def first_sentence(dy, ids, W):
    return scaled(summed(dy[:1], ids[:1], W))


@mistake(
    "dW ends with the largest id that occurs: it needs the shape of W, with zeros for tokens "
    "that do not occur"
)
def up_to_the_largest(dy, ids, W):
    dW = np.zeros((ids.max() + 1, W.shape[1]), W.dtype)
    np.add.at(dW, ids, dy)
    return math.sqrt(W.shape[1]) * dW


# %% other right solutions
@also_right
def with_one_hot(gradient, tokens, table):
    one_hot = (tokens[..., None] == np.arange(len(table))).astype(gradient.dtype)
    return np.einsum("btv,btd->vd", one_hot, gradient) * table.shape[1] ** 0.5


@also_right
def with_loops(dy, ids, W):
    dW = 0 * W
    for place in np.ndindex(ids.shape):
        dW[ids[place]] += math.sqrt(W.shape[1]) * dy[place]
    return dW
