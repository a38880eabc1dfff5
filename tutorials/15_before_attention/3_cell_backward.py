"""A step of an LSTM, backward

The forward has computed the new cell `c_new = f * c + i * g` and the new hidden state `h_new = o * tanh(c_new)`. The gates i,
f, o are sigmoids of their inputs a_i, a_f, a_o, and the candidate g is the tanh of a_g. You get the gradients with respect to
h_new and c_new, and the latter holds only what the next step sends back to the cell. Return the gradients with respect to the
four inputs and to c.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def cell_backward(dh, dc, c, i, f, g, o):
    """dh, dc: (B, H), of the new hidden state and the new cell; c: (B, H), the cell before; i, f, g, o: (B, H).

    Returns da_i, da_f, da_g, da_o, dbefore, all (B, H); dbefore belongs to c.
    """
    # your code: c_new is used twice. The slopes: s (1 - s) for a sigmoid, 1 - t^2 for tanh
    tanh = np.tanh(f * c + i * g)
    dcell = dc + dh * o * (1 - tanh ** 2)
    da_i = dcell * g * i * (1 - i)
    da_f = dcell * c * f * (1 - f)
    da_g = dcell * i * (1 - g ** 2)
    da_o = dh * tanh * o * (1 - o)
    return da_i, da_f, da_g, da_o, dcell * f
    # end of your code


# %% what it is called with
returns = "da_i da_f da_g da_o dbefore"
section = "A cell that is carried along"
stars, minutes = 2, 20


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def case(rng, B, H):
    dh, dc, c, a_i, a_f, a_g, a_o = rng.standard_normal((7, B, H))
    return dh, dc, c, sigmoid(a_i), sigmoid(a_f), np.tanh(a_g), sigmoid(a_o)


@edge("nothing comes back from the next step")
def last(rng, B, H):
    dh, dc, *others = case(rng, B, H)
    return dh, 0 * dc, *others


def loss(dh, dc, c, i, f, g, o):
    def of(a_i, a_f, a_g, a_o, c):
        after = sigmoid(a_f) * c + sigmoid(a_i) * np.tanh(a_g)
        return (dc * after + dh * sigmoid(a_o) * np.tanh(after)).sum()
    return of, [np.log(i / (1 - i)), np.log(f / (1 - f)), np.arctanh(g), np.log(o / (1 - o)), c]


@invariant("the input gate and the candidate are the factors of one product, so da_i (1 - g^2) must equal da_g g (1 - i)")
def factors(answer, dh, dc, c, i, f, g, o):
    return answer[0] * (1 - g ** 2) - answer[2] * g * (1 - i)


@invariant("the forget gate and the old cell are the factors of one product, so da_f must equal dbefore c (1 - f)")
def kept(answer, dh, dc, c, i, f, g, o):
    return answer[1] - answer[4] * c * (1 - f)


# %% hints
hints = (
    "Along which two paths does c_new reach the loss? What does each of them send back to it?",
    "Add to dc what comes through tanh and the output gate. Then each factor of a product gets the gradient times the other.",
    "da_g = dcell * ___",
)


# %% mistakes
def made(dh, dc, c, i, f, g, o, dcell=None, slopes=True, slope_g=None):
    tanh = np.tanh(f * c + i * g)
    dcell = dc + dh * o * (1 - tanh ** 2) if dcell is None else dcell(tanh)
    si, sf, so = (s * (1 - s) if slopes else 1.0 for s in (i, f, o))
    return (dcell * g * si, dcell * c * sf, dcell * i * (1 - g ** 2 if slope_g is None else slope_g),
            dh * tanh * so, dcell * f)


def without(answer, place, array):
    return *answer[:place], array, *answer[place + 1:]


@mistake("the cell gets only what the next step sends back: add what comes from h_new through o tanh(c_new)")
def next_step_alone(dh, dc, c, i, f, g, o):
    return made(dh, dc, c, i, f, g, o, dcell=lambda tanh: dc)


@mistake("the cell gets only what comes through the hidden state: add dc, the gradient from the next step")
def hidden_alone(dh, dc, c, i, f, g, o):
    return made(dh, dc, c, i, f, g, o, dcell=lambda tanh: dh * o * (1 - tanh ** 2))


@mistake("the output gate is missing on the way from the hidden state to the cell: multiply by o")
def no_output_gate(dh, dc, c, i, f, g, o):
    return made(dh, dc, c, i, f, g, o, dcell=lambda tanh: dc + dh * (1 - tanh ** 2))


@mistake("the slope of tanh is missing on the way from the hidden state to the cell: multiply by 1 - t^2")
def no_slope_of_cell(dh, dc, c, i, f, g, o):
    return made(dh, dc, c, i, f, g, o, dcell=lambda tanh: dc + dh * o)


@mistake("tanh is taken of the old cell c: take it of the new one, f c + i g")
def tanh_of_the_old(dh, dc, c, i, f, g, o):
    tanh = np.tanh(c)
    answer = made(dh, dc, c, i, f, g, o, dcell=lambda _tanh: dc + dh * o * (1 - tanh ** 2))
    return without(answer, 3, dh * tanh * o * (1 - o))


@mistake("the slopes of the three sigmoids are missing: multiply by s (1 - s)")
def no_slopes(dh, dc, c, i, f, g, o):
    return made(dh, dc, c, i, f, g, o, slopes=False)


@mistake("the candidate has the slope of a sigmoid: g is a tanh, so its slope is 1 - g^2")
def candidate_as_gate(dh, dc, c, i, f, g, o):
    return made(dh, dc, c, i, f, g, o, slope_g=g * (1 - g))


@mistake("the gradient of the forget gate has the new cell as a factor: f multiplied the old one, c")
def new_cell(dh, dc, c, i, f, g, o):
    answer = made(dh, dc, c, i, f, g, o)
    return without(answer, 1, answer[4] / f * (f * c + i * g) * f * (1 - f))


@mistake("the old cell gets all of the new cell's gradient: multiply it by the forget gate")
def nothing_forgotten(dh, dc, c, i, f, g, o):
    answer = made(dh, dc, c, i, f, g, o)
    return without(answer, 4, answer[4] / f)


@mistake("the gradients of input gate and forget gate are swapped: return da_i before da_f")
def swapped(dh, dc, c, i, f, g, o):
    da_i, da_f, *others = made(dh, dc, c, i, f, g, o)
    return da_f, da_i, *others


@mistake("the output gate's gradient is computed from the cell's: o multiplies tanh(c_new) in h_new, so it gets dh")
def output_from_cell(dh, dc, c, i, f, g, o):
    answer = made(dh, dc, c, i, f, g, o)
    return without(answer, 3, answer[4] / f * np.tanh(f * c + i * g) * o * (1 - o))


@mistake("the gradients stop at i, f, g and o: multiply by their slopes to reach the inputs a_i, a_f, a_g and a_o")
def no_slope_at_all(dh, dc, c, i, f, g, o):
    return made(dh, dc, c, i, f, g, o, slopes=False, slope_g=1.0)


@mistake("dc goes straight to the old cell: it belongs to c_new, so add it there and send the sum on to all four")
def past_the_cell(dh, dc, c, i, f, g, o):
    answer = hidden_alone(dh, dc, c, i, f, g, o)
    return without(answer, 4, answer[4] + dc)


# %% other right solutions
@also_right
def factor_by_factor(dhidden, dcell, cell, inn, forget, new, out):
    t = np.tanh(forget * cell + inn * new)
    total = dhidden * out
    total = dcell + total - total * t * t
    di, df, dg, do = total * new, total * cell, total * inn, dhidden * t
    return di * (inn - inn ** 2), df * (forget - forget ** 2), dg - dg * new ** 2, do * (out - out ** 2), forget * total


@also_right
def in_one_array(dh, dc, c, i, f, g, o):
    shown = np.tanh(i * g + c * f)
    d = dc + (1 - shown) * (1 + shown) * o * dh
    first = np.stack([g, c, i]) * np.stack([i * (1 - i), f * (1 - f), (1 - g) * (1 + g)]) * d
    return first[0], first[1], first[2], o * (1 - o) * shown * dh, d * f
