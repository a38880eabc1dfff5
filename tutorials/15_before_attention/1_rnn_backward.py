"""One step back through time

The network has computed h = tanh(z + before U), and the page calls your function once for each position, from the last to the
first. You get three gradients. `dy` is what h gets from its use outside the recurrence, `carried` is what the next step sent
back to h, and `dU` is the gradient of U from the later steps. Return the gradients with respect to z and to the state before,
and dU for the next call.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def rnn_backward(dy, carried, dU, h, before, U):
    """dy, carried, h, before: (B, H); dU, U: (H, H). Returns dz (B, H), dbefore (B, H), dU (H, H). Leave arguments unchanged."""
    # your code: what uses h? How often is U used?
    dh = dy + carried
    dz = dh * (1 - h * h)
    dbefore = dz @ U.T
    dU = dU + before.T @ dz
    return dz, dbefore, dU
    # end of your code


# %% what it is called with
returns = "dz dbefore dU"
section = "The same step, again and again"
stars, minutes = 2, 15


def case(rng, B, H):
    U, before = rng.standard_normal((H, H)) / H ** 0.5, np.tanh(rng.standard_normal((B, H)))
    h = np.tanh(0.7 * rng.standard_normal((B, H)) + before @ U)
    return rng.standard_normal((B, H)), rng.standard_normal((B, H)), rng.standard_normal((H, H)), h, before, U


@edge("the last position, with no later step to send anything back")
def last(rng, B, H):
    dy, carried, dU, h, before, U = case(rng, B, H)
    return dy, 0 * carried, 0 * dU, h, before, U


@edge("a state near -1 and 1, and large gradients")
def saturated(rng, B, H):
    dy, carried, dU, _h, before, U = case(rng, B, H)
    return 90 * dy, 90 * carried, dU, np.tanh(5 * rng.standard_normal((B, H))), before, U


def loss(dy, carried, dU, h, before, U):
    z = np.arctanh(h) - before @ U
    return lambda z, before, U: ((dy + carried) * np.tanh(z + before @ U)).sum() + (dU * U).sum(), [z, before, U]


@invariant("the step multiplies the state before it by U and nothing else, so dbefore must be dz U^T")
def before_alone(answer, dy, carried, dU, h, before, U):
    return answer[1] - answer[0] @ U.T


@invariant("this step must add before^T dz to dU")
def grows(answer, dy, carried, dU, h, before, U):
    return answer[2] - dU - before.T @ answer[0]


# %% hints
hints = (
    "With T = 2 and numbers instead of arrays, write the loss as a function of U. In how many places does U occur? And h_1?",
    "The gradient of h is the sum of dy and what comes back, and every step adds a product to dU. The slope of tanh is 1 - tanh^2.",
    "dh = dy + ___",
)


# %% mistakes
def made(dy, carried, dU, h, before, U, into=None, slope=None, back=None, total=None):
    dh = dy + carried if into is None else into
    dz = dh * (1 - h ** 2 if slope is None else slope)
    return dz, dz @ U.T if back is None else back(dh, dz), dU + before.T @ dz if total is None else total(dh, dz)


@mistake("what the next step sends back is missing: both its output and the next step use h, so add both gradients")
def outside_alone(dy, carried, dU, h, before, U):
    return made(dy, carried, dU, h, before, U, into=dy)


@mistake("dy is missing: both the next step and the output use h, so add both gradients")
def next_alone(dy, carried, dU, h, before, U):
    return made(dy, carried, dU, h, before, U, into=carried)


@mistake("what the next step sends back is added after the tanh: both gradients belong to h, so add them before the slope")
def added_late(dy, carried, dU, h, before, U):
    dz = dy * (1 - h * h) + carried
    return dz, dz @ U.T, dU + before.T @ dz


@mistake("dU is that of this step alone: every step uses U, so add it to what the later steps gave")
def one_step(dy, carried, dU, h, before, U):
    return made(dy, carried, dU, h, before, U, total=lambda dh, dz: before.T @ dz)


@mistake("dU is averaged with that of the later steps: add the gradients of all uses")
def averaged(dy, carried, dU, h, before, U):
    return made(dy, carried, dU, h, before, U, total=lambda dh, dz: (dU + before.T @ dz) / 2)


@mistake("dU pairs dz with the state after the step: the step multiplied U by the state before it")
def state_after(dy, carried, dU, h, before, U):
    return made(dy, carried, dU, h, before, U, total=lambda dh, dz: dU + h.T @ dz)


@mistake("this step's part of dU is transposed: it is before^T dz")
def turned(dy, carried, dU, h, before, U):
    return made(dy, carried, dU, h, before, U, total=lambda dh, dz: dU + dz.T @ before)


@mistake("the slope of tanh is missing: dz is the state's gradient times 1 - h^2")
def no_slope(dy, carried, dU, h, before, U):
    return made(dy, carried, dU, h, before, U, slope=1.0)


@mistake("the slope of tanh is taken at h, 1 - tanh(h)^2: h is already the tanh, so it is 1 - h^2")
def slope_twice(dy, carried, dU, h, before, U):
    return made(dy, carried, dU, h, before, U, slope=1 - np.tanh(h) ** 2)


@mistake("the slope of tanh is that of a sigmoid, h (1 - h): it is 1 - h^2")
def of_a_sigmoid(dy, carried, dU, h, before, U):
    return made(dy, carried, dU, h, before, U, slope=h * (1 - h))


@mistake("the gradient goes back through U: it has to go through the transpose, U^T")
def not_transposed(dy, carried, dU, h, before, U):
    return made(dy, carried, dU, h, before, U, back=lambda dh, dz: dz @ U)


@mistake("what goes back to the state before skips the tanh: multiply dz, not the gradient of h, by U^T")
def past_tanh(dy, carried, dU, h, before, U):
    return made(dy, carried, dU, h, before, U, back=lambda dh, dz: dh @ U.T)


@mistake("what the next step sends back is passed on past this step: it belongs to h, so add it to dy, before tanh and U")
def passed_on(dy, carried, dU, h, before, U):
    return made(dy, carried, dU, h, before, U, into=dy, back=lambda dh, dz: dz @ U.T + carried)


# %% other right solutions
@also_right
def with_einsum(outside, later, so_far, state, previous, weight):
    dz = outside * (1 - state ** 2) + later * (1 - state ** 2)
    return dz, np.einsum("bj,ij->bi", dz, weight), np.einsum("bi,bj->ij", previous, dz) + so_far


@also_right
def sentence_by_sentence(dy, carried, dU, h, before, U):
    dz, total = np.empty_like(h), dU.copy()
    for row in range(len(h)):
        dz[row] = (1 - h[row]) * (1 + h[row]) * (carried[row] + dy[row])
        total += np.outer(before[row], dz[row])
    return dz, (U @ dz.T).T, total
