"""Who is right? A plus sign that is missing

With smoothing, the target of a token is the row (1 - eps) q + eps u. Here q has a 1 at the target, and u is 1 / K everywhere. The
loss is its cross-entropy with p, where H(a, b) = -sum(a log b). One explanation prints the expansion (1 - eps) H(q, p) eps H(u, p),
which lacks a plus sign, and others swap the arguments of H. Write a test that tells right expansions from wrong ones.
"""

import math

import numpy as np

from minitransformer_course.judge import also_right, mistake, version


# %% reference
def test_expansion(loss):
    """loss: a version, p (K,), target, eps -> a number; p sums to 1, target is an index. Returns True if it is right."""
    # your code: the loss by its definition
    p = np.array([0.5, 0.2, 0.16, 0.1, 0.04])
    for target, eps in ((0, 0.1), (3, 0.4)):
        smoothed = np.full(5, eps / 5)
        smoothed[target] += 1 - eps
        expected = -(smoothed * np.log(p)).sum()
        if not np.isclose(loss(p, target, eps), expected):
            return False
    return True
    # end of your code


# %% what it is called with
returns = "verdict"
section = "A plus sign that is missing"
stars, minutes = 1, 10


@version("(1 - eps) H(q, p) + eps H(u, p)", right=True)
def expansion(p, target, eps):
    return -(1 - eps) * math.log(p[target]) - eps * np.log(p).mean()


@version("the expansion as printed, without the plus sign", right=False)
def product(p, target, eps):
    return (1 - eps) * math.log(p[target]) * eps * np.log(p).mean()


@version("(1 - eps) H(q, p) + eps H(p, u)", right=False)
def swapped(p, target, eps):
    return -(1 - eps) * math.log(p[target]) + eps * math.log(len(p))


@version("the cross-entropy of p with the smoothed target, H(p, (1 - eps) q + eps u)", right=False)
def all_swapped(p, target, eps):
    q = (1 - eps) * np.eye(len(p))[target] + eps / len(p)
    return -(p * np.log(q + 1e-300)).sum()


@version("(1 - eps) H(q, p) + eps (H(u, u) + KL(u, p))", right=True)
def with_divergence(p, target, eps):
    K = len(p)
    divergence = ((np.log(1 / K) - np.log(p)) / K).sum()
    return -(1 - eps) * math.log(p[target]) + eps * (math.log(K) + divergence)


@version("(1 - eps) H(q, p) + eps KL(u, p), which differs from the loss by a constant", right=False)
def divergence_alone(p, target, eps):
    K = len(p)
    return -(1 - eps) * math.log(p[target]) + eps * ((np.log(1 / K) - np.log(p)) / K).sum()


@version("H(q, p) + eps (H(u, p) - H(q, p))", right=True)
def interpolated(p, target, eps):
    hard = -math.log(p[target])
    return hard + eps * (-np.log(p).mean() - hard)


@version("(1 - eps) H(q, p) - eps H(u, p)", right=False)
def minus(p, target, eps):
    return -(1 - eps) * math.log(p[target]) + eps * np.log(p).mean()


@version("eps H(q, p) + (1 - eps) H(u, p)", right=False)
def shares_swapped(p, target, eps):
    return -eps * math.log(p[target]) - (1 - eps) * np.log(p).mean()


@version("H(q, p), without any smoothing", right=False)
def hard(p, target, eps):
    return -math.log(p[target])


# %% hints
hints = (
    "For K = 2, p = (0.8, 0.2), eps = 0.5 and the first token as target, what is the loss by its definition?",
    "Make the row (1 - eps) q + eps u and take -sum(row log p). A right version gives that for any p, target and eps.",
    "smoothed = np.full(5, ___)",
)


# %% mistakes
P = np.array([0.5, 0.2, 0.16, 0.1, 0.04])


def agrees(loss, p, target, eps):
    q = np.full(len(p), eps / len(p))
    q[target] += 1 - eps
    return np.isclose(loss(p, target, eps), -(q * np.log(p)).sum())


@mistake("your test passes every version: it has to fail for a wrong one")
def always_true(loss):
    return True


@mistake("your test fails every version: a right one has to pass. Does it use == on rounded numbers?")
def always_false(loss):
    return False


@mistake("your p is uniform, so H(u, p), H(p, u) and H(q, p) are all log K: take one whose entries differ")
def uniform(loss):
    return agrees(loss, np.full(5, 0.2), 1, 0.1)


@mistake("your eps is 0, so what eps multiplies does not show: take one between 0 and 0.5")
def no_smoothing(loss):
    return agrees(loss, P, 1, 0.0)


@mistake("your eps is 0.5, so swapping eps and 1 - eps does not show: take another one")
def one_half(loss):
    return agrees(loss, P, 1, 0.5)


@mistake("your p is the smoothed target itself, so swapping the arguments of H does not show: take another p")
def at_the_floor(loss):
    p = np.full(5, 0.08)
    p[1] += 0.6
    return agrees(loss, p, 1, 0.4)


@mistake("your test checks only that the loss is above 0, as most wrong ones are: compare it with the definition")
def positive(loss):
    return loss(P, 0, 0.3) > 0


@mistake("your test compares differences of two losses, where a constant cancels: compare the losses themselves")
def differences(loss):
    def expected(p):
        return -0.7 * np.log(p[0]) - 0.3 * np.log(p).mean()
    return np.isclose(loss(P, 0, 0.3) - loss(P[::-1], 0, 0.3), expected(P) - expected(P[::-1]))


@mistake("your test expects the arguments of H in the wrong order: the logarithm is taken of p")
def wrong_order(loss):
    q = np.full(5, 0.06)
    q[0] += 0.7
    return np.isclose(loss(P, 0, 0.3), -(P * np.log(q)).sum())


@mistake("your test is the wrong way round: it has to pass right expansions and fail wrong ones")
def wrong_way_round(loss):
    return not test_expansion(loss)


# %% other right solutions
@also_right
def with_asserts(loss):
    rng = np.random.default_rng(1)
    for K in (3, 8):
        p = rng.dirichlet(np.ones(K))
        for eps in (0.1, 0.35):
            q = (1 - eps) * np.eye(K)[2] + eps / K
            np.testing.assert_allclose(loss(p, 2, eps), q @ -np.log(p))


@also_right
def one_case_by_hand(loss):
    return abs(loss(np.array([0.7, 0.2, 0.1]), 0, 0.3) - (-0.8 * np.log(0.7) - 0.1 * np.log(0.2) - 0.1 * np.log(0.1))) < 1e-12
