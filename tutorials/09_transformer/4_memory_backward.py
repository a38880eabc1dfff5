"""The gradient of the memory

This is a decoder of two layers without its nonlinear parts. Layer n computes x = x + p[n] (memory V[n]), where p[n] is its
attention, and then x = x + x U[n], in place of a feed-forward network. The output of layer 1, the last one, is y. Return the
gradients of the x that goes into layer 0, and of the memory. Each p[n] is given and constant.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def memory_backward(dy, p, V, U):
    """dy: (B, T_q, D); p: (2, B, T_q, T_k); V, U: (2, D, D). Returns dx (B, T_q, D) and dmemory (B, T_k, D)."""
    # your code: which layer comes first on the way back, and who else has read the memory?
    middle = dy + dy @ U[1].T
    of_last = p[1].swapaxes(-1, -2) @ middle @ V[1].T
    dx = middle + middle @ U[0].T
    of_first = p[0].swapaxes(-1, -2) @ dx @ V[0].T
    return dx, of_first + of_last
    # end of your code


# %% what it is called with
returns = "dx dmemory"
section = "The way back to the encoder"
stars, minutes = 2, 20


def case(rng, B, T_q, T_k, D):
    p = rng.random((2, B, T_q, T_k))
    V, U = rng.standard_normal((2, 2, D, D)) / D ** 0.5
    return rng.standard_normal((B, T_q, D)), p / p.sum(axis=-1, keepdims=True), V, U


@edge("one text of one token to read")
def one_token(rng, T_q, D):
    return case(rng, 1, T_q, 1, D)


def loss(dy, p, V, U):
    def after(x, memory):
        for p_n, V_n, U_n in zip(p, V, U):
            x = x + p_n @ (memory @ V_n)
            x = x + x @ U_n
        return (dy * x).sum()
    D = dy.shape[-1]
    return after, [0 * dy, np.zeros((dy.shape[0], p.shape[-1], D))]    # linear: its slope is the same everywhere


@invariant("each row of p sums to 1, so dmemory, summed over the source, must not depend on p")
def shares(answer, dy, p, V, U):
    total, dx = 0, dy
    for n in reversed(range(len(p))):
        dx = dx + dx @ U[n].T
        total = total + dx.sum(axis=1) @ V[n].T
    return answer[1].sum(axis=1) - total


# %% hints
hints = (
    "Layer 0 and layer 1 both read the memory. If it is nudged, in how many places does the loss feel it?",
    "Walk from the last layer to the first. In each, first add to dx what comes through U, then add p^T dx V^T to dmemory.",
    "of_first = p[0].swapaxes(-1, -2) @ ___ @ V[0].T",
)


# %% mistakes
def walk(dy, p, V, U, order=None, step=None, transposed=True, through=True):
    """[the memory's gradient from each layer], and dx."""
    dx, parts = dy, []
    for n in reversed(range(len(p))) if order is None else order:
        before = dx
        if through:
            dx = dx + dx @ (U[n].T if transposed else U[n])
        parts.append(p[n].swapaxes(-1, -2) @ (dx if step is None else step(before, dx)) @ V[n].T)
    return dx, parts


@mistake("only the last layer's part reaches the memory: every layer has read it")
def last_only(dy, p, V, U):
    dx, parts = walk(dy, p, V, U)
    return dx, parts[0]


@mistake("each layer overwrites dmemory, so only the first layer's part is left: add the parts up")
def overwritten(dy, p, V, U):
    dx, parts = walk(dy, p, V, U)
    return dx, parts[-1]


@mistake("the parts of the layers are averaged: the memory's gradient is their sum")
def averaged(dy, p, V, U):
    dx, parts = walk(dy, p, V, U)
    return dx, sum(parts) / len(parts)


@mistake("the layers are walked from the first to the last: backward begins with the last one")
def forwards(dy, p, V, U):
    dx, parts = walk(dy, p, V, U, order=range(len(p)))
    return dx, sum(parts)


@mistake("every layer gets dy: on the way down, each layer changes it")
def dy_everywhere(dy, p, V, U):
    _, parts = walk(dy, p, V, U, step=lambda before, dx: dy)
    return walk(dy, p, V, U)[0], sum(parts)


@mistake("within a layer, the memory's part is taken before dx goes through U: what came last in forward comes first")
def too_early(dy, p, V, U):
    dx, parts = walk(dy, p, V, U, step=lambda before, dx: before)
    return dx, sum(parts)


@mistake("U is not transposed")
def u_untransposed(dy, p, V, U):
    dx, parts = walk(dy, p, V, U, transposed=False)
    return dx, sum(parts)


@mistake("V is not transposed")
def v_untransposed(dy, p, V, U):
    dx, parts = walk(dy, p, V.swapaxes(-1, -2), U)
    return dx, sum(parts)


@mistake("U is skipped: dx goes both through it and around it")
def around_only(dy, p, V, U):
    dx, parts = walk(dy, p, V, U, through=False)
    return dx, sum(parts)


@mistake("the residual is skipped: dx goes both through U and around it")
def through_only(dy, p, V, U):
    dx, dmemory = dy, 0
    for n in reversed(range(len(p))):
        dx = dx @ U[n].T
        dmemory = dmemory + p[n].swapaxes(-1, -2) @ dx @ V[n].T
    return dx, dmemory


@mistake("V is missing from the memory's gradient")
def without_v(dy, p, V, U):
    dx, parts = walk(dy, p, np.broadcast_to(np.eye(V.shape[1], dtype=V.dtype), V.shape), U)
    return dx, sum(parts)


@mistake("dx and dmemory are swapped: they are returned in the wrong order")
def swapped(dy, p, V, U):
    dx, parts = walk(dy, p, V, U)
    return sum(parts), dx


# %% other right solutions
@also_right
def recursive(dy, p, V, U):
    if not len(p):
        return dy, 0
    last = dy + dy @ U[-1].T
    dx, dmemory = recursive(last, p[:-1], V[:-1], U[:-1])
    return dx, dmemory + np.einsum("btu,btd,ed->bue", p[-1], last, V[-1])


@also_right
def all_dx_first(dy, p, V, U):
    after = [dy]
    for u in U[::-1]:
        after.append(after[-1] @ (np.eye(len(u), dtype=u.dtype) + u).T)
    parts = [np.einsum("btu,btd->bud", p_n, dx) @ v.T for p_n, dx, v in zip(p[::-1], after[1:], V[::-1])]
    return after[-1], sum(parts)
