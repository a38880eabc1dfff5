"""Padding is not a success

Sum the loss over real tokens only, and count them. The training loop divides the sum by the count.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def masked_loss(losses, ids):
    """losses: (B, T), of each token; ids: (B, T), the tokens to predict, 0 at padding. Returns total () and count (), an int."""
    # your code: which tokens are real; the sum of their losses; how many they are
    real = ids != 0
    total = (losses * real).sum()
    return total, real.sum()
    # end of your code


# %% what it is called with
returns = "total count"
section = "Padding: what is not there must not count"
stars, minutes = 1, 8


def case(rng, B, T):
    lengths = rng.integers(1, T + 1, B)
    lengths[rng.integers(B)] = T - 1    # at least one row is padded
    return rng.random((B, T)), rng.integers(1, 30, (B, T)) * (np.arange(T) < lengths[:, None])


@edge("padding in every row")
def padded(rng, B, T):
    return rng.random((B, T + 1)), rng.integers(1, 30, (B, T + 1)) * (np.arange(T + 1) < rng.integers(1, T + 1, (B, 1)))


@edge("no padding at all")
def full(rng, B, T):
    return rng.random((B, T)), rng.integers(1, 30, (B, T))


@edge("a token predicted with certainty: its loss is 0")
def certain(rng, B, T):
    losses, ids = full(rng, B, T)
    losses[rng.integers(B), rng.integers(T)] = 0
    return losses, ids


@edge("padding in front")
def in_front(rng, B, T):
    losses, ids = padded(rng, B, T)
    return losses, ids[:, ::-1].copy()


@invariant("the count must be a number of tokens of the batch: those that are not 0")
def counted(answer, losses, ids):
    return answer[1] - np.count_nonzero(ids)


# %% hints
hints = (
    "Two sentences of 2 and of 10 tokens, padded to 10. What do you divide the sum of all losses by, for a mean per token?",
    "Multiply by ids != 0 before the sum, and count the same places.",
    "total = (losses * ___).sum()",
)


# %% mistakes
@mistake("padding is counted: the number of places, not of tokens")
def all_places(losses, ids):
    return (losses * (ids != 0)).sum(), np.array(ids.size)


@mistake("padding is in the sum")
def padding_in_sum(losses, ids):
    return losses.sum(), (ids != 0).sum()


@mistake("padding is in the sum and in the count")
def padding_in_both(losses, ids):
    return losses.sum(), np.array(ids.size)


@mistake("the total is already divided by the count: it has to be a sum, so that batches can be added")
def mean(losses, ids):
    real = ids != 0
    return (losses * real).sum() / losses.dtype.type(real.sum()), real.sum()


@mistake("the count is the number of losses that are not 0: a token predicted with certainty counts as well")
def losses_not_0(losses, ids):
    real = ids != 0
    return (losses * real).sum(), np.array(np.count_nonzero(losses * real))


@mistake("token id 1 is left out as well: leave out only padding, id 0")
def id_1_left_out(losses, ids):
    return (losses * (ids > 1)).sum(), (ids > 1).sum()


@mistake("the count is the number of sentences")
def sentences(losses, ids):
    return (losses * (ids != 0)).sum(), np.array(len(ids))


@mistake("each loss is multiplied by its token id")
def times_id(losses, ids):
    return (losses * ids.astype(losses.dtype)).sum(), (ids != 0).sum()


@mistake("only padding is summed: the condition is the wrong way round")
def padding_only(losses, ids):
    return (losses * (ids == 0)).sum(), (ids == 0).sum()


@mistake("the total is the sum of the sentences' means, in which a token of a long sentence counts less")
def mean_of_means(losses, ids):
    real = ids != 0
    return ((losses * real).sum(axis=1) / real.sum(axis=1).astype(losses.dtype)).sum(), real.sum()


# %% other right solutions
@also_right
def with_selection(nll, tokens):
    chosen = nll[tokens > 0]
    return chosen.sum(), np.array(chosen.size)


@also_right
def with_einsum(losses, ids):
    real = (ids != 0).astype(losses.dtype)
    return np.einsum("bt,bt->", losses, real), np.count_nonzero(ids)
