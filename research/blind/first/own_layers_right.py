"""Own layers with a right backward."""

import numpy as np

from minitransformer import Layer, Parameter
from minitransformer import layers as L
from research.blind.first.parts import linear, normal, sigmoid, softmax, vector, weight


class MultiQueryAttention(Layer):
    """Several heads of queries share one head of keys and values."""

    def __init__(self, rng, d, heads, k):
        self.q = [weight(rng, d, k) for _ in range(heads)]
        self.k, self.v = weight(rng, d, k), weight(rng, d, k)
        self.out = [weight(rng, k, d) for _ in range(heads)]

    def forward(self, x):
        k, v = x @ self.k.data, x @ self.v.data
        y, kept = 0, []
        for wq, wo in zip(self.q, self.out):
            q = x @ wq.data
            p = softmax(np.einsum("bik,bjk->bij", q, k) / np.sqrt(q.shape[-1]))
            o = p @ v
            y = y + o @ wo.data
            kept.append((q, p, o))
        return y, (x, k, v, kept)

    def backward(self, dy, cache):
        x, k, v, kept = cache
        dk, dv, dx = np.zeros_like(k), np.zeros_like(v), np.zeros_like(x)
        for wq, wo, (q, p, o) in zip(self.q, self.out, kept):
            wo.grad += np.einsum("btk,btd->kd", o, dy)
            do = dy @ wo.data.T
            dv += p.swapaxes(1, 2) @ do
            dp = do @ v.swapaxes(1, 2)
            ds = p * (dp - (dp * p).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
            dq = ds @ k
            dk += ds.swapaxes(1, 2) @ q
            wq.grad += np.einsum("btd,btk->dk", x, dq)
            dx += dq @ wq.data.T
        self.k.grad += np.einsum("btd,btk->dk", x, dk)
        self.v.grad += np.einsum("btd,btk->dk", x, dv)
        return dx + dk @ self.k.data.T + dv @ self.v.data.T


class BothWays(Layer):
    """Two simple recurrences, one from the left and one from the right; their states stand side by side."""

    def __init__(self, rng, d, h):
        self.inputs = [linear(rng, d, h), linear(rng, d, h)]
        self.recurrent = [weight(rng, h, h), weight(rng, h, h)]

    def forward(self, x):
        sides, caches = [], []
        for inner, u, step in zip(self.inputs, self.recurrent, (1, -1)):
            a, cache = inner.forward(x[:, ::step])
            h, hs = 0 * a[:, 0], []
            for t in range(a.shape[1]):
                h = np.tanh(a[:, t] + h @ u.data)
                hs.append(h)
            sides.append(np.stack(hs, axis=1)[:, ::step])
            caches.append((cache, hs))
        return np.concatenate(sides, axis=-1), caches

    def backward(self, dy, caches):
        dx = 0
        for inner, u, step, (cache, hs), part in zip(self.inputs, self.recurrent, (1, -1), caches, np.split(dy, 2, axis=-1)):
            part = part[:, ::step]
            da = np.zeros(part.shape)
            carry = 0
            for t in range(len(hs) - 1, -1, -1):
                da[:, t] = (part[:, t] + carry) * (1 - hs[t] ** 2)
                if t:
                    u.grad[...] += hs[t - 1].T @ da[:, t]
                carry = da[:, t] @ u.data.T
            dx = dx + inner.backward(da, cache)[:, ::step]
        return dx


class MinimalGatedUnit(Layer):
    """h_t = (1 - f) h + f tanh(x W + (f h) U) with one gate f; returns the last state."""

    def __init__(self, rng, d, h):
        self.wf, self.uf, self.w, self.u = weight(rng, d, h), weight(rng, h, h), weight(rng, d, h), weight(rng, h, h)

    def forward(self, x, h):
        steps = []
        for t in range(x.shape[1]):
            f = sigmoid(x[:, t] @ self.wf.data + h @ self.uf.data)
            n = np.tanh(x[:, t] @ self.w.data + (f * h) @ self.u.data)
            steps.append((h, f, n))
            h = (1 - f) * h + f * n
        return h, (x, steps)

    def backward(self, dh, cache):
        x, steps = cache
        dx = np.zeros_like(x)
        for t, (h, f, n) in reversed(list(enumerate(steps))):
            dan = dh * f * (1 - n * n)
            dfh = dan @ self.u.data.T
            df = dh * (n - h) + dfh * h
            daf = df * f * (1 - f)
            self.w.grad += x[:, t].T @ dan
            self.u.grad += (f * h).T @ dan
            self.wf.grad += x[:, t].T @ daf
            self.uf.grad += h.T @ daf
            dx[:, t] = dan @ self.w.data.T + daf @ self.wf.data.T
            dh = dh * (1 - f) + dfh * f + daf @ self.uf.data.T
        return dx, dh


class OwnInstanceNorm(Layer):
    """Each feature of each example has mean 0 and variance 1 over time."""

    def __init__(self, rng, d):
        self.gamma, self.beta = vector(rng, d, 1.0), vector(rng, d)

    def forward(self, x):
        c = x - x.mean(axis=1, keepdims=True)
        s = ((c * c).mean(axis=1, keepdims=True) + 1e-5) ** -0.5
        return self.gamma.data * (c * s) + self.beta.data, (c * s, s)

    def backward(self, dy, cache):
        n, s = cache
        self.gamma.grad += np.einsum("btd,btd->d", dy, n)
        self.beta.grad += np.einsum("btd->d", dy)
        dn = dy * self.gamma.data
        return s * (dn - dn.mean(axis=1, keepdims=True) - n * (dn * n).mean(axis=1, keepdims=True))


class MixerBlock(Layer):
    """x plus a mixture over time, then plus a mixture over features, each after the library's layer norm."""

    def __init__(self, rng, t, d):
        self.norms = [L.LayerNorm(d).astype("float64"), L.LayerNorm(d).astype("float64")]
        self.time, self.features = weight(rng, t, t), linear(rng, d, d)

    def forward(self, x):
        n, cache_n = self.norms[0].forward(x)
        a = np.tanh(np.einsum("st,bsd->btd", self.time.data, n))
        x = x + a
        m, cache_m = self.norms[1].forward(x)
        b, cache_b = self.features.forward(m)
        return x + np.sin(b), (n, cache_n, a, cache_m, b, cache_b)

    def backward(self, dy, cache):
        n, cache_n, a, cache_m, b, cache_b = cache
        dm = self.features.backward(dy * np.cos(b), cache_b)
        dx = dy + self.norms[1].backward(dm, cache_m)
        da = dx * (1 - a * a)
        self.time.grad += np.einsum("bsd,btd->st", n, da)
        return dx + self.norms[0].backward(np.einsum("st,btd->bsd", self.time.data, da), cache_n)


class GatedAttentionUnit(Layer):
    """y = (u * (A v)) W with A = relu(z z^T)^2 / T, where z is one shared projection."""

    def __init__(self, rng, d, k, e):
        self.wu, self.wv, self.wz, self.wo = weight(rng, d, e), weight(rng, d, e), weight(rng, d, k), weight(rng, e, d)

    def forward(self, x):
        u, v, z = x @ self.wu.data, x @ self.wv.data, x @ self.wz.data
        s = z @ z.swapaxes(1, 2) / x.shape[1]
        r = s * (s.real > 0)
        o = (r * r) @ v
        return (u * o) @ self.wo.data, (x, u, v, z, r, o)

    def backward(self, dy, cache):
        x, u, v, z, r, o = cache
        self.wo.grad += np.einsum("bte,btd->ed", u * o, dy)
        dg = dy @ self.wo.data.T
        du, do = dg * o, dg * u
        dv = (r * r).swapaxes(1, 2) @ do
        ds = 2 * r * (do @ v.swapaxes(1, 2)) / x.shape[1]
        dz = (ds + ds.swapaxes(1, 2)) @ z
        dx = 0
        for w, d in ((self.wu, du), (self.wv, dv), (self.wz, dz)):
            w.grad += np.einsum("btd,bte->de", x, d)
            dx = dx + d @ w.data.T
        return dx


class DilatedTaps(Layer):
    """The sum of linear layers of the library, applied to the rows 0, 2 and 4 steps ago."""

    def __init__(self, rng, d, e):
        self.taps = {lag: linear(rng, d, e) for lag in (0, 2, 4)}

    def forward(self, x):
        y, caches = 0, {}
        for lag, tap in self.taps.items():
            late = np.concatenate([np.zeros_like(x[:, :lag]), x[:, :x.shape[1] - lag]], axis=1)
            part, caches[lag] = tap.forward(late)
            y = y + part
        return y, caches

    def backward(self, dy, caches):
        dx = np.zeros(caches[0].x.shape)
        for lag, tap in self.taps.items():
            dlate = tap.backward(dy, caches[lag])
            dx[:, :dx.shape[1] - lag] += dlate[:, lag:]
        return dx


class OwnMish(Layer):
    """y = x tanh(log(1 + exp(x))) after a shift for each channel."""

    def __init__(self, rng, d):
        self.shift = vector(rng, d)

    def forward(self, x):
        z = x + self.shift.data
        w = np.tanh(np.log(1 + np.exp(z)))
        return z * w, (z, w)

    def backward(self, dy, cache):
        z, w = cache
        dz = dy * (w + z * (1 - w * w) / (1 + np.exp(-z)))
        self.shift.grad += dz.reshape(-1, dz.shape[-1]).sum(axis=0)
        return dz


class OwnLogLoss(Layer):
    """One loss for each row: log sum_j exp(z_j) - z_target with z = x W + b."""

    def __init__(self, rng, d, v):
        self.out = linear(rng, d, v)

    def forward(self, x, targets):
        z, inner = self.out.forward(x)
        z = z - z.real.max(axis=1, keepdims=True)
        e = np.exp(z)
        loss = np.log(e.sum(axis=1)) - z[np.arange(len(z)), targets]
        return loss, (inner, e / e.sum(axis=1, keepdims=True), targets)

    def backward(self, dloss, cache):
        inner, p, targets = cache
        dz = p.copy()
        dz[np.arange(len(p)), targets] -= 1
        return self.out.backward(dz * dloss[:, None], inner)


def rows_and_targets(rng, s):
    return rng.standard_normal((s["B"], s["D"])), rng.integers(0, s["V"], size=s["B"])


class CrossLayer(Layer):
    """Deep and cross: y = x0 * (x . w) + b + x."""

    def __init__(self, rng, d):
        self.w, self.b = vector(rng, d), vector(rng, d)

    def forward(self, x0, x):
        dot = x @ self.w.data
        return x0 * dot[:, None] + self.b.data + x, (x0, x, dot)

    def backward(self, dy, cache):
        x0, x, dot = cache
        ddot = (dy * x0).sum(axis=1)
        self.w.grad += ddot @ x
        self.b.grad += dy.sum(axis=0)
        return dy * dot[:, None], dy + np.outer(ddot, self.w.data)


class Distances(Layer):
    """All Euclidean distances between rows of a W and rows of b W."""

    def __init__(self, rng, d, k):
        self.w = weight(rng, d, k)

    def forward(self, a, b):
        gap = (a @ self.w.data)[:, None] - (b @ self.w.data)[None]
        distance = np.sqrt((gap ** 2).sum(axis=-1))
        return distance, (a, b, gap, distance)

    def backward(self, dy, cache):
        a, b, gap, distance = cache
        dgap = gap * (dy / distance)[:, :, None]
        da, db = dgap.sum(axis=1), -dgap.sum(axis=0)
        self.w.grad += a.T @ da + b.T @ db
        return da @ self.w.data.T, db @ self.w.data.T


class Squash(Layer):
    """Capsules: v = s |s| / (1 + |s|^2) with s = x W for each capsule."""

    def __init__(self, rng, n, d, e):
        self.w = Parameter(rng.standard_normal((n, d, e)) / np.sqrt(d))

    def forward(self, x):
        s = np.einsum("bnd,nde->bne", x, self.w.data)
        square = (s * s).sum(axis=-1, keepdims=True)
        length = np.sqrt(square)
        return s * length / (1 + square), (x, s, length)

    def backward(self, dy, cache):
        x, s, r = cache
        factor = r / (1 + r * r)
        slope = (1 - r * r) / (1 + r * r) ** 2
        ds = dy * factor + s * (dy * s).sum(axis=-1, keepdims=True) * slope / r
        self.w.grad += np.einsum("bnd,bne->nde", x, ds)
        return np.einsum("bne,nde->bnd", ds, self.w.data)


class SoftMaximum(Layer):
    """log(mean(exp(s x))) / s over time, with a learnt sharpness s for each feature."""

    def __init__(self, rng, d):
        self.s = Parameter(1.0 + rng.random(d))

    def forward(self, x):
        e = np.exp(self.s.data * x)
        total = e.sum(axis=1, keepdims=True)
        y = np.log(total[:, 0] / x.shape[1]) / self.s.data
        return y, (x, e / total, y)

    def backward(self, dy, cache):
        x, p, y = cache
        self.s.grad += (dy * ((p * x).sum(axis=1) - y) / self.s.data).sum(axis=0)
        return p * dy[:, None]


class Householder(Layer):
    """Several reflections, one after the other: x - 2 v (v . x) / (v . v)."""

    def __init__(self, rng, n, d):
        self.v = [Parameter(rng.standard_normal(d)) for _ in range(n)]

    def forward(self, x):
        kept = []
        for v in self.v:
            kept.append(x)
            x = x - 2 * np.outer(x @ v.data, v.data) / (v.data @ v.data)
        return x, kept

    def backward(self, dy, kept):
        for v, x in zip(reversed(self.v), reversed(kept)):
            u, square = v.data, v.data @ v.data
            xu, du = x @ u, dy @ u
            v.grad += -2 / square * (xu @ dy + du @ x) + 4 * u * (xu @ du) / square ** 2
            dy = dy - 2 * np.outer(du, u) / square
        return dy


class Horner(Layer):
    """A polynomial for each channel, evaluated by Horner's rule."""

    def __init__(self, rng, powers, d):
        self.c = Parameter(0.5 * rng.standard_normal((powers, d)))

    def forward(self, x):
        y, partial = 0 * x, []
        for c in self.c.data:
            partial.append(y)
            y = y * x + c
        return y, (x, partial)

    def backward(self, dy, cache):
        x, partial = cache
        dx = np.zeros_like(x)
        for i in reversed(range(len(partial))):
            self.c.grad[i] += dy.sum(axis=0)
            dx += dy * partial[i]
            dy = dy * x
        return dx


class DynamicConvolution(Layer):
    """Each time step makes its own few weights for itself and the steps before: softmax(x_t W)."""

    def __init__(self, rng, d, taps):
        self.w = weight(rng, d, taps)

    def windows(self, x):
        taps = self.w.shape[1]
        padded = np.concatenate([np.zeros_like(x[:, :1])] * (taps - 1) + [x], axis=1)
        return np.stack([padded[:, j:j + x.shape[1]] for j in range(taps)], axis=2)

    def forward(self, x):
        p = softmax(x @ self.w.data)
        return np.einsum("btk,btkd->btd", p, self.windows(x)), (x, p)

    def backward(self, dy, cache):
        x, p = cache
        taps = p.shape[-1]
        dp = np.einsum("btd,btkd->btk", dy, self.windows(x))
        ds = p * (dp - (dp * p).sum(axis=-1, keepdims=True))
        self.w.grad += np.einsum("btd,btk->dk", x, ds)
        dx = ds @ self.w.data.T
        for j in range(taps):
            lag = taps - 1 - j
            part = p[:, :, j:j + 1] * dy
            dx[:, :x.shape[1] - lag] += part[:, lag:]
        return dx


class PreNormBlock(Layer):
    """A small Transformer block: x + attention(norm(x)), then + a gelu network, with the library's norms and linear layers."""

    def __init__(self, rng, d, h):
        self.norm1, self.norm2 = L.LayerNorm(d).astype("float64"), L.LayerNorm(d).astype("float64")
        self.qkv, self.out = linear(rng, d, 3 * d), linear(rng, d, d)
        self.up, self.down = linear(rng, d, h), linear(rng, h, d)

    def forward(self, x):
        n, c1 = self.norm1.forward(x)
        qkv, c2 = self.qkv.forward(n)
        q, k, v = np.split(qkv, 3, axis=-1)
        p = softmax(q @ k.swapaxes(1, 2) / np.sqrt(x.shape[-1]))
        a, c3 = self.out.forward(p @ v)
        x = x + a
        m, c4 = self.norm2.forward(x)
        u, c5 = self.up.forward(m)
        s = sigmoid(1.702 * u)
        f, c6 = self.down.forward(u * s)
        return x + f, (c1, c2, q, k, v, p, c3, c4, c5, u, s, c6)

    def backward(self, dy, cache):
        c1, c2, q, k, v, p, c3, c4, c5, u, s, c6 = cache
        du = self.down.backward(dy, c6) * (s + 1.702 * u * s * (1 - s))
        dx = dy + self.norm2.backward(self.up.backward(du, c5), c4)
        do = self.out.backward(dx, c3)
        dp = do @ v.swapaxes(1, 2)
        ds = p * (dp - (p * dp).sum(axis=-1, keepdims=True)) / np.sqrt(q.shape[-1])
        dqkv = np.concatenate([ds @ k, ds.swapaxes(1, 2) @ q, p.swapaxes(1, 2) @ do], axis=-1)
        return dx + self.norm1.backward(self.qkv.backward(dqkv, c2), c1)


class OwnGELU(Layer):
    """The tanh form of GELU after a matrix, written out."""

    def __init__(self, rng, d, e):
        self.w = weight(rng, d, e)

    def forward(self, x):
        z = x @ self.w.data
        t = np.tanh(0.7978845608 * (z + 0.044715 * z ** 3))
        return 0.5 * z * (1 + t), (x, z, t)

    def backward(self, dy, cache):
        x, z, t = cache
        inner = 0.7978845608 * (1 + 3 * 0.044715 * z ** 2)
        dz = dy * 0.5 * (1 + t + z * (1 - t ** 2) * inner)
        self.w.grad += np.tensordot(x, dz, axes=(range(x.ndim - 1), range(x.ndim - 1)))
        return dz @ self.w.data.T


class WeightStandardised(Layer):
    """y = x N with N = (W - mean) / deviation for each column of W."""

    def __init__(self, rng, d, e):
        self.w = Parameter(rng.standard_normal((d, e)))

    def forward(self, x):
        c = self.w.data - self.w.data.mean(axis=0)
        s = 1 / np.sqrt((c * c).mean(axis=0) + 1e-3)
        n = c * s
        return x @ n, (x, n, s)

    def backward(self, dy, cache):
        x, n, s = cache
        dn = x.T @ dy
        self.w.grad += s * (dn - dn.mean(axis=0) - n * (dn * n).mean(axis=0))
        return dy @ n.T


class WeightedBag(Layer):
    """The sum of embeddings with a given weight for each word, times a learnt importance of each word."""

    def __init__(self, rng, v, d):
        self.table = Parameter(rng.standard_normal((v, d)))
        self.importance = vector(rng, v, 1.0)

    def forward(self, ids, amounts):
        rows, share = self.table.data[ids], self.importance.data[ids]
        return np.einsum("bt,btd->bd", amounts * share, rows), (ids, amounts, rows, share)

    def backward(self, dy, cache):
        ids, amounts, rows, share = cache
        dots = np.einsum("bd,btd->bt", dy, rows)
        np.add.at(self.importance.grad, ids, amounts * dots)
        np.add.at(self.table.grad, ids, (amounts * share)[..., None] * dy[:, None])
        return share * dots


def ids_and_amounts(rng, s):
    return rng.integers(0, s["V"], size=(s["B"], s["T"])), rng.standard_normal((s["B"], s["T"]))


class ReluNetwork(Layer):
    """Two matrices with ReLU between them; an all-zero input is exactly at the kink."""

    def __init__(self, rng, d, h):
        self.a, self.b = weight(rng, d, h), weight(rng, h, d)

    def forward(self, x):
        z = x @ self.a.data
        on = z.real > 0
        return (z * on) @ self.b.data, (x, z * on, on)

    def backward(self, dy, cache):
        x, h, on = cache
        self.b.grad += h.T @ dy
        dz = (dy @ self.b.data.T) * on
        self.a.grad += x.T @ dz
        return dz @ self.a.data.T


def zeros(rng, s):
    return (np.zeros((s["B"], s["D"])),)


def one_zero_row(rng, s):
    x = rng.standard_normal((s["B"], s["D"]))
    x[1] = 0
    return (x,)


class ZeroResidual(Layer):
    """y = x + alpha tanh(x W) with alpha 0 at the start (ReZero)."""

    def __init__(self, rng, d):
        self.alpha, self.w = Parameter(np.zeros(1)), weight(rng, d, d)

    def forward(self, x):
        f = np.tanh(x @ self.w.data)
        return x + self.alpha.data * f, (x, f)

    def backward(self, dy, cache):
        x, f = cache
        self.alpha.grad += (dy * f).sum()
        da = self.alpha.data * dy * (1 - f * f)
        self.w.grad += x.T @ da
        return dy + da @ self.w.data.T


class RootMeanSquare(Layer):
    """y = g x / sqrt(mean(x^2) + epsilon); one of the rows is zero."""

    def __init__(self, rng, d):
        self.g = vector(rng, d, 1.0)

    def forward(self, x):
        r = 1 / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-2)
        return self.g.data * x * r, (x, r)

    def backward(self, dy, cache):
        x, r = cache
        self.g.grad += (dy * x * r).sum(axis=0)
        dn = dy * self.g.data
        return r * dn - r ** 3 * x * (dn * x).mean(axis=-1, keepdims=True)


