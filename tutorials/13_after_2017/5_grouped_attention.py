"""Grouped queries

Compute attention with H heads of queries but only G heads of keys and values. R = H / G neighbouring heads form a group and
share a head of keys and values. With 6 heads and 2 groups, for example, heads 0, 1 and 2 read group 0. Everything else is the
attention of chapter 5. Return the weighted means and the weights.
"""

import math

import numpy as np

from minitransformer.functional.attention import AttentionCache, DropoutCache, SoftmaxCache
from minitransformer.zoo.modern.grouped_attention import GroupedAttentionCache, grouped_attention_forward
from minitransformer_course.judge import also_right, edge, invariant, mistake, plugs


# %% reference
def grouped_attention(query, key, value, mask):
    """query: (B, H, T_q, d_k); key: (B, G, T_k, d_k); value: (B, G, T_k, d_v); mask: bool (B, T_q, T_k), True = may attend.

    Returns y (B, H, T_q, d_v) and the weights p (B, H, T_q, T_k). Each query may attend to at least one key.
    """
    # your code: give each group its queries, attend as in chapter 5, and put the heads back in order
    B, H, T_q, d_k = query.shape
    G, T_k = key.shape[1:3]
    query = query.reshape(B, G, H // G, T_q, d_k)
    scores = query @ key[:, :, None].swapaxes(-1, -2) / math.sqrt(d_k)
    scores = np.where(mask[:, None, None], scores, -np.inf)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    y = p @ value[:, :, None]
    return y.reshape(B, H, T_q, -1), p.reshape(B, H, T_q, T_k)
    # end of your code


# %% what it is called with
returns = "y p"
section = "Fewer keys than queries"
stars, minutes = 2, 15


def case(rng, B, G, R, T_q, T_k, d_k):
    mask = rng.random((B, T_q, T_k)) < 0.7
    mask |= np.arange(T_k) == rng.integers(0, T_k, (B, T_q, 1))
    return made(rng, B, G, R, T_q, T_k, d_k, d_k + 6, mask)


@edge("one query, as when a model writes")
def one_query(rng, G, R, T_k, d):
    return made(rng, 1, G, R, 1, T_k, d, d, np.ones((1, 1, T_k), bool))


rest = "which heads share a key and a value"


@edge("one group for all heads", part="the attention: scores, scale, mask, softmax, weighted sum")
def one_group(rng, B, R, T, d):
    return made(rng, B, 1, R, T, T, d, d, np.broadcast_to(np.tri(T, dtype=bool), (B, T, T)).copy())


@edge("scores of 1,000")
def large(rng, B, G, R, T_q, T_k, d):
    query, *others = made(rng, B, G, R, T_q, T_k, d, d, np.ones((B, T_q, T_k), bool))
    return 1000 * query, *others


@edge("allowed scores near -1,000")
def low(rng, B, G, T_q, T_k, d):
    query, key, value, mask = made(rng, B, G, 2, T_q, T_k, d, d, np.arange(T_k) != rng.integers(0, T_k, (B, T_q, 1)))
    along = np.full(d, d ** -0.25)    # a query times a key is sqrt(d) times these
    return 10 * along + query / 9, key - 100 * along, value, mask


def made(rng, B, G, R, T_q, T_k, d_k, d_v, mask):
    return (2 * rng.standard_normal((B, G * R, T_q, d_k)), rng.standard_normal((B, G, T_k, d_k)),
            rng.standard_normal((B, G, T_k, d_v)), mask)


@invariant("the weights of each query must sum to 1")
def rows(answer, query, key, value, mask):
    return answer[1].sum(axis=-1) - 1


@invariant("a key that is masked out must get weight 0")
def masked(answer, query, key, value, mask):
    return np.where(mask[:, None], 0, answer[1])


@plugs(grouped_attention_forward)
def in_the_model(own):
    def forward(query, key, value, mask=None, dropout_rate=0.0, rng=None):
        (batch, heads, length, _d), (groups, keys) = query.shape, key.shape[1:3]
        mask = np.broadcast_to(True if mask is None else mask, (batch, 1, length, keys))[:, 0]
        y, p = own(query, key, value, mask)
        folded, p = (array.reshape(batch, groups, heads // groups * length, -1) for array in (query, p))
        attention = AttentionCache(folded, key, value, SoftmaxCache(p), DropoutCache(None), p)
        return y, GroupedAttentionCache(attention, heads)
    return forward


# %% hints
hints = (
    "With 6 heads and 2 groups, which head of keys do heads 1 and 3 read? Along which axis of query do they differ?",
    "Split the axis of H heads into (G, R), and give keys and values an axis of length 1 in place of R. Merge the two at the end.",
    "query = query.reshape(B, G, ___, T_q, d_k)",
)


# %% mistakes
def attend(query, key, value, mask, scale=None):
    """Chapter 5's attention: as many heads of keys as of queries."""
    scores = query @ key.swapaxes(-1, -2) / (math.sqrt(query.shape[-1]) if scale is None else scale)
    e = np.exp(np.where(mask[:, None], scores, -np.inf) - scores.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return p @ value, p


def shared(query, x):
    """Each head's keys or values."""
    return x.repeat(query.shape[1] // x.shape[1], axis=1)


def tiled(query, x):
    return np.tile(x, (1, query.shape[1] // x.shape[1], 1, 1))


@mistake("head h reads group h % G, as np.tile lays them out: neighbouring heads share a group, so it is h // R")
def tile_for_repeat(query, key, value, mask):
    return attend(query, tiled(query, key), tiled(query, value), mask)


@mistake("the keys are shared by the right heads, but head h takes its values from group h % G: take both from h // R")
def values_tiled(query, key, value, mask):
    return attend(query, shared(query, key), tiled(query, value), mask)


@mistake("the values are shared by the right heads, but head h takes its keys from group h % G: take both from h // R")
def keys_tiled(query, key, value, mask):
    return attend(query, tiled(query, key), shared(query, value), mask)


@mistake("every head reads the first group: head h has to read group h // R")
def first_group(query, key, value, mask):
    return attend(query, shared(query, key[:, :1]), shared(query, value[:, :1]), mask)


@mistake("the heads come out in the order of axes (R, G): merge the axes as (G, R)")
def order_of_heads(query, key, value, mask):
    B, H, T, _ = query.shape
    y, p = attend(query, shared(query, key), shared(query, value), mask)
    G = key.shape[1]
    return tuple(x.reshape(B, G, H // G, T, -1).swapaxes(1, 2).reshape(B, H, T, -1) for x in (y, p))


@mistake("the queries of a group are averaged: the heads of a group share keys and values, not queries")
def queries_averaged(query, key, value, mask):
    B, H, T, d = query.shape
    mean = query.reshape(B, key.shape[1], -1, T, d).mean(axis=2)
    return tuple(shared(query, x) for x in attend(mean, key, value, mask))


@mistake("the scores are not scaled: divide them by sqrt(d_k)")
def unscaled(query, key, value, mask):
    return attend(query, shared(query, key), shared(query, value), mask, 1)


@mistake("the scores are divided by d_k: divide them by its square root")
def scaled_without_root(query, key, value, mask):
    return attend(query, shared(query, key), shared(query, value), mask, query.shape[-1])


@mistake("the mask is not used: set the scores to -inf where it is False")
def without_mask(query, key, value, mask):
    return attend(query, shared(query, key), shared(query, value), np.ones_like(mask))


@mistake("the mask multiplies the weights after the softmax, so they no longer sum to 1: mask the scores instead")
def mask_after_softmax(query, key, value, mask):
    _y, p = attend(query, shared(query, key), shared(query, value), np.ones_like(mask))
    p = p * mask[:, None]
    return p @ shared(query, value), p


@mistake("the scores are set to 0 where the mask is False: exp(0) is 1, so these keys still get weight and need -inf")
def zero_for_infinity(query, key, value, mask):
    scores = np.where(mask[:, None], query @ shared(query, key).swapaxes(-1, -2) / math.sqrt(query.shape[-1]), 0)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return p @ shared(query, value), p


@mistake("the softmax runs over the queries: each query has to distribute its weight over the keys")
def over_queries(query, key, value, mask):
    scores = query @ shared(query, key).swapaxes(-1, -2) / math.sqrt(query.shape[-1])
    e = np.where(mask[:, None], np.exp(scores - scores.max(axis=-2, keepdims=True)), 0)
    p = e / e.sum(axis=-2, keepdims=True)
    return p @ shared(query, value), p


@mistake("the maximum is not subtracted in the softmax, so the exponential of a large score is infinite: subtract it")
def overflows(query, key, value, mask):
    scores = query @ shared(query, key).swapaxes(-1, -2) / math.sqrt(query.shape[-1])
    with np.errstate(all="ignore"):
        e = np.exp(np.where(mask[:, None], scores, -np.inf))
        p = e / e.sum(axis=-1, keepdims=True)
        return p @ shared(query, value), p


@mistake("the largest score of all rows is subtracted: in a row of much smaller scores every exponential is 0; take each row's own")
def one_maximum(query, key, value, mask):
    key, value = shared(query, key), shared(query, value)
    scores = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])
    e = np.exp(scores - scores.max()) * mask[:, None]
    p = e / e.sum(axis=-1, keepdims=True)
    return p @ value, p


# %% other right solutions
@also_right
def with_repeat(q, k, v, mask):
    R = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, R, axis=1), np.repeat(v, R, axis=1)
    scores = np.einsum("bhtd,bhud->bhtu", q, k) / q.shape[-1] ** 0.5
    weights = np.exp(scores - scores.max(-1, keepdims=True)) * mask[:, None]
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return np.einsum("bhtu,bhue->bhte", weights, v), weights


@also_right
def with_loops(query, key, value, mask):
    ys, ps = [], []
    for h in range(query.shape[1]):
        g = h // (query.shape[1] // key.shape[1])
        scores = np.where(mask, query[:, h] @ key[:, g].swapaxes(1, 2) / math.sqrt(query.shape[3]), -np.inf)
        e = np.exp(scores - scores.max(axis=2, keepdims=True))
        ps.append(e / e.sum(axis=2, keepdims=True))
        ys.append(ps[-1] @ value[:, g])
    return np.stack(ys, axis=1), np.stack(ps, axis=1)
