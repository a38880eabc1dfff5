"""Who is right? Which side of the mask

An encoder hides padding with `mask = (ids != 0)[None, :]`, which is True in the columns of real keys. A pull request makes
it `mask = (ids != 0)[:, None]`, True in the rows of real queries, because "no one needs an answer for padding". Write a test
that decides. A version takes vectors and ids, and returns the attention's output. Its output at padding is never read.
"""

import numpy as np

from minitransformer_course.judge import also_right, mistake, version


# %% reference
def test_mask(attended):
    """attended: a version, x (T, d), ids (T,) with padding (0) at the end -> y (T, d). Returns True if it is right, else False."""
    # your code: the same text twice; what may differ between the two, and what may not?
    rng = np.random.default_rng(0)
    x, ids = rng.standard_normal((5, 4)), np.array([7, 3, 5, 0, 0])
    alone = attended(x[:3], ids[:3])
    padded = attended(x, ids)
    return np.allclose(padded[:3], alone)
    # end of your code


# %% what it is called with
returns = "verdict"
section = "Put together: a layer of the decoder"
stars, minutes = 2, 20


@version("the code before the change, True in the columns of real keys", right=True)
def columns(x, ids):
    scores = np.where((ids != 0)[None, :], x @ x.T / 2, -1e9)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ x


@version("the code after the change, True in the rows of real queries", right=False)
def rows(x, ids):
    scores = np.where((ids != 0)[:, None], x @ x.T / 2, -1e9)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ x


@version("real columns and real rows: what comes out at padding is 0", right=True)
def both(x, ids):
    scores = np.where((ids != 0)[None, :], x @ x.T / 2, -1e9)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (ids != 0)[:, None] * (e / e.sum(axis=-1, keepdims=True) @ x)


@version("the code before the change, with another constant subtracted before exp: the numbers differ by rounding", right=True)
def shifted_otherwise(x, ids):
    scores = x @ x.T / 2
    e = np.exp(scores - scores.max(axis=-1, keepdims=True)) * (ids != 0)
    return e / e.sum(axis=-1, keepdims=True) @ x


@version("no mask at all", right=False)
def unmasked(x, ids):
    e = np.exp(x @ x.T / 2)
    return e / e.sum(axis=-1, keepdims=True) @ x


@version("padding has a score of 0, not minus infinity, and its numbers are 0 too", right=False)
def zeroed(x, ids):
    real = x * (ids != 0)[:, None]
    e = np.exp(x @ real.T / 2)
    return e / e.sum(axis=-1, keepdims=True) @ real


@version("the weights of padding become 0 after the softmax: the rows no longer sum to 1", right=False)
def after_the_softmax(x, ids):
    e = np.exp(x @ x.T / 2)
    return e / e.sum(axis=-1, keepdims=True) * (ids != 0) @ x


# %% hints
hints = (
    "A sentence of 3 tokens is in a batch with one of 5, so two places hold padding. What must be the same without them?",
    "Call it with the real tokens alone, and with padding behind them. Compare the rows of the real tokens, up to rounding.",
    "return np.allclose(___, alone)",
)


# %% mistakes
def texts():
    """x (5, 4), ids (5,): three real tokens."""
    return np.random.default_rng(0).standard_normal((5, 4)), np.array([7, 3, 5, 0, 0])


@mistake("your test passes every version: it has to fail for a wrong one. Is there any padding in it?")
def always_true(attended):
    return True


@mistake("your test fails for every version: a correct one has to pass")
def always_false(attended):
    return False


@mistake("your test takes the wrong side: it passes the change, and fails what was right before")
def wrong_side(attended):
    return np.allclose(attended(*texts()), rows(*texts()))


@mistake("a correct version fails your test because of its rows at padding: they are never read, so compare the others")
def all_rows(attended):
    return np.allclose(attended(*texts()), columns(*texts()))


@mistake("a correct version fails your test because it rounds differently: compare with np.allclose")
def exactly(attended):
    x, ids = texts()
    x[3:] *= 3
    return (attended(x, ids)[:3] == attended(x[:3], ids[:3])).all()


@mistake("a version in which padding takes a share passes your test: change its length, not only what it holds")
def other_content(attended):
    x, ids = texts()
    other = np.where(ids[:, None] == 0, x + 1, x)
    return np.allclose(attended(x, ids)[:3], attended(other, ids)[:3])


@mistake("only a version with 0 at padding passes your test: what is there is never read")
def zero_at_padding(attended):
    return np.allclose(attended(*texts())[3:], 0)


@mistake("your test is the wrong way round: it passes every wrong version, and fails every correct one")
def changes_something(attended):
    x, ids = texts()
    return not np.allclose(attended(x, ids)[:3], attended(x[:3], ids[:3]))


# %% other right solutions
@also_right
def with_asserts(version):
    rng = np.random.default_rng(3)
    for real, padding in ((1, 1), (2, 5), (6, 3)):
        x = rng.standard_normal((real + padding, 4))
        ids = np.array([*range(1, real + 1), *[0] * padding])
        np.testing.assert_allclose(version(x, ids)[:real], version(x[:real], ids[:real]), rtol=1e-7, atol=1e-9)


@also_right
def of_two_lengths(attended):
    x, ids = texts()
    more, fewer = attended(x, ids), attended(x[:4], ids[:4])
    return np.abs(more[:3] - fewer[:3]).max() < 1e-8