class ZeroOutputAttention(Layer):
    """Attention whose output matrix starts at zero, so that nothing reaches the scores yet."""

    def __init__(self, rng, d, k):
        self.qk, self.v, self.out = weight(rng, d, d), weight(rng, d, k), Parameter(np.zeros((k, d)))

    def forward(self, x):
        p = softmax(x @ self.qk.data @ x.swapaxes(1, 2))
        v = x @ self.v.data
        o = p @ v
        return x + o @ self.out.data, (x, p, v, o)

    def backward(self, dy, cache):
        x, p, v, o = cache
        self.out.grad += np.einsum("btk,btd->kd", o, dy)
        do = dy @ self.out.data.T
        dv = p.swapaxes(1, 2) @ do
        dp = do @ v.swapaxes(1, 2)
        ds = p * (dp - (p * dp).sum(axis=-1, keepdims=True))
        self.v.grad += np.einsum("btd,btk->dk", x, dv)
        self.qk.grad += np.einsum("bid,bij,bje->de", x, ds, x)
        return dy + dv @ self.v.data.T + ds @ x @ self.qk.data.T + ds.swapaxes(1, 2) @ x @ self.qk.data


class SoftThreshold(Layer):
    """The absolute value of each feature times a weight; the slope at 0 is taken as 0."""

    def __init__(self, rng, d):
        self.w = vector(rng, d, 1.0)

    def forward(self, x):
        sign = np.sign(x.real)
        return self.w.data * (x * sign), (x, sign)

    def backward(self, dy, cache):
        x, sign = cache
        self.w.grad += (dy * x * sign).sum(axis=0)
        return dy * self.w.data * sign


