"""Long short-term memory (Hochreiter and Schmidhuber 1997, https://doi.org/10.1162/neco.1997.9.8.1735): one step, and the layer."""

from typing import NamedTuple

from minitransformer.backend import Array, Generator, module_of
from minitransformer.dispatch import replaceable
from minitransformer.zoo.recurrent.layer import OneDirection
from minitransformer.zoo.sigmoid import sigmoid


class LSTMStepCache(NamedTuple):
    state: Array    # (B, 2H) before the step: h, then c
    weight: Array   # (H, 4H)
    i: Array        # (B, H) input gate: how much of g enters the cell
    f: Array        # (B, H) forget gate: how much of c stays
    g: Array        # (B, H) the candidate
    o: Array        # (B, H) output gate: how much of the cell is shown
    tanh: Array     # (B, H) tanh of the cell after the step


@replaceable
def lstm_step_forward(z: Array, state: Array, weight: Array) -> tuple[Array, LSTMStepCache]:
    """The state (B, 2H), h and c side by side, after one step: z (B, 4H), what it reads; weight U (H, 4H).

        i, f, o = sigmoid(z + h U) in their quarters    g = tanh(z + h U) in its own
        c' = f c + i g    h' = o tanh(c')

    With the forget gate of Gers et al. 2000 (https://doi.org/10.1162/089976600300015015) and without peepholes. As in
    PyTorch, the four are in the order i, f, g, o.
    """
    xp, size = module_of(z), len(weight)
    h, c = state[:, :size], state[:, size:]
    a = z + h @ weight
    i, f, o = (sigmoid(a[:, k * size:(k + 1) * size]) for k in (0, 1, 3))
    g = xp.tanh(a[:, 2 * size:3 * size])
    c = f * c + i * g
    tanh = xp.tanh(c)
    return xp.concatenate([o * tanh, c], axis=1), LSTMStepCache(state, weight, i, f, g, o, tanh)


@replaceable
def lstm_step_backward(dafter: Array, cache: LSTMStepCache) -> tuple[Array, Array, Array]:
    """Returns dz, dstate, dU: the forward from its last line to its first, with sigmoid' = s (1 - s), tanh' = 1 - tanh^2.

    The cell is used by the next step and, through h' = o tanh(c'), outside: dc' gains dh' o (1 - tanh^2).
    c' = f c + i g gives di = dc' g, df = dc' c, dg = dc' i, and dc = dc' f, which no weight touches: through this product
    a gradient survives many steps.
    """
    state, weight, i, f, g, o, tanh = cache
    xp, size = module_of(dafter), len(weight)
    h, c = state[:, :size], state[:, size:]
    dh, dc = dafter[:, :size], dafter[:, size:]
    dc = dc + dh * o * (1 - tanh * tanh)
    dz = xp.concatenate([dc * g * i * (1 - i), dc * c * f * (1 - f), dc * i * (1 - g * g), dh * tanh * o * (1 - o)], axis=1)
    return dz, xp.concatenate([dz @ weight.T, dc * f], axis=1), h.T @ dz


class LSTM(OneDirection):
    """Gates i, f, o and candidate g as above: x (B, T, d_in), W (d_in, 4H), U (H, 4H); the state is h and c (B, 2H).

    Each quarter of U begins orthogonal; W is Xavier's; the bias begins at 0, and at 1 for the forget gate: a cell that
    forgets from the start never learns to remember (Jozefowicz et al. 2015,
    https://proceedings.mlr.press/v37/jozefowicz15.html).
    """

    gates, parts = 4, 2
    stepwise = True
    step = lstm_step_forward, lstm_step_backward

    def __init__(self, d_in: int, hidden_size: int, rng: Generator | None = None,
                 dropout: float = 0.0):
        super().__init__(d_in, hidden_size, rng, dropout)
        self.input.bias.data[hidden_size:2 * hidden_size] = 1
