"""How far from the base, and how sure

A base model was trained with several seeds, and so was each of `R` variations of it. Every run got a score. By how much is the
mean of each variation above the mean of the base (below it: a negative number), and what is the *standard error* of such a
difference? Assume that scores scatter equally in every row, so that all rows together show how much.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def differences(base, rows):
    """base: (S_0,), the scores of the base's seeds; rows: (R, S), those of R variations. Returns difference (R,) and error ().

    error: the square root of the variance of one difference of means.
    """
    # your code: first the variance of a single score, from how far the scores of a row lie from their own mean
    mean = rows.mean(axis=1)
    squares = ((base - base.mean()) ** 2).sum() + ((rows - mean[:, None]) ** 2).sum()
    variance = squares / (base.size - 1 + rows.size - len(rows))
    error = np.sqrt(variance * (1 / base.size + 1 / rows.shape[1]))
    return mean - base.mean(), error
    # end of your code


# %% what it is called with
returns = "difference error"
section = "Section 6.2: a claim of your choice"
stars, minutes = 3, 20
float64_only = True


def case(rng, R, S):
    return 30 + rng.standard_normal(S + 2), 30 + 3 * rng.standard_normal((R, 1)) + rng.standard_normal((R, S))


@edge("one variation with two seeds, and two of the base")
def smallest(rng):
    return rng.standard_normal(2), rng.standard_normal((1, 2))


@invariant("the mean of the differences is the mean of all variations minus that of the base, so the rest must be 0")
def mean_of_all(answer, base, rows):
    return answer[0].mean() - (rows.mean() - base.mean())


# %% hints
hints = (
    "If every variation is 5 points better than the base and no two seeds differ, how large is the error?",
    "Divide all squares around the rows' means by the scores less one per row. A mean of S scores has 1/S of that variance.",
    "error = np.sqrt(variance * (1 / base.size + ___))",
)


# %% mistakes
def parts(base, rows):
    """difference, squares, the number of scores less one for each row, 1/S_0 + 1/S."""
    mean = rows.mean(axis=1)
    squares = ((base - base.mean()) ** 2).sum() + ((rows - mean[:, None]) ** 2).sum()
    return mean - base.mean(), squares, base.size + rows.size - 1 - len(rows), 1 / base.size + 1 / rows.shape[1]


@mistake("the squares are divided by the number of scores, as np.std does: the means come from the same scores, so "
         "subtract one for each row")
def number_of_scores(base, rows):
    difference, squares, _free, means = parts(base, rows)
    return difference, np.sqrt(squares / (base.size + rows.size) * means)


@mistake("one is subtracted from the number of scores for all rows together: each row has its own mean, so subtract one "
         "for each")
def one_for_all(base, rows):
    difference, squares, _free, means = parts(base, rows)
    return difference, np.sqrt(squares / (base.size + rows.size - 1) * means)


@mistake("the squares are around the mean of all variations, so real differences count as noise: use each row's own mean")
def around_one_mean(base, rows):
    difference, _squares, free, means = parts(base, rows)
    squares = ((base - base.mean()) ** 2).sum() + ((rows - rows.mean()) ** 2).sum()
    return difference, np.sqrt(squares / free * means)


@mistake("error is the standard deviation of one score: a mean scatters less, so divide the variance by its number of "
         "scores")
def of_one_score(base, rows):
    difference, squares, free, _means = parts(base, rows)
    return difference, np.sqrt(squares / free)


@mistake("error is that of a variation's mean alone: the base's mean has one, too, and their variances add")
def of_one_mean(base, rows):
    difference, squares, free, _means = parts(base, rows)
    return difference, np.sqrt(squares / free / rows.shape[1])


@mistake("error is that of the base's mean alone: a variation's mean has one, too, and their variances add")
def of_the_base(base, rows):
    difference, squares, free, _means = parts(base, rows)
    return difference, np.sqrt(squares / free / base.size)


@mistake("the errors of the two means are added: add their variances and take the root afterwards")
def errors_added(base, rows):
    difference, squares, free, _means = parts(base, rows)
    return difference, np.sqrt(squares / free) * (base.size ** -0.5 + rows.shape[1] ** -0.5)


@mistake("the variances of the two means are subtracted: each mean adds noise of its own, so add them")
def variances_subtracted(base, rows):
    difference, squares, free, _means = parts(base, rows)
    return difference, np.sqrt(squares / free * abs(1 / base.size - 1 / rows.shape[1]))


@mistake("error is the variance of a difference: take its square root")
def without_root(base, rows):
    difference, squares, free, means = parts(base, rows)
    return difference, squares / free * means


@mistake("the spread comes from the base alone: take it from the scores of all rows")
def base_alone(base, rows):
    difference, _squares, _free, means = parts(base, rows)
    return difference, np.sqrt(base.var(ddof=1) * means)


@mistake("the rows' standard deviations are averaged: average their variances, each weighted by its number of scores less "
         "one")
def mean_of_deviations(base, rows):
    difference, _squares, _free, means = parts(base, rows)
    return difference, np.mean([base.std(ddof=1), *rows.std(axis=1, ddof=1)]) * np.sqrt(means)


@mistake("the variances of all rows count equally: weight each by its number of scores less one")
def mean_of_variances(base, rows):
    difference, _squares, _free, means = parts(base, rows)
    return difference, np.sqrt(np.mean([base.var(ddof=1), *rows.var(axis=1, ddof=1)]) * means)


@mistake("np.var divides by the number of scores, and the variances of all rows count equally: divide the sum of all "
         "squares by the number of scores less one per row")
def mean_of_np_var(base, rows):
    difference, _squares, _free, means = parts(base, rows)
    return difference, np.sqrt(np.mean([base.var(), *rows.var(axis=1)]) * means)


@mistake("the difference is the base minus the variation: a better variation has to get a positive one")
def reversed_sign(base, rows):
    difference, squares, free, means = parts(base, rows)
    return -difference, np.sqrt(squares / free * means)


@mistake("the best seed of each variation is compared with the base's mean: compare the variation's mean")
def best_seed(base, rows):
    _difference, squares, free, means = parts(base, rows)
    return rows.max(axis=1) - base.mean(), np.sqrt(squares / free * means)


@mistake("all scores are taken around one mean, so differences between rows count as noise: use each row's own mean")
def all_in_one(base, rows):
    difference, _squares, _free, means = parts(base, rows)
    return difference, np.sqrt(np.concatenate([base, rows.ravel()]).var(ddof=1) * means)


@mistake("base and variations each have their own variance: seeds scatter equally in every row, so estimate one from all")
def two_variances(base, rows):
    difference, _squares, _free, _means = parts(base, rows)
    return difference, np.sqrt(base.var(ddof=1) / base.size + rows.var(axis=1, ddof=1).mean() / rows.shape[1])


# %% other right solutions
@also_right
def with_variances(base, rows):
    S_0, (R, S) = len(base), rows.shape
    pooled = ((S_0 - 1) * base.var(ddof=1) + (S - 1) * rows.var(axis=1, ddof=1).sum()) / (S_0 - 1 + R * (S - 1))
    return rows.mean(1) - base.mean(), (pooled / S_0 + pooled / S) ** 0.5


@also_right
def with_loops(base, rows):
    groups = [list(base), *map(list, rows)]
    means = [sum(group) / len(group) for group in groups]
    squares = sum((score - mean) ** 2 for group, mean in zip(groups, means) for score in group)
    variance = squares / sum(len(group) - 1 for group in groups)
    return np.array([mean - means[0] for mean in means[1:]]), (variance / len(base) + variance / len(rows[0])) ** 0.5
