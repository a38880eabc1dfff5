"""Clip a gradient that is too long

A layer has a weight and a bias, and their gradients together are one long vector. If its norm is larger than `limit`, shorten it to
the limit without turning it. Otherwise leave it as it is.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def clip(dW, db, limit):
    """dW: (K, D); db: (D,); limit: a number above 0. Returns dW (K, D) and db (D,), clipped."""
    # your code: how long is the vector of all numbers, and by how much is it too long?
    norm = np.sqrt((dW * dW).sum() + (db * db).sum())
    factor = limit / max(norm, limit)
    return dW * factor, db * factor
    # end of your code


# %% what it is called with
returns = "dW db"
section = "Clipping"
stars, minutes = 2, 15


def case(rng, K, D):
    return drawn(rng, K, D, (1, 2), rng.uniform(2, 4))


@edge("shorter than the limit")
def short(rng, K, D):
    return drawn(rng, K, D, (2, 8), rng.uniform(0.75, 0.95))


@edge("far shorter than the limit")
def far_shorter(rng, K, D):
    return drawn(rng, K, D, (2, 8), rng.uniform(0.05, 0.3))


@edge("each shorter than the limit, both together longer")
def together(rng, K, D):
    return drawn(rng, K, D, (0.2, 0.5), 1.3)


@edge("db is longer than the limit, dW is not")
def bias_alone(rng, K, D):
    return drawn(rng, K, D, (1, 2), 2, (0.05, 0.2))


@edge("the length is between the limit and its square")
def beyond_the_square(rng, K, D):
    return drawn(rng, K, D, (3, 8), rng.uniform(1.2, 2.5))


@edge("the limit is below 1, and the length between its square and the limit")
def below_one(rng, K, D):
    return drawn(rng, K, D, (0.2, 0.5), rng.uniform(0.6, 0.9))


@edge("a gradient of 0")
def zero(rng, K, D):
    return np.zeros((K, D)), np.zeros(D), float(rng.uniform(0.2, 8))


@edge("hardly longer than the limit")
def hardly_longer(rng, K, D):
    return drawn(rng, K, D, (1, 2), 1 + 10 ** -rng.uniform(3.5, 4.5))


def drawn(rng, K, D, limits, length, shares=(0.42, 0.58)):
    """length: of both together, as a multiple of the limit; shares: from which dW's part of the squared length is drawn."""
    limit, share, dW, db = rng.uniform(*limits), rng.uniform(*shares), rng.standard_normal((K, D)), rng.standard_normal(D)
    squared = (limit * length) ** 2
    return dW * np.sqrt(share * squared / (dW ** 2).sum()), db * np.sqrt((1 - share) * squared / (db ** 2).sum()), float(limit)


@invariant("both must be multiplied by the same factor: anything else turns the vector")
def same_direction(answer, dW, db, limit):
    return np.outer(answer[0], db) - np.outer(dW, answer[1])


@invariant("the two together must not be longer than the limit")
def not_too_long(answer, dW, db, limit):
    return max(0, np.sqrt((answer[0] ** 2).sum() + (answer[1] ** 2).sum()) - limit)


# %% hints
hints = (
    "dW is (3) and db is (4), and the limit is 1. How long is the vector (3, 4)? What should become of each of the two?",
    "There is one norm, the root of the two sums of squares added. Multiply both gradients by limit / norm if that is below 1.",
    "factor = limit / ___",
)


# %% mistakes
def norm_of(*arrays):
    return np.sqrt(sum((array * array).sum() for array in arrays))


def made(dW, db, limit, norm):
    factor = limit / max(norm, limit)
    return dW * factor, db * factor


@mistake("each parameter is clipped by a norm of its own: that turns the vector; take one norm of all numbers")
def each_alone(dW, db, limit):
    return dW * (limit / max(norm_of(dW), limit)), db * (limit / max(norm_of(db), limit))


@mistake("every number is clipped alone, to between -limit and limit: that turns the vector, and leaves it too long")
def elementwise(dW, db, limit):
    return np.clip(dW, -limit, limit), np.clip(db, -limit, limit)


