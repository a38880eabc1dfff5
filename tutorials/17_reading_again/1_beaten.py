"""Which models are beaten

Table 2 gives each model a BLEU score and a training cost. A model is *beaten* if another one has at least its score at no more
than its cost, and is strictly better in one of the two. Return for each model whether another one beats it. Some numbers are
missing and are NaN. A model that lacks a number neither beats another one nor is beaten.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def beaten(bleu, cost):
    """bleu, cost: (R,), of R models, NaN where the table has no number. Returns lost (R,) bool."""
    # your code: compare every row with every column; what does a comparison with NaN give?
    as_good = (bleu >= bleu[:, None]) & (cost <= cost[:, None])
    better = (bleu > bleu[:, None]) | (cost < cost[:, None])
    return (as_good & better).any(axis=1)
    # end of your code


# %% what it is called with
returns = "lost"
section = "Section 6.1: better, and cheaper"
stars, minutes = 2, 15


def case(rng, R):
    bleu, cost = rng.integers(20, 30, R + 6) / 2, 10.0 * rng.integers(1, 9, R + 6)
    bleu[1], cost[2], bleu[3], cost[3] = np.nan, np.nan, bleu[0], cost[0]
    bleu[5], cost[4], cost[5] = bleu[4], 50.0, 20.0
    return bleu, cost


@edge("two models with the same two numbers: neither beats the other")
def equal(rng):
    return np.array([27.0, 27.0]), np.array([3.0, 3.0])


@edge("the same score, one cheaper than the other")
def cheaper(rng):
    return np.array([26.0, 26.0]), np.array([4.0, 3.0])


@edge("the same cost, one better than the other")
def better_score(rng):
    return np.array([25.0, 26.0]), np.array([4.0, 4.0])


@invariant("a model with the highest score of all that have both numbers must not be beaten if it is also the cheapest of these")
def best_is_not_beaten(lost, bleu, cost):
    complete = ~np.isnan(bleu + cost)
    if not complete.any():
        return np.zeros(1)
    best = complete & (bleu == bleu[complete].max())
    return (lost & best & (cost == cost[best].min())) * 1


# %% hints
hints = (
    "Two models have the same score and the same cost. Is either of them beaten? And if one of them were cheaper?",
    "Two tables (R, R): whether the column is at least as good in both, and whether it is better in one. Which axis is searched?",
    "as_good = (bleu >= bleu[:, None]) & (___)",
)


# %% mistakes
def tables(bleu, cost):
    """as good and better, (R, R), a row for the one that may be beaten; without the warnings of NaN."""
    return ((bleu >= bleu[:, None]) & (cost <= cost[:, None])), ((bleu > bleu[:, None]) | (cost < cost[:, None]))


@mistake("a model counts as beaten by itself or by an equal one: the other has to be strictly better in score or cost")
def by_itself(bleu, cost):
    return tables(bleu, cost)[0].any(axis=1)


@mistake("another one has to be better in both: it is enough to be as good in both and better in one")
def better_in_both(bleu, cost):
    return ((bleu > bleu[:, None]) & (cost < cost[:, None])).any(axis=1)


@mistake("a model is beaten here if another is better in score or in cost: it also must not be worse in the other one")
def better_in_one(bleu, cost):
    return tables(bleu, cost)[1].any(axis=1)


@mistake("rows and columns are swapped, so this says which models beat another one: look for a better one in each row")
def beats(bleu, cost):
    as_good, better = tables(bleu, cost)
    return (as_good & better).any(axis=0)


@mistake("a higher cost counts as better: a model with a higher cost has to have a higher score")
def dearer(bleu, cost):
    as_good, better = tables(bleu, -cost)
    return (as_good & better).any(axis=1)


@mistake("this says which models are not beaten")
def unbeaten(bleu, cost):
    return ~beaten(bleu, cost)


@mistake("only the score is compared: a model with a lower score may be cheaper")
def score_alone(bleu, cost):
    return (bleu > bleu[:, None]).any(axis=1)


@mistake("only the cost is compared: a dearer model may have a higher score")
def cost_alone(bleu, cost):
    return (cost < cost[:, None]).any(axis=1)


@mistake("a missing number counts as 0: a model without a known cost is not free, so leave such models out")
def missing_is_zero(bleu, cost):
    return beaten(np.nan_to_num(bleu), np.nan_to_num(cost))


@mistake("models that lack a number count as beaten: nothing is known about them, so they are not")
def missing_is_beaten(bleu, cost):
    return beaten(bleu, cost) | np.isnan(bleu + cost)


@mistake("of two models with the same score, the dearer one passes: at an equal score, the cheaper one beats it")
def strictly_higher(bleu, cost):
    return ((bleu > bleu[:, None]) & (cost <= cost[:, None])).any(axis=1)


@mistake("of two models with the same cost, the worse one passes: at an equal cost, the better one beats it")
def strictly_cheaper(bleu, cost):
    return ((bleu >= bleu[:, None]) & (cost < cost[:, None])).any(axis=1)


# %% other right solutions
@also_right
def with_loops(scores, costs):
    lost = []
    for score, price in zip(scores, costs):
        lost.append(any((s >= score and c < price) or (s > score and c <= price) for s, c in zip(scores, costs)))
    return np.array(lost)


@also_right
def by_differences(bleu, cost):
    gain, saving = bleu - bleu[:, None], cost[:, None] - cost
    return ((np.minimum(gain, saving) >= 0) & (gain + saving > 0)).any(axis=1)
