"""Who is right? The gradient of a logit

An explanation that many people read gives the gradient of the loss with respect to a logit as q (p - 1), where q is 1 at the
target and 0 elsewhere. Another one gives p - q. Write a test that decides, without knowing either formula: a version takes
logits and the target, and returns its gradient.
"""

import numpy as np

from minitransformer.learn import also_right, mistake, version


# %% reference
def test_logit_gradient(gradient):
    """gradient: a version, logits (V,), target an integer -> (V,). Returns True if it is the loss's gradient, else False."""
    # your code: the loss of any logits, and what a small change of each of them does to it
    logits, target = np.array([0.3, -1.2, 2.0, 0.7]), 1

    def loss(z):
        return np.log(np.exp(z).sum()) - z[target]

    nudges = 1e-5 * np.eye(len(logits))
    slopes = [(loss(logits + nudge) - loss(logits - nudge)) / 2e-5 for nudge in nudges]
    return np.allclose(gradient(logits, target), slopes)
    # end of your code


# %% what it is called with
returns = "verdict"
section = "Sentences that a test can settle"
stars, minutes = 1, 15


@version("p - q, with the softmax as it is defined", right=True)
def difference(logits, target):
    e = np.exp(logits)
    return e / e.sum() - (np.arange(len(logits)) == target)


@version("q (p - 1): a wrong token gets no gradient at all", right=False)
def target_alone(logits, target):
    e = np.exp(logits)
    return (np.arange(len(logits)) == target) * (e / e.sum() - 1)


@version("p - q, with the largest logit subtracted: the numbers differ by rounding", right=True)
def stable(logits, target):
    e = np.exp(logits - logits.max())
    p = e / e.sum()
    p[target] -= 1
    return p


@version("q - p: it climbs", right=False)
def climbing(logits, target):
    e = np.exp(logits)
    return (np.arange(len(logits)) == target) - e / e.sum()


@version("p (1 - p): the diagonal of the softmax's Jacobian, and no target", right=False)
def diagonal(logits, target):
    p = np.exp(logits) / np.exp(logits).sum()
    return p * (1 - p)


@version("the target's p - 1, and p (1 - p) elsewhere", right=False)
def half_of_it(logits, target):
    p = np.exp(logits) / np.exp(logits).sum()
    return np.where(np.arange(len(logits)) == target, p - 1, p * (1 - p))


@version("p - q, from the logarithm of the sum", right=True)
def from_logarithms(logits, target):
    return np.exp(logits - np.log(np.exp(logits).sum())) - np.eye(len(logits))[target]


# %% hints
hints = (
    "What does a gradient promise, if you raise one logit by 0.00001? And what if every logit is raised by the same?",
    "The loss is log(sum(exp(logits))) - logits[target]. Nudge one logit at a time, and divide the change by the nudge.",
    "return np.allclose(gradient(logits, target), ___)",
)

LOGITS, TARGET = np.array([0.5, -1.0, 0.25, 1.5]), 2


# %% mistakes
@mistake("your test passes every version: it has to fail for a wrong one. Does it look at the tokens that are wrong?", hint=1)
def always_true(gradient):
    return True


@mistake("your test fails for every version: a correct one has to pass", hint=1)
def always_false(gradient):
    return False


@mistake("your test takes the wrong side: it passes q (p - 1), and fails p - q", hint=1)
def wrong_side(gradient):
    return np.allclose(gradient(LOGITS, TARGET), target_alone(LOGITS, TARGET))


@mistake("your test looks at the target's gradient alone, where both formulas agree", hint=2)
def at_the_target(gradient):
    return np.isclose(gradient(LOGITS, TARGET)[TARGET], difference(LOGITS, TARGET)[TARGET])


@mistake("your test looks at the tokens that are wrong alone: climbing versions and others fail, but look at the target as well",
         hint=2)
def signs_alone(gradient):
    g = gradient(LOGITS, TARGET)
    return g[TARGET] < 0 and (np.delete(g, TARGET) > 0).all()


@mistake("a correct version fails your test because it rounds differently: compare with np.allclose", hint=2)
def exactly(gradient):
    return (gradient(LOGITS, TARGET) == difference(LOGITS, TARGET)).all()


@mistake("your test is the wrong way round: it passes every wrong version, and fails every correct one", hint=1)
def wrong_way_round(gradient):
    return not np.allclose(gradient(LOGITS, TARGET), difference(LOGITS, TARGET))


@mistake("the slopes are those of log p, not of the loss, which is -log p: a climbing version passes", hint=2)
def slopes_of_log_p(gradient):
    return np.allclose(gradient(LOGITS, TARGET), -difference(LOGITS, TARGET))


# %% other right solutions
@also_right
def one_at_a_time(version):
    rng = np.random.default_rng(1)
    for target in range(5):
        z = rng.standard_normal(5)
        for i in range(5):
            other = z.copy()
            other[i] += 1e-6
            slope = -np.log(np.exp(other) / np.exp(other).sum())[target] + np.log(np.exp(z) / np.exp(z).sum())[target]
            if abs(slope / 1e-6 - version(z, target)[i]) > 1e-4:
                return False
    return True


@also_right
def with_an_imaginary_step(gradient):
    z = LOGITS.astype(complex)
    for i, slope in enumerate(gradient(LOGITS, TARGET)):
        step = np.zeros(4, complex)
        step[i] = 1e-20j
        assert np.isclose((np.log(np.exp(z + step).sum()) - (z + step)[TARGET]).imag / 1e-20, slope)
