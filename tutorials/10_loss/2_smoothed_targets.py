"""The target of label smoothing, and its floor

Of each token's probability, 1 - eps goes to the target and eps is spread evenly over all K token ids, including the target. Return
the share of each id, and the smallest mean loss that any model can reach with such targets.
"""

import math

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def smoothed_targets(ids, K, eps):
    """ids: (B, T), with 0 for padding; K: the number of ids; eps: 0 <= eps < 1. Returns q (B, T, K), 0 at padding, and floor ().

    floor: the mean of -sum(q log p) over the real tokens, for the best possible p.
    """
    # your code: two numbers are in q; then ask at which p the gradient of the loss is 0
    other = eps / K
    right = 1 - eps + other
    q = np.where(np.eye(K, dtype=bool)[ids], right, other) * (ids != 0)[..., None]
    floor = -right * math.log(right) - (K - 1) * other * math.log(other or 1)
    return q, floor
    # end of your code


# %% what it is called with
returns = "q floor"
section = "A model that is too sure"
stars, minutes = 3, 20


def case(rng, B, T, K):
    ids, lengths = rng.integers(1, K + 3, (B, T)), rng.integers(1, T + 1, B)
    lengths[rng.integers(B)] = T - 1    # at least one row is padded
    ids *= np.arange(T) < lengths[:, None]
    return ids, K + 3, float(rng.uniform(0.05, 0.4))


@edge("the first token is padding, and so is the whole first row")
def padding_first(rng, B, T, K):
    ids, K, eps = case(rng, B + 1, T, K)
    ids[0] = 0
    ids[-1, 0] = 1
    return ids, K, eps


@edge("eps = 0: no smoothing")
def hard(rng, B, T, K):
    return case(rng, B, T, K)[0], K + 3, 0.0


@edge("an eps of about 1e-9, and more than 30 ids that do not occur")
def tiny(rng, B, T, K):
    ids, K, _eps = case(rng, B, T, K)
    return ids, K + 30, float(10 ** -rng.uniform(8.5, 9.5))


@invariant("each row of q must sum to 1, and a row of padding to 0")
def shares(answer, ids, K, eps):
    return answer[0].sum(axis=-1) - (ids != 0)


# %% hints
hints = (
    "A row of q has to sum to 1. Does yours, if the target gets 1 - eps and every id eps / K? Which p has a gradient p - q of 0?",
    "The target gets 1 - eps + eps / K, the other K - 1 get eps / K. The floor is at p = q: -sum(q log q), with 0 log 0 = 0.",
    "floor = -right * math.log(right) - ___",
)


# %% mistakes
def made(ids, K, target, other, floor=None):
    q = np.where(np.eye(K, dtype=bool)[ids], target, other) * (ids != 0)[..., None]
    return q, entropy(target, K - 1, other) if floor is None else floor


def entropy(target, n, other):
    return -target * math.log(target) - (n * other * math.log(other) if other else 0)


def with_floor(ids, K, eps, floor):
    return made(ids, K, 1 - eps + eps / K, eps / K, floor)


@mistake("the target gets 1 - eps and the others eps / K: the target's own part of eps is missing")
def own_share_missing(ids, K, eps):
    return made(ids, K, 1 - eps, eps / K)


@mistake("eps is spread over the K - 1 wrong ids, as in Tensor2Tensor: here all K get a part, including the target")
def over_the_others(ids, K, eps):
    return made(ids, K, 1 - eps, eps / (K - 1))


@mistake("eps is not divided by K: every id gets all of it")
def undivided(ids, K, eps):
    return made(ids, K, 1, eps, entropy(1 - eps + eps / K, K - 1, eps / K))


@mistake("padding has a target: its row has to be 0")
def padding_too(ids, K, eps):
    target, other = 1 - eps + eps / K, eps / K
    return np.where(np.eye(K, dtype=bool)[ids], target, other), entropy(target, K - 1, other)


