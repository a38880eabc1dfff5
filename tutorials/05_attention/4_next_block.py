"""The next block of keys

Attention reads its keys in blocks, without a mask. For each query it keeps the largest score so far, and two sums over the keys so
far: of the exponentials, and of the values weighted with the exponentials. Both are computed with the largest score subtracted.
Take in one more block, given its scores. Before the first block, the largest score is minus infinity and both sums are 0. Scores
may be as large as 1,000.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def next_block(scores, value, largest, total, summed):
    """scores: (T_q, n), of n more keys; value: (n, d_v); largest, total: (T_q, 1) and summed: (T_q, d_v), of the keys before.

    Returns largest, total and summed, of all keys so far.
    """
    # your code: by which factor are the old exponentials too large, if a larger score turns up?
    highest = np.maximum(largest, scores.max(axis=1, keepdims=True))
    e = np.exp(scores - highest)
    shrink = np.exp(largest - highest)
    return highest, shrink * total + e.sum(axis=1, keepdims=True), shrink * summed + e @ value
    # end of your code


# %% what it is called with
returns = "largest total summed"
section = "Attention in blocks"
stars, minutes = 2, 15


def case(rng, T_q, n, d_v, before):
    old, value = 2 * rng.standard_normal((T_q, before)), rng.standard_normal((before, d_v))
    return 2 * rng.standard_normal((T_q, n)), rng.standard_normal((n, d_v)), *so_far(old, value)


def so_far(scores, value):
    largest = scores.max(axis=1, keepdims=True)
    e = np.exp(scores - largest)
    return largest, e.sum(axis=1, keepdims=True), e @ value


@edge("the first block")
def first(rng, T_q, n, d_v):
    nothing = np.full((T_q, 1), -np.inf), np.zeros((T_q, 1)), np.zeros((T_q, d_v))
    return rng.standard_normal((T_q, n)), rng.standard_normal((n, d_v)), *nothing


@edge("scores of 1,000 before and of -1,000 now, or the other way round")
def large(rng, T_q, n, d_v):
    sign = np.where(np.arange(T_q + 1) % 2, 1, -1)[:, None]
    old, new = (rng.standard_normal((T_q + 1, n)) + 1000 * one for one in (sign, -sign))
    return new, rng.standard_normal((n, d_v)), *so_far(old, rng.standard_normal((n, d_v)))


@edge("the first block, whose scores are near -1,000")
def low(rng, T_q, n, d_v):
    scores, *others = first(rng, T_q, n, d_v)
    return scores - 1000, *others


@invariant("the largest score cannot be smaller than it was")
def not_smaller(answer, scores, value, largest, total, summed):
    return np.maximum(0, np.where(np.isinf(largest), 0, largest) - np.where(np.isinf(largest), 0, answer[0]))


# %% hints
hints = (
    "Before, the largest score was 0. Now it is ln 3. By what factor is each old exponential too large, and so are their sums?",
    "Subtract the new largest score from the new scores. Both old sums shrink by exp(largest before - largest now).",
    "shrink = np.exp(largest - ___)",
)


# %% mistakes
def made(scores, value, largest, total, summed, shrinks=(1, 1), highest=None, upside_down=False):
    highest = np.maximum(largest, scores.max(axis=1, keepdims=True)) if highest is None else highest
    e, shrink = np.exp(scores - highest), np.exp(highest - largest if upside_down else largest - highest)
    return (highest, (shrink if shrinks[0] else 1) * total + e.sum(axis=1, keepdims=True),
            (shrink if shrinks[1] else 1) * summed + e @ value)


@mistake("the old sums are not made smaller when a larger score turns up")
def never_shrunk(scores, value, largest, total, summed):
    return made(scores, value, largest, total, summed, (0, 0))


@mistake("the old sum of exponentials shrinks with a larger score, but the old weighted sum of values does not")
def total_alone(scores, value, largest, total, summed):
    return made(scores, value, largest, total, summed, (1, 0))


@mistake("the old weighted sum of values shrinks with a larger score, but the old sum of exponentials does not")
def summed_alone(scores, value, largest, total, summed):
    return made(scores, value, largest, total, summed, (0, 1))


@mistake("the factor is the wrong way round: the old sums have to become smaller, so it is exp(before - now)")
def grows(scores, value, largest, total, summed):
    return made(scores, value, largest, total, summed, upside_down=True)


@mistake("the largest score is that of the new block: it has to be the largest so far, or exp(1000) overflows")
def of_this_block(scores, value, largest, total, summed):
    return made(scores, value, largest, total, summed, highest=scores.max(axis=1, keepdims=True))


@mistake("the largest score before is kept, so a larger new one overflows")
def kept(scores, value, largest, total, summed):
    return made(scores, value, largest, total, summed, highest=largest)


@mistake("the old sums are lost: add the block to them")
def lost(scores, value, largest, total, summed):
    return made(scores, value, largest, 0 * total, 0 * summed)


@mistake("summed is divided by the sum of exponentials: that division comes once, after the last block")
def divided(scores, value, largest, total, summed):
    highest, total, summed = made(scores, value, largest, total, summed)
    return highest, total, summed / total


@mistake("the largest score of all queries is subtracted: each query has its own")
def one_largest(scores, value, largest, total, summed):
    highest = np.maximum(largest, scores.max()).max() + 0 * total
    return made(scores, value, largest, total, summed, highest=highest)


@mistake("no largest score is subtracted from the new scores: exp(1000) overflows, as in chapter 4")
def overflowing(scores, value, largest, total, summed):
    highest = np.maximum(largest, scores.max(axis=1, keepdims=True))
    e, shrink = np.exp(scores), np.exp(largest - highest)
    return highest, shrink * total + e.sum(axis=1, keepdims=True), shrink * summed + e @ value


@mistake(
    "the largest score begins at 0: before the first block it is minus infinity, and all scores "
    "may be below 0"
)
def begins_at_0(scores, value, largest, total, summed):
    shrink = np.exp(np.minimum(largest, 0))
    return next_block(scores, value, np.maximum(largest, 0), shrink * total, shrink * summed)


# %% other right solutions
@also_right
def key_by_key(scores, value, largest, total, summed):
    for score, one in zip(scores.T[:, :, None], value):
        higher = np.where(score > largest, score, largest)
        shrink, e = np.exp(largest - higher), np.exp(score - higher)
        largest, total, summed = higher, total * shrink + e, summed * shrink + e * one
    return largest, total, summed


@also_right
def with_the_past_as_one_key(x, v, m, s, a):
    top = np.max(np.concatenate([m, x], axis=1), axis=1)[:, None]
    factors = np.exp(np.concatenate([m, x], axis=1) - top)
    return top, factors[:, :1] * s + factors[:, 1:].sum(1)[:, None], factors[:, :1] * a + np.einsum("qk,kv->qv", factors[:, 1:], v)
