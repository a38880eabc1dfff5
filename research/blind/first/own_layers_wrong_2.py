"""Own layers, each with one mistake in its backward (part 2)."""

from typing import NamedTuple

import numpy as np

from minitransformer import Layer, Parameter
from research.blind.first.parts import linear, normal, sigmoid, vector, weight


class SimpleRecurrence(Layer):
    """h_t = tanh(x_t W + h_(t-1) U + b), from a given first state."""

    def __init__(self, rng, d, h):
        self.w, self.u, self.b = weight(rng, d, h), weight(rng, h, h), vector(rng, h)

    def forward(self, x, h0):
        h, hs = h0, []
        for t in range(x.shape[1]):
            h = np.tanh(x[:, t] @ self.w.data + h @ self.u.data + self.b.data)
            hs.append(h)
        return np.stack(hs, axis=1), (x, h0, hs)

    def backward(self, dy, cache):
        x, h0, hs = cache
        dx, carry = np.zeros_like(x), np.zeros_like(h0)
        for t in reversed(range(len(hs))):
            before = hs[t - 1] if t > 0 else h0
            dh = dy[:, t] + carry
            da = dh * (1 - hs[t] * hs[t])
            self.w.grad += x[:, t].T @ da
            self.u.grad += before.T @ da
            self.b.grad += da.sum(axis=0)
            dx[:, t] = da @ self.w.data.T
            carry = da @ self.u.data.T
        return dx, carry


class GateWeights(NamedTuple):
    w: Parameter
    u: Parameter


class OwnGRUCell(Layer):
    """h' = (1 - z) n + z h with n = tanh(x Wn + (r h) Un) and gates z and r."""

    def __init__(self, rng, d, h):
        self.z, self.r, self.n = (GateWeights(weight(rng, d, h), weight(rng, h, h)) for _ in range(3))
        self.bias = vector(rng, h)

    def forward(self, x, h):
        z = sigmoid(x @ self.z.w.data + h @ self.z.u.data + self.bias.data)
        r = sigmoid(x @ self.r.w.data + h @ self.r.u.data)
        n = np.tanh(x @ self.n.w.data + (r * h) @ self.n.u.data)
        return (1 - z) * n + z * h, (x, h, z, r, n)

    def backward(self, dy, cache):
        x, h, z, r, n = cache
        dz = dy * (h - n)
        dn = dy * (1 - z)
        dh = dy * z
        an = dn * (1 - n * n)
        drh = an @ self.n.u.data.T
        dr = drh * h
        dh = dh + drh * r
        az = dz * z * (1 - z)
        ar = dr * r * (1 - r)
        self.n.w.grad[...] += x.T @ an
        self.n.u.grad[...] += (r * h).T @ an
        self.z.w.grad[...] += x.T @ az
        self.z.u.grad[...] += h.T @ az
        self.r.w.grad[...] += x.T @ ar
        self.r.u.grad[...] += h.T @ ar
        self.bias.grad += az.sum(axis=0)
        dh = dh + az @ self.z.u.data.T + ar @ self.r.u.data.T
        dx = an @ self.n.w.data.T + az @ self.z.w.data.T + ar @ self.r.w.data.T
        return dx, dh


