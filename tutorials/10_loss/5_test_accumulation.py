"""Who is right? A mean of means

A trainer cuts each batch into M micro-batches. `gradients[m]` is the gradient of the mean loss of the `counts[m]` tokens in part
m, and the trainer takes `gradients.mean(axis=0)`. A pull request weights each part by its number of tokens. A reviewer rejects it:
"each row is a mean already, so you count the tokens twice". Write a test that decides: how the tokens are cut must not matter.
"""

import numpy as np

from minitransformer_course.judge import also_right, mistake, version


# %% reference
def test_accumulation(accumulated):
    """accumulated: a version, gradients (M, P), counts (M,), floats above 0 -> g (P,). Returns True if it is right, else False."""
    # your code: make up the gradients of a few tokens, and cut them in two ways
    tokens = np.array([[6.0, 1], [0, 2], [0, 9], [4, 4], [5, 3], [9, 5]])
    mean = tokens.mean(axis=0)
    for cuts in ([1], [1, 3], [2, 3, 5]):
        parts = np.split(tokens, cuts)
        g = accumulated(np.array([part.mean(axis=0) for part in parts]), np.array([float(len(part)) for part in parts]))
        if not np.allclose(g, mean):
            return False
    return True
    # end of your code


# %% what it is called with
returns = "verdict"
section = "The mean of means"
stars, minutes = 2, 20


@version("the trainer's code, before the change", right=False, shows="parts of different lengths")
def before(gradients, counts):
    return gradients.mean(axis=0)


@version("the pull request", right=True)
def after(gradients, counts):
    return (gradients * counts[:, None]).sum(axis=0) / counts.sum()


@version("the pull request as a running mean, one part after the other: the numbers differ by rounding", right=True)
def running(gradients, counts):
    g, seen = np.zeros(gradients.shape[1]), 0.0
    for row, count in zip(gradients, counts):
        seen += count
        g = g + (row - g) * (count / seen)
    return g


@version(
    "the sums of the parts, divided by the number of parts",
    right=False,
    shows="what g is compared with: the mean over all tokens",
)
def by_parts(gradients, counts):
    return (gradients * counts[:, None]).mean(axis=0)


@version(
    "the sums of the parts, not divided by the number of tokens",
    right=False,
    shows="what g is compared with: the mean over all tokens",
)
def undivided(gradients, counts):
    return (gradients * counts[:, None]).sum(axis=0)


@version(
    "a running mean weighted by the last two parts alone, which is right for M = 2",
    right=False,
    shows="more than two parts",
)
def forgetful(gradients, counts):
    g, last = gradients[0], counts[0]
    for row, count in zip(gradients[1:], counts[1:]):
        g, last = (g * last + row * count) / (last + count), count
    return g


# %% hints
hints = (
    "Two parts hold 1 token and 3 tokens. Which version gives the mean over all 4? Would two parts of 2 show a difference?",
    "Make up one gradient for each token and cut the tokens into parts of different sizes. The answer must be the mean of all.",
    "if not np.allclose(g, ___):",
)


# %% mistakes
TOKENS = np.array([[6.0, 1], [0, 2], [0, 9], [4, 4], [5, 3], [9, 5]])


def answers(accumulated, *all_cuts):
    """[g] of the tokens, cut in each of these ways."""
    found = []
    for cuts in all_cuts:
        parts = np.split(TOKENS, cuts)
        found.append(accumulated(np.array([part.mean(axis=0) for part in parts]), np.array([float(len(part)) for part in parts])))
    return found


def is_mean(g):
    return np.allclose(g, TOKENS.mean(axis=0))


@mistake("your test passes every version: it has to fail for a wrong one")
def always_true(accumulated):
    return True


@mistake("your test fails for every version: a correct one has to pass")
def always_false(accumulated):
    return False


@mistake("your test takes the wrong side: it passes only the trainer's code")
def wrong_side(accumulated):
    g = accumulated(TOKENS, np.arange(1.0, 7))
    return np.allclose(g, TOKENS.mean(axis=0))


@mistake("your parts are equally large, so the mean of means is the mean over all tokens, and only larger errors show")
def equal_parts(accumulated):
    return all(map(is_mean, answers(accumulated, [2, 4], [3])))


@mistake("your test has at most two parts: a version that is right for two and wrong for three passes it")
def two_parts(accumulated):
    return all(map(is_mean, answers(accumulated, [1], [2])))


@mistake("a correct version fails your test because it rounds differently: compare with np.allclose")
def exactly(accumulated):
    gradients, counts = np.random.default_rng(0).standard_normal((3, 40)), np.array([1.0, 2, 7])
    return (accumulated(gradients, counts) == after(gradients, counts)).all()


@mistake("each part in your test has one token, so every version divides by the same number")
def one_token_each(accumulated):
    return is_mean(answers(accumulated, [1, 2, 3, 4, 5])[0])


@mistake("your test fails only the trainer's code: versions that divide by the wrong number pass it")
def not_the_plain_mean(accumulated):
    counts = np.array([1.0, 5, 3])
    return not np.allclose(accumulated(TOKENS[:3], counts), TOKENS[:3].mean(axis=0))


@mistake("your test is the wrong way round: it passes the wrong versions, and fails the correct ones")
def not_the_mean(accumulated):
    return not all(map(is_mean, answers(accumulated, [1, 3])))


@mistake("your parts are equally large, so the mean of means passes: cut the tokens into parts of different sizes")
def equal_parts_alike(accumulated):
    return np.allclose(*answers(accumulated, [2, 4], [3]))


# %% other right solutions
@also_right
def with_asserts(version):
    rng = np.random.default_rng(0)
    tokens = rng.standard_normal((12, 4))
    for cut in ([1, 4], [5], [2, 3, 10]):
        pieces = np.split(tokens, cut)
        means, counts = np.stack([piece.mean(0) for piece in pieces]), np.array([len(piece) for piece in pieces], float)
        np.testing.assert_allclose(version(means, counts), tokens.mean(0))


@also_right
def one_cut_by_hand(accumulated):
    g = accumulated(np.array([[9.0], [3.0], [1.0]]), np.array([1.0, 2.0, 3.0]))
    return abs(g[0] - (9 + 2 * 3 + 3 * 1) / 6) < 1e-9