class ConstantRowsNorm(Layer):
    """Layer normalisation of rows that may be constant: their variance is 0."""

    def __init__(self, rng, d):
        self.gamma, self.beta = vector(rng, d, 1.0), vector(rng, d)

    def forward(self, x):
        c = x - x.mean(axis=-1, keepdims=True)
        s = 1 / np.sqrt((c * c).mean(axis=-1, keepdims=True) + 1e-2)
        return self.gamma.data * c * s + self.beta.data, (c * s, s)

    def backward(self, dy, cache):
        n, s = cache
        self.gamma.grad += (dy * n).sum(axis=0)
        self.beta.grad += dy.sum(axis=0)
        dn = dy * self.gamma.data
        return s * (dn - dn.mean(axis=-1, keepdims=True) - n * (dn * n).mean(axis=-1, keepdims=True))


def constant_rows(rng, s):
    x = rng.standard_normal((s["B"], s["D"]))
    x[0], x[2] = 0.0, 1.0
    return (x,)


class ZeroStateLSTM(Layer):
    """One LSTM step from zero states, with a zero recurrent matrix; the output is the new hidden state."""

    def __init__(self, rng, d, h):
        self.w, self.u, self.b = weight(rng, d, 4 * h), Parameter(np.zeros((h, 4 * h))), Parameter(np.zeros(4 * h))

    def forward(self, x, h, c):
        i, f, o, g = np.split(x @ self.w.data + h @ self.u.data + self.b.data, 4, axis=1)
        i, f, o, g = sigmoid(i), sigmoid(f), sigmoid(o), np.tanh(g)
        t = np.tanh(f * c + i * g)
        return o * t, (x, h, c, i, f, o, g, t)

    def backward(self, dy, cache):
        x, h, c, i, f, o, g, t = cache
        dc = dy * o * (1 - t * t)
        da = np.concatenate([dc * g * i * (1 - i), dc * c * f * (1 - f), dy * t * o * (1 - o), dc * i * (1 - g * g)], axis=1)
        self.w.grad += x.T @ da
        self.u.grad += h.T @ da
        self.b.grad += da.sum(axis=0)
        return da @ self.w.data.T, da @ self.u.data.T, dc * f