@mistake("the column of padding gets no part: every id gets eps / K, and id 0 too")
def not_to_padding(ids, K, eps):
    q, floor = smoothed_targets(ids, K, eps)
    q[..., 0] = 0
    return q, floor


@mistake("the ids are not smoothed: 1 at the target, 0 elsewhere")
def unsmoothed(ids, K, eps):
    return made(ids, K, 1.0, 0.0)


@mistake("the floor is not 0: no p can make -sum(q log p) vanish if q has more than one nonzero entry")
def no_floor(ids, K, eps):
    return with_floor(ids, K, eps, 0.0)


@mistake("the floor has only the target's term: the K - 1 others add to it too")
def target_alone(ids, K, eps):
    target = 1 - eps + eps / K
    return with_floor(ids, K, eps, -target * math.log(target))


@mistake("the floor is -log of the target's share: that is the loss without smoothing at p = q")
def plain_loss(ids, K, eps):
    return with_floor(ids, K, eps, -math.log(1 - eps + eps / K))


@mistake("the floor counts one wrong id, not K - 1 of them")
def one_other(ids, K, eps):
    return with_floor(ids, K, eps, entropy(1 - eps + eps / K, 1, eps / K))


@mistake("the floor counts K wrong ids: one of the K is the target")
def all_others(ids, K, eps):
    return with_floor(ids, K, eps, entropy(1 - eps + eps / K, K, eps / K))


@mistake("the floor has the wrong sign: the logarithm of a probability is negative")
def sign(ids, K, eps):
    return with_floor(ids, K, eps, -entropy(1 - eps + eps / K, K - 1, eps / K))


@mistake("the floor is the sum over the tokens: return their mean, which is the same for every real token")
def summed(ids, K, eps):
    return with_floor(ids, K, eps, entropy(1 - eps + eps / K, K - 1, eps / K) * float((ids != 0).sum()))


@mistake("the floor is the mean over all positions: leave padding out")
def with_padding(ids, K, eps):
    return with_floor(ids, K, eps, entropy(1 - eps + eps / K, K - 1, eps / K) * float((ids != 0).mean()))


@mistake("for eps = 0 the floor is NaN: 0 log 0 counts as 0, but NumPy does not know that")
def not_a_number(ids, K, eps):
    return with_floor(ids, K, eps, entropy(1 - eps + eps / K, K - 1, eps / K) if eps else math.nan)


@mistake("the floor is NaN: rows of padding are 0, and 0 log 0 counts as 0, but NumPy does not know that")
def zeros_of_padding(ids, K, eps):
    return with_floor(ids, K, eps, math.nan)


@mistake("the floor is in bits: the loss uses the natural logarithm")
def bits(ids, K, eps):
    return with_floor(ids, K, eps, entropy(1 - eps + eps / K, K - 1, eps / K) / math.log(2))


@mistake("the floor is read from one row of q, which is padding in some texts: compute it from the two shares")
def from_the_first_row(ids, K, eps):
    q, floor = smoothed_targets(ids, K, eps)
    return q, floor if ids[0, 0] else 0.0


# %% other right solutions
@also_right
def from_a_row(targets, size, smoothing):
    q = np.full((*targets.shape, size), smoothing / size)
    rows = np.indices(targets.shape)
    q[(*rows, targets)] += 1 - smoothing
    row = np.full(size, smoothing / size)
    row[0] += 1 - smoothing
    row = row[row > 0]
    q[targets == 0] = 0
    return q, -np.sum(row * np.log(row))


@also_right
def with_loops(ids, K, eps):
    q = np.zeros((*ids.shape, K))
    for place in np.ndindex(ids.shape):
        for k in range(K if ids[place] else 0):
            q[place][k] = eps / K + (1 - eps) * (k == ids[place])
    shares = [eps / K + (1 - eps) * (k == 0) for k in range(K)]
    return q, sum(-share * math.log(share) for share in shares if share)
