"""One step of a beam

`L` hypotheses are alive, and each may be continued by each of `V` tokens. Of all continuations, find the `width` most likely, best
first. For each, return its log-probability, the hypothesis that it continues, and the token that it adds.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def beam_step(sums, log_p, width):
    """sums: (L,), the log-probability of each hypothesis; log_p: (L, V), of each token after it.

    Returns sums, parents and tokens, each (width,), for width <= L V. No two continuations are equally likely.
    """
    # your code: all of them compete in one list; where in the list did each winner come from?
    L, V = log_p.shape
    totals = (sums[:, None] + log_p).reshape(L * V)
    best = np.argsort(-totals)[:width]
    return totals[best], best // V, best % V
    # end of your code


# %% what it is called with
returns = "sums parents tokens"
section = "Several hypotheses at once"
stars, minutes = 2, 15


def log_softmax(x):
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


def case(rng, L, V):
    L, V = L + 1, V + 1
    sums = -rng.exponential(2.0, L)
    log_p = log_softmax(2 * rng.standard_normal((L, V)))
    winner = int(sums.argmax())
    log_p[winner, :2] = log_softmax(rng.standard_normal(2))    # one hypothesis gets several places
    return sums, log_p, L


@edge("the first step: one hypothesis")
def first(rng, V):
    return np.zeros(1), log_softmax(rng.standard_normal((1, V + 2))), V


@edge("a beam that becomes narrower")
def narrower(rng, L, V):
    return -rng.exponential(1.0, L + 1), log_softmax(rng.standard_normal((L + 1, V))), L


@edge("500 hypotheses, so many that np.argpartition finds the best and leaves them unsorted")
def wide(rng, L):
    return -rng.exponential(1.0, L + 1), log_softmax(rng.standard_normal((L + 1, 1000))), 500


@invariant("the best comes first: no sum may be larger than the one before it")
def falling(answer, sums, log_p, width):
    return np.maximum(0, np.diff(answer[0]))


@invariant("a new sum is the sum of its parent plus the log-probability of its token")
def adds_up(answer, sums, log_p, width):
    new, parents, tokens = answer
    L, V = log_p.shape
    return new - sums[parents % L] - log_p[parents % L, tokens % V]


# %% hints
hints = (
    "May one hypothesis get two places in the new beam, and another none? So what competes with what?",
    "Add each sum to its row, make one list of L V numbers, and sort it. The place in the list tells you row and column.",
    "return totals[best], best // V, best ___ V",
)


# %% mistakes
def made(totals, width, best=None):
    best = np.argsort(-totals, axis=None)[:width] if best is None else best
    return totals.ravel()[best], best // totals.shape[1], best % totals.shape[1]


def all_totals(sums, log_p):
    return sums[:, None] + log_p


@mistake("the sums so far do not count: an unlikely hypothesis would keep its place whenever its next token is likely")
def sums_ignored(sums, log_p, width):
    return made(log_p, width)


@mistake("the sums so far are added only after the choice: the totals have to compete")
def added_afterwards(sums, log_p, width):
    _, parents, tokens = made(log_p, width)
    return sums[parents] + log_p[parents, tokens], parents, tokens


@mistake("every hypothesis keeps its own best token: all continuations compete, and a bad hypothesis may lose its place")
def one_each(sums, log_p, width):
    totals = all_totals(sums, log_p)
    tokens = totals.argmax(axis=1)
    parents = np.argsort(-totals.max(axis=1))[:width]
    return totals[parents, tokens[parents]], parents, tokens[parents]


@mistake("only the best hypothesis is continued: the others have continuations too")
def of_the_best(sums, log_p, width):
    parent = sums.argmax()
    tokens = np.argsort(-log_p[parent])[:width]
    return sums[parent] + log_p[parent, tokens], np.full(len(tokens), parent), tokens


@mistake("each token is chosen only once: two hypotheses may well add the same token")
def each_token_once(sums, log_p, width):
    totals = all_totals(sums, log_p)
    tokens = np.argsort(-totals.max(axis=0))[:width]
    parents = totals.argmax(axis=0)[tokens]
    return totals[parents, tokens], parents, tokens


@mistake("parents and tokens are swapped: the row of the table is the hypothesis, the column is the token")
def exchanged(sums, log_p, width):
    sums, parents, tokens = made(all_totals(sums, log_p), width)
    return sums, tokens, parents


@mistake("row and column are computed with L: a row of the table has V numbers")
def divided_by_l(sums, log_p, width):
    totals = all_totals(sums, log_p).ravel()
    best = np.argsort(-totals)[:width]
    return totals[best], best // len(sums), best % len(sums)


@mistake("the order is ascending: these are the least likely continuations")
def worst(sums, log_p, width):
    totals = all_totals(sums, log_p)
    return made(totals, width, np.argsort(totals, axis=None)[:width])


@mistake("they are the right continuations, but the worst comes first")
def worst_first(sums, log_p, width):
    return tuple(one[::-1].copy() for one in made(all_totals(sums, log_p), width))


@mistake("they are in the order of the table: the best has to come first")
def in_order_of_the_table(sums, log_p, width):
    totals = all_totals(sums, log_p)
    return made(totals, width, np.sort(np.argsort(-totals, axis=None)[:width]))


@mistake("the new sums hold only the last token's log-probability: the hypothesis's own sum is missing")
def last_only(sums, log_p, width):
    _, parents, tokens = made(all_totals(sums, log_p), width)
    return log_p[parents, tokens], parents, tokens


@mistake("the log-probabilities are multiplied: probabilities are multiplied, their logarithms are added")
def multiplied(sums, log_p, width):
    return made(sums[:, None] * log_p, width)


@mistake("probabilities are added to log-probabilities: log_p already is a logarithm")
def mixed(sums, log_p, width):
    return made(sums[:, None] + np.exp(log_p), width)


@mistake("parent and token are taken apart with 10: a row of the table has V numbers")
def tens(sums, log_p, width):
    new, _, _ = made(all_totals(sums, log_p), width)
    best = np.argsort(-all_totals(sums, log_p), axis=None)[:width]
    return new, best // 10, best % 10


# %% other right solutions
@also_right
def with_unravel(sums, log_p, width):
    totals = sums.reshape(-1, 1) + log_p
    parents, tokens = np.unravel_index(np.argsort(totals, axis=None)[::-1][:width], totals.shape)
    return totals[parents, tokens], parents, tokens


@also_right
def with_loops(sums, log_p, width):
    everyone = [(sums[i] + log_p[i, k], i, k) for i in range(len(sums)) for k in range(log_p.shape[1])]
    best = sorted(everyone, reverse=True)[:width]
    return (np.array([one[0] for one in best], log_p.dtype), np.array([one[1] for one in best]), np.array([one[2] for one in best]))
