"""One update from many micro-batches

A batch that does not fit into memory was cut into M micro-batches. For each of them you get the gradient of its mean loss per
real token, and the number of its real tokens. Return the gradient of the complete batch's mean loss, as if it had never been cut.
"""

import numpy as np

from minitransformer.learn import also_right, edge, invariant, mistake


# %% reference
def accumulated(gradients, counts):
    """gradients: (M, P), a row for each micro-batch; counts: (M,) floats, their numbers of real tokens. Returns g (P,).

    A micro-batch may be all padding: its count is then 0, and its row is NaN, because its mean was 0 / 0.
    """
    # your code: what would the sum of the losses have had as its gradient?
    real = counts > 0
    sums = gradients[real] * counts[real][:, None]
    return sums.sum(axis=0) / counts.sum()
    # end of your code


# %% what it is called with
returns = "g"
section = "The mean of means"
stars, minutes = 2, 10


def case(rng, M, P):
    return rng.standard_normal((M + 1, P)), np.append(rng.permutation(40)[:M] + 1.0, 50)


@edge("a micro-batch of padding alone")
def empty(rng, M, P):
    gradients, counts = case(rng, M, P)
    gradients[0], counts[0] = np.nan, 0
    return gradients, counts


@edge("one micro-batch: nothing was cut")
def one(rng, P):
    return rng.standard_normal((1, P)), np.array([7.0])


@invariant("each number must lie between the smallest and the largest value that any micro-batch has for it")
def between(g, gradients, counts):
    rows = gradients[counts > 0]
    return g - np.clip(g, rows.min(axis=0), rows.max(axis=0))


# %% hints
hints = (
    "One micro-batch has 99 tokens and one has 1. Should the single token weigh as much as the 99 together?",
    "Count times mean is the sum: add the sums of all micro-batches, and divide once, by all tokens. NaN times 0 is NaN.",
    "sums = gradients[real] * ___",
)


# %% mistakes
def filled(gradients):
    return np.nan_to_num(gradients)


@mistake("it is the mean of the means: a token of a short micro-batch then weighs more than one of a long micro-batch", hint=1)
def mean_of_means(gradients, counts):
    return filled(gradients[counts > 0]).mean(axis=0)


@mistake("it is the mean of the means, and micro-batches of padding alone are counted in it", hint=1)
def mean_of_all(gradients, counts):
    return filled(gradients).mean(axis=0)


@mistake("the means are added but not divided: with M micro-batches, the step is M times too long", hint=1)
def sum_of_means(gradients, counts):
    return filled(gradients).sum(axis=0)


@mistake("the sums are added but not divided by the number of tokens", hint=2)
def sum_of_sums(gradients, counts):
    return (filled(gradients) * counts[:, None]).sum(axis=0)


@mistake("a micro-batch of padding alone makes everything NaN: 0 times NaN is NaN, so leave its row out", hint=2)
def not_a_number(gradients, counts):
    return counts @ gradients / counts.sum()


@mistake("it is divided twice, by the tokens and by the number of micro-batches", hint=2)
def twice(gradients, counts):
    return counts @ filled(gradients) / counts.sum() / len(counts)


@mistake("the sums are divided by the number of micro-batches, not of tokens", hint=2)
def by_micro_batches(gradients, counts):
    return counts @ filled(gradients) / len(counts)


@mistake("each mean is divided by all tokens: it has already been divided by its own, so multiply by its count first", hint=2)
def divided_again(gradients, counts):
    return filled(gradients).sum(axis=0) / counts.sum()


@mistake("the weights are upside down: a micro-batch with more tokens has to weigh more", hint=1)
def upside_down(gradients, counts):
    real = counts > 0
    weights = 1 / counts[real]
    return weights @ gradients[real] / weights.sum()


@mistake("the counts are divided by the largest one, not by their sum", hint=2)
def by_the_largest(gradients, counts):
    return counts @ filled(gradients) / counts.max()


@mistake("the last micro-batch's gradient is returned: each one has to be added", hint=1)
def last(gradients, counts):
    return gradients[-1].copy()


@mistake("the sum runs over the numbers within each micro-batch: it has to run over the micro-batches", hint=2)
def wrong_axis(gradients, counts):
    total = (filled(gradients) * counts[:, None]).sum(axis=1) / counts.sum()
    return np.resize(total, gradients.shape[1])


# %% other right solutions
@also_right
def with_average(means, tokens):
    used = tokens > 0
    return np.average(means[used], axis=0, weights=tokens[used])


@also_right
def with_where(gradients, counts):
    weights = (counts / counts.sum())[:, None]
    return np.where(weights > 0, weights * gradients, 0).sum(axis=0)


@also_right
def with_loops(gradients, counts):
    g = np.zeros_like(gradients[0])
    for row, count in zip(gradients, counts):
        if count:
            g += count * row
    return g / counts.sum()
