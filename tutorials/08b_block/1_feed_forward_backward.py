"""The gradients of the feed-forward network

Forward, at each position alone: a = x W1 + b1, h = max(0, a), y = h W2 + b2. Return the gradients of all five arrays.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def feed_forward_backward(dy, x, W1, b1, W2):
    """dy, x: (N, D), a row for each position; W1: (D, F); b1: (F,); W2: (F, D).

    Returns dx (N, D), dW1 (D, F), db1 (F,), dW2 (F, D) and db2 (D,).
    """
    # your code: the forward again, as far as you need it; then read it from the bottom up
    a = x @ W1 + b1
    h = np.maximum(a, 0)
    dW2 = h.T @ dy
    db2 = dy.sum(axis=0)
    dh = dy @ W2.T
    da = dh * (a > 0)
    dW1 = x.T @ da
    db1 = da.sum(axis=0)
    dx = da @ W1.T
    return dx, dW1, db1, dW2, db2
    # end of your code


# %% what it is called with
returns = "dx dW1 db1 dW2 db2"
section = "Feed-forward: each position alone"
stars, minutes = 2, 15


def case(rng, N, D, F):
    W1, b1, W2 = rng.standard_normal((D, 6 + F)), rng.standard_normal(6 + F), rng.standard_normal((6 + F, D))
    x = rng.standard_normal((N, D))
    while (np.abs(x @ W1 + b1) < 1e-3).any():    # a nudge must not cross the kink of the ReLU
        x = rng.standard_normal((N, D))
    return rng.standard_normal((N, D)), x, W1, b1, W2


@edge("a single token")
def one_token(rng, D, F):
    return case(rng, 1, D, F)


def loss(dy, x, W1, b1, W2):
    def value(x, W1, b1, W2, b2):
        a = x @ W1 + b1
        return (dy * (a * (a.real > 0) @ W2 + b2)).sum()
    return value, [x, W1, b1, W2, np.zeros(dy.shape[-1])]


@invariant("W1 and b1 doubled and W2 halved give the same y: sum(dW1 W1) + sum(db1 b1) must be sum(dW2 W2)")
def balance(answer, dy, x, W1, b1, W2):
    dx, dW1, db1, dW2, db2 = answer
    return (dW1 * W1).sum() + (db1 * b1).sum() - (dW2 * W2).sum()


# %% hints
hints = (
    "A hidden number was negative, so the ReLU made it 0. If it changes a little, what happens to y? So what is its gradient?",
    "Two linear layers, as in chapter 1, and between them the ReLU's backward: da = dh where a > 0, else 0.",
    "da = dh * ___",
)


# %% mistakes
def made(dy, x, W1, b1, W2, da=None, h=None):
    a = x @ W1 + b1
    hidden = np.maximum(a, 0) if h is None else h(a)
    dh = dy @ W2.T
    da = dh * (a > 0) if da is None else da(dh, a)
    return da @ W1.T, x.T @ da, da.sum(axis=0), hidden.T @ dy, dy.sum(axis=0)


@mistake("the ReLU is skipped in backward: da = dh, even where a is negative")
def relu_skipped(dy, x, W1, b1, W2):
    return made(dy, x, W1, b1, W2, da=lambda dh, a: dh)


@mistake("the ReLU's mask is taken from dh, not from a: what counts is which numbers the forward let through")
def mask_of_gradient(dy, x, W1, b1, W2):
    return made(dy, x, W1, b1, W2, da=lambda dh, a: dh * (dh > 0))


@mistake("dh is multiplied by h: the ReLU's slope is 1 where a > 0, not a")
def times_h(dy, x, W1, b1, W2):
    return made(dy, x, W1, b1, W2, da=lambda dh, a: dh * np.maximum(a, 0))


@mistake("the ReLU's mask is inverted")
def inverted(dy, x, W1, b1, W2):
    return made(dy, x, W1, b1, W2, da=lambda dh, a: dh * (a < 0))


@mistake("the ReLU's mask is taken from a without its bias b1")
def mask_without_bias(dy, x, W1, b1, W2):
    return made(dy, x, W1, b1, W2, da=lambda dh, a: dh * (a - b1 > 0))


@mistake("dW2 uses a, not h: W2 was multiplied by what the ReLU let through")
def a_for_h(dy, x, W1, b1, W2):
    return made(dy, x, W1, b1, W2, h=lambda a: a)


@mistake("db1 is summed before the ReLU's backward: from dh, not from da")
def db1_of_dh(dy, x, W1, b1, W2):
    dx, dW1, db1, dW2, db2 = made(dy, x, W1, b1, W2)
    return dx, dW1, (dy @ W2.T).sum(axis=0), dW2, db2


@mistake("dW1 and db1 use dh, from before the ReLU's backward; only dx uses da")
def first_layer_of_dh(dy, x, W1, b1, W2):
    dx, dW1, db1, dW2, db2 = made(dy, x, W1, b1, W2)
    return dx, x.T @ (dy @ W2.T), (dy @ W2.T).sum(axis=0), dW2, db2


@mistake("only the biases' gradients are means over the positions, not sums")
def averaged(dy, x, W1, b1, W2):
    dx, dW1, db1, dW2, db2 = made(dy, x, W1, b1, W2)
    return dx, dW1, db1 / len(x), dW2, db2 / len(x)


@mistake("dy is added to dx: the residual connection is around this network, not in it")
def with_residual(dy, x, W1, b1, W2):
    dx, dW1, db1, dW2, db2 = made(dy, x, W1, b1, W2)
    return dx + dy, dW1, db1, dW2, db2


@mistake("dx uses dh, from before the ReLU's backward: it needs da")
def dx_of_dh(dy, x, W1, b1, W2):
    return (dy @ W2.T @ W1.T, *made(dy, x, W1, b1, W2)[1:])


@mistake("dW1 uses dh, from before the ReLU's backward: it needs da")
def dW1_of_dh(dy, x, W1, b1, W2):
    dx, _, *rest = made(dy, x, W1, b1, W2)
    return dx, x.T @ (dy @ W2.T), *rest


@mistake("where a is negative, dh changes its sign: it has to become 0 there")
def sign_of_a(dy, x, W1, b1, W2):
    return made(dy, x, W1, b1, W2, da=lambda dh, a: dh * np.sign(a))


@mistake("the slope where a is negative is 0.01, that of a leaky ReLU: the ReLU's is 0")
def leaky(dy, x, W1, b1, W2):
    return made(dy, x, W1, b1, W2, da=lambda dh, a: dh * np.where(a > 0, 1, 0.01).astype(dh.dtype))


@mistake("dW2 uses the mask a > 0, not h: W2 was multiplied by h")
def mask_for_h(dy, x, W1, b1, W2):
    return made(dy, x, W1, b1, W2, h=lambda a: (a > 0).astype(a.dtype))


@mistake("the gradients of all parameters are means over the positions, not sums")
def all_averaged(dy, x, W1, b1, W2):
    dx, *parameters = made(dy, x, W1, b1, W2)
    return dx, *(gradient / len(x) for gradient in parameters)


# %% other right solutions
@also_right
def with_einsum(g, rows, inner, bias, outer):
    a = np.einsum("nd,df->nf", rows, inner) + bias
    open_ = a > 0
    da = np.where(open_, np.einsum("nd,fd->nf", g, outer), 0).astype(g.dtype)
    return (np.einsum("nf,df->nd", da, inner), np.einsum("nd,nf->df", rows, da), np.einsum("nf->f", da),
            np.einsum("nf,nd->fd", a * open_, g), np.einsum("nd->d", g))


@also_right
def with_loops(dy, x, W1, b1, W2):
    dx, dW1, db1, dW2, db2 = (np.zeros_like(one) for one in (x, W1, b1, W2, dy[0]))
    for n in range(len(x)):
        a = x[n] @ W1 + b1
        da = W2 @ dy[n]
        da[a <= 0] = 0
        dx[n] = W1 @ da
        dW1 += np.outer(x[n], da)
        db1 += da
        dW2 += np.outer(np.maximum(a, 0), dy[n])
        db2 += dy[n]
    return dx, dW1, db1, dW2, db2
