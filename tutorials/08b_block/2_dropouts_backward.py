"""Two dropouts, two masks

A layer drops twice: h = drop(x), then y = drop(h W). `keep1` and `keep2` are True where a number was kept; what is kept is
divided by 1 - rate. Return the gradients of x and W. (Multiply by a mask first, then divide: a bool array divided by a number is
float64.)
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def dropouts_backward(dy, x, W, keep1, keep2, rate):
    """dy, x: (..., D); W: (D, D); keep1, keep2: bool (..., D). Returns dx (..., D) and dW (D, D)."""
    # your code: make h again, then read the forward from the bottom up
    h = x * keep1 / (1 - rate)
    dz = dy * keep2 / (1 - rate)
    dh = dz @ W.T
    dx = dh * keep1 / (1 - rate)
    D = W.shape[0]
    dW = h.reshape(-1, D).T @ dz.reshape(-1, D)
    return dx, dW
    # end of your code


# %% what it is called with
returns = "dx dW"
section = "Dropout: a mask belongs to one call"
stars, minutes = 2, 10


def case(rng, B, T, D):
    return made(rng, (B, T, D))


@edge("rows without a batch")
def rows(rng, N, D):
    return made(rng, (N, D))


@edge("four axes")
def four_axes(rng, A, B, T, D):
    return made(rng, (A, B, T, D))


def made(rng, shape):
    rate = float(rng.uniform(0.1, 0.6))
    keep1, keep2 = rng.random((2, *shape)) >= rate
    keep1.flat[:2], keep2.flat[:2] = (True, False), (False, True)    # never equal
    dy, x = rng.standard_normal((2, *shape))
    return dy, x, rng.standard_normal((shape[-1], shape[-1])), keep1, keep2, rate


def loss(dy, x, W, keep1, keep2, rate):
    return lambda x, W: (dy * (x * keep1 / (1 - rate) @ W) * keep2 / (1 - rate)).sum(), [x, W]


@invariant("a number of x that was dropped changes nothing: its dx must be 0")
def dropped(answer, dy, x, W, keep1, keep2, rate):
    return np.where(keep1, 0, answer[0])


# %% hints
hints = (
    "A number of x was dropped. If it changes, what happens to y? So what must its dx be? Which mask knows that it was dropped?",
    "Each dropout multiplies by its own mask and by 1 / (1 - rate), in backward as in forward; between them is a matrix product.",
    "dx = dh * ___ / (1 - rate)",
)


# %% mistakes
def backward(dy, x, W, first, second, first_forward):
    """With the masks that each step multiplies by."""
    h, dz = x * first_forward, dy * second
    return (dz @ W.T) * first, h.reshape(-1, len(W)).T @ dz.reshape(-1, len(W))


@mistake("dx is multiplied by the second dropout's mask: each dropout needs its own")
def last_mask(dy, x, W, keep1, keep2, rate):
    first, second = keep1 / (1 - rate), keep2 / (1 - rate)
    return backward(dy, x, W, second, second, first)


@mistake("the two masks are swapped: the second dropout comes first in backward")
def exchanged(dy, x, W, keep1, keep2, rate):
    first, second = keep1 / (1 - rate), keep2 / (1 - rate)
    return backward(dy, x, W, second, first, first)


@mistake("backward only rescales by 1 / (1 - rate): the masks are never applied")
def rescaled(dy, x, W, keep1, keep2, rate):
    scale = np.full(dy.shape, 1 / (1 - rate))
    return backward(dy, x, W, scale, scale, keep1 * scale)


@mistake("the masks are applied without their scale 1 / (1 - rate)")
def unscaled(dy, x, W, keep1, keep2, rate):
    return backward(dy, x, W, keep1, keep2, keep1)


@mistake("the scale 1 / (1 - rate) is missing from the gradients dz and dh, though h has it")
def unscaled_gradients(dy, x, W, keep1, keep2, rate):
    return backward(dy, x, W, keep1, keep2, keep1 / (1 - rate))


@mistake("the scale is upside down: 1 - rate, not 1 / (1 - rate)")
def wrong_scale(dy, x, W, keep1, keep2, rate):
    return backward(dy, x, W, keep1 * (1 - rate), keep2 * (1 - rate), keep1 * (1 - rate))


@mistake("the scale is 1 / rate: what is kept, 1 - rate of all, is divided by 1 - rate")
def by_rate(dy, x, W, keep1, keep2, rate):
    return backward(dy, x, W, keep1 / rate, keep2 / rate, keep1 / rate)


@mistake("dW uses x, not h: the product received what was left after the first dropout")
def x_for_h(dy, x, W, keep1, keep2, rate):
    first, second = keep1 / (1 - rate), keep2 / (1 - rate)
    return backward(dy, x, W, first, second, np.ones_like(x))


@mistake("the second dropout is skipped: dy goes to the product unchanged")
def second_skipped(dy, x, W, keep1, keep2, rate):
    first = keep1 / (1 - rate)
    return backward(dy, x, W, first, np.ones_like(dy), first)


@mistake("the first dropout is skipped: dx is what comes out of the product")
def first_skipped(dy, x, W, keep1, keep2, rate):
    return backward(dy, x, W, np.ones_like(dy), keep2 / (1 - rate), keep1 / (1 - rate))


@mistake("W is not transposed in dx: a square W keeps the shape")
def untransposed(dy, x, W, keep1, keep2, rate):
    dx, _ = dropouts_backward(dy, x, W.T, keep1, keep2, rate)
    return dx, dropouts_backward(dy, x, W, keep1, keep2, rate)[1]


@mistake("dW uses dy, not dz: the second dropout comes after the product")
def weight_of_dy(dy, x, W, keep1, keep2, rate):
    h = x * keep1 / (1 - rate)
    return dropouts_backward(dy, x, W, keep1, keep2, rate)[0], h.reshape(-1, len(W)).T @ dy.reshape(-1, len(W))


@mistake("dW is transposed: a square W keeps the shape")
def weight_transposed(dy, x, W, keep1, keep2, rate):
    dx, dW = dropouts_backward(dy, x, W, keep1, keep2, rate)
    return dx, dW.T.copy()


@mistake("dx lacks the scale 1 / (1 - rate) of the first dropout")
def dx_unscaled(dy, x, W, keep1, keep2, rate):
    first, second = keep1 / (1 - rate), keep2 / (1 - rate)
    return backward(dy, x, W, keep1, second, first)


@mistake("dW is made from an h without the scale 1 / (1 - rate)")
def h_unscaled(dy, x, W, keep1, keep2, rate):
    first, second = keep1 / (1 - rate), keep2 / (1 - rate)
    return backward(dy, x, W, first, second, keep1)


@mistake("dz lacks the scale 1 / (1 - rate) of the second dropout")
def dz_unscaled(dy, x, W, keep1, keep2, rate):
    first = keep1 / (1 - rate)
    return backward(dy, x, W, first, keep2, first)


@mistake("the first dropout only rescales dx: its mask is not applied")
def first_rescaled(dy, x, W, keep1, keep2, rate):
    first, second = keep1 / (1 - rate), keep2 / (1 - rate)
    return backward(dy, x, W, np.full(x.shape, 1 / (1 - rate)), second, first)


@mistake("dx is multiplied by both masks: the second one was already applied to dy")
def both_masks(dy, x, W, keep1, keep2, rate):
    first, second = keep1 / (1 - rate), keep2 / (1 - rate)
    return backward(dy, x, W, first * second, second, first)


@mistake("the masks are the wrong way round: True means kept")
def inverted(dy, x, W, keep1, keep2, rate):
    return dropouts_backward(dy, x, W, ~keep1, ~keep2, rate)


@mistake("h is made with the second dropout's mask: the first one came before the product")
def h_of_second(dy, x, W, keep1, keep2, rate):
    first, second = keep1 / (1 - rate), keep2 / (1 - rate)
    return backward(dy, x, W, first, second, second)


# %% other right solutions
@also_right
def with_masks(g, a, weight, kept_first, kept_second, p):
    first, second = (kept.astype(g.dtype) / (1 - p) for kept in (kept_first, kept_second))
    g = g * second
    return first * np.einsum("...k,dk->...d", g, weight), np.tensordot(first * a, g, (range(a.ndim - 1),) * 2)


@also_right
def with_zeros(dy, x, W, keep1, keep2, rate):
    scale = 1 / (1 - rate)
    dz, h = scale * dy, scale * x
    dz[~keep2], h[~keep1] = 0, 0
    dx = scale * (dz @ W.T)
    dx[~keep1] = 0
    return dx, sum(np.outer(h[row], dz[row]) for row in np.ndindex(x.shape[:-1]))
