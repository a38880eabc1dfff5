"""Does a head look for what came next last time?

A query at position t looks for the letter that came next when its own letter was read before. The
places where it may find that are the positions right after an earlier letter equal to its own.
Return, for each head, how much attention goes to such places: the mean over all queries that have
at least one.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def prefix_score(p, ids):
    """p: (B, H, T, T), attention weights, queries first; ids: (B, T), some of which occur again.
    Returns score (H,).
    """
    # your code: mark the places for each query; what they get; the mean over queries that have any
    B, T = ids.shape
    same = ids[:, :, None] == ids[:, None, :]
    after = np.zeros((B, T, T), bool)
    after[:, :, 1:] = same[:, :, :-1]
    after = after & np.tri(T, dtype=bool)
    weight = (p * after[:, None]).sum(axis=-1)
    total = weight.sum(axis=-1).sum(axis=0)
    return total / after.any(axis=-1).sum()
    # end of your code


# %% what it is called with
returns = "score"
section = "What it would have to do"
stars, minutes = 2, 20
float64_only = True


def case(rng, B, H, T):
    return made(rng, B, H, T + 6, 4)


@edge("every text repeats one letter")
def one_letter(rng, B, H, T):
    return made(rng, B, H, T + 2, 1)


@edge("the letters of the first text are all different, so that none of its queries counts")
def no_repeat(rng, B, H):
    p, ids = made(rng, B + 1, H, 7, 3)
    ids[0] = rng.permutation(7) + 5
    return p, ids


@edge("each query gives all of its attention to one place")
def one_place(rng, B, H, T):
    p, ids = made(rng, B, H, T + 6, 4)
    return (p == p.max(axis=-1, keepdims=True)).astype(float), ids


def made(rng, B, H, T, letters):
    scores = np.exp(2 * rng.standard_normal((B, H, T, T))) * np.tri(T)
    ids = rng.integers(3, 300) + rng.integers(letters, size=(B, T))
    ids[:, -1] = ids[:, 0]
    return scores / scores.sum(axis=-1, keepdims=True), ids


@invariant("a share of attention is between 0 and 1")
def share(score, p, ids):
    return np.minimum(score, 0) + np.maximum(score - 1, 0)


# %% hints
hints = (
    "The text is *abcab*, and the query is the second b, at position 4. Which letter came after b "
    "last time, and where is it?",
    "Compare all letters with each other, (B, T, T), and move the result one position to the "
    "right, from the letter itself to what came after it. Places after the query do not count.",
    "after[:, :, 1:] = ___",
)


# %% mistakes
def marks(ids, right=1, upto=0):
    """(B, T, T): places that are `right` after a letter like the query's, up to `upto` after it."""
    T = ids.shape[1]
    same = ids[:, :, None] == ids[:, None, :]
    moved = np.zeros_like(same)
    moved[:, :, right:] = same[:, :, :T - right]
    return moved & np.tri(T, k=upto, dtype=bool)


def mean_of(p, marked, counted=None):
    counted = marked.any(axis=-1) if counted is None else counted
    weight = (p * marked[:, None]).sum(axis=-1)
    return (weight * counted[:, None]).sum(axis=(0, 2)) / counted.sum()


@mistake(
    "this is the weight on the earlier letter itself: move one position to the right, to what "
    "came after it"
)
def the_letter_itself(p, ids):
    return mean_of(p, marks(ids, right=0, upto=-1))


@mistake(
    "this is the weight on every letter like the query's, the query itself among them: what came "
    "after it is one further"
)
def every_equal_letter(p, ids):
    return mean_of(p, marks(ids, right=0))


@mistake(
    "this is the weight two positions after the earlier letter: what came next is one position "
    "after it"
)
def two_after(p, ids):
    return mean_of(p, marks(ids, right=2))


@mistake(
    "this is the weight one position before the earlier letter: move to the right, not to the left"
)
def one_before(p, ids):
    T = ids.shape[1]
    same = (ids[:, :, None] == ids[:, None, :]) & np.tri(T, k=-1, dtype=bool)
    moved = np.zeros_like(same)
    moved[:, :, :-1] = same[:, :, 1:]
    return mean_of(p, moved)


@mistake("the mean is over all queries: leave out those whose letter has not been read before")
def over_all_queries(p, ids):
    return mean_of(p, marks(ids), np.ones(ids.shape, bool))


@mistake("each text has its own mean first: every query counts alike, wherever it is")
def mean_of_means(p, ids):
    marked = marks(ids)
    counted = marked.any(axis=-1)
    weight = (p * marked[:, None]).sum(axis=-1) * counted[:, None]
    some = counted.any(axis=1)
    return (weight[some].sum(axis=-1) / counted[some].sum(axis=-1)[:, None]).mean(axis=0)


@mistake("this is a sum: divide it by the number of queries that count")
def summed(p, ids):
    return (p * marks(ids)[:, None]).sum(axis=(0, 2, 3))


@mistake(
    "the weights are divided by the number of marked places: add up what the query gives to all "
    "of them"
)
def mean_over_positions(p, ids):
    marked = marks(ids)
    return (p * marked[:, None]).sum(axis=(0, 2, 3)) / marked.sum()


@mistake("queries and keys are swapped: p has the query's axis first")
def swapped(p, ids):
    return mean_of(p.swapaxes(-1, -2), marks(ids))


@mistake("only the first earlier letter counts: what came after any of them does")
def first_only(p, ids):
    marked = marks(ids)
    return mean_of(p, marked & (np.cumsum(marked, axis=-1) == 1))


@mistake("only the last earlier letter counts: what came after any of them does")
def last_only(p, ids):
    marked = marks(ids)
    behind = np.cumsum(marked[:, :, ::-1], axis=-1)[:, :, ::-1]
    return mean_of(p, marked & (behind == 1))


@mistake("all heads are averaged: each head has its own score")
def of_all_heads(p, ids):
    score = mean_of(p, marks(ids))
    return np.full_like(score, score.mean())


@mistake("this counts the queries that look mostly there: return the mean weight")
def count_of_the_largest(p, ids):
    marked = marks(ids)
    of_each_head = np.broadcast_to(marked[:, None], p.shape)
    largest = np.take_along_axis(of_each_head, p.argmax(axis=-1)[..., None], axis=-1)[..., 0]
    counted = marked.any(axis=-1)
    return (largest * counted[:, None]).sum(axis=(0, 2)) / counted.sum()


# %% other right solutions
@also_right
def with_loops(weights, texts):
    B, H, T, _T = weights.shape
    found = [[] for _head in range(H)]
    for b in range(B):
        for t in range(T):
            places = [s + 1 for s in range(t) if texts[b, s] == texts[b, t]]
            if places:
                for h in range(H):
                    found[h].append(sum(weights[b, h, t, place] for place in places))
    return np.array([np.mean(one) for one in found])


@also_right
def with_roll(p, ids):
    before = np.roll(ids, 1, axis=1)
    before[:, 0] = -1
    marked = np.tril(ids[:, :, None] == before[:, None, :])
    per_query = np.einsum("bhts,bts->bht", p, marked.astype(p.dtype))
    return np.moveaxis(per_query, 1, 0)[:, marked.any(axis=-1)].mean(axis=1)