@mistake("it is always scaled to the limit: a gradient that is shorter has to stay as it is")
def always(dW, db, limit):
    return dW * (limit / norm_of(dW, db)), db * (limit / norm_of(dW, db))


@mistake("a gradient that is shorter than the limit is lengthened to it: it has to stay as it is")
def always_but_0(dW, db, limit):
    factor = limit / (norm_of(dW, db) or limit)
    return dW * factor, db * factor


@mistake("it is only ever lengthened: max and min are swapped")
def lengthened(dW, db, limit):
    factor = limit / max(min(norm_of(dW, db), dW.dtype.type(limit)), dW.dtype.type(1e-30))
    return dW * factor, db * factor


@mistake("the root is missing: the sum of squares is the square of the norm")
def squared_norm(dW, db, limit):
    return made(dW, db, limit, norm_of(dW, db) ** 2)


@mistake("the norm is the sum of two norms: add the squares, then take the root")
def sum_of_norms(dW, db, limit):
    return made(dW, db, limit, norm_of(dW) + norm_of(db))


@mistake("the norm is that of dW alone: db is part of the vector")
def without_bias(dW, db, limit):
    return made(dW, db, limit, norm_of(dW))


@mistake("the norm is that of db alone: dW is part of the vector")
def without_weight(dW, db, limit):
    return made(dW, db, limit, norm_of(db))


@mistake("the norm is the larger of the two: add the squares of both, then take the root")
def larger_norm(dW, db, limit):
    return made(dW, db, limit, max(norm_of(dW), norm_of(db)))


@mistake("db is not clipped: both have to be multiplied by the factor")
def bias_unclipped(dW, db, limit):
    return made(dW, db, limit, norm_of(dW, db))[0], db.copy()


@mistake("the norm is the largest of all numbers: it has to be the root of the sum of squares")
def largest_number(dW, db, limit):
    return made(dW, db, limit, max(np.abs(dW).max(), np.abs(db).max()))


@mistake("the norm is the sum of absolute values: it has to be the root of the sum of squares")
def absolute_values(dW, db, limit):
    return made(dW, db, limit, np.abs(dW).sum() + np.abs(db).sum())


@mistake("the norm is the root of the mean of the squares: it has to be the root of their sum")
def mean_square(dW, db, limit):
    return made(dW, db, limit, norm_of(dW, db) / dW.dtype.type(np.sqrt(dW.size + db.size)))


@mistake("a vector that is too long is scaled to length 1, not to the limit")
def unit(dW, db, limit):
    norm = norm_of(dW, db)
    factor = 1 / max(norm, 1) if norm > limit else 1
    return dW * factor, db * factor


@mistake("a gradient that is too long is thrown away: it has to be shortened")
def thrown_away(dW, db, limit):
    keep = float(norm_of(dW, db) <= limit)
    return dW * keep, db * keep


@mistake("a small number is added to the norm, as in PyTorch, which adds 1e-6: here the factor has to be exact")
def as_in_pytorch(dW, db, limit):
    factor = min(1.0, float(limit / (norm_of(dW, db) + dW.dtype.type(1e-6))))
    return dW * factor, db * factor


@mistake("the norm is compared with the square of the limit: compare it with the limit")
def squared_limit(dW, db, limit):
    factor = limit / norm_of(dW, db) if norm_of(dW, db) > limit ** 2 else 1.0
    return dW * dW.dtype.type(factor), db * dW.dtype.type(factor)


@mistake("a vector that is too long is divided by its length, without the limit: it has to get the length of the limit")
def divided_by_its_norm(dW, db, limit):
    norm = norm_of(dW, db)
    factor = 1 / norm if norm > limit else 1 / max(norm, 1)
    return dW * factor, db * factor


# %% other right solutions
@also_right
def with_linalg(weights, biases, most):
    norm = np.linalg.norm(np.concatenate([weights.ravel(), biases]))
    if norm <= most:
        return weights.copy(), biases.copy()
    return most * weights / norm, most * biases / norm


@also_right
def with_loops(dW, db, limit):
    total = 0.0
    for number in [*dW.ravel(), *db]:
        total += float(number) ** 2
    factor = min(1.0, limit / total ** 0.5) if total else 1.0
    return dW * factor, db * factor
