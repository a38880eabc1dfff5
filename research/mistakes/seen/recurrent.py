"""Mistakes in recurrent networks: steps, the way through time, layers, two directions, and stacks."""

from research.mistakes.makers import RECURRENT, edited
from research.mistakes.words import MISSING, SIGN, SWAPPED, TWICE

STEP, TIME, LAYER = "rnn_step_backward", "through_time_backward", RECURRENT + "layer:OneDirection.read_backward"


def rnn(name, replaces, right, wrong, *says):
    return edited("rnn-" + name, replaces, right, wrong, "rnn", *says, in_model="" if "dropout" in name else "rnn-model")


def gru(name, right, wrong, *says):
    return edited("gru-" + name, "gru_step_backward", right, wrong, "gru", *says, in_model="gru-model")


def lstm(name, right, wrong, *says):
    return edited("lstm-" + name, "lstm_step_backward", right, wrong, "lstm", *says, in_model="lstm-model")


def both(name, right, wrong, *says):
    replaces = RECURRENT + "bidirectional:Bidirectional.read_backward"
    return edited("bidirectional-" + name, replaces, right, wrong, "bidirectional", *says, in_model="lstm-model")


def stacked(name, right, wrong, *says):
    replaces = RECURRENT + "stack:RecurrentStack.read_backward"
    return edited("recurrent-stack-" + name, replaces, right, wrong, "recurrent-stack", *says, in_model="" if name == "dropout" else "lstm-model")


MISTAKES = [
    rnn("tanh-forgotten", STEP, "dafter * (1 - after * after)", "dafter", ("tanh",), MISSING),
    rnn("square-forgotten", STEP, "after * after", "after", ("tanh",), ("square", "1 - h")),
    rnn("state-after", STEP, "h.T @ dz", "after.T @ dz", ("weight",), ("after",)),
    rnn("sign", STEP, "dafter * (1", "-dafter * (1", SIGN),
    rnn("weight-halved", STEP, "h.T @ dz", "h.T @ dz / 2", ("half", "halved")),
    rnn("truncated", TIME, "dstate = dstate + dstates[t]", "dstate = dstates[t]",
        ("state",), ("step", "truncat", "the term dstate")),
    rnn("weights-overwritten", TIME, "[total + one for total, one in zip(dweights, dstep)] if dweights else dstep", "dstep",
        ("first", "one position", "overwr", "the term total")),
    rnn("positions-reversed", TIME, "dz[::-1]", "dz", ("revers", "order", "last to the first")),
    rnn("mask-forgotten", TIME, "None if cache.mask is None else cache.mask[t][:, None]", "None",
        ("mask", "padding"), MISSING),
    rnn("state-lost-at-padding", TIME, " + dstate * ~real", "", ("padding", "not real"), ("state",)),
    rnn("final-dropped", LAYER, "dstates[-1] += dfinal", "pass", ("final",), MISSING),
    rnn("final-doubled", LAYER, "+= dfinal", "+= dfinal + dfinal", ("final",), TWICE),
    rnn("final-at-the-start", LAYER, "dstates[-1] += dfinal", "dstates[0] += dfinal", ("final",), ("first",)),
    rnn("dropout-forgotten", LAYER, "dropout_backward(dx, cache.dropout)", "dx", ("dropout",), MISSING),
    gru("reset-derivative", "* r * (1 - r)", "", ("reset",), ("sigmoid", "derivative")),
    gru("update-derivative", "* u * (1 - u)", "* (1 - u)", ("update",), ("sigmoid", "derivative")),
    gru("candidate-derivative", " * (1 - n * n)", "", ("candidate", "tanh"), MISSING),
    gru("roles-swapped", "dafter * (1 - u) *", "dafter * u *", ("u",), ("1 - u", *SWAPPED)),
    gru("direct-path", "dafter * u + ", "", ("direct", "path", "dafter u"), MISSING),
    gru("gates-path", " + dproduct @ weight.T", "", ("path", "gates", "dproduct weight^T"), MISSING),
    gru("reset-ignored", "dz_n * r", "dz_n", ("reset",), MISSING),
    gru("gates-exchanged", "[dz_r, dz_u, dz_n]", "[dz_u, dz_r, dz_n]", ()),
    gru("bias", "dp.sum(axis=0)", "dz_n.sum(axis=0)", ("bias", "dz_n is used where dp"), ("r", "reset")),
    lstm("input-derivative", "dc * g * i * (1 - i)", "dc * g", ("input gate",), ("sigmoid",)),
    lstm("forget-derivative", "dc * c * f * (1 - f)", "dc * c * (1 - f * f)", ("forget gate",), ("sigmoid", "tanh")),
    lstm("output-derivative", "dh * tanh * o * (1 - o)", "dh * tanh * o", ("output gate",), ("sigmoid",)),
    lstm("candidate-derivative", "dc * i * (1 - g * g)", "dc * i * g * (1 - g)", ("candidate",), ("tanh", "sigmoid")),
    lstm("cell-from-hidden", " + dh * o * (1 - tanh * tanh)", "", ("cell",), ("hidden",), MISSING),
    lstm("cell-lost", "dc = dc + dh", "dc = dh", ("cell",), MISSING),
    lstm("cell-tanh", " * (1 - tanh * tanh)", "", ("cell",), ("tanh",)),
    lstm("cell-without-forget", "dc * f]", "dc]", ("cell",), ("forget", "f")),
    lstm("cell-cut", "dc * f]", "0 * dc]", ("cell",), MISSING),
    lstm("gates-swapped", "dc * g * i * (1 - i), dc * c * f * (1 - f)", "dc * c * f * (1 - f), dc * g * i * (1 - i)", SWAPPED),
    lstm("output-from-cell", "dh * tanh * o", "dh * c * o", ("output gate", "wrong")),
    both("dx-not-turned", "dx_back[:, ::-1]", "dx_back", ("revers", "turned")),
    both("dy-not-turned", "dy[:, ::-1, size:]", "dy[:, :, size:]", ("revers", "turned")),
    both("halves", "dfinal, dfinal_back = ", "dfinal_back, dfinal = ", SWAPPED),
    both("one-half-twice", "dy[:, ::-1, size:]", "dy[:, ::-1, :size]", ("half",)),
    stacked("dropout", "dropout_backward(dy, cache.dropout)", "dy", ("dropout",), MISSING),
    stacked("final-dropped", "(dx, dpart)", "(dx, 0 * dpart)", ("final",)),
]