class OwnLSTMCell(Layer):
    """One step: the output is the new hidden state and the new cell state, side by side."""

    def __init__(self, rng, d, h):
        self.x_part = linear(rng, d, 4 * h)
        self.u = weight(rng, h, 4 * h)

    def forward(self, x, h, c):
        a, cache_x = self.x_part.forward(x)
        i, f, o, g = np.split(a + h @ self.u.data, 4, axis=-1)
        i, f, o, g = sigmoid(i), sigmoid(f), sigmoid(o), np.tanh(g)
        c_new = f * c + i * g
        squashed = np.tanh(c_new)
        return np.concatenate([o * squashed, c_new], axis=-1), dict(
            x=cache_x, h=h, c=c, c_new=c_new, gates=(i, f, o, g), squashed=squashed)

    def backward(self, dy, cache):
        i, f, o, g = cache["gates"]
        squashed = cache["squashed"]
        dh, dc = np.split(dy, 2, axis=-1)
        do = dh * squashed
        dc = dc + dh * o * (1 - squashed * squashed)
        df = dc * cache["c"]
        di = dc * g
        dg = dc * i
        da = np.concatenate([di * i * (1 - i), df * f * (1 - f), do * o * (1 - o), dg * (1 - g * g)], axis=-1)
        self.u.grad += cache["h"].T @ da
        return self.x_part.backward(da, cache["x"]), da @ self.u.data.T, dc * f


class LeakyMemory(Layer):
    """h_t = a h_(t-1) + (1 - a) x_t with learnt a = sigmoid(alpha) for each channel."""

    def __init__(self, rng, d):
        self.alpha = vector(rng, d, 0.5)

    def forward(self, x):
        a = sigmoid(self.alpha.data)
        hs = [(1 - a) * x[:, 0]]
        for t in range(1, x.shape[1]):
            hs.append(a * hs[-1] + (1 - a) * x[:, t])
        return np.stack(hs, axis=1), (x, np.stack(hs, axis=1), a)

    def backward(self, dy, cache):
        x, h, a = cache
        before = np.concatenate([np.zeros_like(h[:, :1]), h[:, :-1]], axis=1)
        dh = np.zeros_like(dy)
        carry = 0
        for t in range(dy.shape[1] - 1, -1, -1):
            dh[:, t] = dy[:, t] + carry
            carry = a * dh[:, t]
        da = (dh * (before - x)).sum(axis=(0, 1))
        self.alpha.grad += da * a * (1 - a)
        return (1 - a) * dh


class OwnConv(Layer):
    """Convolution over time with an odd number of taps and zeros around: y_t = sum_j x_(t + j - r) W_j + b."""

    def __init__(self, rng, taps, d, e):
        self.kernel = Parameter(rng.standard_normal((taps, d, e)) / np.sqrt(taps * d))
        self.bias = vector(rng, e)

    def padded(self, x):
        r = len(self.kernel.data) // 2
        return np.pad(x, ((0, 0), (r, r), (0, 0)))

    def forward(self, x):
        z, t = self.padded(x), x.shape[1]
        y = self.bias.data
        for j, w in enumerate(self.kernel.data):
            y = y + z[:, j:j + t] @ w
        return y, x

    def backward(self, dy, cache):
        z, t = self.padded(cache), cache.shape[1]
        dz = np.zeros_like(z)
        for j, w in enumerate(self.kernel.data):
            self.kernel.grad[j] += np.einsum("btd,bte->de", z[:, j:j + t], dy)
            dz[:, j:j + t] += dy @ w.T
        self.bias.grad += dy.sum(axis=(0, 1))
        r = len(self.kernel.data) // 2
        return dz[:, r:r + t]


class CausalDepthwise(Layer):
    """Each channel has its own few weights for the present and the past: y_t = sum_j w_j x_(t - j)."""

    def __init__(self, rng, taps, d):
        self.w = weight(rng, taps, d)

    def forward(self, x):
        y = x * self.w.data[0]
        for j in range(1, len(self.w.data)):
            y[:, j:] = y[:, j:] + x[:, :-j] * self.w.data[j]
        return y, x

    def backward(self, dy, x):
        dx = dy * self.w.data[0]
        self.w.grad[0] += (dy * x).sum(axis=(0, 1))
        for j in range(1, len(self.w.data)):
            dx[:, :-j] += dy[:, j:] * self.w.data[j]
            self.w.grad[j] += (dy[:, j:] * x[:, :-j]).sum(axis=(0, 1))
        return dx