def zero_states(rng, s):
    return rng.standard_normal((s["B"], s["D"])), np.zeros((s["B"], s["H"])), np.zeros((s["B"], s["H"]))


class RowLength(Layer):
    """The Euclidean length of each row of x W; the gradient of the length of a zero row is taken as 0."""

    def __init__(self, rng, d, e):
        self.w = weight(rng, d, e)

    def forward(self, x):
        z = x @ self.w.data
        square = (z * z).sum(axis=1)
        length = np.sqrt(square)
        return length, (x, z, length)

    def backward(self, dy, cache):
        x, z, length = cache
        zero = length == 0
        dz = z * (dy / np.where(zero, 1, length))[:, None]
        self.w.grad += x.T @ dz
        return dz @ self.w.data.T


class FirstMaximum(Layer):
    """The maximum over time of w * x; of equal numbers the first counts."""

    def __init__(self, rng, d):
        self.w = Parameter(1 + rng.random(d))

    def forward(self, x):
        z = x * self.w.data
        first = z.real.argmax(axis=1)[:, None]
        return np.take_along_axis(z, first, axis=1)[:, 0], (x, first)

    def backward(self, dy, cache):
        x, first = cache
        dz = np.zeros_like(x)
        np.put_along_axis(dz, first, dy[:, None], axis=1)
        self.w.grad += (dz * x).sum(axis=(0, 1))
        return dz * self.w.data


