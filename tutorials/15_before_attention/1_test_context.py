"""Who is right? The padding that is read

An encoder reads a batch of sentences of different lengths, padded with zeros, and returns the state after the last of the T
positions. A pull request leaves a sentence's state unchanged once the sentence is over. A reviewer rejects it because "padding
is zeros, and zeros change nothing". Write a test that decides. A version is right if a sentence gets the same context vector
however much padding follows, and if every word of the sentence, the first one too, has an effect on that vector.
"""

import numpy as np

from minitransformer_course.judge import also_right, mistake, version


# %% reference
def test_context(encode):
    """encode: a version, x (B, T, H), lengths (B,) whole numbers of at least 1 -> context (B, H). True if it is right, else False.

    Each version has its own weights inside, for H = 3. Beyond the length of a sentence, x is 0.
    """
    # your code: the same sentence with more padding, and one with a different first word
    x = np.random.default_rng(0).standard_normal((2, 4, 3))
    alone = encode(x, np.array([4, 4]))
    padded = encode(np.concatenate([x, np.zeros((2, 3, 3))], axis=1), np.array([4, 4]))
    other = x.copy()
    other[:, 0] += 1
    moved = encode(other, np.array([4, 4]))
    return np.allclose(alone, padded) and bool((abs(moved - alone).max(axis=-1) > 1e-6).all())
    # end of your code


# %% what it is called with
returns = "verdict"
section = "One vector for a sentence"
stars, minutes = 2, 15


@version("the code before the change", right=False)
def before(x, lengths):
    h, U = np.zeros((len(x), 3)), np.array([[0.5, -0.4, 0.3], [0.2, 0.6, -0.5], [-0.3, 0.4, 0.7]])
    for t in range(x.shape[1]):
        h = np.tanh(x[:, t] + h @ U)
    return h


@version("the code after the change", right=True)
def after(x, lengths):
    h, U = np.zeros((len(x), 3)), np.array([[0.5, -0.4, 0.3], [0.2, 0.6, -0.5], [-0.3, 0.4, 0.7]])
    for t in range(x.shape[1]):
        h = np.where((t < lengths)[:, None], np.tanh(x[:, t] + h @ U), h)
    return h


@version("every sentence by itself, cut at its length, with another U", right=True)
def one_by_one(x, lengths):
    found, U = [], np.array([[0.4, 0.3, -0.6], [-0.5, 0.2, 0.3], [0.1, 0.7, 0.5]])
    for one, length in zip(x, lengths):
        h = np.zeros(3)
        for word in one[:length]:
            h = np.tanh(word + h @ U)
        found.append(h)
    return np.array(found)


@version("the state of the last word, taken from the states of all positions", right=True)
def picked(x, lengths):
    h, states, U = np.zeros((len(x), 3)), [], np.array([[0.5, -0.4, 0.3], [0.2, 0.6, -0.5], [-0.3, 0.4, 0.7]])
    for t in range(x.shape[1]):
        h = np.tanh(x[:, t] + h @ U)
        states.append(h)
    return np.array(states)[lengths - 1, np.arange(len(x))]


@version("the states of padding are set to 0 before the last one is returned", right=False)
def emptied(x, lengths):
    h, U = np.zeros((len(x), 3)), np.array([[0.5, -0.4, 0.3], [0.2, 0.6, -0.5], [-0.3, 0.4, 0.7]])
    for t in range(x.shape[1]):
        h = np.tanh(x[:, t] + h @ U) * (t < lengths)[:, None]
    return h


@version("the mean of all states, padding included", right=False)
def mean(x, lengths):
    h, total, U = np.zeros((len(x), 3)), 0.0, np.array([[0.5, -0.4, 0.3], [0.2, 0.6, -0.5], [-0.3, 0.4, 0.7]])
    for t in range(x.shape[1]):
        h = np.tanh(x[:, t] + h @ U)
        total = total + h
    return total / x.shape[1]


@version("the last word alone, without the words before it", right=False)
def last_word(x, lengths):
    return np.tanh(x[np.arange(len(x)), lengths - 1])


@version("the same vector for every sentence", right=False)
def constant(x, lengths):
    return np.full((len(x), 3), 0.5)


# %% hints
hints = (
    "A step that reads zeros computes tanh(0 + h U). Is that h? And which wrong version would pass if you tested nothing else?",
    "Call it twice with the same sentences and lengths, once with more zeros at the end. Then check that early words count.",
    "padded = encode(___, np.array([4, 4]))",
)


# %% mistakes
FOUR = np.array([4, 4])


def some():
    return np.random.default_rng(0).standard_normal((2, 4, 3))


def longer(x, by=3):
    return np.concatenate([x, np.zeros((len(x), by, 3))], axis=1)


def stays(encode):
    return np.allclose(encode(some(), FOUR), encode(longer(some()), FOUR))


def first_counts(encode):
    x = some()
    x[:, 0] += 1
    return not np.allclose(encode(some(), FOUR), encode(x, FOUR))


@mistake("your test passes every version: it has to fail for a wrong one")
def always_true(encode):
    return True


@mistake("your test fails every version: a correct one has to pass")
def always_false(encode):
    return False


@mistake("your test takes the wrong side: it has to fail the versions that read the padding")
def wrong_side(encode):
    return np.allclose(encode(longer(some()), FOUR), before(longer(some()), FOUR))


@mistake("only the numbers of the new code pass your test: other correct versions have other weights")
def numbers(encode):
    return np.allclose(encode(longer(some()), FOUR), after(longer(some()), FOUR))


@mistake("there is no padding in your test, so the old code passes it: compare with more zeros at the end")
def no_padding(encode):
    return first_counts(encode)


@mistake("your test checks only that padding changes nothing, so versions that know only the last word, or no word at all, "
         "pass: early words have to count")
def padding_alone(encode):
    return stays(encode)


@mistake("your test is the wrong way round: it has to pass the versions that padding does not change")
def wrong_way_round(encode):
    return not stays(encode)


@mistake("your test checks only that the context is not 0 after padding: it has to be the same as without")
def not_zero(encode):
    return bool((encode(longer(some()), FOUR) != 0).any()) and first_counts(encode)


# %% other right solutions
@also_right
def with_asserts(version):
    rng = np.random.default_rng(3)
    x, lengths = rng.standard_normal((3, 6, 3)), np.array([2, 6, 3])
    x[0, 2:], x[2, 3:] = 0, 0
    together = version(x, lengths)
    for row, sentence, n in zip(together, x, lengths):
        np.testing.assert_allclose(row, version(sentence[None, :n], np.array([n]))[0])
    x[:, 0] *= -1
    assert (np.abs(version(x, lengths) - together).max(axis=1) > 1e-9).all()


@also_right
def every_word(encode):
    one, other = some()[:1], some()[1:]
    n = np.array([4])
    for t in range(4):
        mixed = one.copy()
        mixed[0, t] = other[0, t]
        if np.allclose(encode(mixed, n), encode(one, n)):
            return False
    return np.allclose(encode(longer(one, 1), n), encode(one, n))