class StridedConv(Layer):
    """Windows of `size` steps, every `stride` steps, each through one matrix; the windows overlap."""

    def __init__(self, rng, size, stride, d, e):
        self.size, self.stride = size, stride
        self.w = weight(rng, size * d, e)

    def forward(self, x):
        starts = range(0, x.shape[1] - self.size + 1, self.stride)
        windows = [x[:, s:s + self.size].reshape(len(x), -1) for s in starts]
        return np.stack([window @ self.w.data for window in windows], axis=1), (x.shape, starts, windows)

    def backward(self, dy, cache):
        shape, starts, windows = cache
        dx = np.zeros(shape, dtype=dy.dtype)
        for i, s in enumerate(starts):
            self.w.grad += windows[i].T @ dy[:, i]
            dwindow = (dy[:, i] @ self.w.data.T).reshape(shape[0], self.size, shape[2])
            dx[:, s:s + self.size] += dwindow
        return dx


class GatedSum(Layer):
    """y_t = the sum up to t of g_s x_s, with g = sigmoid(x w): a memory that never forgets."""

    def __init__(self, rng, d):
        self.w = vector(rng, d, 0.2)

    def forward(self, x):
        g = sigmoid(x @ self.w.data)[..., None]
        return np.cumsum(g * x, axis=1), (x, g)

    def backward(self, dy, cache):
        x, g = cache
        later = np.cumsum(dy[:, ::-1], axis=1)[:, ::-1]
        dg = (later * x).sum(axis=-1, keepdims=True)
        da = dg * g * (1 - g)
        self.w.grad += (da * x).sum(axis=(0, 1))
        return later * g + da * self.w.data


class TimeMix(Layer):
    """A learnt mixture of each row and the row before it, then a matrix: (m x_t + (1 - m) x_(t-1)) W."""

    def __init__(self, rng, d, e):
        self.m, self.w = vector(rng, d, 0.5), weight(rng, d, e)

    def forward(self, x):
        before = np.zeros_like(x)
        before[:, 1:] = x[:, :-1]
        mixed = self.m.data * x + (1 - self.m.data) * before
        return mixed @ self.w.data, (x, before, mixed)

    def backward(self, dy, cache):
        x, before, mixed = cache
        self.w.grad += np.tensordot(mixed, dy, axes=([0, 1], [0, 1]))
        dmixed = dy @ self.w.data.T
        self.m.grad += np.sum(dmixed * (x - before), axis=(0, 1))
        dx = self.m.data * dmixed
        dx[:, :-1] += (1 - self.m.data) * dmixed[:, 1:]
        return dx


class MaskedMean(Layer):
    """The mean over the first `length` rows of each sequence, scaled by a vector."""

    def __init__(self, rng, d):
        self.scale = vector(rng, d, 1.0)

    def forward(self, x, lengths):
        real = np.arange(x.shape[1]) < lengths[:, None]
        mean = (x * real[..., None]).sum(axis=1) / lengths[:, None]
        return self.scale.data * mean, (mean, real, lengths)

    def backward(self, dy, cache):
        mean, real, lengths = cache
        self.scale.grad += (dy * mean).sum(axis=0)
        dmean = dy * self.scale.data
        return real[..., None] * (dmean / lengths[:, None])[:, None, :]


def rows_and_lengths(rng, s):
    return rng.standard_normal((s["B"], s["T"], s["D"])), 1 + np.arange(s["B"]) % (s["T"] - 1)


