"""Who is right? When a change is better

A script trains the base and a change with five seeds each and prints "better" if the change has the higher mean. A pull request
prints it only if the change is 2.3 standard errors ahead. A reviewer rejects the request because "two of our best results would
vanish". Write a test that decides. A right rule says "better" in at most one comparison in ten if the change does nothing, and
in at least nine in ten if the change is worth five standard deviations. How much more certainty it demands is up to its author.
"""

import numpy as np

from minitransformer_course.judge import also_right, mistake, version


# %% reference
def test_rule(better):
    """better: a version, base (N, 5), change (N, 5), N comparisons -> (N,) bool. Returns True if it is right, else False."""
    # your code: you need changes that do nothing, and changes that help; where do you get thousands of each?
    rng = np.random.default_rng(0)
    base, change = rng.standard_normal((2, 2000, 5))
    false_alarms = better(base, change).mean()
    found = better(base, change + 5).mean()
    return false_alarms <= 0.1 and found >= 0.9
    # end of your code


# %% what it is called with
returns = "verdict"
section = "A rule for the word better"
stars, minutes = 2, 15


@version("the script before the change: the higher mean is better", right=False)
def higher_mean(base, change):
    return change.mean(axis=1) > base.mean(axis=1)


@version("the pull request: the means are 2.3 standard errors apart", right=True)
def standard_errors(base, change):
    variance = (base.var(axis=1, ddof=1) + change.var(axis=1, ddof=1)) / 2
    return change.mean(axis=1) - base.mean(axis=1) > 2.3 * np.sqrt(variance * (1 / 5 + 1 / 5))


@version("every seed of the change is above every seed of the base", right=True)
def no_overlap(base, change):
    return change.min(axis=1) > base.max(axis=1)


@version("the pull request with 3.4 standard errors, for careful people", right=True)
def careful(base, change):
    variance = (base.var(axis=1, ddof=1) + change.var(axis=1, ddof=1)) / 2
    return change.mean(axis=1) - base.mean(axis=1) > 3.4 * np.sqrt(variance * 2 / 5)


@version("the best seed of the change is above the best seed of the base", right=False)
def best_seeds(base, change):
    return change.max(axis=1) > base.max(axis=1)


@version("the means are one standard error apart", right=False)
def one_error(base, change):
    variance = (base.var(axis=1, ddof=1) + change.var(axis=1, ddof=1)) / 2
    return change.mean(axis=1) - base.mean(axis=1) > np.sqrt(variance * 2 / 5)


@version("the means are half a standard deviation apart", right=False)
def half_a_deviation(base, change):
    return change.mean(axis=1) - base.mean(axis=1) > 0.5 * base.std(axis=1)


@version("a rule that never says better", right=False)
def never(base, change):
    return np.zeros(len(base), bool)


@version("the pull request with base and change swapped", right=False)
def swapped(base, change):
    variance = (base.var(axis=1, ddof=1) + change.var(axis=1, ddof=1)) / 2
    return base.mean(axis=1) - change.mean(axis=1) > 2.3 * np.sqrt(variance * 2 / 5)


# %% hints
hints = (
    "If base and change are drawn from the same distribution, how often does each version say better? And if the change adds 5?",
    "Draw both from a standard normal, thousands of times: every better is a false alarm. With 5 added to the change, it is right.",
    "found = better(base, ___).mean()",
)


# %% mistakes
def drawn(count=2000):
    """base, change, each (count, 5), of a change that does nothing."""
    return np.random.default_rng(1).standard_normal((2, count, 5))


@mistake("your test passes every version: it has to fail for a wrong one")
def always_true(better):
    return True


@mistake("your test fails every version: a right rule may raise a few false alarms and need not notice a small change")
def no_alarm_and_small_help(better):
    base, change = drawn()
    return not better(base, change).any() and better(base, change + 1).all()


@mistake("your test looks only at changes that do nothing, and a rule that never says better passes it: add changes that "
         "help")
def noise_alone(better):
    return better(*drawn()).mean() <= 0.1


@mistake("a rule that calls noise better passes your test: add changes that do nothing, with scores drawn anew, not "
         "copied from the base")
def help_alone(better):
    base, change = drawn()
    return better(base, change + 5).mean() >= 0.9


@mistake("your test is the wrong way round: it has to fail the rules that call noise better or never say better, and pass "
         "the others")
def wrong_way_round(better):
    base, change = drawn()
    return not (better(base, change).mean() <= 0.1 and better(base, change + 5).mean() >= 0.9)


@mistake("your test takes the wrong side: it has to fail the script as it was and pass the pull request")
def wrong_side(better):
    return 0.4 < better(*drawn()).mean() < 0.6


@mistake("your test demands the pull request's decisions: other right rules decide a few cases differently, so compare how "
         "often")
def numbers_of_the_pull_request(better):
    base, change = drawn()
    return (better(base, change) == standard_errors(base, change)).all()


@mistake("your test allows a false alarm in every third comparison: one in ten is the limit")
def third(better):
    base, change = drawn()
    return better(base, change).mean() <= 0.33 and better(base, change + 5).mean() >= 0.9


# %% other right solutions
@also_right
def with_asserts(rule):
    rng = np.random.default_rng(7)
    for spread in (0.3, 4.0):
        base, change = 30 + spread * rng.standard_normal((2, 5000, 5))
        assert rule(base, change).mean() < 0.1
        assert rule(base, change + 5 * spread).mean() > 0.9


@also_right
def other_noise(better):
    rng = np.random.default_rng(3)
    base, change = rng.uniform(size=(2, 4000, 5))
    rates = [np.mean(better(base, change + shift)) for shift in (0, 5 / 12 ** 0.5)]
    return rates[0] < 0.1 and rates[1] > 0.9
