"""Who is right? What a position sees

One explanation says that the position-wise feed-forward network "captures the context of the sentence". Another says that it
sees one position and nothing else. Write a test that decides for any layer: a version takes the vectors of a sentence and
returns as many.
"""

import numpy as np

from minitransformer.learn import also_right, mistake, version


# %% reference
def test_position_wise(layer):
    """layer: a version, x (T, d) -> (T, d). Returns True if no position's output depends on another position, else False."""
    # your code: what may change if you change one position, and what may not?
    x = np.random.default_rng(0).standard_normal((5, 4))
    y = layer(x)
    for t in range(len(x)):
        other = x.copy()
        other[t] = other[t, ::-1] + 1
        changed = np.abs(layer(other) - y).max(axis=1) > 1e-9
        if np.delete(changed, t).any():
            return False
    return True
    # end of your code


# %% what it is called with
returns = "verdict"
section = "Sentences that a test can settle"
stars, minutes = 2, 15

@version("the feed-forward network", right=True)
def feed_forward(x):
    W = np.cos(np.arange(16)).reshape(4, 4)
    return np.maximum(x @ W + 0.1, 0) @ W.T


@version("self-attention", right=False)
def self_attention(x):
    W = np.cos(np.arange(16)).reshape(4, 4)
    e = np.exp(x @ W @ x.T / 2)
    return e / e.sum(axis=-1, keepdims=True) @ x


@version("attention that is causal: a position sees those before it", right=False)
def causal_attention(x):
    W = np.cos(np.arange(16)).reshape(4, 4)
    e = np.exp(x @ W @ x.T / 2) * np.tri(len(x))
    return e / e.sum(axis=-1, keepdims=True) @ x


@version("LayerNorm, a mean over the features of one position", right=True)
def layer_norm(x):
    return (x - x.mean(axis=-1, keepdims=True)) / x.std(axis=-1, keepdims=True)


@version("a mean over the positions, as a batch norm has", right=False)
def batch_norm(x):
    return x - x.mean(axis=0)


@version("two convolutions with kernel 1: the feed-forward network, one position after the other", right=True)
def kernel_1(x):
    W = np.cos(np.arange(16)).reshape(4, 4)
    return np.stack([np.maximum(W.T @ row + 0.1, 0) @ W.T for row in x])


@version("a convolution with a kernel of 3, which looks at both neighbours", right=False)
def kernel_3(x):
    W = np.cos(np.arange(16)).reshape(4, 4)
    padded = np.pad(x, ((1, 1), (0, 0)))
    return padded[:-2] @ W + padded[1:-1] + padded[2:] @ W.T


@version("a shift by one: each position gets its left neighbour", right=False)
def shifted(x):
    return np.vstack([x[:1] * 0, x[:-1]])


@version("the first position is added to all, as a summary would be", right=False)
def with_the_first(x):
    W = np.cos(np.arange(16)).reshape(4, 4)
    return np.maximum(x @ W, 0) @ W.T + x[:1]


# %% hints
hints = (
    "If you change one word, which rows of the output may change?",
    "Change one row of x at a time, each of them once, and look at all other rows of the output.",
    "if np.delete(___, t).any():",
)


def sentence():
    return np.random.default_rng(1).standard_normal((6, 4))


# %% mistakes
@mistake("your test passes every version: attention has to fail", hint=1)
def always_true(layer):
    return True


@mistake("your test fails for every version: the row that you change may change, and all rows may differ by rounding", hint=1)
def always_false(layer):
    return False


@mistake("your test is the wrong way round: it passes the layers that mix positions, and fails the others", hint=1)
def wrong_way_round(layer):
    x = sentence()
    return not np.allclose(np.vstack([layer(row[None]) for row in x]), layer(x))


@mistake("your test changes the last position alone: a layer that looks back passes", hint=2)
def last_alone(layer):
    x = sentence()
    other = x.copy()
    other[-1] += np.arange(4)
    return np.allclose(layer(other)[:-1], layer(x)[:-1])


@mistake("your test changes the first position alone: a layer that looks at neighbours may not show it further on", hint=2)
def far_from_the_first(layer):
    x = sentence()
    other = x.copy()
    other[0] += np.arange(4)
    return np.allclose(layer(other)[3:], layer(x)[3:])


@mistake("your test reorders the sentence: self-attention passes that, for it does not know the order", hint=2)
def reordered(layer):
    x = sentence()
    return np.allclose(layer(x[::-1]), layer(x)[::-1])


# %% other right solutions
@also_right
def one_by_one(layer):
    x = np.random.default_rng(5).standard_normal((7, 4))
    assert np.allclose(layer(x), np.concatenate([layer(x[t:t + 1]) for t in range(7)]))


@also_right
def from_another_sentence(layer):
    rng = np.random.default_rng(6)
    first, second = rng.standard_normal((2, 6, 4))
    for t in range(6):
        mixed = second.copy()
        mixed[t] = first[t]
        if not np.allclose(layer(mixed)[t], layer(first)[t]):
            return False
    return True
