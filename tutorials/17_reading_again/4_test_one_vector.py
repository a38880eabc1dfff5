"""Who is right? "Query, key and value are the same"

One explanation says that in self-attention query, key and value "are the same value". Another says that they have one source
and three projections. If query and key were one vector, token i would score j exactly as j scores i. You get the attention
weights of a head and nothing else. Write a test that tells whether the head's scores can be symmetric. The weights themselves
need not be symmetric, because the softmax divides each row by its own sum.
"""

import numpy as np

from minitransformer_course.judge import also_right, mistake, version


# %% reference
def test_one_vector(weights):
    """weights: a version, x (T, 4) -> p (T, T), rows of a softmax. Returns True if the scores can be symmetric, else False."""
    # your code: three tokens; what is unknown about each row has to cancel
    x = np.random.default_rng(0).standard_normal((3, 4))
    log_p = np.log(weights(x))
    there = log_p[0, 1] + log_p[1, 2] + log_p[2, 0]
    back = log_p[1, 0] + log_p[2, 1] + log_p[0, 2]
    return np.isclose(there, back)
    # end of your code


# %% what it is called with
returns = "verdict"
section = "One source, three projections"
stars, minutes = 3, 20


@version("x itself is query and key", right=True)
def x_itself(x):
    e = np.exp(x @ x.T / 2)
    return e / e.sum(axis=-1, keepdims=True)


@version("one projection for both", right=True)
def one_projection(x):
    x = x / np.sqrt((x ** 2).mean(axis=-1, keepdims=True))
    q = x @ np.random.default_rng(2).standard_normal((4, 4)) / 3
    scores = q @ q.T / 2
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@version("one projection for both, divided by d_k instead of its root", right=True)
def other_scale(x):
    x = x / np.sqrt((x ** 2).mean(axis=-1, keepdims=True))
    q = x @ np.random.default_rng(2).standard_normal((4, 4)) / 3
    e = np.exp(q @ q.T / 4)
    return e / e.sum(axis=-1, keepdims=True)


@version("a projection of zeros: every token looks at all tokens equally", right=True)
def uniform(x):
    return np.full((len(x), len(x)), 1 / len(x))


@version("two projections, one for queries and one for keys", right=False)
def two_projections(x):
    x = x / np.sqrt((x ** 2).mean(axis=-1, keepdims=True))
    w_q, w_k = np.random.default_rng(2).standard_normal((2, 4, 4)) / 3
    e = np.exp(x @ w_q @ (x @ w_k).T / 2)
    return e / e.sum(axis=-1, keepdims=True)


@version("two projections that differ by a tenth", right=False)
def nearly_one(x):
    x = x / np.sqrt((x ** 2).mean(axis=-1, keepdims=True))
    w, noise = np.random.default_rng(2).standard_normal((2, 4, 4)) / 3
    e = np.exp(x @ w @ (x @ (w + 0.1 * noise)).T / 2)
    return e / e.sum(axis=-1, keepdims=True)


@version("each key is the query of its token with the two halves turned by 30 degrees", right=False)
def turned(x):
    x = x / np.sqrt((x ** 2).mean(axis=-1, keepdims=True))
    q = x @ np.random.default_rng(2).standard_normal((4, 4)) / 3
    left, right = q[:, :2], q[:, 2:]
    k = np.concatenate([left * np.cos(0.52) - right * np.sin(0.52), left * np.sin(0.52) + right * np.cos(0.52)], axis=1)
    e = np.exp(q @ k.T / 2)
    return e / e.sum(axis=-1, keepdims=True)


@version("each key is the query of the token before", right=False)
def one_before(x):
    x = x / np.sqrt((x ** 2).mean(axis=-1, keepdims=True))
    q = x @ np.random.default_rng(2).standard_normal((4, 4)) / 3
    e = np.exp(q @ np.roll(q, 1, axis=0).T / 2)
    return e / e.sum(axis=-1, keepdims=True)


# %% hints
hints = (
    "log p[i, j] is the score minus a number for row i. Walk from 0 to 1 to 2 to 0. Which rows do you leave on the way?",
    "Add log p along the way 0, 1, 2, 0, and on the way back. The rows' numbers are in both sums, and symmetric scores are, too.",
    "return np.isclose(there, ___)",
)


# %% mistakes
def tokens():
    return np.random.default_rng(0).standard_normal((3, 4))


def loop(weights):
    """By how much the two ways round differ."""
    log_p = np.log(weights(tokens()))
    return abs(log_p[0, 1] + log_p[1, 2] + log_p[2, 0] - log_p[1, 0] - log_p[2, 1] - log_p[0, 2])


@mistake("your test passes every version: with two tokens, any weights have to pass, so use three")
def always_true(weights):
    return True


@mistake("your test fails every version: weights from one vector have to pass")
def always_false(weights):
    return False


@mistake("your test fails for symmetric scores, too: each row of weights was divided by its own sum, which has to cancel")
def symmetric(weights):
    p = weights(tokens())
    return np.allclose(p, p.T)


@mistake("only the weights of x itself pass your test: the one vector may also be a projection of x")
def numbers_of_x(weights):
    return np.allclose(weights(tokens()), x_itself(tokens()))


@mistake("your tolerance is too large: two projections that differ by a tenth have to fail")
def tolerant(weights):
    return loop(weights) < 0.1


@mistake("your test demands that every token look most at itself: a short vector need not, although its query is its key")
def itself_most(weights):
    p = weights(tokens())
    return (p.argmax(axis=-1) == np.arange(3)).all()


@mistake("your test is the wrong way round: it has to pass one vector and fail two projections")
def wrong_way_round(weights):
    return not test_one_vector(weights)


# %% other right solutions
@also_right
def with_asserts(weights):
    for seed in range(3):
        p = weights(np.random.default_rng(seed).standard_normal((4, 4)))
        for i, j, k in ((0, 1, 2), (1, 2, 3), (0, 2, 3)):
            np.testing.assert_allclose(p[i, j] * p[j, k] * p[k, i], p[j, i] * p[k, j] * p[i, k])


@also_right
def with_a_matrix(weights):
    log_p = np.log(weights(np.random.default_rng(7).standard_normal((5, 4))))
    difference = log_p - log_p.T
    of_rows = difference[:, :1]
    return np.allclose(difference, of_rows - of_rows.T)
