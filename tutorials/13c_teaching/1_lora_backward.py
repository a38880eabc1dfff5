"""The gradient of an adapter

A trained matrix W stays as it is, and a detour of two small matrices is added to it: y = x W + scale
(x A) B, where A has only r columns. Derive the gradients of x, A and B. W gets none.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def lora_backward(dy, x, W, A, B, scale):
    """dy: (..., d_out); x: (..., d_in); W: (d_in, d_out); A: (d_in, r); B: (r, d_out).
    Returns dx (..., d_in), dA (d_in, r) and dB (r, d_out).
    """
    # your code: chapter 1's backward, twice along the detour; x is used in two places
    rows, drows = x.reshape(-1, len(W)), scale * dy.reshape(-1, W.shape[1])
    dh = drows @ B.T
    dA = rows.T @ dh
    dB = (rows @ A).T @ drows
    dx = dy @ W.T + (dh @ A.T).reshape(x.shape)
    return dx, dA, dB
    # end of your code


# %% what it is called with
returns = "dx dA dB"
section = "A detour beside a matrix"
stars, minutes = 2, 20


def case(rng, N, T, d_in, d_out, r):
    return made(rng, (N, T), d_in + 3, d_out + 3, r)


@edge("rows without a batch, and a detour of width 1")
def one(rng, N, d_in, d_out):
    return made(rng, (N,), d_in + 3, d_out + 3, 1)


@edge("B is 0, as before the first step")
def before_the_first_step(rng, N, T, d_in, d_out, r):
    dy, x, W, A, B, scale = made(rng, (N, T), d_in + 3, d_out + 3, r)
    return dy, x, W, A, 0 * B, scale


@edge("four axes")
def four_axes(rng, A, N, T, d_in, d_out, r):
    return made(rng, (A, N, T), d_in + 3, d_out + 3, r)


def made(rng, rows, d_in, d_out, r):
    draw = rng.standard_normal
    dy, x, W = draw((*rows, d_out)), draw((*rows, d_in)), draw((d_in, d_out))
    return dy, x, W, draw((d_in, r)), draw((r, d_out)), float(rng.uniform(1.5, 4))


def loss(dy, x, W, A, B, scale):
    return lambda x, A, B: (dy * (x @ W + scale * (x @ A) @ B)).sum(), [x, A, B]


@invariant("A and B can trade a factor: sum(A dA) and sum(B dB) must be equal")
def traded(answer, dy, x, W, A, B, scale):
    return (A * answer[1]).sum() - (B * answer[2]).sum()


# %% hints
hints = (
    "With h = x A, the detour is scale h B. Which gradients does its last product have? And which "
    "does the product before it have, now that you know dh?",
    "dh = scale dy B^T. Then A has the gradient x^T dh, and B has h^T times scale dy, both summed "
    "over all rows. x was used by W and by A.",
    "dx = dy @ W.T + ___",
)


# %% mistakes
def parts(dy, x, W, A, B, scale):
    rows, drows = x.reshape(-1, len(W)), dy.reshape(-1, W.shape[1])
    return rows, drows, scale * drows @ B.T


def answer(dy, x, W, A, B, scale):
    rows, drows, dh = parts(dy, x, W, A, B, scale)
    return dy @ W.T + (dh @ A.T).reshape(x.shape), rows.T @ dh, scale * (rows @ A).T @ drows


@mistake("dx lacks the detour: x went through A and B, too")
def dx_without_detour(dy, x, W, A, B, scale):
    _dx, dA, dB = answer(dy, x, W, A, B, scale)
    return dy @ W.T, dA, dB


@mistake("dx has only the detour: x went through W, which is frozen but still passes gradients on")
def dx_without_w(dy, x, W, A, B, scale):
    _dx, dA, dB = answer(dy, x, W, A, B, scale)
    return scale * (dy @ B.T @ A.T), dA, dB


@mistake("scale is missing everywhere: it multiplies the detour")
def no_scale(dy, x, W, A, B, scale):
    return answer(dy, x, W, A, B, 1.0)


@mistake("scale is missing from dA and dB, but the detour was multiplied by it")
def no_scale_for_matrices(dy, x, W, A, B, scale):
    dx, dA, dB = answer(dy, x, W, A, B, scale)
    return dx, dA / scale, dB / scale


@mistake("scale is missing from the detour's part of dx")
def no_scale_for_dx(dy, x, W, A, B, scale):
    _dx, dA, dB = answer(dy, x, W, A, B, scale)
    return dy @ W.T + dy @ B.T @ A.T, dA, dB


@mistake("scale is missing from dB")
def no_scale_for_b(dy, x, W, A, B, scale):
    dx, dA, dB = answer(dy, x, W, A, B, scale)
    return dx, dA, dB / scale


@mistake("scale is missing from dA")
def no_scale_for_a(dy, x, W, A, B, scale):
    dx, dA, dB = answer(dy, x, W, A, B, scale)
    return dx, dA / scale, dB


@mistake("scale multiplies all of dx: W's part has no scale")
def scale_for_w(dy, x, W, A, B, scale):
    _dx, dA, dB = answer(dy, x, W, A, B, scale)
    return scale * (dy @ W.T + dy @ B.T @ A.T), dA, dB


@mistake("scale is applied twice in the detour")
def scale_twice(dy, x, W, A, B, scale):
    return answer(dy, x, W, A, B, scale * scale)


@mistake("dA and dB are swapped: they are returned in the wrong order")
def swapped(dy, x, W, A, B, scale):
    dx, dA, dB = answer(dy, x, W, A, B, scale)
    return dx, dB, dA


@mistake("dA and dB are means over the rows, not sums")
def means(dy, x, W, A, B, scale):
    dx, dA, dB = answer(dy, x, W, A, B, scale)
    return dx, dA / (x.size // x.shape[-1]), dB / (x.size // x.shape[-1])


@mistake("only the last row counts in dA and dB: every row used A and B")
def last_row(dy, x, W, A, B, scale):
    dx, _dA, _dB = answer(dy, x, W, A, B, scale)
    _dx, dA, dB = answer(dy.reshape(-1, dy.shape[-1])[-1:], x.reshape(-1, x.shape[-1])[-1:], W, A, B, scale)
    return dx, dA, dB


# %% other right solutions
@also_right
def with_einsum(g, x, W, A, B, alpha):
    h = np.einsum("...i,ir->...r", x, A)
    dh = alpha * np.einsum("...o,ro->...r", g, B)
    dx = np.einsum("...o,io->...i", g, W) + np.einsum("...r,ir->...i", dh, A)
    flat, flat_h, flat_dh, flat_g = (one.reshape(-1, one.shape[-1]) for one in (x, h, dh, g))
    return dx, flat.T @ flat_dh, alpha * flat_h.T @ flat_g


@also_right
def from_the_merged_matrix(dy, x, W, A, B, scale):
    dx = dy @ (W + scale * A @ B).T
    dmerged = np.tensordot(x, dy, axes=(range(x.ndim - 1), range(x.ndim - 1)))    # (d_in, d_out)
    return dx, scale * dmerged @ B.T, scale * A.T @ dmerged
