"""An LSTM through time, in arrays that are made once for the whole sequence."""

from typing import NamedTuple

import numpy as np

from minitransformer.backend import Array
from minitransformer.replaceable import replaces, textbook_of
from minitransformer.zoo.recurrent.lstm import lstm_backward, lstm_forward


class LSTMSequenceCache(NamedTuple):
    state: Array          # (B, 2H) before the first step: h, then c
    weight: Array         # (H, 4H)
    mask: Array | None    # (T, B) bool
    states: Array         # (T, B, 2H) after each step
    gates: Array          # (T, B, 4H) i, f, g, o
    tanh: Array           # (T, B, H) of the cell


@replaces(lstm_forward, "numpy", "float32 float64", "b")
@np.errstate(over="ignore", under="ignore")
def lstm_forward_in_place(z, state, weight, mask=None) -> tuple[Array, LSTMSequenceCache]:
    """The gates i, f and o are 1 / (1 + exp(-a)), with the sign in the weight; where exp(-a) is infinite, a gate is 0."""
    length, batch, width = z.shape
    size = width // 4
    sign = np.repeat(np.array([-1, -1, 1, -1], z.dtype), size)
    gates, signed = z * sign, weight * sign
    states, tanh = np.empty((length, batch, 2 * size), z.dtype), np.empty((length, batch, size), z.dtype)
    before = state
    for t in range(length):
        a, after = gates[t], states[t]
        a += before[:, :size] @ signed
        g = np.tanh(a[:, 2 * size:3 * size])
        np.exp(a, out=a)
        a += 1
        np.divide(1, a, out=a)
        a[:, 2 * size:3 * size] = g
        h, c = after[:, :size], after[:, size:]
        np.multiply(a[:, size:2 * size], before[:, size:], out=c)
        c += a[:, :size] * g
        np.tanh(c, out=tanh[t])
        np.multiply(a[:, 3 * size:], tanh[t], out=h)
        if mask is not None:
            np.copyto(after, before, where=~mask[t][:, None])
        before = after
    return states, LSTMSequenceCache(state, weight, mask, states, gates, tanh)


@replaces(lstm_backward, "numpy", "float32 float64", "bf")
def lstm_backward_in_place(dstates, cache) -> tuple[Array, Array, Array]:
    """Like lstm_step_backward, from the last step to the first; the weight's gradient is one product over all steps."""
    if not isinstance(cache, LSTMSequenceCache):
        return textbook_of(lstm_backward)(dstates, cache)
    state, weight, mask, states, gates, tanh = cache
    length, batch, width = gates.shape
    size, dtype = width // 4, np.result_type(dstates, gates)
    dz, transposed = np.empty(gates.shape, dtype), np.ascontiguousarray(weight.T)
    dstate = np.zeros((batch, 2 * size), dtype)
    dh, dc = dstate[:, :size], dstate[:, size:]
    for t in reversed(range(length)):
        a, d, before = gates[t], dz[t], states[t - 1] if t else state
        i, f, g, o = (a[:, k * size:(k + 1) * size] for k in range(4))
        dstate += dstates[t]
        if mask is not None:
            real = mask[t][:, None]
            passed = dstate * ~real
            dstate *= real
        dc += dh * o * (1 - tanh[t] * tanh[t])
        np.multiply(a, a, out=d)
        np.subtract(a, d, out=d)                                    # s - s^2 of the sigmoids
        d[:, :size] *= dc * g
        d[:, size:2 * size] *= dc * before[:, size:]
        d[:, 2 * size:3 * size] = dc * i * (1 - g * g)
        d[:, 3 * size:] *= dh * tanh[t]
        np.matmul(d, transposed, out=dh)
        dc *= f
        if mask is not None:
            dstate += passed
    before = np.concatenate([state[None, :, :size], states[:-1, :, :size]]).reshape(-1, size)
    return dz, dstate, before.T @ dz.reshape(-1, width)
