"""A decoder layer

Put a decoder layer together, in the paper's order: self-attention, attention to the memory, feed-forward, and a residual with a
LayerNorm around each. To keep it short there is one head and no projection: queries, keys and values are the vectors themselves.
There is no bias, gamma is 1, beta is 0, and LayerNorm adds 1e-5 to the variance. You may define functions for attention and
LayerNorm inside it.
"""

import math

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def decoder_layer(x, memory, causal, memory_mask, W1, W2):
    """x, memory: (B, T, D); causal: bool (T, T); memory_mask: bool (B, 1, T), True: may be looked at; W1: (D, F); W2: (F, D).

    Returns y (B, T, D).
    """
    # your code: three sub-layers; who asks, who is asked, and which mask belongs to whom?
    scores = np.where(causal, x @ x.swapaxes(-1, -2) / math.sqrt(x.shape[-1]), -np.inf)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    h = x + e / e.sum(axis=-1, keepdims=True) @ x
    h = h - h.mean(axis=-1, keepdims=True)
    x1 = h / np.sqrt((h * h).mean(axis=-1, keepdims=True) + 1e-5)
    scores = np.where(memory_mask, x1 @ memory.swapaxes(-1, -2) / math.sqrt(x1.shape[-1]), -np.inf)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    h = x1 + e / e.sum(axis=-1, keepdims=True) @ memory
    h = h - h.mean(axis=-1, keepdims=True)
    x2 = h / np.sqrt((h * h).mean(axis=-1, keepdims=True) + 1e-5)
    h = x2 + np.maximum(x2 @ W1, 0) @ W2
    h = h - h.mean(axis=-1, keepdims=True)
    return h / np.sqrt((h * h).mean(axis=-1, keepdims=True) + 1e-5)
    # end of your code


# %% what it is called with
returns = "y"
section = "Put together: a layer of the decoder"
stars, minutes = 3, 25


def case(rng, B, T, D, F):
    T += 1
    memory_mask = np.arange(T) < rng.permutation(np.append(T, rng.integers(1, T, B - 1)))[:, None]
    x, memory = rng.standard_normal((2, B, T, D))
    return (x, 1.5 * memory, np.tri(T, dtype=bool), memory_mask[:, None],
            rng.standard_normal((D, F)), rng.standard_normal((F, D)) / math.sqrt(F))


rest = "the feed-forward network, its residual and its LayerNorm"


@edge("a memory and a W2 of 0", part="the masked self-attention, its residual and its LayerNorm")
def self_attention_alone(rng, B, T, D, F):
    x, memory, causal, memory_mask, W1, W2 = case(rng, B, T, D, F)
    return x, 0 * memory, causal, memory_mask, W1, 0 * W2


@edge("a W2 of 0", part="the attention to the memory, its residual and its LayerNorm")
def both_attentions(rng, B, T, D, F):
    *others, W2 = case(rng, B, T, D, F)
    return *others, 0 * W2


@edge("one token to read and one to write")
def one_token(rng, B, D, F):
    x, memory = rng.standard_normal((2, B, 1, D))
    return (x, memory, np.ones((1, 1), bool), np.ones((B, 1, 1), bool), rng.standard_normal((D, F)), rng.standard_normal((F, D)))


@edge("allowed scores near -200")    # exp of which is not 0 yet
def low(rng, B, D, F):
    """Two equal tokens, and so one x1, ask two of the memory, of which one may be looked at."""
    x, allowed = rng.standard_normal((B, 1, D)), np.arange(2) == rng.integers(0, 2, (B, 1))
    x1 = (x - x.mean(axis=-1, keepdims=True)) / x.std(axis=-1, keepdims=True)
    memory = np.where(allowed, -200, 10)[..., None] / D ** 0.5 * x1 + rng.standard_normal((B, 2, D)) / 9
    return (np.repeat(x, 2, axis=1), memory, np.tri(2, dtype=bool), allowed[:, None],
            rng.standard_normal((D, F)), rng.standard_normal((F, D)))


@invariant("LayerNorm comes last: the mean of each vector must be 0")
def normalised(y, x, memory, causal, memory_mask, W1, W2):
    return y.mean(axis=-1)


# %% hints
hints = (
    "In the attention to the memory, who asks, and who is asked? What has already happened to the one who asks?",
    "LayerNorm(x + sub-layer(x)) three times: x1 comes out of the first, x2 out of the second, and each goes into the next one. "
    "Each attention has its own mask.",
    "h = x1 + e / e.sum(axis=-1, keepdims=True) @ ___",
)


# %% mistakes
def norm(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred ** 2).mean(axis=-1, keepdims=True) + 1e-5)


def attend(query, other, mask, scale=True):
    scores = query @ other.swapaxes(-1, -2) / (math.sqrt(query.shape[-1]) if scale else 1)
    e = np.exp(np.where(mask, scores - scores.max(axis=-1, keepdims=True), -np.inf))
    return e / e.sum(axis=-1, keepdims=True) @ other


def feed_forward(x, W1, W2):
    return np.maximum(x @ W1, 0) @ W2


@mistake("the memory is asked with the raw output of the self-attention: the residual and the LayerNorm come first")
def raw_query(x, memory, causal, memory_mask, W1, W2):
    h = attend(x, x, causal)
    x = norm(x + h)
    x = norm(x + attend(h, memory, memory_mask))
    return norm(x + feed_forward(x, W1, W2))