def few_values(rng, s):
    return (rng.integers(0, 3, size=(s["B"], s["T"], s["D"])).astype(float),)


class SharedMaximum(Layer):
    """The maximum over time of x plus a learnt number for each feature; equal numbers share the gradient."""

    def __init__(self, rng, d):
        self.b = vector(rng, d)

    def forward(self, x):
        z = x + self.b.data
        top = z.real == z.real.max(axis=1, keepdims=True)
        share = top / top.sum(axis=1, keepdims=True)
        return (z * share).sum(axis=1), share

    def backward(self, dy, share):
        dx = share * dy[:, None]
        self.b.grad += dx.sum(axis=(0, 1))
        return dx


class TwinMaxout(Layer):
    """The larger of two linear pieces, which start equal; the first piece counts then."""

    def __init__(self, rng, d, e):
        self.a = weight(rng, d, e)
        self.b = Parameter(self.a.data.copy())

    def forward(self, x):
        p, q = x @ self.a.data, x @ self.b.data
        first = p.real >= q.real
        return np.where(first, p, q), (x, first)

    def backward(self, dy, cache):
        x, first = cache
        dp, dq = dy * first, dy * ~first
        self.a.grad += x.T @ dp
        self.b.grad += x.T @ dq
        return dp @ self.a.data.T + dq @ self.b.data.T


class RankWeights(Layer):
    """Sorts each row and weights the numbers by their rank (an ordered weighted average); equal numbers keep their order."""

    def __init__(self, rng, t):
        self.w = vector(rng, t, 1.0)

    def forward(self, x):
        order = np.argsort(x.real, axis=1, kind="stable")
        ranked = np.take_along_axis(x, order, axis=1)
        return ranked @ self.w.data, (order, ranked)

    def backward(self, dy, cache):
        order, ranked = cache
        self.w.grad += ranked.T @ dy
        dx = np.zeros_like(ranked)
        np.put_along_axis(dx, order, np.outer(dy, self.w.data), axis=1)
        return dx


def few_values_in_rows(rng, s):
    return (rng.integers(0, 3, size=(s["B"], s["T"])).astype(float),)


