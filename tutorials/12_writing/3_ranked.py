"""The length penalty

Order finished hypotheses, best first. The score of a hypothesis is its log-probability divided by a penalty, which is proportional
to (5 + n)^alpha and is 1 for n = 1. Here n counts every token that was chosen, including the end of the text.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def ranked(sums, lengths, alpha):
    """sums: (N,), log-probabilities; lengths: (N,), the tokens of each hypothesis without its end.

    Returns scores (N,), in the order of sums, and order (N,), the indices of the hypotheses, best first. No two scores are equal.
    """
    # your code: the penalty of each hypothesis, its score, and who is best
    chosen = lengths + 1
    penalties = ((5 + chosen) / (5 + 1)) ** alpha
    scores = sums / penalties
    return scores, np.argsort(-scores)
    # end of your code


# %% what it is called with
returns = "scores order"
float64_only = True
section = "Short texts win, unless they pay"
stars, minutes = 1, 10


def case(rng, N):
    lengths = rng.permutation(40)[:N + 4]
    return -0.3 * lengths - rng.uniform(2, 6, N + 4), lengths, 0.6


@edge("no penalty, alpha = 0")
def unpunished(rng, N):
    return -rng.uniform(1, 9, N), rng.permutation(20)[:N], 0.0


@edge("an empty text among them")
def empty(rng, N):
    return -rng.uniform(1, 9, N), np.arange(N), 1.0


@edge("equal lengths, texts of hundreds of tokens, and an alpha above 1")
def long(rng, N):
    lengths = rng.integers(200, 900, N + 4)
    lengths[1] = lengths[0]
    return -0.3 * lengths - rng.uniform(2, 6, N + 4), lengths, float(rng.uniform(1.2, 2))


@invariant("in the order that is returned, no score may be larger than the one before it")
def falling(answer, sums, lengths, alpha):
    scores, order = answer
    return np.maximum(0, np.diff(scores[order % len(scores)]))


@invariant("an empty text, whose only token is its end, keeps its log-probability")
def of_the_empty(answer, sums, lengths, alpha):
    return np.where(lengths == 0, answer[0] - sums, 0)


# %% hints
hints = (
    "What is n for an empty text, in which only the end was chosen? What must its penalty be?",
    "Divide (5 + n) by its value for n = 1, raise that to alpha, and divide the sum by it. n is one more than the given length.",
    "penalties = ((5 + chosen) / (5 + ___)) ** alpha",
)


# %% mistakes
def made(sums, penalties):
    scores = sums / penalties
    return scores, np.argsort(-scores)


def penalty(n, alpha):
    return ((5 + n) / 6) ** alpha


@mistake("the end of the text is not counted: n is one more than the length without it")
def off_by_one(sums, lengths, alpha):
    return made(sums, penalty(lengths, alpha))


@mistake("the penalty multiplies: log-probabilities are negative, so long texts get even worse")
def multiplied(sums, lengths, alpha):
    return made(sums, 1 / penalty(lengths + 1, alpha))


@mistake("all have the same length, that of the longest: then the penalty never changes the order")
def one_length(sums, lengths, alpha):
    return made(sums, penalty(lengths.max() + 1, alpha))


@mistake("only the numerator is raised to alpha: the penalty for n = 1 is then not 1")
def upper_part(sums, lengths, alpha):
    return made(sums, (6 + lengths) ** alpha / 6)


@mistake("alpha is used as a factor: it has to be the exponent")
def factor(sums, lengths, alpha):
    return made(sums, 1 + alpha * lengths / 6)


@mistake("the sum is divided by n^alpha: the penalty grows as (5 + n)^alpha, so that short texts differ less")
def without_five(sums, lengths, alpha):
    return made(sums, (lengths + 1.0) ** alpha)


@mistake("the penalty is (5 + n)^alpha without the division: it has to be 1 for n = 1")
def undivided(sums, lengths, alpha):
    return made(sums, (6.0 + lengths) ** alpha)


@mistake("the order is ascending: the worst hypothesis comes first")
def rising(sums, lengths, alpha):
    scores, order = made(sums, penalty(lengths + 1, alpha))
    return scores, order[::-1].copy()


@mistake("the scores are sorted: they have to stay in the order of sums")
def sorted_scores(sums, lengths, alpha):
    scores, order = made(sums, penalty(lengths + 1, alpha))
    return scores[order], order


@mistake("the order is that of the log-probabilities: the scores have to decide")
def by_sums(sums, lengths, alpha):
    return sums / penalty(lengths + 1, alpha), np.argsort(-sums)


@mistake("order holds the rank of each hypothesis: it has to list the hypotheses, best first")
def ranks(sums, lengths, alpha):
    scores, order = made(sums, penalty(lengths + 1, alpha))
    return scores, np.argsort(order)


@mistake("the penalty is subtracted: the log-probability has to be divided by it")
def subtracted(sums, lengths, alpha):
    scores = sums - penalty(lengths + 1, alpha)
    return scores, np.argsort(-scores)


# %% other right solutions
@also_right
def with_logarithms(sums, lengths, alpha):
    scores = sums * np.exp(-alpha * (np.log(6 + lengths) - np.log(6)))
    return scores, scores.argsort()[::-1]


@also_right
def with_loops(sums, lengths, alpha):
    scores = np.array([total / ((n + 6) / 6) ** alpha for total, n in zip(sums, lengths)])
    return scores, np.array(sorted(range(len(sums)), key=lambda i: scores[i], reverse=True))
