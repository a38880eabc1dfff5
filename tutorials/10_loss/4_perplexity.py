"""Perplexity

A model gave each target a probability. Return the perplexity of the batch: the number of equally likely tokens that would give
the same mean loss. A batch may hold thousands of tokens.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def perplexity(p, ids):
    """p: (B, T), the probability that each target got; ids: (B, T), the targets, with 0 for padding. Returns ppl ()."""
    # your code: the mean loss of a real token, and the number of tokens that have it
    real = ids != 0
    mean = -np.log(p[real]).mean()
    return np.exp(mean)
    # end of your code


# %% what it is called with
returns = "ppl"
section = "Perplexity"
stars, minutes = 2, 10
float64_only = True


def case(rng, B, T):
    ids, lengths = rng.integers(1, 30, (B, T + 1)), rng.integers(1, T + 2, B)
    lengths[rng.integers(B)] = T    # at least one row is padded
    ids *= np.arange(T + 1) < lengths[:, None]
    return rng.uniform(0.05, 0.95, ids.shape), ids


@edge("padding in every row")
def padded(rng, B, T):
    ids = rng.integers(1, 30, (B, T + 1)) * (np.arange(T + 1) < rng.integers(1, T + 1, (B, 1)))
    return rng.uniform(0.05, 0.95, ids.shape), ids


@edge("no padding at all")
def full(rng, B, T):
    return rng.uniform(0.05, 0.95, (B, T + 1)), rng.integers(1, 30, (B, T + 1))


@edge("a model that is very wrong: probabilities down to 1e-30")
def very_wrong(rng, B, T):
    p, ids = case(rng, B, T)
    return 10 ** -rng.uniform(4, 30, p.shape), ids


@edge("4,000 tokens")
def long(rng, B):
    return rng.uniform(0.05, 0.6, (B, 4000)), np.ones((B, 4000), int)


@invariant("the perplexity must lie between 1 / the largest and 1 / the smallest probability of a real token")
def between(ppl, p, ids):
    return ppl - np.clip(ppl, 1 / p[ids != 0].max(), 1 / p[ids != 0].min())


# %% hints
hints = (
    "A die is thrown N times and each throw gets probability 1/6. Which answer do you expect for N = 1, and for N = 2?",
    "The loss of a token is -log p. Take the mean over the real tokens of all sentences, and undo the logarithm at the end.",
    "mean = -np.log(___).mean()",
)


# %% mistakes
@mistake("padding is counted: the mean has to be over real tokens")
def padding_counted(p, ids):
    return np.exp(-np.log(p).mean())


@mistake("the sum is over the real tokens, but it is divided by the number of all positions")
def all_places(p, ids):
    return np.exp(-np.log(p[ids != 0]).sum() / p.size)


@mistake("the product underflows: 4,000 probabilities multiply to 0, and 1 / 0 is infinite; add their logarithms")
def product(p, ids):
    real = p[ids != 0]
    return np.prod(real) ** (-1 / real.size)


@mistake("the root is missing: the product of all 1 / p grows with the length of the text")
def without_root(p, ids):
    return np.exp(-np.log(p[ids != 0]).sum())


@mistake("the exponent of the root is the number of sentences: it has to be the number of tokens")
def root_of_sentences(p, ids):
    return np.exp(-np.log(p[ids != 0]).sum() / len(p))


@mistake("it is the mean of the sentences' perplexities: take one mean of the losses of all tokens, then the exponential")
def mean_of_sentences(p, ids):
    return np.mean([np.exp(-np.log(one[real]).mean()) for one, real in zip(p, ids != 0)])


@mistake("it is the mean of the sentences' mean losses, in which a token of a long sentence counts less")
def mean_of_means(p, ids):
    return np.exp(np.mean([-np.log(one[real]).mean() for one, real in zip(p, ids != 0)]))


@mistake("it is the mean of 1 / p: take the mean of the logarithms")
def mean_of_inverse(p, ids):
    return (1 / p[ids != 0]).mean()


@mistake("it is 1 / the mean of p: take the mean of the logarithms")
def inverse_of_mean(p, ids):
    return 1 / p[ids != 0].mean()


@mistake("the sign is missing: the logarithm of a probability is negative, and a perplexity is at least 1")
def sign(p, ids):
    return np.exp(np.log(p[ids != 0]).mean())


@mistake("this is the mean loss: its exponential is the perplexity")
def loss_itself(p, ids):
    return -np.log(p[ids != 0]).mean()


@mistake("the bases differ: this is 2 to the power of a natural logarithm")
def bases(p, ids):
    return 2 ** -np.log(p[ids != 0]).mean()


@mistake("the mean loss is in bits, but the exponential has base e")
def bits(p, ids):
    return np.exp(-np.log2(p[ids != 0]).mean())


@mistake("the product is multiplied by -1/N: that has to be its exponent")
def times(p, ids):
    real = p[ids != 0]
    return np.prod(real) * (-1 / real.size)


@mistake("token id 1 is left out as well: leave out only padding, id 0")
def id_1_left_out(p, ids):
    return np.exp(-np.log(p[ids > (ids.max() > 1)]).mean())


@mistake("small probabilities are raised to a floor: a model that gives its target 1e-9 has to pay for that")
def with_a_floor(p, ids):
    return np.exp(-np.log(np.maximum(p[ids != 0], 1e-3)).mean())


# %% other right solutions
@also_right
def in_bits(chances, targets):
    chosen = chances[targets > 0]
    return 2 ** (-np.log2(chosen).sum() / chosen.size)


@also_right
def with_loops(p, ids):
    total, count = 0.0, 0    # float64, whatever p is
    for one, token in zip(p.ravel(), ids.ravel()):
        if token != 0:
            total, count = total - np.log(float(one)), count + 1
    return np.exp(total / count)


@also_right
def geometric_mean(p, ids):
    real = p[ids != 0]
    return np.prod((1 / real) ** (1 / real.size))