class TopTwo(Layer):
    """The sum of the two largest numbers of each row, each row scaled by a learnt vector first; equals in their order."""

    def __init__(self, rng, t):
        self.scale = Parameter(np.ones(t))

    def forward(self, x):
        z = x * self.scale.data
        chosen = np.zeros(x.shape, bool)
        np.put_along_axis(chosen, np.argsort(-z.real, axis=1, kind="stable")[:, :2], True, axis=1)
        return (z * chosen).sum(axis=1), (x, chosen)

    def backward(self, dy, cache):
        x, chosen = cache
        dz = dy[:, None] * chosen
        self.scale.grad += (dz * x).sum(axis=0)
        return dz * self.scale.data


class Clipped(Layer):
    """min(max(x + b, 0), 1) where b is 0 at first, and many inputs are exactly at the bounds; the slope there is 0."""

    def __init__(self, rng, d):
        self.b = Parameter(np.zeros(d))

    def forward(self, x):
        z = x + self.b.data
        inside = (z.real > 0) & (z.real < 1)
        return np.where(inside, z, np.clip(z.real, 0, 1)), inside

    def backward(self, dy, inside):
        dz = dy * inside
        self.b.grad += dz.sum(axis=(0, 1))
        return dz


def halves(rng, s):
    return (rng.integers(-1, 4, size=(s["B"], s["T"], s["D"])) / 2,)


class MaskedAttention(Layer):
    """Attention with a mask (True: may look); a row that may look at nothing gives 0."""

    def __init__(self, rng, d, k):
        self.q, self.k, self.v = weight(rng, d, k), weight(rng, d, k), weight(rng, d, k)

    def forward(self, x, mask):
        q, k, v = x @ self.q.data, x @ self.k.data, x @ self.v.data
        e = np.exp(q @ k.swapaxes(1, 2) / np.sqrt(k.shape[-1])) * mask
        total = e.sum(axis=-1, keepdims=True)
        p = e / np.where(total == 0, 1, total)
        return p @ v, (x, q, k, v, p)

    def backward(self, dy, cache):
        x, q, k, v, p = cache
        dv = p.swapaxes(1, 2) @ dy
        dp = dy @ v.swapaxes(1, 2)
        ds = p * (dp - (dp * p).sum(axis=-1, keepdims=True)) / np.sqrt(k.shape[-1])
        dx = 0
        for w, d in ((self.q, ds @ k), (self.k, ds.swapaxes(1, 2) @ q), (self.v, dv)):
            w.grad += np.einsum("btd,btk->dk", x, d)
            dx = dx + d @ w.data.T
        return dx


def rows_and_mask(rng, s):
    mask = rng.random((s["B"], s["T"], s["T"])) < 0.6
    mask[0, 1] = False
    return rng.standard_normal((s["B"], s["T"], s["D"])), mask


class MeanOfReal(Layer):
    """The mean of the rows whose id is not 0, through a matrix; a sequence without real rows gives 0."""

    def __init__(self, rng, d, e):
        self.w = weight(rng, d, e)

    def forward(self, x, ids):
        real = (ids != 0).astype(float)
        share = real / np.maximum(real.sum(axis=1, keepdims=True), 1)
        mean = np.einsum("bt,btd->bd", share, x)
        return mean @ self.w.data, (share, mean)

    def backward(self, dy, cache):
        share, mean = cache
        self.w.grad += mean.T @ dy
        return share[..., None] * (dy @ self.w.data.T)[:, None]


def rows_and_padded_ids(rng, s):
    ids = rng.integers(1, 9, size=(s["B"], s["T"]))
    for i in range(s["B"]):
        ids[i, max(s["T"] - 2 * i, 0):] = 0
    return rng.standard_normal((s["B"], s["T"], s["D"])), ids


class PaddedRecurrence(Layer):
    """A simple recurrence that keeps its state at padded steps; returns the last state."""

    def __init__(self, rng, d, h):
        self.w, self.u = weight(rng, d, h), weight(rng, h, h)

    def forward(self, x, ids):
        real = (ids != 0)[..., None]
        h = np.zeros((len(x), self.u.shape[0]))
        steps = []
        for t in range(x.shape[1]):
            new = np.tanh(x[:, t] @ self.w.data + h @ self.u.data)
            steps.append((h, new))
            h = np.where(real[:, t], new, h)
        return h, (x, real, steps)

    def backward(self, dh, cache):
        x, real, steps = cache
        dx = np.zeros_like(x)
        for t in reversed(range(len(steps))):
            before, new = steps[t]
            da = dh * real[:, t] * (1 - new ** 2)
            self.w.grad += x[:, t].T @ da
            self.u.grad += before.T @ da
            dx[:, t] = da @ self.w.data.T
            dh = dh * ~real[:, t] + da @ self.u.data.T
        return dx


class MaskedMaximum(Layer):
    """The maximum over the real rows of x * w for each feature; 0 where there are none."""

    def __init__(self, rng, d):
        self.w = vector(rng, d, 1.0)

    def forward(self, x, ids):
        real = ids != 0
        z = x * self.w.data
        at = np.where(real[..., None], z.real, -np.inf).argmax(axis=1)[:, None]
        some = real.any(axis=1)[:, None]
        return np.take_along_axis(z, at, axis=1)[:, 0] * some, (x, at, some)

    def backward(self, dy, cache):
        x, at, some = cache
        dz = np.zeros_like(x)
        np.put_along_axis(dz, at, (dy * some)[:, None], axis=1)
        self.w.grad += (dz * x).sum(axis=(0, 1))
        return dz * self.w.data


class PaddedEmbedding(Layer):
    """A table of rows, scaled; the id 0 is padding and always gives zeros."""

    def __init__(self, rng, v, d):
        self.table = Parameter(rng.standard_normal((v, d)))

    def forward(self, ids):
        return (ids != 0)[..., None] * self.table.data[ids] * np.sqrt(self.table.shape[1]), ids

    def backward(self, dy, ids):
        real = ids != 0
        np.add.at(self.table.grad, ids[real], dy[real] * np.sqrt(self.table.shape[1]))


def padded_ids(rng, s):
    ids = rng.integers(1, s["V"], size=(s["B"], s["T"]))
    ids[0, 2:], ids[-1] = 0, 0
    return (ids,)