CASES = [
    {"right": lambda rng, s: SimpleRecurrence(rng, s["D"], s["H"]), "inputs": normal("B T D", "B H"),
     "sizes": dict(B=3, T=5, D=4, H=6), "wrong": [
        {"name": "recurrence-weight-from-new-state", "change": ("self.u.grad += before.T @ da", "self.u.grad += hs[t].T @ da"),
         "large": dict(B=16, T=24, D=32, H=28),
         "keywords": ["previous", "t-1", "t - 1", "stale", "new state", "off by one", "h_t", "earlier", "wrong state", "shift"],
         "truth": "The recurrent weight's gradient is formed with the new state h_t instead of the previous one, h_(t-1)."},
        {"name": "recurrence-carry-not-transposed", "change": ("carry = da @ self.u.data.T", "carry = da @ self.u.data"),
         "keywords": ["transpos"], "truth": "The gradient goes back to the previous state through U instead of its transpose."},
        {"name": "recurrence-carry-forgotten", "change": ("dh = dy[:, t] + carry", "dh = dy[:, t]"),
         "keywords": ["time", "carry", "next step", "later", "recurren", "truncat", "path", "through"],
         "truth": "The gradient that comes back from the next time step is left out: every step sees only its own "
         "output's gradient."},
        {"name": "recurrence-slope-of-tanh", "change": ("da = dh * (1 - hs[t] * hs[t])", "da = dh * (1 - hs[t])"),
         "keywords": ["slope", "tanh", "derivative", "1 - h"],
         "truth": "The slope of tanh is taken as 1 - h instead of 1 - h * h."},
    ]},
    {"right": lambda rng, s: OwnGRUCell(rng, s["D"], s["H"]), "inputs": normal("B D", "B H"), "sizes": dict(B=3, D=4, H=5),
     "wrong": [
        {"name": "gru-update-gate-difference-reversed", "change": ("dz = dy * (h - n)", "dz = dy * (n - h)"),
         "keywords": ["sign", "swap", "candidate", "n - h", "negat"],
         "truth": "The gradient of the update gate has the wrong sign: old state and candidate are swapped, n - h "
         "instead of h - n."},
        {"name": "gru-reset-path-to-state-forgotten", "change": ("dh = dh + drh * r", ""), "large": dict(B=16, D=32, H=28),
         "keywords": ["reset", "path", "missing", "candidate", "lacks"],
         "truth": "The gradient of the old state lacks the path through the reset product r * h in the candidate."},
        {"name": "gru-candidate-weight-without-reset",
         "change": ("self.n.u.grad[...] += (r * h).T @ an", "self.n.u.grad[...] += h.T @ an"),
         "keywords": ["reset", "r * h", "wrong input", "factor", "gate"],
         "truth": "The candidate's recurrent weight gets its gradient from h instead of from the reset state r * h."},
        {"name": "gru-candidate-and-gate-weights-swapped", "change": ("dn = dy * (1 - z)", "dn = dy * z"),
         "keywords": ["swap", "1 - z", "gate", "candidate", "factor"],
         "truth": "The candidate's gradient is weighted with z instead of 1 - z: the shares of candidate and old state "
         "are swapped."},
    ]},
    {"right": lambda rng, s: OwnLSTMCell(rng, s["D"], s["H"]), "inputs": normal("B D", "B H", "B H"), "sizes": dict(B=3, D=4, H=5),
     "wrong": [
        {"name": "lstm-output-gate-slope-of-tanh",
         "change": ("da = np.concatenate([di * i * (1 - i), df * f * (1 - f), do * o * (1 - o), dg * (1 - g * g)], axis=-1)",
                    "da = np.concatenate([di * i * (1 - i), df * f * (1 - f), do * (1 - o * o), dg * (1 - g * g)], axis=-1)"),
         "large": dict(B=16, D=32, H=28), "keywords": ["slope", "sigmoid", "tanh", "derivative", "output gate"],
         "truth": "The output gate, a sigmoid, gets the slope of tanh, 1 - o * o, instead of o * (1 - o)."},
        {"name": "lstm-forget-gate-from-new-cell", "change": ('df = dc * cache["c"]', 'df = dc * cache["c_new"]'),
         "keywords": ["stale", "new cell", "old", "previous", "cell state", "forget"],
         "truth": "The forget gate's gradient uses the new cell state instead of the old one."},
        {"name": "lstm-cell-slope-forgotten", "change": ("dc = dc + dh * o * (1 - squashed * squashed)", "dc = dc + dh * o"),
         "keywords": ["slope", "tanh", "derivative", "factor"],
         "truth": "The slope of the tanh of the cell state is missing on the way from the hidden state to the cell state."},
        {"name": "lstm-input-and-candidate-swapped", "change": ("di = dc * g\n    dg = dc * i", "di = dc * i\n    dg = dc * g"),
         "keywords": ["swap", "candidate", "other", "product", "input gate", "factor"],
         "truth": "The gradients of input gate and candidate are swapped: each is multiplied by itself instead of by the other."},
    ]},
    {"right": lambda rng, s: LeakyMemory(rng, s["D"]), "inputs": normal("B T D"), "sizes": dict(B=3, T=5, D=4), "wrong": [
        {"name": "leaky-memory-input-share-taken-as-constant",
         "change": ("da = (dh * (before - x)).sum(axis=(0, 1))", "da = (dh * before).sum(axis=(0, 1))"),
         "large": dict(B=16, T=24, D=32), "keywords": ["1 - a", "path", "missing", "input", "- x", "-x", "twice"],
         "truth": "a is also in the share (1 - a) of the input, but its gradient lacks that path, -x."},
        {"name": "leaky-memory-state-after-update",
         "change": ("da = (dh * (before - x)).sum(axis=(0, 1))", "da = (dh * (h - x)).sum(axis=(0, 1))"),
         "keywords": ["stale", "previous", "after", "before", "t-1", "t - 1", "off by one", "state", "shift"],
         "truth": "The gradient of a uses the state after the update, h_t, instead of the one before it, h_(t-1)."},
    ]},
    {"right": lambda rng, s: OwnConv(rng, s["K"], s["D"], s["E"]), "inputs": normal("B T D"),
     "sizes": dict(B=2, T=7, D=4, E=5, K=3), "wrong": [
        {"name": "convolution-kernel-flipped",
         "change": ("dz[:, j:j + t] += dy @ w.T", "dz[:, j:j + t] += dy @ self.kernel.data[-1 - j].T"),
         "large": dict(B=16, T=24, D=32, E=20, K=5), "keywords": ["flip", "mirror", "revers", "kernel", "tap", "order"],
         "truth": "The gradient of x is formed with the kernel flipped in time: tap j is replaced by the mirrored tap."},
        {"name": "convolution-weights-off-by-one",
         "change": ('self.kernel.grad[j] += np.einsum("btd,bte->de", z[:, j:j + t], dy)',
                    'self.kernel.grad[j] += np.einsum("btd,bte->de", np.roll(z, 1, axis=1)[:, j:j + t], dy)'),
         "keywords": ["off by one", "shift", "time"],
         "truth": "The kernel's gradient is formed with the input shifted by one time step."},
        {"name": "convolution-bias-averaged-over-time",
         "change": ("self.bias.grad += dy.sum(axis=(0, 1))", "self.bias.grad += dy.sum(axis=0).mean(axis=0)"),
         "keywords": ["mean", "averag", "sum", "factor"],
         "truth": "The bias's gradient is averaged over time instead of summed: it is too small by the factor T."},
    ]},
    {"right": lambda rng, s: CausalDepthwise(rng, s["K"], s["D"]), "inputs": normal("B T D"), "sizes": dict(B=2, T=6, D=4, K=3),
     "wrong": [
        {"name": "depthwise-gradient-goes-forward-in-time",
         "change": ("dx[:, :-j] += dy[:, j:] * self.w.data[j]", "dx[:, j:] += dy[:, :-j] * self.w.data[j]"),
         "keywords": ["direction", "time", "transpos", "flip", "revers", "back", "future", "mirror"],
         "truth": "In the gradient of x the taps go forward in time as in the forward pass, instead of back: the "
         "convolution is not transposed."},
        {"name": "depthwise-weights-against-unshifted-input",
         "change": ("self.w.grad[j] += (dy[:, j:] * x[:, :-j]).sum(axis=(0, 1))",
                    "self.w.grad[j] += (dy[:, j:] * x[:, j:]).sum(axis=(0, 1))"),
         "keywords": ["shift", "delay", "time", "x_t", "off", "lag", "unshifted"],
         "truth": "The gradient of the taps is formed with the present input x_t instead of the delayed one x_(t - j)."},
    ]},
    {"right": lambda rng, s: StridedConv(rng, s["K"], s["S"], s["D"], s["E"]), "inputs": normal("B T D"),
     "sizes": dict(B=2, T=9, D=4, E=5, K=3, S=1), "wrong": [
        {"name": "strided-convolution-overlaps-overwritten",
         "change": ("dx[:, s:s + self.size] += dwindow", "dx[:, s:s + self.size] = dwindow"),
         "large": dict(B=16, T=24, D=32, E=20, K=5, S=2),
         "keywords": ["overlap", "overwrit", "assign", "add", "sum", "replac", "repeat"],
         "truth": "Where windows overlap, the gradient of the later window replaces that of the earlier one instead of "
         "being added to it."},
        {"name": "strided-convolution-only-last-window-for-weight",
         "change": ("self.w.grad += windows[i].T @ dy[:, i]",
                    "if i == len(starts) - 1:\n            self.w.grad += windows[i].T @ dy[:, i]"),
         "keywords": ["last", "sum", "window", "time"],
         "truth": "The matrix's gradient comes from the last window only instead of from the sum over all windows."},
    ]},
    {"right": lambda rng, s: GatedSum(rng, s["D"]), "inputs": normal("B T D"), "sizes": dict(B=3, T=5, D=4), "wrong": [
        {"name": "gated-sum-not-reversed",
         "change": ("later = np.cumsum(dy[:, ::-1], axis=1)[:, ::-1]", "later = np.cumsum(dy, axis=1)"),
         "keywords": ["revers", "later", "direction", "future", "cumul", "transpos", "order", "flip", "time"],
         "truth": "The gradient is summed over the earlier outputs instead of over the later ones: the running sum is "
         "not reversed."},
    ]},
    {"right": lambda rng, s: TimeMix(rng, s["D"], s["E"]), "inputs": normal("B T D"), "sizes": dict(B=2, T=6, D=4, E=5), "wrong": [
        {"name": "time-mix-shifted-the-wrong-way",
         "change": ("dx[:, :-1] += (1 - self.m.data) * dmixed[:, 1:]", "dx[:, 1:] += (1 - self.m.data) * dmixed[:, :-1]"),
         "large": dict(B=16, T=24, D=32, E=20), "keywords": ["shift", "direction", "time", "back", "transpos", "future", "flip"],
         "truth": "The part of the row before is shifted forward again in backward instead of back by one time step."},
        {"name": "time-mix-weight-of-row-before-forgotten",
         "change": ("self.m.grad += np.sum(dmixed * (x - before), axis=(0, 1))", "self.m.grad += np.sum(dmixed * x, axis=(0, 1))"),
         "keywords": ["before", "1 - m", "missing", "previous", "path", "lacks"],
         "truth": "The gradient of the mixture lacks the term of the row before, which has the share 1 - m."},
    ]},
    {"right": lambda rng, s: MaskedMean(rng, s["D"]), "inputs": rows_and_lengths, "sizes": dict(B=3, T=5, D=4), "wrong": [
        {"name": "masked-mean-divided-by-all-rows",
         "change": ("return real[..., None] * (dmean / lengths[:, None])[:, None, :]",
                    "return real[..., None] * (dmean / real.shape[1])[:, None, :]"),
         "keywords": ["length", "number", "count", "divid", "mean", "factor"],
         "truth": "The gradient of the mean is divided by the number of all rows instead of the number of real ones."},
    ]},
]
