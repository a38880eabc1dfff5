"""Who is right? The divisor of label smoothing

A pull request changes `q = (1 - eps) * one_hot + eps / K` into `q = (1 - eps) * one_hot + eps / (K - 1)`, because "the target has
its 1 - eps already, so only K - 1 ids share eps". Write a test that decides. A version is right if the target ends below 1, and
if the other ids together get exactly what the target has lost. How they share it is up to the author. The judge runs your test on
both versions, and on other correct and wrong ones.
"""

import numpy as np

from minitransformer_course.judge import also_right, mistake, version


# %% reference
def test_smoothing(smoothed):
    """smoothed: a version, ids (T,), K, eps -> q (T, K); no id is padding. Returns True if it is right, and False if it is not."""
    # your code: what has to hold for each row of q, whoever is right?
    q = smoothed(np.array([2, 0, 4]), 5, 0.3)
    complete = np.allclose(q.sum(axis=-1), 1)
    smooth = (q < 0.99).all()
    return complete and smooth
    # end of your code


# %% what it is called with
returns = "verdict"
section = "A model that is too sure"
stars, minutes = 2, 15


@version("the code before the change", right=True)
def before(ids, K, eps):
    return (1 - eps) * np.eye(K)[ids] + eps / K


@version("the code after the change", right=False, shows="whether each row sums to 1")
def after(ids, K, eps):
    return (1 - eps) * np.eye(K)[ids] + eps / (K - 1)


@version("as in Tensor2Tensor: the target has 1 - eps, and the K - 1 others share eps", right=True)
def over_the_others(ids, K, eps):
    return np.where(np.eye(K, dtype=bool)[ids], 1 - eps, eps / (K - 1))


@version("the code before the change, computed in another way: the numbers differ by rounding", right=True)
def filled(ids, K, eps):
    q = np.full((len(ids), K), eps * (1 / K))
    q[np.arange(len(ids)), ids] = 1 - eps * (K - 1) * (1 / K)
    return q


@version("a mixture: the target has 1 - eps, and the others have eps / K", right=False, shows="whether each row sums to 1")
def mixture(ids, K, eps):
    return np.where(np.eye(K, dtype=bool)[ids], 1 - eps, eps / K)


@version("one that does not smooth at all", right=False, shows="what the ids other than the target get")
def hard(ids, K, eps):
    return np.eye(K)[ids]


# %% hints
hints = (
    "Of one row with K = 5, how much did the target lose, and how much did the other four get? And if K were 2?",
    "Call it with a few ids, and add up each row. What does a row sum to if nothing was smoothed? Rule that out as well.",
    "complete = np.allclose(___, 1)",
)


# %% mistakes
def made(smoothed, K=7):
    ids = np.array([2, 0, 4])
    return ids, smoothed(ids, K, 0.3)


@mistake("your test passes every version: it has to fail for a wrong one")
def always_true(smoothed):
    return True


@mistake("your test fails for every version: a correct one has to pass. Does it use == on rounded numbers?")
def always_false(smoothed):
    return False


@mistake("your test takes the wrong side: it passes the change, and fails what was right before")
def wrong_side(smoothed):
    ids, q = made(smoothed)
    return np.allclose(q, after(ids, 7, 0.3))


@mistake("only the old code's numbers pass your test: a version may share eps differently and be right as well")
def numbers_of_the_code(smoothed):
    ids, q = made(smoothed)
    return np.allclose(q, before(ids, 7, 0.3))


@mistake("only the old code's exact numbers pass your test: others are right as well, and one differs only by rounding")
def exact_numbers(smoothed):
    ids, q = made(smoothed)
    return (q == before(ids, 7, 0.3)).all()


@mistake("only 1 - eps at the target passes your test: the target may keep its own part of eps, too")
def target_of_the_others(smoothed):
    ids, q = made(smoothed)
    return np.allclose(q.sum(axis=-1), 1) and np.allclose(q.max(axis=-1), 0.7)


@mistake("your test fails only sums above 1: a row that sums to less than 1 has lost something")
def at_most_one(smoothed):
    ids, q = made(smoothed)
    return (q.sum(axis=-1) < 1 + 1e-9).all() and (q < 0.99).all()


@mistake("your test fails only sums below 1: if a row sums to more than 1, the others got more than the target lost")
def at_least_one(smoothed):
    ids, q = made(smoothed)
    return (q.sum(axis=-1) > 1 - 1e-9).all() and (q < 0.99).all()


@mistake("your test fails only wrong sums: a version that does not smooth passes it")
def sums_alone(smoothed):
    return np.allclose(made(smoothed)[1].sum(axis=-1), 1)


@mistake("your test is the wrong way round: it passes what a correct version must not do, and fails what it must")
def loses_something(smoothed):
    return not np.allclose(made(smoothed)[1].sum(axis=-1), 1)


# %% other right solutions
@also_right
def with_asserts(version):
    for K in (2, 3, 29):
        for eps in (0.1, 0.5):
            q = version(np.arange(K), K, eps)
            assert q.shape == (K, K)
            np.testing.assert_allclose(q.sum(axis=1), np.ones(K))
            assert np.diag(q).max() < 1


@also_right
def lost_and_found(smoothed):
    q = smoothed(np.array([3]), 8, 0.2)[0]
    lost = 1 - q[3]
    return lost > 1e-6 and abs(lost - (q.sum() - q[3])) < 1e-9