class MaskedBatchNorm(Layer):
    """Batch normalisation whose mean and variance see the real rows only; padded rows give 0."""

    def __init__(self, rng, d):
        self.gamma, self.beta = vector(rng, d, 1.0), vector(rng, d)

    def forward(self, x, ids):
        real = (ids != 0)[..., None].astype(float)
        count = real.sum()
        c = (x - (x * real).sum(axis=(0, 1)) / count) * real
        s = 1 / np.sqrt((c * c).sum(axis=(0, 1)) / count + 1e-3)
        return (self.gamma.data * c * s + self.beta.data) * real, (c * s, s, real, count)

    def backward(self, dy, cache):
        n, s, real, count = cache
        dy = dy * real
        self.gamma.grad += (dy * n).sum(axis=(0, 1))
        self.beta.grad += dy.sum(axis=(0, 1))
        dn = dy * self.gamma.data
        dx = dn - dn.sum(axis=(0, 1)) / count - n * (dn * n).sum(axis=(0, 1)) / count
        return s * dx * real


CASES = [
    {"name": "multi-query-attention", "kind": "ordinary",
     "right": lambda rng, s: MultiQueryAttention(rng, s["D"], s["H"], s["K"]),
     "inputs": normal("B T D"),
     "sizes": dict(B=2, T=5, D=4, H=3, K=6),
     "large": dict(B=16, T=24, D=32, H=4, K=8)},
    {"name": "both-ways-recurrence", "kind": "ordinary",
     "right": lambda rng, s: BothWays(rng, s["D"], s["H"]),
     "inputs": normal("B T D"),
     "sizes": dict(B=3, T=5, D=4, H=6),
     "large": dict(B=16, T=24, D=32, H=20)},
    {"name": "minimal-gated-unit", "kind": "ordinary",
     "right": lambda rng, s: MinimalGatedUnit(rng, s["D"], s["H"]),
     "inputs": normal("B T D", "B H"),
     "sizes": dict(B=3, T=5, D=4, H=6),
     "large": dict(B=16, T=20, D=32, H=24)},
    {"name": "instance-norm", "kind": "ordinary",
     "right": lambda rng, s: OwnInstanceNorm(rng, s["D"]),
     "inputs": normal("B T D"),
     "sizes": dict(B=3, T=5, D=4),
     "large": dict(B=16, T=24, D=32)},
    {"name": "mixer-block", "kind": "ordinary",
     "right": lambda rng, s: MixerBlock(rng, s["T"], s["D"]),
     "inputs": normal("B T D"),
     "sizes": dict(B=3, T=5, D=4),
     "large": dict(B=8, T=24, D=32)},
    {"name": "gated-attention-unit", "kind": "ordinary",
     "right": lambda rng, s: GatedAttentionUnit(rng, s["D"], s["K"], s["E"]),
     "inputs": normal("B T D"),
     "sizes": dict(B=2, T=5, D=4, K=3, E=6),
     "large": dict(B=8, T=24, D=32, K=10, E=20)},
    {"name": "dilated-taps", "kind": "ordinary",
     "right": lambda rng, s: DilatedTaps(rng, s["D"], s["E"]),
     "inputs": normal("B T D"),
     "sizes": dict(B=2, T=7, D=4, E=5),
     "large": dict(B=16, T=24, D=32, E=20)},
    {"name": "mish", "kind": "ordinary",
     "right": lambda rng, s: OwnMish(rng, s["D"]),
     "inputs": normal("B T D"),
     "sizes": dict(B=3, T=5, D=4),
     "large": dict(B=16, T=24, D=32)},
    {"name": "log-loss", "kind": "ordinary",
     "right": lambda rng, s: OwnLogLoss(rng, s["D"], s["V"]),
     "inputs": rows_and_targets,
     "sizes": dict(B=3, D=4, V=6),
     "large": dict(B=24, D=32, V=50)},
    {"name": "deep-and-cross", "kind": "ordinary",
     "right": lambda rng, s: CrossLayer(rng, s["D"]),
     "inputs": normal("B D", "B D"),
     "sizes": dict(B=3, D=4),
     "large": dict(B=24, D=32)},
    {"name": "distances", "kind": "ordinary",
     "right": lambda rng, s: Distances(rng, s["D"], s["K"]),
     "inputs": normal("M D", "N D"),
     "sizes": dict(M=3, N=5, D=4, K=2),
     "large": dict(M=16, N=12, D=32, K=8)},
    {"name": "capsule-squash", "kind": "ordinary",
     "right": lambda rng, s: Squash(rng, s["N"], s["D"], s["E"]),
     "inputs": normal("B N D"),
     "sizes": dict(B=3, N=2, D=4, E=5),
     "large": None},
    {"name": "soft-maximum-pooling", "kind": "ordinary",
     "right": lambda rng, s: SoftMaximum(rng, s["D"]),
     "inputs": normal("B T D"),
     "sizes": dict(B=3, T=5, D=4),
     "large": None},
    {"name": "householder-reflections", "kind": "ordinary",
     "right": lambda rng, s: Householder(rng, s["N"], s["D"]),
     "inputs": normal("B D"),
     "sizes": dict(B=5, N=3, D=4),
     "large": None},
    {"name": "horner-polynomial", "kind": "ordinary",
     "right": lambda rng, s: Horner(rng, s["P"], s["D"]),
     "inputs": normal("B D"),
     "sizes": dict(B=5, P=3, D=4),
     "large": None},
    {"name": "dynamic-convolution", "kind": "ordinary",
     "right": lambda rng, s: DynamicConvolution(rng, s["D"], s["K"]),
     "inputs": normal("B T D"),
     "sizes": dict(B=2, T=6, D=4, K=3),
     "large": None},
    {"name": "pre-norm-block", "kind": "ordinary",
     "right": lambda rng, s: PreNormBlock(rng, s["D"], s["H"]),
     "inputs": normal("B T D"),
     "sizes": dict(B=2, T=3, D=5, H=6),
     "large": None},
    {"name": "gelu-after-matrix", "kind": "ordinary",
     "right": lambda rng, s: OwnGELU(rng, s["D"], s["E"]),
     "inputs": normal("B T D"),
     "sizes": dict(B=2, T=3, D=4, E=5),
     "large": None},
    {"name": "weight-standardised-linear", "kind": "ordinary",
     "right": lambda rng, s: WeightStandardised(rng, s["D"], s["E"]),
     "inputs": normal("B D"),
     "sizes": dict(B=3, D=5, E=4),
     "large": None},
    {"name": "weighted-bag-of-words", "kind": "ordinary",
     "right": lambda rng, s: WeightedBag(rng, s["V"], s["D"]),
     "inputs": ids_and_amounts,
     "sizes": dict(B=2, T=6, V=4, D=3),
     "large": None},
    {"name": "relu-network-at-zero", "kind": "zeros",
     "right": lambda rng, s: ReluNetwork(rng, s["D"], s["H"]),
     "inputs": zeros,
     "sizes": dict(B=3, D=4, H=5),
     "large": None},
    {"name": "zero-residual-weight", "kind": "zeros",
     "right": lambda rng, s: ZeroResidual(rng, s["D"]),
     "inputs": normal("B D"),
     "sizes": dict(B=3, D=4),
     "large": None},
    {"name": "root-mean-square-of-zero-row", "kind": "zeros",
     "right": lambda rng, s: RootMeanSquare(rng, s["D"]),
     "inputs": one_zero_row,
     "sizes": dict(B=3, D=4),
     "large": None},
    {"name": "attention-with-zero-output-matrix", "kind": "zeros",
     "right": lambda rng, s: ZeroOutputAttention(rng, s["D"], s["K"]),
     "inputs": normal("B T D"),
     "sizes": dict(B=2, T=5, D=4, K=3),
     "large": None},
    {"name": "absolute-value-at-zero", "kind": "zeros",
     "right": lambda rng, s: SoftThreshold(rng, s["D"]),
     "inputs": one_zero_row,
     "sizes": dict(B=3, D=4),
     "large": None},
    {"name": "norm-of-constant-rows", "kind": "zeros",
     "right": lambda rng, s: ConstantRowsNorm(rng, s["D"]),
     "inputs": constant_rows,
     "sizes": dict(B=5, D=4),
     "large": None},
    {"name": "lstm-from-zero-states", "kind": "zeros",
     "right": lambda rng, s: ZeroStateLSTM(rng, s["D"], s["H"]),
     "inputs": zero_states,
     "sizes": dict(B=3, D=4, H=2),
     "large": None},
    {"name": "length-of-a-zero-row", "kind": "zeros",
     "right": lambda rng, s: RowLength(rng, s["D"], s["E"]),
     "inputs": one_zero_row,
     "sizes": dict(B=3, D=4, E=5),
     "large": None},
    {"name": "maximum-first-of-equals", "kind": "ties",
     "right": lambda rng, s: FirstMaximum(rng, s["D"]),
     "inputs": few_values,
     "sizes": dict(B=3, T=5, D=4),
     "large": None},
    {"name": "maximum-shared-by-equals", "kind": "ties",
     "right": lambda rng, s: SharedMaximum(rng, s["D"]),
     "inputs": few_values,
     "sizes": dict(B=3, T=5, D=4),
     "large": None},
    {"name": "maxout-of-equal-pieces", "kind": "ties",
     "right": lambda rng, s: TwinMaxout(rng, s["D"], s["E"]),
     "inputs": normal("B D"),
     "sizes": dict(B=3, D=4, E=5),
     "large": None},
    {"name": "sorted-rows-with-equals", "kind": "ties",
     "right": lambda rng, s: RankWeights(rng, s["T"]),
     "inputs": few_values_in_rows,
     "sizes": dict(B=4, T=6),
     "large": None},
    {"name": "top-two-with-equals", "kind": "ties",
     "right": lambda rng, s: TopTwo(rng, s["T"]),
     "inputs": few_values_in_rows,
     "sizes": dict(B=4, T=6),
     "large": None},
    {"name": "clipped-at-the-bounds", "kind": "ties",
     "right": lambda rng, s: Clipped(rng, s["D"]),
     "inputs": halves,
     "sizes": dict(B=3, T=5, D=4),
     "large": None},
    {"name": "attention-with-an-empty-row", "kind": "padding",
     "right": lambda rng, s: MaskedAttention(rng, s["D"], s["K"]),
     "inputs": rows_and_mask,
     "sizes": dict(B=2, T=5, D=4, K=3),
     "large": None},
    {"name": "mean-of-real-rows", "kind": "padding",
     "right": lambda rng, s: MeanOfReal(rng, s["D"], s["E"]),
     "inputs": rows_and_padded_ids,
     "sizes": dict(B=4, T=5, D=3, E=2),
     "large": None},
    {"name": "recurrence-over-padded-rows", "kind": "padding",
     "right": lambda rng, s: PaddedRecurrence(rng, s["D"], s["H"]),
     "inputs": rows_and_padded_ids,
     "sizes": dict(B=4, T=5, D=3, H=2),
     "large": None},
    {"name": "maximum-of-real-rows", "kind": "padding",
     "right": lambda rng, s: MaskedMaximum(rng, s["D"]),
     "inputs": rows_and_padded_ids,
     "sizes": dict(B=4, T=5, D=3),
     "large": None},
    {"name": "embedding-with-padding", "kind": "padding",
     "right": lambda rng, s: PaddedEmbedding(rng, s["V"], s["D"]),
     "inputs": padded_ids,
     "sizes": dict(B=3, T=5, V=7, D=4),
     "large": None},
    {"name": "batch-norm-of-real-rows", "kind": "padding",
     "right": lambda rng, s: MaskedBatchNorm(rng, s["D"]),
     "inputs": rows_and_padded_ids,
     "sizes": dict(B=4, T=5, D=3),
     "large": None},
]
