"""The feed-forward network

The forward was a = x W1 + b1, h = relu(a), y = h W2 + b2: two linear layers with a bend between them. Return all gradients.
"""

import numpy as np

from minitransformer.learn import also_right, invariant, mistake


# %% reference
def feed_forward_backward(dy, x, a, W1, W2):
    """dy, x: (N, d_model); a: (N, d_ff), the input of the ReLU; W1: (d_model, d_ff); W2: (d_ff, d_model).

    Returns dx, dW1, db1, dW2, db2.
    """
    # your code: the forward read upside down; the ReLU lets a gradient through where its input was positive
    h = np.maximum(a, 0)
    dh = dy @ W2.T
    dW2, db2 = h.T @ dy, dy.sum(axis=0)
    da = dh * (a > 0)
    dW1, db1 = x.T @ da, da.sum(axis=0)
    return da @ W1.T, dW1, db1, dW2, db2
    # end of your code


# %% what it is called with
returns = "dx dW1 db1 dW2 db2"
section = "Feed-forward: two layers and a bend"


def case(rng, N, D, F):
    x, W1, W2 = rng.standard_normal((N, D)), rng.standard_normal((D, F)), rng.standard_normal((F, D))
    return rng.standard_normal((N, D)), x, x @ W1, W1, W2


def loss(dy, x, a, W1, W2):
    def function(x, W1, b1, W2, b2):
        a = x @ W1 + b1
        return (dy * (a * (a.real > 0) @ W2 + b2)).sum()
    return function, [x, W1, np.zeros(W1.shape[1]), W2, np.zeros(W2.shape[1])]


@invariant("y grows with W1 and with W2 by the same factor, so sum(dW1 W1) must equal sum(dW2 W2) (b1 is 0 here)")
def scale(answer, dy, x, a, W1, W2):
    return (answer[1] * W1).sum() - (answer[3] * W2).sum()


# %% hints
hints = (
    "For which a does the ReLU's output not change at all when a changes a little? What is its gradient there?",
    "In the middle: da is dh where a > 0, and 0 elsewhere. Before and after it, two linear layers.",
    "da = dh * (___ > 0)",
)


# %% mistakes
def made(dy, x, a, W1, W2, h=None, gate=None, dx=None):
    h = np.maximum(a, 0) if h is None else h
    da = (dy @ W2.T) * ((a > 0) if gate is None else gate)
    return da @ W1.T if dx is None else dx, x.T @ da, da.sum(axis=0), h.T @ dy, dy.sum(axis=0)


@mistake("the ReLU is skipped in backward: the gradient passes where a was negative, too", hint=2)
def relu_skipped(dy, x, a, W1, W2):
    return made(dy, x, a, W1, W2, gate=np.ones_like(a))


@mistake("the gradient is multiplied by h itself, not by 1 where a > 0", hint=4)
def times_h(dy, x, a, W1, W2):
    return made(dy, x, a, W1, W2, gate=np.maximum(a, 0))


@mistake("the ReLU's gate looks at the sign of the gradient, not of its input", hint=4)
def sign_of_gradient(dy, x, a, W1, W2):
    return made(dy, x, a, W1, W2, gate=(dy @ W2.T) > 0)


@mistake("the gate is the wrong way round: the gradient passes where a was negative", hint=4)
def gate_inverted(dy, x, a, W1, W2):
    return made(dy, x, a, W1, W2, gate=a <= 0)


@mistake("dW2 uses a, the input of the ReLU, not its output h", hint=3)
def a_for_h(dy, x, a, W1, W2):
    return made(dy, x, a, W1, W2, h=a)


@mistake("db1 is a mean over the rows, not their sum", hint=3)
def bias_mean(dy, x, a, W1, W2):
    dx, dW1, db1, dW2, db2 = made(dy, x, a, W1, W2)
    return dx, dW1, db1 / len(x), dW2, db2


@mistake("db1 sums dh, the gradient before the ReLU's gate", hint=3)
def bias_of_dh(dy, x, a, W1, W2):
    dx, dW1, _db1, dW2, db2 = made(dy, x, a, W1, W2)
    return dx, dW1, (dy @ W2.T).sum(axis=0), dW2, db2


@mistake("the gradients of the two layers are returned in the wrong order", hint=3)
def swapped(dy, x, a, W1, W2):
    dx, dW1, db1, dW2, db2 = made(dy, x, a, W1, W2)
    return dx, dW2, db2, dW1, db1


# %% other right solutions
@also_right
def with_einsum(g, x, a, w, v):
    gate = np.where(a > 0, g @ v.T, 0).astype(g.dtype)
    return (np.einsum("nf,df->nd", gate, w), np.einsum("nd,nf->df", x, gate), np.einsum("nf->f", gate),
            np.einsum("nf,nd->fd", a * (a > 0), g), np.einsum("nd->d", g))


@also_right
def with_loops(dy, x, a, W1, W2):
    dx, dW1, db1, dW2, db2 = (np.zeros_like(one) for one in (x, W1, W1[0], W2, W2[0]))
    for n in range(len(x)):
        da = (W2 @ dy[n]) * (a[n] > 0)
        dx[n] = W1 @ da
        dW1 += np.outer(x[n], da)
        db1 += da
        dW2 += np.outer(np.maximum(a[n], 0), dy[n])
        db2 += dy[n]
    return dx, dW1, db1, dW2, db2
