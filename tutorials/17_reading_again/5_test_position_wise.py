"""Who is right? What a position sees

One explanation says that the position-wise network "captures the context of the sentence". Another says that it sees one
position. Write a test that decides this for any layer. A layer works on each position alone if its output at a position depends
on no other token. It may know which position it is at. The judge runs your test on the paper's network and on layers of both
kinds.
"""

import numpy as np

from minitransformer_course.judge import also_right, mistake, version


# %% reference
def test_position_wise(layer):
    """layer: a version, x (T, 4) -> y (T, 4), for any T. Returns True if it works on each position alone, else False."""
    # your code: keep one token and change all the others
    rng = np.random.default_rng(0)
    x = rng.standard_normal((6, 4))
    y = layer(x)
    for t in range(6):
        other = rng.standard_normal((6, 4))
        other[t] = x[t]
        if not np.allclose(layer(other)[t], y[t]):
            return False
    return True
    # end of your code


# %% what it is called with
returns = "verdict"
section = "What a position sees"
stars, minutes = 1, 15


@version("the paper's position-wise network", right=True)
def feed_forward(x):
    W1, W2 = np.random.default_rng(1).standard_normal((2, 4, 4))
    return np.maximum(0, x @ W1 + 0.1) @ W2


@version("the same as two convolutions with kernel 1, one position after the other", right=True)
def kernel_1(x):
    W1, W2 = np.random.default_rng(1).standard_normal((2, 4, 4))
    return np.array([np.einsum("h,ho->o", np.maximum(0, np.einsum("i,ih->h", row, W1) + 0.1), W2) for row in x])


@version("LayerNorm", right=True)
def layer_norm(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred ** 2).mean(axis=-1, keepdims=True) + 1e-5)


@version("the network after a sinusoid of the position is added", right=True)
def with_position(x):
    W1, W2 = np.random.default_rng(1).standard_normal((2, 4, 4))
    return np.maximum(0, (x + np.sin(np.arange(len(x)))[:, None]) @ W1) @ W2


@version("self-attention", right=False)
def attention(x):
    e = np.exp(x @ x.T / 2)
    return e / e.sum(axis=-1, keepdims=True) @ x


@version("a convolution with kernel 3", right=False)
def kernel_3(x):
    padded = np.pad(x, ((1, 1), (0, 0)))
    return np.maximum(0, padded[:-2] - 2 * padded[1:-1] + padded[2:])


@version("a norm over the positions instead of the features", right=False)
def over_positions(x):
    return (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + 1e-5)


@version("the mean of this token and all before it", right=False)
def running_mean(x):
    return np.cumsum(x, axis=0) / np.arange(1, len(x) + 1)[:, None]


@version("the network, and a look at the next token", right=False)
def next_token(x):
    return np.maximum(0, x) + np.concatenate([x[1:], x[-1:]])


@version("a gate that is the mean of one feature over all tokens", right=False)
def gate(x):
    return x * x[:, -1].mean()


# %% hints
hints = (
    "Two sentences share their third token and no other. If the layer works on each position alone, what else do they share?",
    "For each position, make another sentence that agrees there and nowhere else. The outputs at that position have to agree.",
    "other[t] = ___",
)


# %% mistakes
def sentence():
    return np.random.default_rng(3).standard_normal((6, 4))


def changed(layer, change, compare):
    """Whether the compared outputs stay what they are if x changes at `change`."""
    x = sentence()
    other = x.copy()
    other[change] += 1 + np.arange(other[change].size).reshape(other[change].shape)
    return np.allclose(layer(x)[compare], layer(other)[compare])


@mistake("your test passes every version: it has to fail a layer in which another token counts")
def always_true(layer):
    return True


@mistake("your test fails every version: the paper's network has to pass. Which outputs may change, and which may not?")
def always_false(layer):
    return False


@mistake("only the numbers of the paper's network pass your test: other layers work on each position alone as well")
def numbers_of_the_network(layer):
    return np.allclose(layer(sentence()), feed_forward(sentence()))


@mistake("your test shuffles the tokens and asks whether the outputs are shuffled alike: attention does that, too")
def shuffled(layer):
    order = np.array([3, 0, 5, 1, 4, 2])
    return np.allclose(layer(sentence()[order]), layer(sentence())[order])


@mistake("your test feeds each token by itself: a network that knows its position is right but answers differently at 0")
def by_itself(layer):
    y = layer(sentence())
    return all(np.allclose(layer(row[None])[0], out) for row, out in zip(sentence(), y))


@mistake("your test looks only at tokens before the changed ones: a token may also count for those after it")
def last_changes(layer):
    return changed(layer, np.s_[5:], np.s_[:5])


@mistake("your test looks only at tokens after the changed ones: a token may also count for those before it")
def first_changes(layer):
    return changed(layer, np.s_[:1], np.s_[1:])


@mistake("your test changes one end and looks at the other: a convolution sees only its neighbours")
def far_away(layer):
    return changed(layer, np.s_[5:], np.s_[:1])


@mistake("your test changes one feature of a token: change all of them, because another one may count elsewhere")
def one_feature(layer):
    x = sentence()
    y = layer(x)
    for t in range(6):
        other = x.copy()
        other[:, 0] += 1 + np.arange(6)
        other[t] = x[t]
        if not np.allclose(layer(other)[t], y[t]):
            return False
    return True


@mistake("your test is the wrong way round: it has to pass the paper's network and fail layers in which other tokens count")
def wrong_way_round(layer):
    return not test_position_wise(layer)


# %% other right solutions
@also_right
def with_asserts(layer):
    rng = np.random.default_rng(8)
    for T in (2, 5, 9):
        for t in range(T):
            one, two = rng.standard_normal((2, T, 4))
            two[t] = one[t]
            np.testing.assert_allclose(layer(one)[t], layer(two)[t], atol=1e-9)


@also_right
def with_differences(layer):
    x = np.random.default_rng(9).standard_normal((5, 4))
    y, T = layer(x), len(x)
    for u, i in np.ndindex(x.shape):
        nudged = x.copy()
        nudged[u, i] += 0.5
        moved = np.abs(layer(nudged) - y).max(axis=1) > 1e-9
        if moved[np.arange(T) != u].any():
            return False
    return True