@mistake("the causal mask is used for the memory: all of the source may be looked at, except its padding")
def causal_for_memory(x, memory, causal, memory_mask, W1, W2):
    x = norm(x + attend(x, x, causal))
    x = norm(x + attend(x, memory, causal))
    return norm(x + feed_forward(x, W1, W2))


@mistake("the self-attention has no mask: it sees the tokens that are written later")
def without_causal(x, memory, causal, memory_mask, W1, W2):
    return decoder_layer(x, memory, causal | True, memory_mask, W1, W2)


@mistake("the attention to the memory has no mask: it looks at padding")
def without_padding(x, memory, causal, memory_mask, W1, W2):
    return decoder_layer(x, memory, causal, memory_mask | True, W1, W2)


@mistake("neither attention has its mask")
def without_masks(x, memory, causal, memory_mask, W1, W2):
    return decoder_layer(x, memory, causal | True, memory_mask | True, W1, W2)


@mistake("the memory asks and the target answers: the queries come from x, keys and values from the memory")
def memory_asks(x, memory, causal, memory_mask, W1, W2):
    x = norm(x + attend(x, x, causal))
    x = norm(x + attend(memory, x, memory_mask))
    return norm(x + feed_forward(x, W1, W2))


@mistake("the attention to the memory comes first: the order is self-attention, memory, feed-forward")
def memory_first(x, memory, causal, memory_mask, W1, W2):
    x = norm(x + attend(x, memory, memory_mask))
    x = norm(x + attend(x, x, causal))
    return norm(x + feed_forward(x, W1, W2))


@mistake("the memory is not used: both attentions look at x")
def without_memory(x, memory, causal, memory_mask, W1, W2):
    return decoder_layer_of(x, lambda x: attend(x, x, causal), W1, W2)


def decoder_layer_of(x, cross, W1, W2):
    x = norm(x + cross(x))
    x = norm(x + cross(x))
    return norm(x + feed_forward(x, W1, W2))


@mistake("the residual around the attention to the memory is missing")
def without_second_residual(x, memory, causal, memory_mask, W1, W2):
    x = norm(x + attend(x, x, causal))
    x = norm(attend(x, memory, memory_mask))
    return norm(x + feed_forward(x, W1, W2))


@mistake("the residual around the attention to the memory adds the layer's input x: it has to add x1, what this sub-layer read")
def residual_from_the_start(x, memory, causal, memory_mask, W1, W2):
    x1 = norm(x + attend(x, x, causal))
    x2 = norm(x + attend(x1, memory, memory_mask))
    return norm(x2 + feed_forward(x2, W1, W2))


@mistake("the residual around the feed-forward network is missing")
def without_last_residual(x, memory, causal, memory_mask, W1, W2):
    x = norm(x + attend(x, x, causal))
    x = norm(x + attend(x, memory, memory_mask))
    return norm(feed_forward(x, W1, W2))


@mistake("the LayerNorm after the feed-forward network is missing")
def without_last_norm(x, memory, causal, memory_mask, W1, W2):
    x = norm(x + attend(x, x, causal))
    x = norm(x + attend(x, memory, memory_mask))
    return x + feed_forward(x, W1, W2)


@mistake("this is pre-norm: here LayerNorm comes after each sum")
def pre_norm(x, memory, causal, memory_mask, W1, W2):
    h = norm(x)
    x = x + attend(h, h, causal)
    x = x + attend(norm(x), memory, memory_mask)
    return x + feed_forward(norm(x), W1, W2)


@mistake("there is only one LayerNorm, at the end: each of the three sub-layers has its own")
def one_norm(x, memory, causal, memory_mask, W1, W2):
    x = x + attend(x, x, causal)
    x = x + attend(x, memory, memory_mask)
    return norm(x + feed_forward(x, W1, W2))


@mistake("the ReLU is missing: without it the feed-forward network is a single linear map")
def without_relu(x, memory, causal, memory_mask, W1, W2):
    x = norm(x + attend(x, x, causal))
    x = norm(x + attend(x, memory, memory_mask))
    return norm(x + x @ W1 @ W2)


@mistake("the scores are not divided by sqrt(D)")
def unscaled(x, memory, causal, memory_mask, W1, W2):
    x = norm(x + attend(x, x, causal, scale=False))
    x = norm(x + attend(x, memory, memory_mask, scale=False))
    return norm(x + feed_forward(x, W1, W2))


@mistake("the sub-layers work in parallel, on the same x: each should work on the output of the one before")
def side_by_side(x, memory, causal, memory_mask, W1, W2):
    return norm(x + attend(x, x, causal) + attend(x, memory, memory_mask) + feed_forward(x, W1, W2))


# %% other right solutions
@also_right
def with_einsum(x, memory, causal, memory_mask, W1, W2):
    for kind in ("self", "cross", "feed-forward"):
        if kind == "feed-forward":
            h = np.where(x @ W1 > 0, x @ W1, 0) @ W2
        else:
            other, mask = (x, causal) if kind == "self" else (memory, memory_mask)
            e = np.exp(np.einsum("btd,bud->btu", x, other) / math.sqrt(x.shape[2])) * mask
            h = np.einsum("btu,bud->btd", e / e.sum(axis=2, keepdims=True), other)
        x = x + h
        x = (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
    return x


@also_right
def with_loops(x, memory, causal, memory_mask, W1, W2):
    y = np.empty_like(x)
    for b in range(len(x)):
        row = norm(x[b] + attend(x[b], x[b], causal))
        row = norm(row + attend(row, memory[b], memory_mask[b]))
        y[b] = norm(row + feed_forward(row, W1, W2))
    return y
