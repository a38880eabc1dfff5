"""Who is right? Label smoothing, taken apart

Smoothing replaces the target's distribution q by q' = (1 - eps) q + eps u, where u is uniform. Explanations take its
cross-entropy apart into two terms, and do it in different ways. Write a test that knows only the definition: the mean of
-log p under q'. A version takes p, the target and eps, and returns the loss.
"""

import numpy as np

from minitransformer.learn import also_right, mistake, version


# %% reference
def test_expansion(smoothed_loss):
    """smoothed_loss: a version, p (V,), target, eps -> a number. Returns True if it is the cross-entropy of q', else False."""
    # your code: q', and the mean of -log p under it, for a p that is not uniform
    p, target, eps = np.array([0.1, 0.6, 0.2, 0.1]), 2, 0.3
    q = np.full(len(p), eps / len(p))
    q[target] += 1 - eps
    return np.isclose(smoothed_loss(p, target, eps), -(q * np.log(p)).sum())
    # end of your code


# %% what it is called with
returns = "verdict"
section = "Sentences that a test can settle"
stars, minutes = 1, 10


@version("(1 - eps) H(q, p) + eps H(u, p)", right=True)
def two_terms(p, target, eps):
    return -(1 - eps) * np.log(p[target]) - eps * np.log(p).mean()


@version("the plus sign is lost, so the two terms are multiplied", right=False)
def product(p, target, eps):
    return -(1 - eps) * np.log(p[target]) * -eps * np.log(p).mean()


@version("H(u, p) and H(p, u) are swapped: the second term is eps log V, whatever p is", right=False)
def swapped(p, target, eps):
    return -(1 - eps) * np.log(p[target]) + eps * np.log(len(p))


@version("the definition, as a dot product: the numbers differ by rounding", right=True)
def definition(p, target, eps):
    return np.dot(eps / len(p) + (1 - eps) * (np.arange(len(p)) == target), -np.log(p))


@version("H(q, p) + eps (H(u, p) - H(q, p)): the same, in another order", right=True)
def moved(p, target, eps):
    return -np.log(p[target]) + eps * (np.log(p[target]) - np.log(p).mean())


@version("the terms are subtracted", right=False)
def subtracted(p, target, eps):
    return -(1 - eps) * np.log(p[target]) + eps * np.log(p).mean()


@version("H(q', q'), the floor that no p can get below", right=False)
def floor(p, target, eps):
    q = eps / len(p) + (1 - eps) * (np.arange(len(p)) == target)
    return -(q * np.log(q)).sum()


@version("eps is missing from the first term: H(q, p) + eps H(u, p)", right=False)
def not_reduced(p, target, eps):
    return -np.log(p[target]) - eps * np.log(p).mean()


# %% hints
hints = (
    "For which p and eps do all the formulas agree? Choose others.",
    "q' is eps / V everywhere, plus 1 - eps at the target. Its cross-entropy is the sum of -q' log p.",
    "return np.isclose(smoothed_loss(p, target, eps), -(___).sum())",
)

P, TARGET, EPS = np.array([0.2, 0.5, 0.25, 0.05]), 1, 0.2


def right_loss(p, target, eps):
    q = eps / len(p) + (1 - eps) * (np.arange(len(p)) == target)
    return -(q * np.log(p)).sum()


# %% mistakes
@mistake("your test passes every version: is eps 0 in it? Then nothing is smoothed, and nearly all formulas agree", hint=1)
def always_true(smoothed_loss):
    return True


@mistake("your test fails for every version: a correct one has to pass, and in q' the target keeps its own eps / V", hint=1)
def always_false(smoothed_loss):
    return False


@mistake("your test does not smooth: for eps = 0 wrong versions agree with the right ones", hint=1)
def without_smoothing(smoothed_loss):
    return np.isclose(smoothed_loss(P, TARGET, 0), -np.log(P[TARGET]))


@mistake("your p is uniform: then H(u, p) = H(p, u), and swapped arguments pass", hint=1)
def uniform(smoothed_loss):
    p = np.full(4, 0.25)
    return np.isclose(smoothed_loss(p, TARGET, EPS), right_loss(p, TARGET, EPS))


@mistake("a correct version fails your test because it rounds differently: compare with np.isclose", hint=2)
def exactly(smoothed_loss):
    return smoothed_loss(P, TARGET, EPS) == right_loss(P, TARGET, EPS)


@mistake("your test takes the wrong side: it passes the swapped arguments", hint=1)
def wrong_side(smoothed_loss):
    return np.isclose(smoothed_loss(P, TARGET, EPS), swapped(P, TARGET, EPS))


@mistake("your test is the wrong way round: it passes every wrong version, and fails every correct one", hint=1)
def wrong_way_round(smoothed_loss):
    return not np.isclose(smoothed_loss(P, TARGET, EPS), right_loss(P, TARGET, EPS))


# %% other right solutions
@also_right
def at_random(version):
    rng = np.random.default_rng(2)
    for V in (2, 5, 9):
        p, target, eps = rng.dirichlet(np.ones(V)), int(rng.integers(V)), rng.uniform(0.1, 0.9)
        wanted = sum(-((1 - eps) * (i == target) + eps / V) * np.log(p[i]) for i in range(V))
        assert abs(version(p, target, eps) - wanted) < 1e-9


@also_right
def by_its_mean_over_targets(smoothed_loss):
    losses = [smoothed_loss(P, target, EPS) for target in range(4)]
    return np.allclose(np.mean(losses), -np.log(P).mean()) and np.allclose(
        np.diff(losses), -(1 - EPS) * np.diff(np.log(P)))
