"""Backward, the first half: through the weighted mean

The last line of the forward was y = p V. Return the gradients of the weights p and of the values V.
"""

import numpy as np

from minitransformer.learn import also_right, edge, invariant, mistake


# %% reference
def value_backward(dy, p, value):
    """dy: (..., T_q, d_v); p: (..., T_q, T_k); value: (..., T_k, d_v). Returns dp (..., T_q, T_k) and dvalue (..., T_k, d_v)."""
    # your code: y = p V is a matrix product, as in a linear layer
    dp = dy @ value.swapaxes(-1, -2)
    dvalue = p.swapaxes(-1, -2) @ dy
    return dp, dvalue
    # end of your code


# %% what it is called with
returns = "dp dvalue"
section = "Backward: the forward read upside down"
stars, minutes = 2, 15


def case(rng, B, H, T_q, T_k, d_v):
    p = rng.random((B, H, T_q, T_k))
    return rng.standard_normal((B, H, T_q, d_v)), p / p.sum(axis=-1, keepdims=True), rng.standard_normal((B, H, T_k, d_v))


@edge("as many queries as keys: a forgotten transpose keeps the shape")
def square(rng, B, T, d_v):
    p = rng.random((B, T, T))
    return rng.standard_normal((B, T, d_v)), p / p.sum(axis=-1, keepdims=True), rng.standard_normal((B, T, d_v))


def loss(dy, p, value):
    return lambda p, value: (dy * (p @ value)).sum(), [p, value]


@invariant("summed over the keys, dvalue must equal dy summed over the queries, because each query's weights sum to 1")
def total(answer, dy, p, value):
    return answer[1].sum(axis=-2) - dy.sum(axis=-2)


# %% hints
hints = (
    "How much of a query's dy reaches one key's value? If you add that up over all keys, how much of dy is it?",
    "As in chapter 1, where y = x W gave dx = dy W^T and dW = x^T dy. Here p is x, and V is W.",
    "dvalue = ___ @ dy",
)


# %% mistakes
def turned(x):
    return x.swapaxes(-1, -2)


@mistake("dp and dvalue are swapped: they are returned in the wrong order", hint=2)
def swapped(dy, p, value):
    return turned(p) @ dy, dy @ turned(value)


@mistake("p is not transposed in dvalue: with as many queries as keys the shape still fits", hint=2)
def untransposed(dy, p, value):
    return dy @ turned(value), p @ dy if p.shape[-1] == p.shape[-2] else turned(p) @ dy


@mistake("dvalue is a mean over the queries, not their sum", hint=1)
def mean(dy, p, value):
    return dy @ turned(value), turned(p) @ dy / dy.shape[-2]


@mistake("dvalue ignores the weights: every value gets the sum of dy", hint=2)
def unweighted(dy, p, value):
    return dy @ turned(value), np.ones_like(turned(p)) @ dy


@mistake("dp is multiplied by p already: that belongs to the softmax's backward", hint=2)
def with_p(dy, p, value):
    return p * (dy @ turned(value)), turned(p) @ dy


@mistake("dvalue is summed over the heads too: each head has values of its own", hint=1)
def heads_summed(dy, p, value):
    dvalue = turned(p) @ dy
    return dy @ turned(value), np.broadcast_to(dvalue.sum(axis=-3, keepdims=True), dvalue.shape).copy()


@mistake("dvalue has the wrong sign", hint=2)
def sign(dy, p, value):
    return dy @ turned(value), -turned(p) @ dy


@mistake("dvalue is divided by sqrt(d_v): the scale belongs to the scores only", hint=2)
def scaled(dy, p, value):
    return dy @ turned(value), turned(p) @ dy / float(np.sqrt(dy.shape[-1]))


@mistake("dp has gone through the softmax's backward already: that is the next step", hint=2)
def through_the_softmax(dy, p, value):
    dp = dy @ turned(value)
    return p * (dp - (dp * p).sum(axis=-1, keepdims=True)), turned(p) @ dy


# %% other right solutions
@also_right
def with_einsum(g, weights, v):
    return np.einsum("...qv,...kv->...qk", g, v), np.einsum("...qk,...qv->...kv", weights, g)


@also_right
def with_loops(dy, p, value):
    dp, dvalue = np.empty_like(p), np.zeros_like(value)
    for q in range(dy.shape[-2]):
        dp[..., q, :] = (value * dy[..., q, None, :]).sum(axis=-1)
        dvalue += p[..., q, :, None] * dy[..., q, None, :]
    return dp, dvalue
