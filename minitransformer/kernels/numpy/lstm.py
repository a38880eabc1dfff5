"""An LSTM through time, in arrays that are made once for the whole sequence."""

from typing import NamedTuple

import numpy as np

from minitransformer.backend import Array
from minitransformer.replaceable import replaces
from minitransformer.rivals.recurrent.lstm import lstm_backward, lstm_forward


class LSTMSequenceCache(NamedTuple):
    state: Array          # (B, 2H) before the first step: h, then c
    weight: Array         # (H, 4H)
    mask: Array | None    # (T, B) bool
    states: Array         # (T, B, 2H) after each step
    gates: Array          # (T, B, 4H) i, f, g, o
    tanh: Array           # (T, B, H) of the cell


@replaces(lstm_forward, "numpy", "float32 float64", "b")
@np.errstate(over="ignore")
def lstm_forward_in_place(z, state, weight, mask=None) -> tuple[Array, LSTMSequenceCache]:
    """The gates i, f and o are 1 / (1 + exp(-a)), with the sign in the weight; where exp(-a) is infinite, a gate is 0."""
    length, batch, width = z.shape
    size = width // 4
    sign = np.repeat(np.array([-1, -1, 1, -1], z.dtype), size)
    gates, signed = z * sign, weight * sign
    states, tanh = np.empty((length, batch, 2 * size), z.dtype), np.empty((length, batch, size), z.dtype)
    product, entered, before = np.empty((batch, width), z.dtype), np.empty((batch, size), z.dtype), state
    for t in range(length):
        a, after = gates[t], states[t]
        a += np.matmul(before[:, :size], signed, out=product)
        g = a[:, 2 * size:3 * size]
        np.tanh(g, out=entered)
        np.exp(a, out=a)
        a += 1
        np.divide(1, a, out=a)
        g[...] = entered
        h, c = after[:, :size], after[:, size:]
        np.multiply(a[:, size:2 * size], before[:, size:], out=c)
        c += np.multiply(a[:, :size], g, out=entered)
        np.tanh(c, out=tanh[t])
        np.multiply(a[:, 3 * size:], tanh[t], out=h)
        if mask is not None:
            np.copyto(after, before, where=~mask[t][:, None])
        before = after
    return states, LSTMSequenceCache(state, weight, mask, states, gates, tanh)


@replaces(lstm_backward, "numpy", "float32 float64", "bf")
def lstm_backward_in_place(dstates, cache) -> tuple[Array, Array, Array]:
    """As lstm_step_backward, from the last step to the first; the weight's gradient is one product over all steps."""
    state, weight, mask, states, gates, tanh = cache
    length, batch, width = gates.shape
    size, dtype = width // 4, np.result_type(dstates, gates)
    dz, transposed = np.empty(gates.shape, dtype), np.ascontiguousarray(weight.T)
    dstate, buffer = np.zeros((batch, 2 * size), dtype), np.empty((batch, size), dtype)
    dh, dc = dstate[:, :size], dstate[:, size:]
    for t in reversed(range(length)):
        a, d, before = gates[t], dz[t], states[t - 1] if t else state
        dstate += dstates[t]
        if mask is not None:
            real = mask[t][:, None]
            passed = dstate * ~real
            dstate *= real
        np.multiply(tanh[t], tanh[t], out=buffer)
        np.subtract(1, buffer, out=buffer)
        buffer *= a[:, 3 * size:]
        buffer *= dh
        dc += buffer
        np.multiply(a, a, out=d)
        np.subtract(a, d, out=d)                                    # s - s^2 of the sigmoids
        d_g, g = d[:, 2 * size:3 * size], a[:, 2 * size:3 * size]
        np.subtract(1, np.multiply(g, g, out=d_g), out=d_g)         # 1 - g^2 of the candidate
        d[:, :size] *= np.multiply(dc, g, out=buffer)
        d[:, size:2 * size] *= np.multiply(dc, before[:, size:], out=buffer)
        d_g *= np.multiply(dc, a[:, :size], out=buffer)
        d[:, 3 * size:] *= np.multiply(dh, tanh[t], out=buffer)
        np.matmul(d, transposed, out=dh)
        dc *= a[:, size:2 * size]
        if mask is not None:
            dstate += passed
    before = np.concatenate([state[None, :, :size], states[:-1, :, :size]]).reshape(-1, size)
    return dz, dstate, before.T @ dz.reshape(-1, width)
