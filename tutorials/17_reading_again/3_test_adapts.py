"""Who is right? The numbers of Adam

The paper trains with beta_1 = 0.9, beta_2 = 0.98 and an epsilon of 1e-9. One explanation prints 0.9 for all three. Does it
matter? Adam is meant to adapt: if a weight's gradients are all a thousand times as large, its steps stay the same. Write a test
for that. A version takes the gradients of one weight, step by step, and returns its steps.
"""

import numpy as np

from minitransformer_course.judge import also_right, mistake, version


# %% reference
def test_adapts(steps):
    """steps: a version, gradients (T,) -> (T,). Returns True if the steps do not depend on the gradients' scale, else False."""
    # your code: the same gradients twice, on two scales; which numbers have to be equal?
    gradients = np.array([1.0, -0.5, 0.8, 2.0])
    return np.allclose(steps(gradients), steps(1000 * gradients))
    # end of your code


# %% what it is called with
returns = "verdict"
section = "The numbers of Adam"
stars, minutes = 1, 10


@version("the paper's: 0.9, 0.98 and 1e-9", right=True)
def papers(gradients):
    m, v, steps = 0, 0, []
    for t, g in enumerate(gradients, 1):
        m, v = 0.9 * m + 0.1 * g, 0.98 * v + 0.02 * g**2
        steps.append(-m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.98**t)) + 1e-9))
    return np.array(steps)


@version("0.9 for all three", right=False)
def three_times(gradients):
    m, v, steps = 0, 0, []
    for t, g in enumerate(gradients, 1):
        m, v = 0.9 * m + 0.1 * g, 0.9 * v + 0.1 * g**2
        steps.append(-m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.9**t)) + 0.9))
    return np.array(steps)


@version("0.9 for both betas and 1e-9: the steps differ, but they adapt", right=True)
def two_betas(gradients):
    m, v, steps = 0, 0, []
    for t, g in enumerate(gradients, 1):
        m, v = 0.9 * m + 0.1 * g, 0.9 * v + 0.1 * g**2
        steps.append(-m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.9**t)) + 1e-9))
    return np.array(steps)


@version("an epsilon of 0.9 alone", right=False)
def large_epsilon(gradients):
    m, v, steps = 0, 0, []
    for t, g in enumerate(gradients, 1):
        m, v = 0.9 * m + 0.1 * g, 0.98 * v + 0.02 * g**2
        steps.append(-m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.98**t)) + 0.9))
    return np.array(steps)


@version("the moments are not corrected: the first steps differ, but they adapt", right=True)
def uncorrected(gradients):
    m, v, steps = 0, 0, []
    for g in gradients:
        m, v = 0.9 * m + 0.1 * g, 0.98 * v + 0.02 * g**2
        steps.append(-m / (np.sqrt(v) + 1e-9))
    return np.array(steps)


@version("plain gradient descent", right=False)
def plain(gradients):
    return -0.1 * gradients


@version("the square root is missing: a larger gradient makes a smaller step", right=False)
def without_root(gradients):
    v, steps = 0, []
    for g in gradients:
        v = 0.9 * v + 0.1 * g**2
        steps.append(-g / (v + 1e-9))
    return np.array(steps)


# %% hints
hints = (
    "If the loss were measured in thousandths, which of these methods would take different steps?",
    "Call the version with some gradients, then with 1,000 times the same ones. All of its steps have to stay the same.",
    "return np.allclose(steps(gradients), ___)",
)

G = np.array([0.5, 1.0, -0.25])


# %% mistakes
@mistake("your test passes every version: it has to fail an epsilon of 0.9, which does not adapt")
def always_true(steps):
    return True


@mistake("your test fails every version: the paper's has to pass, whose steps stay the same up to what np.allclose allows")
def always_false(steps):
    return False


@mistake("only the paper's own numbers pass your test: other betas adapt as well")
def the_papers_numbers(steps):
    return np.allclose(steps(G), papers(G))


@mistake("your test compares only large gradients, where an epsilon of 0.9 no longer shows: compare small ones, too")
def both_large(steps):
    return np.allclose(steps(1e9 * G), steps(1e12 * G))


@mistake("your test demands that the steps grow with the gradients: they have to stay the same")
def grows(steps):
    return np.allclose(1000 * steps(G), steps(1000 * G))


@mistake("your test is the wrong way round: it has to pass the versions that adapt and fail the others")
def wrong_way_round(steps):
    return not np.allclose(steps(G), steps(1000 * G))


@mistake("your gradients are so small that even an epsilon of 1e-9 shows in a right version: take larger ones")
def both_small(steps):
    return np.allclose(steps(G), steps(0.001 * G))


# %% other right solutions
@also_right
def at_three_scales(version):
    g = np.random.default_rng(0).standard_normal(6)
    wanted = version(g)
    for scale in (0.01, 7, 500):
        np.testing.assert_allclose(version(scale * g), wanted, rtol=1e-3, atol=1e-4)


@also_right
def first_step(version):
    small, large = (version(np.array([size, size]))[-1] for size in (0.1, 10.0))
    return abs(small / large - 1) < 1e-4
