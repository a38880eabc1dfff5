"""Sixty right layers, as sixty users would write them: each section is one user's file after a
common head.

`make(name, size)` gives (layer, inputs) for the size "small" or "large". A section starts at its
"# ==== name" line;
check.py puts the head and one (edited) section into a file of its own.
"""

import math
from typing import NamedTuple

import numpy as np

from minitransformer import Layer, Parameter

SIZES = {"small": (2, 3, 4), "large": (4, 24, 16)}
CASES = {}


def case(build):
    """Register build(rng, b, t, d) -> (layer, inputs) under its name."""
    CASES[build.__name__] = build
    return build


def make(name, size="small", seed=0):
    rng = np.random.default_rng(seed)
    return CASES[name](rng, *SIZES[size])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def normal(rng, *shape, scale=1.0):
    return rng.standard_normal(shape) * scale


def weight(rng, n_in, n_out):
    return Parameter(rng.standard_normal((n_in, n_out)) / math.sqrt(n_in))


# ==== batch_norm

class BatchNorm(Layer):
    """Statistics over batch and time, one pair per channel."""

    def __init__(self, d, rng):
        self.gamma = Parameter(rng.uniform(0.5, 1.5, d))
        self.beta = Parameter(normal(rng, d))
        self.eps = 1e-3

    def forward(self, x):
        xc = x - x.mean(axis=(0, 1))
        inv = 1 / np.sqrt((xc * xc).mean(axis=(0, 1)) + self.eps)
        xhat = xc * inv
        return xhat * self.gamma.data + self.beta.data, (xhat, inv)

    def backward(self, dy, cache):
        xhat, inv = cache
        n = xhat.shape[0] * xhat.shape[1]
        self.gamma.grad += (dy * xhat).sum(axis=(0, 1))
        self.beta.grad += dy.sum(axis=(0, 1))
        dxhat = dy * self.gamma.data
        proj = (dxhat * xhat).sum(axis=(0, 1))
        return inv / n * (n * dxhat - dxhat.sum(axis=(0, 1)) - xhat * proj)


@case
def batch_norm(rng, b, t, d):
    return BatchNorm(d, rng), [normal(rng, b, t, d)]


# ==== layer_norm

class VerboseLayerNorm(Layer):
    """LayerNorm, one small step per line."""

    def __init__(self, features, rng):
        self.features = features
        self.scale = Parameter(rng.uniform(0.5, 1.5, features))
        self.shift = Parameter(normal(rng, features))
        self.epsilon = 1e-5

    def forward(self, inputs):
        mean = inputs.mean(axis=-1, keepdims=True)
        centred = inputs - mean
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        inverse_std = (variance + self.epsilon) ** -0.5
        normalised = centred * inverse_std
        outputs = self.scale.data * normalised + self.shift.data
        return outputs, (centred, inverse_std, normalised)

    def backward(self, grad_outputs, cache):
        centred, inverse_std, normalised = cache
        rows = tuple(range(grad_outputs.ndim - 1))
        self.shift.grad += grad_outputs.sum(axis=rows)
        self.scale.grad += (grad_outputs * normalised).sum(axis=rows)
        # outputs -> normalised
        grad_normalised = grad_outputs * self.scale.data
        # normalised -> inverse_std -> variance
        grad_inverse_std = (grad_normalised * centred).sum(axis=-1, keepdims=True)
        grad_variance = grad_inverse_std * -0.5 * inverse_std ** 3
        # normalised, variance -> centred
        grad_centred = grad_normalised * inverse_std
        grad_centred = grad_centred + grad_variance * 2 * centred / self.features
        # centred -> inputs, mean
        grad_mean = -grad_centred.sum(axis=-1, keepdims=True)
        return grad_centred + grad_mean / self.features


@case
def layer_norm(rng, b, t, d):
    return VerboseLayerNorm(d, rng), [normal(rng, b, t, d)]


# ==== group_norm

class GroupNorm(Layer):
    def __init__(self, d, groups, rng):
        self.g = groups
        self.w = Parameter(rng.uniform(0.5, 1.5, d))
        self.b = Parameter(normal(rng, d))

    def forward(self, x):
        N, T, D = x.shape
        xg = x.reshape(N, T, self.g, D // self.g)
        xg = xg - xg.mean((1, 3), keepdims=True)
        rstd = 1 / np.sqrt((xg * xg).mean((1, 3), keepdims=True) + 1e-5)
        xn = xg * rstd
        return xn.reshape(x.shape) * self.w.data + self.b.data, (xn, rstd)

    def backward(self, dy, cache):
        xn, rstd = cache
        self.b.grad += dy.sum((0, 1))
        self.w.grad += (dy * xn.reshape(dy.shape)).sum((0, 1))
        dxn = (dy * self.w.data).reshape(xn.shape)
        m1 = dxn.mean((1, 3), keepdims=True)
        m2 = (dxn * xn).mean((1, 3), keepdims=True)
        dx = rstd * (dxn - m1 - xn * m2)
        return dx.reshape(dy.shape)


@case
def group_norm(rng, b, t, d):
    return GroupNorm(d, 2, rng), [normal(rng, b, t, d)]


# ==== gemma_norm

class GemmaNorm(Layer):
    """y = (1 + gamma) x / rms(x)."""

    def __init__(self, dim, rng):
        self.gamma = Parameter(normal(rng, dim, scale=0.5))

    def forward(self, x):
        ms = np.mean(x * x, axis=-1, keepdims=True)
        r = 1.0 / np.sqrt(ms + 1e-6)
        return (1 + self.gamma.data) * (x * r), (x, r)

    def backward(self, dout, cache):
        x, r = cache
        dn = dout * (1 + self.gamma.data)
        self.gamma.grad += np.einsum("btd,btd->d", dout, x * r)
        dr = (dn * x).sum(axis=-1, keepdims=True)
        dms = dr * (-0.5) * r ** 3
        dx = dn * r + dms * 2 * x / x.shape[-1]
        return dx


@case
def gemma_norm(rng, b, t, d):
    return GemmaNorm(d, rng), [normal(rng, b, t, d)]


# ==== weight_norm

class WeightNormLinear(Layer):
    """W[o] = g[o] v[o] / |v[o]|, y = x W^T + b."""

    def __init__(self, d_in, d_out, rng):
        self.v = Parameter(normal(rng, d_out, d_in))
        self.g = Parameter(rng.uniform(0.5, 2, d_out))
        self.bias = Parameter(normal(rng, d_out))

    def forward(self, x):
        v = self.v.data
        norm = np.sqrt((v * v).sum(axis=1))
        w = (self.g.data / norm)[:, None] * v
        return x @ w.T + self.bias.data, (x, w, norm)

    def backward(self, dy, cache):
        x, w, norm = cache
        v, g = self.v.data, self.g.data
        dw = np.einsum("bto,bti->oi", dy, x)
        dot = (dw * v).sum(axis=1)
        self.bias.grad += dy.sum(axis=(0, 1))
        self.g.grad += dot / norm
        self.v.grad += (g / norm)[:, None] * (dw - (dot / norm ** 2)[:, None] * v)
        return dy @ w


@case
def weight_norm(rng, b, t, d):
    return WeightNormLinear(d, d + 1, rng), [normal(rng, b, t, d)]


# ==== spectral_norm

class SpectralNormLinear(Layer):
    """Divides W by sigma = u^T W v; u and v come from a power iteration and are held fixed."""

    def __init__(self, d, rng):
        self.W = Parameter(normal(rng, d, d))
        v = normal(rng, d)
        for _ in range(8):
            u = self.W.data @ v
            u /= np.linalg.norm(u)
            v = self.W.data.T @ u
            v /= np.linalg.norm(v)
        self.u, self.v = u, v

    def forward(self, x):
        W = self.W.data
        u, v = self.u.astype(x.dtype), self.v.astype(x.dtype)
        sigma = u @ W @ v
        return x @ (W / sigma), (x, u, v, sigma)

    def backward(self, dy, cache):
        x, u, v, sigma = cache
        W = self.W.data
        dWn = np.tensordot(x, dy, axes=([0, 1], [0, 1]))
        dsigma = -(dWn * W).sum() / sigma ** 2
        self.W.grad += dWn / sigma + dsigma * np.outer(u, v)
        return dy @ W.T / sigma


@case
def spectral_norm(rng, b, t, d):
    return SpectralNormLinear(d, rng), [normal(rng, b, t, d)]


# ==== spectral_exact

class TwoColumnSpectral(Layer):
    """y = x W / sigma_max(W), for W (k, 2): the largest eigenvalue of the 2x2 Gram matrix in
    closed form."""

    def __init__(self, k, rng):
        self.W = Parameter(normal(rng, k, 2))

    def forward(self, x):
        w0, w1 = self.W.data[:, 0], self.W.data[:, 1]
        a, b, c = (w0 * w0).sum(), (w0 * w1).sum(), (w1 * w1).sum()
        half = (a - c) / 2
        root = np.sqrt(half * half + b * b)
        sigma = np.sqrt((a + c) / 2 + root)
        return x @ self.W.data / sigma, (x, b, half, root, sigma)

    def backward(self, dy, cache):
        x, b, half, root, sigma = cache
        W = self.W.data
        w0, w1 = W[:, 0], W[:, 1]
        dWn = x.T @ dy
        dsigma = -(dWn * W).sum() / sigma ** 2
        dlam = dsigma / (2 * sigma)
        da = dlam * (0.5 + half / (2 * root))
        dc = dlam * (0.5 - half / (2 * root))
        db = dlam * b / root
        dW = dWn / sigma
        dW[:, 0] += 2 * da * w0 + db * w1
        dW[:, 1] += 2 * dc * w1 + db * w0
        self.W.grad += dW
        return dy @ W.T / sigma


@case
def spectral_exact(rng, b, t, d):
    return TwoColumnSpectral(d, rng), [normal(rng, b * t, d)]


# ==== cosine_classifier

def unit(a):
    """Rows of length 1, and the lengths."""
    n = np.sqrt((a * a).sum(-1, keepdims=True))
    return a / n, n


def unit_backward(da, u, n):
    return (da - u * (da * u).sum(-1, keepdims=True)) / n


class CosineClassifier(Layer):
    def __init__(self, d, classes, rng):
        self.w = Parameter(normal(rng, classes, d))
        self.scale = Parameter(np.array([4.0]))

    def forward(self, x):
        xu, xn = unit(x)
        wu, wn = unit(self.w.data)
        cos = xu @ wu.T
        return self.scale.data * cos, (xu, xn, wu, wn, cos)

    def backward(self, dy, cache):
        xu, xn, wu, wn, cos = cache
        self.scale.grad += (dy * cos).sum()
        dcos = dy * self.scale.data
        self.w.grad += unit_backward(dcos.T @ xu, wu, wn)
        return unit_backward(dcos @ wu, xu, xn)


@case
def cosine_classifier(rng, b, t, d):
    return CosineClassifier(d, 5, rng), [normal(rng, b * t, d)]


# ==== l2_normalize

class L2Normalize(Layer):
    """x / sqrt(|x|^2 + eps) along the last axis."""

    eps = 0.05

    def forward(self, x):
        norm = np.sqrt((x * x).sum(-1, keepdims=True) + self.eps)
        return x / norm, x

    def backward(self, dy, x):
        length = np.sqrt((x * x).sum(-1, keepdims=True) + self.eps)
        dot = (dy * x).sum(-1, keepdims=True)
        return dy / length - x * dot / length ** 3


@case
def l2_normalize(rng, b, t, d):
    return L2Normalize(), [normal(rng, b, t, d)]


# ==== standardize_time

class StandardizeOverTime(Layer):
    """Every channel of every series to mean 0 and *sample* variance 1 (divisor T - 1)."""

    def forward(self, x):
        T = x.shape[1]
        c = x - x.mean(1, keepdims=True)
        s = np.sqrt((c * c).sum(1, keepdims=True) / (T - 1) + 1e-6)
        return c / s, (c / s, s)

    def backward(self, dz, cache):
        z, s = cache
        T = z.shape[1]
        dc = (dz - z * (dz * z).sum(1, keepdims=True) / (T - 1)) / s
        dx = dc - dc.mean(1, keepdims=True)
        return dx


@case
def standardize_time(rng, b, t, d):
    return StandardizeOverTime(), [normal(rng, b, t, d)]


# ==== adaptive_norm

class AdaptiveNorm(Layer):
    """DiT's adaLN: shift and scale of the normalised x come from a condition c (B, C)."""

    def __init__(self, d, d_cond, rng):
        self.to_scale = weight(rng, d_cond, d)
        self.to_shift = weight(rng, d_cond, d)

    def forward(self, x, c):
        xc = x - x.mean(-1, keepdims=True)
        rstd = 1 / np.sqrt((xc * xc).mean(-1, keepdims=True) + 1e-5)
        n = xc * rstd
        scale = c @ self.to_scale.data
        shift = c @ self.to_shift.data
        return n * (1 + scale[:, None]) + shift[:, None], (n, rstd, scale, c)

    def backward(self, dy, cache):
        n, rstd, scale, c = cache
        dscale = (dy * n).sum(1)
        dshift = dy.sum(1)
        self.to_scale.grad += c.T @ dscale
        self.to_shift.grad += c.T @ dshift
        dc = dscale @ self.to_scale.data.T + dshift @ self.to_shift.data.T
        dn = dy * (1 + scale[:, None])
        dx = rstd * (dn - dn.mean(-1, keepdims=True) - n * (dn * n).mean(-1, keepdims=True))
        return dx, dc


@case
def adaptive_norm(rng, b, t, d):
    return AdaptiveNorm(d, 3, rng), [normal(rng, b, t, d), normal(rng, b, 3)]


# ==== glu

class GLU(Layer):
    def __init__(self, d, rng):
        self.w = weight(rng, d, 2 * d)

    def forward(self, x):
        a, b = np.split(x @ self.w.data, 2, axis=-1)
        s = sigmoid(b)
        return a * s, (x, a, s)

    def backward(self, dy, cache):
        x, a, s = cache
        da = dy * s
        db = dy * a * s * (1 - s)
        dab = np.concatenate([da, db], axis=-1)
        self.w.grad += np.einsum("bti,bto->io", x, dab)
        return dab @ self.w.data.T


@case
def glu(rng, b, t, d):
    return GLU(d, rng), [normal(rng, b, t, d)]


# ==== swiglu

class SwiGLU(Layer):
    """Llama's feed-forward: w2(silu(w1 x) * w3 x)."""

    def __init__(self, dim, hidden, rng):
        self.w1 = weight(rng, dim, hidden)
        self.w2 = weight(rng, hidden, dim)
        self.w3 = weight(rng, dim, hidden)

    def forward(self, x):
        gate = x @ self.w1.data
        up = x @ self.w3.data
        sg = sigmoid(gate)
        h = gate * sg * up
        return h @ self.w2.data, (x, gate, sg, up, h)

    def backward(self, dy, cache):
        x, gate, sg, up, h = cache
        flat = lambda a: a.reshape(-1, a.shape[-1])
        dh = dy @ self.w2.data.T
        dup = dh * gate * sg
        dgate = dh * up * (sg + gate * sg * (1 - sg))
        self.w2.grad += flat(h).T @ flat(dy)
        self.w1.grad += flat(x).T @ flat(dgate)
        self.w3.grad += flat(x).T @ flat(dup)
        return dgate @ self.w1.data.T + dup @ self.w3.data.T


@case
def swiglu(rng, b, t, d):
    return SwiGLU(d, d + 2, rng), [normal(rng, b, t, d)]


# ==== geglu

C = math.sqrt(2 / math.pi)
K = 0.044715


def gelu(x):
    return 0.5 * x * (1 + np.tanh(C * (x + K * x ** 3)))


def gelu_slope(x):
    th = np.tanh(C * (x + K * x ** 3))
    inner = C * (1 + 3 * K * x ** 2)
    return 0.5 * (1 + th) + 0.5 * x * (1 - th ** 2) * inner


class GEGLU(Layer):
    def __init__(self, d, h, rng):
        self.gate, self.value = weight(rng, d, h), weight(rng, d, h)

    def forward(self, x):
        g, v = x @ self.gate.data, x @ self.value.data
        return gelu(g) * v, (x, g, v)

    def backward(self, dy, cache):
        x, g, v = cache
        dg, dv = dy * v * gelu_slope(g), dy * gelu(g)
        x2 = x.reshape(-1, x.shape[-1])
        self.gate.grad += x2.T @ dg.reshape(len(x2), -1)
        self.value.grad += x2.T @ dv.reshape(len(x2), -1)
        return dg @ self.gate.data.T + dv @ self.value.data.T


@case
def geglu(rng, b, t, d):
    return GEGLU(d, 5, rng), [normal(rng, b, t, d)]


# ==== highway

class Highway(Layer):
    def __init__(self, d, rng):
        self.Wh, self.bh = weight(rng, d, d), Parameter(normal(rng, d))
        self.Wt, self.bt = weight(rng, d, d), Parameter(np.full(d, -1.0))

    def forward(self, x):
        h = np.tanh(x @ self.Wh.data + self.bh.data)
        t = sigmoid(x @ self.Wt.data + self.bt.data)
        return t * h + (1 - t) * x, (x, h, t)

    def backward(self, dy, cache):
        x, h, t = cache
        dh = dy * t
        dt = dy * (h - x)
        dh_pre = dh * (1 - h * h)
        dt_pre = dt * t * (1 - t)
        self.Wh.grad += x.T @ dh_pre
        self.bh.grad += dh_pre.sum(0)
        self.Wt.grad += x.T @ dt_pre
        self.bt.grad += dt_pre.sum(0)
        return dy * (1 - t) + dh_pre @ self.Wh.data.T + dt_pre @ self.Wt.data.T


@case
def highway(rng, b, t, d):
    return Highway(d, rng), [normal(rng, b * t, d)]


# ==== gru_gate

class GRUGate(Layer):
    """The gate of GTrXL instead of a residual sum: x is the stream, y the sublayer's output."""

    def __init__(self, d, rng):
        self.Wr, self.Ur = weight(rng, d, d), weight(rng, d, d)
        self.Wz, self.Uz = weight(rng, d, d), weight(rng, d, d)
        self.Wg, self.Ug = weight(rng, d, d), weight(rng, d, d)
        self.bg = Parameter(np.full(d, 1.0))

    def forward(self, x, y):
        r = sigmoid(y @ self.Wr.data + x @ self.Ur.data)
        z = sigmoid(y @ self.Wz.data + x @ self.Uz.data - self.bg.data)
        h = np.tanh(y @ self.Wg.data + (r * x) @ self.Ug.data)
        return (1 - z) * x + z * h, (x, y, r, z, h)

    def backward(self, dout, cache):
        x, y, r, z, h = cache
        dh = dout * z * (1 - h ** 2)
        dz = dout * (h - x) * z * (1 - z)
        drx = dh @ self.Ug.data.T
        dr = drx * x * r * (1 - r)
        for p, a, d in [(self.Wr, y, dr), (self.Ur, x, dr), (self.Wz, y, dz), (self.Uz, x, dz),
                        (self.Wg, y, dh), (self.Ug, r * x, dh)]:
            p.grad += a.T @ d
        self.bg.grad -= dz.sum(0)
        dx = dout * (1 - z) + drx * r
        dx += dr @ self.Ur.data.T + dz @ self.Uz.data.T
        dy = dr @ self.Wr.data.T + dz @ self.Wz.data.T + dh @ self.Wg.data.T
        return dx, dy


@case
def gru_gate(rng, b, t, d):
    return GRUGate(d, rng), [normal(rng, b * t, d), normal(rng, b * t, d)]


# ==== squeeze_excite

class SqueezeExcite(Layer):
    """Each channel times a gate computed from all channels' means over time."""

    def __init__(self, d, squeeze, rng):
        self.down = weight(rng, d, squeeze)
        self.up = weight(rng, squeeze, d)

    def forward(self, x):
        s = x.mean(axis=1)
        h = np.tanh(s @ self.down.data)
        g = sigmoid(h @ self.up.data)
        return x * g[:, None, :], (x, s, h, g)

    def backward(self, dy, cache):
        x, s, h, g = cache
        dg = (dy * x).sum(axis=1)
        dlogit = dg * g * (1 - g)
        self.up.grad += h.T @ dlogit
        dpre = (dlogit @ self.up.data.T) * (1 - h * h)
        self.down.grad += s.T @ dpre
        ds = dpre @ self.down.data.T
        dx = dy * g[:, None, :]
        dx = dx + ds[:, None, :] / x.shape[1]
        return dx


@case
def squeeze_excite(rng, b, t, d):
    return SqueezeExcite(d, 3, rng), [normal(rng, b, t, d)]


# ==== swish_beta

class Swish(Layer):
    """x * sigmoid(beta * x), with a beta per channel that is learned."""

    def __init__(self, d, rng):
        self.beta = Parameter(rng.uniform(0.5, 2.0, d))

    def forward(self, x):
        s = sigmoid(self.beta.data * x)
        return x * s, (x, s)

    def backward(self, dy, cache):
        x, s = cache
        slope = s * (1 - s)
        self.beta.grad += (dy * x * x * slope).sum(axis=(0, 1))
        return dy * (s + self.beta.data * x * slope)


@case
def swish_beta(rng, b, t, d):
    return Swish(d, rng), [normal(rng, b, t, d)]


# ==== squared_relu_ffn

class SquaredReluFFN(Layer):
    """Primer: relu(x W1 + b1)^2 W2 + b2."""

    def __init__(self, d, h, rng):
        self.W1, self.b1 = weight(rng, d, h), Parameter(normal(rng, h))
        self.W2, self.b2 = weight(rng, h, d), Parameter(normal(rng, d))

    def forward(self, x):
        pre = x @ self.W1.data + self.b1.data
        r = np.where(pre.real > 0, pre, 0)
        a = r * r
        return a @ self.W2.data + self.b2.data, (x, r, a)

    def backward(self, dy, cache):
        x, r, a = cache
        self.b2.grad += dy.sum((0, 1))
        self.W2.grad += np.einsum("bth,btd->hd", a, dy)
        da = np.einsum("btd,hd->bth", dy, self.W2.data)
        dpre = 2 * r * da
        self.b1.grad += dpre.sum((0, 1))
        self.W1.grad += np.einsum("btd,bth->dh", x, dpre)
        return np.einsum("bth,dh->btd", dpre, self.W1.data)


@case
def squared_relu_ffn(rng, b, t, d):
    return SquaredReluFFN(d, 7, rng), [normal(rng, b, t, d)]


# ==== elman_rnn

class ElmanRNN(Layer):
    """h_t = tanh(x_t W + h_{t-1} U + b), with a learned h_0."""

    def __init__(self, d, n, rng):
        self.W, self.U = weight(rng, d, n), weight(rng, n, n)
        self.b, self.h0 = Parameter(normal(rng, n)), Parameter(normal(rng, n))

    def forward(self, x):
        B, T, _ = x.shape
        h = np.broadcast_to(self.h0.data, (B, len(self.h0.data)))
        hs = [h]
        for t in range(T):
            h = np.tanh(x[:, t] @ self.W.data + h @ self.U.data + self.b.data)
            hs.append(h)
        return np.stack(hs[1:], axis=1), (x, hs)

    def backward(self, dy, cache):
        x, hs = cache
        dx = np.zeros_like(x)
        dh_next = np.zeros_like(hs[0])
        for t in reversed(range(x.shape[1])):
            dh = dy[:, t] + dh_next
            da = dh * (1 - hs[t + 1] ** 2)
            self.W.grad += x[:, t].T @ da
            self.U.grad += hs[t].T @ da
            self.b.grad += da.sum(axis=0)
            dx[:, t] = da @ self.W.data.T
            dh_next = da @ self.U.data.T
        self.h0.grad += dh_next.sum(axis=0)
        return dx


@case
def elman_rnn(rng, b, t, d):
    return ElmanRNN(d, 5, rng), [normal(rng, b, t, d)]


# ==== gru

class GRU(Layer):
    """As in PyTorch: n = tanh(W x + r * (U h)), h' = (1 - z) n + z h."""

    def __init__(self, d, n, rng):
        self.Wr, self.Ur = weight(rng, d, n), weight(rng, n, n)
        self.Wz, self.Uz = weight(rng, d, n), weight(rng, n, n)
        self.Wn, self.Un = weight(rng, d, n), weight(rng, n, n)

    def forward(self, x):
        B, T, _ = x.shape
        h = np.zeros((B, self.Ur.shape[0]), x.dtype)
        ys, steps = [], []
        for t in range(T):
            xt = x[:, t]
            r = sigmoid(xt @ self.Wr.data + h @ self.Ur.data)
            z = sigmoid(xt @ self.Wz.data + h @ self.Uz.data)
            hu = h @ self.Un.data
            n = np.tanh(xt @ self.Wn.data + r * hu)
            steps.append((h, r, z, hu, n))
            h = (1 - z) * n + z * h
            ys.append(h)
        return np.stack(ys, 1), (x, steps)

    def backward(self, dy, cache):
        x, steps = cache
        dx = np.empty_like(x)
        carry = 0
        for t in range(x.shape[1] - 1, -1, -1):
            h, r, z, hu, n = steps[t]
            xt = x[:, t]
            dh = dy[:, t] + carry
            dn = dh * (1 - z) * (1 - n * n)
            dz = dh * (h - n) * z * (1 - z)
            dr = dn * hu * r * (1 - r)
            dhu = dn * r
            self.Wr.grad += xt.T @ dr
            self.Wz.grad += xt.T @ dz
            self.Wn.grad += xt.T @ dn
            self.Ur.grad += h.T @ dr
            self.Uz.grad += h.T @ dz
            self.Un.grad += h.T @ dhu
            dx[:, t] = dr @ self.Wr.data.T + dz @ self.Wz.data.T + dn @ self.Wn.data.T
            carry = dh * z + dr @ self.Ur.data.T + dz @ self.Uz.data.T + dhu @ self.Un.data.T
        return dx


@case
def gru(rng, b, t, d):
    return GRU(d, 5, rng), [normal(rng, b, t, d)]


# ==== lstm

class LSTM(Layer):
    """Returns all hidden states and the last cell."""

    def __init__(self, d, n, rng):
        self.n = n
        self.W = weight(rng, d + n, 4 * n)
        self.b = Parameter(normal(rng, 4 * n))

    def forward(self, x):
        batch = x.shape[0]
        h = c = np.zeros((batch, self.n), x.dtype)
        memo, out = [], []
        for xt in x.swapaxes(0, 1):
            xh = np.concatenate([xt, h], axis=1)
            i, f, o, g = np.split(xh @ self.W.data + self.b.data, 4, axis=1)
            i, f, o, g = sigmoid(i), sigmoid(f), sigmoid(o), np.tanh(g)
            c_old = c
            c = f * c_old + i * g
            tc = np.tanh(c)
            h = o * tc
            memo.append((xh, i, f, o, g, c_old, tc))
            out.append(h)
        return (np.stack(out, 1), c), (x.shape, memo)

    def backward(self, dy, cache):
        dhs, dc = dy
        shape, memo = cache
        dx = np.zeros(shape, dhs.dtype)
        dh_next = np.zeros_like(dhs[:, 0])
        for t in reversed(range(shape[1])):
            xh, i, f, o, g, c_old, tc = memo[t]
            dh = dhs[:, t] + dh_next
            do = dh * tc
            dc = dc + dh * o * (1 - tc * tc)
            di, df, dg = dc * g, dc * c_old, dc * i
            dpre = np.concatenate([di * i * (1 - i), df * f * (1 - f), do * o * (1 - o),
                                   dg * (1 - g * g)], axis=1)
            self.W.grad += xh.T @ dpre
            self.b.grad += dpre.sum(0)
            dxh = dpre @ self.W.data.T
            dx[:, t] = dxh[:, :shape[2]]
            dh_next = dxh[:, shape[2]:]
            dc = dc * f
        return dx


@case
def lstm(rng, b, t, d):
    return LSTM(d, 4, rng), [normal(rng, b, t, d)]


# ==== ema

class EMA(Layer):
    """h_t = a h_{t-1} + (1 - a) x_t, where a = sigmoid(p) for each channel."""

    def __init__(self, d, rng):
        self.p = Parameter(normal(rng, d))

    def forward(self, x):
        a = sigmoid(self.p.data)
        h = np.zeros_like(x)
        h[:, 0] = (1 - a) * x[:, 0]
        for t in range(1, x.shape[1]):
            h[:, t] = a * h[:, t - 1] + (1 - a) * x[:, t]
        return h, (x, h, a)

    def backward(self, dy, cache):
        x, h, a = cache
        dx = np.empty_like(dy)
        da = np.zeros_like(a)
        g = np.zeros_like(dy[:, 0])
        for t in range(dy.shape[1] - 1, -1, -1):
            g = dy[:, t] + a * g
            h_prev = h[:, t - 1] if t > 0 else np.zeros_like(g)
            dx[:, t] = (1 - a) * g
            da += (g * (h_prev - x[:, t])).sum(0)
        self.p.grad += da * a * (1 - a)
        return dx


@case
def ema(rng, b, t, d):
    return EMA(d, rng), [normal(rng, b, t, d)]


# ==== diagonal_ssm

class DiagonalSSM(Layer):
    """S4D with real states: N per channel. h = exp(-exp(A_log)) h + B x, y = <C, h> + D x."""

    def __init__(self, d, n, rng):
        self.A_log = Parameter(normal(rng, d, n) - 1)
        self.B = Parameter(normal(rng, d, n))
        self.C = Parameter(normal(rng, d, n))
        self.D = Parameter(normal(rng, d))

    def forward(self, x):
        decay = np.exp(-np.exp(self.A_log.data))
        h = np.zeros((len(x),) + decay.shape, x.dtype)
        states, y = [h], []
        for t in range(x.shape[1]):
            h = decay * h + self.B.data * x[:, t, :, None]
            states.append(h)
            y.append(np.einsum("bdn,dn->bd", h, self.C.data))
        return np.stack(y, 1) + self.D.data * x, (x, np.stack(states, 1), decay)

    def backward(self, dy, cache):
        x, states, decay = cache
        dx = dy * self.D.data
        self.D.grad += (dy * x).sum((0, 1))
        self.C.grad += np.einsum("btd,btdn->dn", dy, states[:, 1:])
        dh = np.zeros_like(states[:, 0])
        ddecay = np.zeros_like(decay)
        for t in range(x.shape[1] - 1, -1, -1):
            dh = dh + dy[:, t, :, None] * self.C.data
            self.B.grad += (dh * x[:, t, :, None]).sum(0)
            dx[:, t] += (dh * self.B.data).sum(-1)
            ddecay += (dh * states[:, t]).sum(0)
            dh = dh * decay
        self.A_log.grad += ddecay * decay * -np.exp(self.A_log.data)
        return dx


@case
def diagonal_ssm(rng, b, t, d):
    return DiagonalSSM(d, 3, rng), [normal(rng, b, t, d)]


# ==== linear_attention

def feature(x):
    """elu(x) + 1."""
    return np.where(x.real > 0, x + 1, np.exp(x))


def feature_slope(x):
    return np.where(x.real > 0, 1, np.exp(x)).astype(x.dtype)


class LinearAttention(Layer):
    """Causal: y_t = f(q_t) S_t / f(q_t) z_t, where S_t = sum f(k) v^T and z_t = sum f(k), up to
    t."""

    def forward(self, q, k, v):
        fq, fk = feature(q), feature(k)
        S = np.cumsum(fk[..., :, None] * v[..., None, :], axis=1)
        z = np.cumsum(fk, axis=1)
        den = (fq * z).sum(-1, keepdims=True)
        y = np.einsum("btd,btde->bte", fq, S) / den
        return y, (q, k, v, S, z, den, y)

    def backward(self, dy, cache):
        q, k, v, S, z, den, y = cache
        fq, fk = feature(q), feature(k)
        dnum = dy / den
        dden = -(dy * y).sum(-1, keepdims=True) / den
        dfq = np.einsum("bte,btde->btd", dnum, S) + dden * z
        dS = fq[..., :, None] * dnum[..., None, :]
        dz = fq * dden
        # a cumulative sum turned round
        dS = np.flip(np.cumsum(np.flip(dS, 1), 1), 1)
        dz = np.flip(np.cumsum(np.flip(dz, 1), 1), 1)
        dfk = np.einsum("btde,bte->btd", dS, v) + dz
        dv = np.einsum("btde,btd->bte", dS, fk)
        return dfq * feature_slope(q), dfk * feature_slope(k), dv


@case
def linear_attention(rng, b, t, d):
    return LinearAttention(), [normal(rng, b, t, d) for _ in range(3)]


# ==== min_gru

class MinGRU(Layer):
    """Gates from the input alone: h_t = (1 - z_t) h_{t-1} + z_t c_t."""

    def __init__(self, d, n, rng):
        self.Wz, self.bz = weight(rng, d, n), Parameter(normal(rng, n))
        self.Wc = weight(rng, d, n)

    def forward(self, x):
        z = sigmoid(x @ self.Wz.data + self.bz.data)
        c = x @ self.Wc.data
        h = np.zeros((x.shape[0], x.shape[1] + 1, z.shape[2]), x.dtype)
        for t in range(x.shape[1]):
            h[:, t + 1] = (1 - z[:, t]) * h[:, t] + z[:, t] * c[:, t]
        return h[:, 1:].copy(), (x, z, c, h)

    def backward(self, dy, cache):
        x, z, c, h = cache
        total = np.zeros_like(dy)
        total[:, -1] = dy[:, -1]
        for t in range(dy.shape[1] - 2, -1, -1):
            total[:, t] = dy[:, t] + (1 - z[:, t + 1]) * total[:, t + 1]
        dc = total * z
        dz = total * (c - h[:, :-1])
        dpre = dz * z * (1 - z)
        self.bz.grad += dpre.sum((0, 1))
        self.Wz.grad += np.einsum("bti,bto->io", x, dpre)
        self.Wc.grad += np.einsum("bti,bto->io", x, dc)
        return dc @ self.Wc.data.T + dpre @ self.Wz.data.T


@case
def min_gru(rng, b, t, d):
    return MinGRU(d, 5, rng), [normal(rng, b, t, d)]


# ==== bidirectional

class OneWay(Layer):
    """A tanh recurrence whose state is added to a linear view of x."""

    def __init__(self, d, n, rng):
        self.inp, self.rec = weight(rng, d, n), weight(rng, n, n)

    def forward(self, x):
        h, hs = np.zeros((x.shape[0], self.rec.shape[0]), x.dtype), []
        for t in range(x.shape[1]):
            h = np.tanh(x[:, t] @ self.inp.data + h @ self.rec.data)
            hs.append(h)
        return np.stack(hs, 1), (x, np.stack(hs, 1))

    def backward(self, dy, cache):
        x, hs = cache
        dx, d = np.zeros_like(x), 0
        for t in reversed(range(x.shape[1])):
            d = (dy[:, t] + d) * (1 - hs[:, t] ** 2)
            self.inp.grad += x[:, t].T @ d
            if t > 0:
                self.rec.grad += hs[:, t - 1].T @ d
            dx[:, t] = d @ self.inp.data.T
            d = d @ self.rec.data.T
        return dx


class Bidirectional(Layer):
    def __init__(self, d, n, rng):
        self.n = n
        self.ltr = OneWay(d, n, rng)
        self.rtl = OneWay(d, n, rng)

    def forward(self, x):
        a, cache_a = self.ltr.forward(x)
        b, cache_b = self.rtl.forward(x[:, ::-1])
        return np.concatenate([a, b[:, ::-1]], -1), (cache_a, cache_b)

    def backward(self, dy, cache):
        cache_a, cache_b = cache
        da, db = dy[..., :self.n], dy[..., self.n:]
        dx = self.ltr.backward(da, cache_a)
        dx = dx + self.rtl.backward(db[:, ::-1], cache_b)[:, ::-1]
        return dx


@case
def bidirectional(rng, b, t, d):
    return Bidirectional(d, 4, rng), [normal(rng, b, t, d)]


# ==== retention

class Retention(Layer):
    """RetNet, parallel form, with a learned decay g = sigmoid(rho): D[i, j] = g^(i-j) for j <=
    i."""

    def __init__(self, d, rng):
        self.Q, self.K, self.V = (weight(rng, d, d) for _ in range(3))
        self.rho = Parameter(np.array([1.5]))

    def forward(self, x):
        q, k, v = x @ self.Q.data, x @ self.K.data, x @ self.V.data
        T = x.shape[1]
        lag = np.arange(T)[:, None] - np.arange(T)
        g = sigmoid(self.rho.data)
        D = np.where(lag >= 0, g ** np.maximum(lag, 0).astype(x.real.dtype), 0)
        s = q @ k.swapaxes(1, 2)
        return (s * D) @ v, (x, q, k, v, s, D, g, lag)

    def backward(self, dy, cache):
        x, q, k, v, s, D, g, lag = cache
        dA = dy @ v.swapaxes(1, 2)
        dv = (s * D).swapaxes(1, 2) @ dy
        ds = dA * D
        dD = (dA * s).sum(0)
        dg = (dD * lag * D).sum() / g
        self.rho.grad += dg * g * (1 - g)
        dq = ds @ k
        dk = ds.swapaxes(1, 2) @ q
        self.Q.grad += np.einsum("bti,bto->io", x, dq)
        self.K.grad += np.einsum("bti,bto->io", x, dk)
        self.V.grad += np.einsum("bti,bto->io", x, dv)
        return dq @ self.Q.data.T + dk @ self.K.data.T + dv @ self.V.data.T


@case
def retention(rng, b, t, d):
    return Retention(d, rng), [normal(rng, b, t, d)]


# ==== delta_rule

class DeltaRule(Layer):
    """DeltaNet: u = beta (v - S^T k), S += k u^T, y = S^T q, step by step."""

    def forward(self, q, k, v, beta):
        B, T, n = k.shape
        S = np.zeros((B, n, v.shape[-1]), v.dtype)
        tape, ys = [], []
        for t in range(T):
            old = S
            err = v[:, t] - np.einsum("bk,bkv->bv", k[:, t], old)
            u = beta[:, t, None] * err
            S = old + np.einsum("bk,bv->bkv", k[:, t], u)
            ys.append(np.einsum("bk,bkv->bv", q[:, t], S))
            tape.append((old, err, u, S))
        return np.stack(ys, 1), (q, k, v, beta, tape)

    def backward(self, dy, cache):
        q, k, v, beta, tape = cache
        dq, dk, dv, dbeta = (np.zeros_like(a) for a in (q, k, v, beta))
        dS = np.zeros_like(tape[0][0])
        for t in reversed(range(len(tape))):
            old, err, u, S = tape[t]
            dq[:, t] = np.einsum("bkv,bv->bk", S, dy[:, t])
            dS = dS + np.einsum("bk,bv->bkv", q[:, t], dy[:, t])
            du = np.einsum("bk,bkv->bv", k[:, t], dS)
            derr = beta[:, t, None] * du
            dbeta[:, t] = (du * err).sum(-1)
            dv[:, t] = derr
            dk[:, t] = np.einsum("bkv,bv->bk", dS, u) - np.einsum("bkv,bv->bk", old, derr)
            dS = dS - np.einsum("bk,bv->bkv", k[:, t], derr)
        return dq, dk, dv, dbeta


@case
def delta_rule(rng, b, t, d):
    q, k, v = (normal(rng, b, t, d) for _ in range(3))
    return DeltaRule(), [q, k / math.sqrt(d), v, rng.uniform(0.2, 0.9, (b, t))]


# ==== masked_rnn

class StepCache(NamedTuple):
    h_before: np.ndarray
    candidate: np.ndarray
    keep: np.ndarray


class MaskedRNN(Layer):
    """At padding the state stays as it is; y is the last state."""

    def __init__(self, d, n, rng):
        self.w_x = weight(rng, d, n)
        self.w_h = weight(rng, n, n)

    def step(self, x_t, h, real_t):
        candidate = np.tanh(x_t @ self.w_x.data + h @ self.w_h.data)
        keep = real_t[:, None].astype(x_t.dtype)
        return keep * candidate + (1 - keep) * h, StepCache(h, candidate, keep)

    def step_backward(self, dh, x_t, cache):
        dpre = dh * cache.keep * (1 - cache.candidate ** 2)
        self.w_x.grad += x_t.T @ dpre
        self.w_h.grad += cache.h_before.T @ dpre
        dh_before = dpre @ self.w_h.data.T + (1 - cache.keep) * dh
        return dpre @ self.w_x.data.T, dh_before

    def forward(self, x, real):
        h = np.zeros((len(x), self.w_h.shape[0]), x.dtype)
        caches = []
        for t in range(x.shape[1]):
            h, cache = self.step(x[:, t], h, real[:, t])
            caches.append(cache)
        return h, (x, caches)

    def backward(self, dy, cache):
        x, caches = cache
        dx, dh = np.zeros_like(x), dy
        for t in range(x.shape[1])[::-1]:
            dx[:, t], dh = self.step_backward(dh, x[:, t], caches[t])
        return dx


@case
def masked_rnn(rng, b, t, d):
    real = rng.random((b, t)) < 0.7
    real[:, 0], real[0, -1] = True, False
    return MaskedRNN(d, 5, rng), [normal(rng, b, t, d), real]


# ==== crf

def logsumexp(a, axis):
    m = a.max(axis=axis, keepdims=True)
    return (m + np.log(np.exp(a - m).sum(axis=axis, keepdims=True))).squeeze(axis)


class CRFLogPartition(Layer):
    """log Z of a linear-chain CRF with emissions (B, T, K), by the forward algorithm."""

    def __init__(self, tags, rng):
        self.trans = Parameter(normal(rng, tags, tags))

    def forward(self, emit):
        alpha = emit[:, 0]
        alphas = [alpha]
        for t in range(1, emit.shape[1]):
            alpha = emit[:, t] + logsumexp(alpha[:, :, None] + self.trans.data, 1)
            alphas.append(alpha)
        return logsumexp(alpha, 1), alphas

    def backward(self, dz, alphas):
        demit = []
        dalpha = dz[:, None] * softmax(alphas[-1], axis=1)
        for t in reversed(range(1, len(alphas))):
            demit.append(dalpha)
            p = softmax(alphas[t - 1][:, :, None] + self.trans.data, axis=1)
            dscore = p * dalpha[:, None, :]
            self.trans.grad += dscore.sum(0)
            dalpha = dscore.sum(2)
        demit.append(dalpha)
        return np.stack(demit[::-1], axis=1)


@case
def crf(rng, b, t, d):
    return CRFLogPartition(d, rng), [normal(rng, b, t, d)]


# ==== rotary_attention

def angles(T, d):
    theta = 10.0 ** (-2 * np.arange(d // 2) / d)
    return np.arange(T)[:, None] * theta


def rotate(x, cos, sin):
    """Rotary embedding of neighbouring pairs."""
    a, b = x[..., 0::2], x[..., 1::2]
    out = np.empty_like(x)
    out[..., 0::2] = a * cos - b * sin
    out[..., 1::2] = a * sin + b * cos
    return out


class RotaryAttention(Layer):
    """One causal head."""

    def __init__(self, d, rng):
        self.d = d
        self.wq, self.wk, self.wv = weight(rng, d, d), weight(rng, d, d), weight(rng, d, d)

    def forward(self, x):
        T = x.shape[1]
        ang = angles(T, self.d)
        cos, sin = np.cos(ang).astype(x.dtype), np.sin(ang).astype(x.dtype)
        q = rotate(x @ self.wq.data, cos, sin)
        k = rotate(x @ self.wk.data, cos, sin)
        v = x @ self.wv.data
        s = q @ k.transpose(0, 2, 1) / math.sqrt(self.d)
        s = np.where(np.tri(T, dtype=bool), s, -1e9)
        p = softmax(s)
        return p @ v, (x, q, k, v, p, cos, sin)

    def backward(self, dy, cache):
        x, q, k, v, p, cos, sin = cache
        dp = dy @ v.transpose(0, 2, 1)
        dv = p.transpose(0, 2, 1) @ dy
        ds = p * (dp - (dp * p).sum(-1, keepdims=True)) / math.sqrt(self.d)
        dq = rotate(ds @ k, cos, -sin)
        dk = rotate(ds.transpose(0, 2, 1) @ q, cos, -sin)
        self.wq.grad += np.einsum("bti,bto->io", x, dq)
        self.wk.grad += np.einsum("bti,bto->io", x, dk)
        self.wv.grad += np.einsum("bti,bto->io", x, dv)
        return dq @ self.wq.data.T + dk @ self.wk.data.T + dv @ self.wv.data.T


@case
def rotary_attention(rng, b, t, d):
    return RotaryAttention(d, rng), [normal(rng, b, t, d)]


# ==== alibi_attention

class ALiBi(Layer):
    """Two heads over given q, k, v (B, H, T, D), causal, with a penalty of slope * distance."""

    slopes = (0.5, 0.25)

    def forward(self, q, k, v):
        T, d = q.shape[2:]
        i = np.arange(T)
        dist = i[:, None] - i
        bias = np.where(dist >= 0, -np.array(self.slopes)[:, None, None] * dist, -np.inf)
        scores = np.einsum("bhid,bhjd->bhij", q, k) * d ** -0.5
        p = softmax(scores + bias.astype(q.real.dtype))
        return np.einsum("bhij,bhjd->bhid", p, v), (q, k, v, p)

    def backward(self, dy, cache):
        q, k, v, p = cache
        scale = q.shape[-1] ** -0.5
        dv = np.einsum("bhij,bhid->bhjd", p, dy)
        dp = np.einsum("bhid,bhjd->bhij", dy, v)
        ds = p * (dp - (dp * p).sum(axis=-1, keepdims=True))
        dq = np.einsum("bhij,bhjd->bhid", ds, k) * scale
        dk = np.einsum("bhij,bhid->bhjd", ds, q) * scale
        return dq, dk, dv


@case
def alibi_attention(rng, b, t, d):
    return ALiBi(), [normal(rng, b, 2, t, d // 2) for _ in range(3)]


# ==== cross_attention

class CrossAttention(Layer):
    """x (B, T, D) looks at memory (B, S, D); seen (B, S) is False at padding. With a residual."""

    def __init__(self, d, rng):
        self.q, self.kv = weight(rng, d, d), weight(rng, d, 2 * d)
        self.out = weight(rng, d, d)

    def forward(self, x, memory, seen):
        q = x @ self.q.data
        k, v = np.split(memory @ self.kv.data, 2, -1)
        scale = 1 / math.sqrt(q.shape[-1])
        scores = np.einsum("btd,bsd->bts", q, k) * scale
        p = softmax(np.where(seen[:, None, :], scores, -1e30))
        ctx = p @ v
        return x + ctx @ self.out.data, (x, memory, q, k, v, p, ctx)

    def backward(self, dy, cache):
        x, memory, q, k, v, p, ctx = cache
        scale = 1 / math.sqrt(q.shape[-1])
        self.out.grad += np.einsum("bti,bto->io", ctx, dy)
        dctx = dy @ self.out.data.T
        dv = np.einsum("bts,btd->bsd", p, dctx)
        dp = np.einsum("btd,bsd->bts", dctx, v)
        ds = p * (dp - np.einsum("bts,bts->bt", dp, p)[..., None]) * scale
        dq = ds @ k
        dk = np.einsum("bts,btd->bsd", ds, q)
        dkv = np.concatenate([dk, dv], -1)
        self.q.grad += np.einsum("bti,bto->io", x, dq)
        self.kv.grad += np.einsum("bsi,bso->io", memory, dkv)
        return dy + dq @ self.q.data.T, dkv @ self.kv.data.T


@case
def cross_attention(rng, b, t, d):
    seen = np.ones((b, t + 1), bool)
    seen[0, -1] = False
    return CrossAttention(d, rng), [normal(rng, b, t, d), normal(rng, b, t + 1, d), seen]


# ==== additive_attention

class Bahdanau(Layer):
    """score_t = v . tanh(W q + U k_t); the context is the weighted sum of the keys."""

    def __init__(self, d, n, rng):
        self.W, self.U = weight(rng, d, n), weight(rng, d, n)
        self.v = Parameter(normal(rng, n))

    def forward(self, query, keys):
        e = np.tanh((query @ self.W.data)[:, None] + keys @ self.U.data)
        a = softmax(e @ self.v.data)
        context = (a[..., None] * keys).sum(1)
        return context, (query, keys, e, a)

    def backward(self, dcontext, cache):
        query, keys, e, a = cache
        da = (keys * dcontext[:, None]).sum(-1)
        dscore = a * (da - (a * da).sum(-1, keepdims=True))
        self.v.grad += (dscore[..., None] * e).sum((0, 1))
        de = dscore[..., None] * self.v.data
        dpre = de * (1 - e * e)
        dpre_q = dpre.sum(1)
        self.W.grad += query.T @ dpre_q
        self.U.grad += np.einsum("btd,btn->dn", keys, dpre)
        dquery = dpre_q @ self.W.data.T
        dkeys = a[..., None] * dcontext[:, None] + dpre @ self.U.data.T
        return dquery, dkeys


@case
def additive_attention(rng, b, t, d):
    return Bahdanau(d, 5, rng), [normal(rng, b, d), normal(rng, b, t, d)]


# ==== attention_pool

class AttentionPool(Layer):
    """A learned query chooses among the real positions."""

    def __init__(self, d, rng):
        self.query = Parameter(normal(rng, d))

    def forward(self, x, mask):
        e = np.exp(x @ self.query.data) * mask
        w = e / e.sum(axis=1, keepdims=True)
        y = np.einsum("bt,btd->bd", w, x)
        return y, (x, w, y)

    def backward(self, dy, cache):
        x, w, y = cache
        dx_value = np.einsum("bt,bd->btd", w, dy)
        dw = np.einsum("bd,btd->bt", dy, x)
        mean_dw = np.einsum("bd,bd->b", dy, y)
        dlogit = w * (dw - mean_dw[:, None])
        self.query.grad += np.einsum("bt,btd->d", dlogit, x)
        dx_logit = np.einsum("bt,d->btd", dlogit, self.query.data)
        return dx_value + dx_logit


@case
def attention_pool(rng, b, t, d):
    mask = np.ones((b, t), bool)
    mask[0, -1] = False
    layer = AttentionPool(d, rng)
    layer.query.data /= math.sqrt(d)
    return layer, [normal(rng, b, t, d), mask]


# ==== multi_query

class MultiQueryAttention(Layer):
    """All heads share one key and one value."""

    def __init__(self, d, heads, rng):
        self.h, self.dh = heads, d // heads
        self.wq, self.wkv = weight(rng, d, d), weight(rng, d, 2 * self.dh)

    def forward(self, x):
        B, T, d = x.shape
        q = (x @ self.wq.data).reshape(B, T, self.h, self.dh)
        kv = x @ self.wkv.data
        k, v = kv[..., :self.dh], kv[..., self.dh:]
        p = softmax(np.einsum("bthd,bsd->bhts", q, k) / self.dh ** 0.5)
        y = np.einsum("bhts,bsd->bthd", p, v).reshape(B, T, d)
        return y, (x, q, k, v, p)

    def backward(self, dy, cache):
        x, q, k, v, p = cache
        B, T, d = x.shape
        dy = dy.reshape(B, T, self.h, self.dh)
        dv = np.einsum("bhts,bthd->bsd", p, dy)
        dp = np.einsum("bthd,bsd->bhts", dy, v)
        ds = p * (dp - (p * dp).sum(-1, keepdims=True))
        ds = ds / self.dh ** 0.5
        dq = np.einsum("bhts,bsd->bthd", ds, k).reshape(B, T, d)
        dk = np.einsum("bhts,bthd->bsd", ds, q)
        dkv = np.concatenate([dk, dv], axis=-1)
        self.wq.grad += np.einsum("bti,bto->io", x, dq)
        self.wkv.grad += np.einsum("bti,bto->io", x, dkv)
        return dq @ self.wq.data.T + dkv @ self.wkv.data.T


@case
def multi_query(rng, b, t, d):
    return MultiQueryAttention(d, 2, rng), [normal(rng, b, t, d)]


# ==== softcap_attention

class SoftcapAttention(Layer):
    """Gemma 2: scores through cap * tanh(score / cap)."""

    cap = 3.0

    def forward(self, q, k, v):
        raw = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
        th = np.tanh(raw / self.cap)
        p = softmax(self.cap * th)
        return p @ v, (q, k, v, th, p)

    def backward(self, do, cache):
        q, k, v, th, p = cache
        dv = p.swapaxes(-1, -2) @ do
        dp = do @ v.swapaxes(-1, -2)
        dcapped = p * (dp - (p * dp).sum(-1, keepdims=True))
        draw = dcapped * (1 - th ** 2)
        draw = draw / math.sqrt(q.shape[-1])
        return draw @ k, draw.swapaxes(-1, -2) @ q, dv


@case
def softcap_attention(rng, b, t, d):
    return SoftcapAttention(), [normal(rng, b, t, d) for _ in range(3)]


# ==== relative_bias

class RelativeBiasMixer(Layer):
    """Attention by position alone: logits[i, j] = table[i - j + T - 1], the same table entry on a
    diagonal."""

    def __init__(self, T, rng):
        self.table = Parameter(normal(rng, 2 * T - 1))

    def forward(self, x):
        T = x.shape[1]
        idx = np.arange(T)[:, None] - np.arange(T)[None, :] + T - 1
        p = softmax(self.table.data[idx])
        return np.einsum("ij,bjd->bid", p, x), (x, idx, p)

    def backward(self, dy, cache):
        x, idx, p = cache
        dp = np.einsum("bid,bjd->ij", dy, x)
        dlogits = p * (dp - (dp * p).sum(1, keepdims=True))
        np.add.at(self.table.grad, idx, dlogits)
        return np.einsum("ij,bid->bjd", p, dy)


@case
def relative_bias(rng, b, t, d):
    return RelativeBiasMixer(t, rng), [normal(rng, b, t, d)]


# ==== soft_moe

class SoftMoE(Layer):
    """Every expert sees every row; a softmax gate mixes them."""

    def __init__(self, d, experts, rng):
        self.router = weight(rng, d, experts)
        self.experts = Parameter(normal(rng, experts, d, d, scale=d ** -0.5))

    def forward(self, x):
        gates = softmax(x @ self.router.data)
        outs = np.einsum("nd,edo->neo", x, self.experts.data)
        return np.einsum("ne,neo->no", gates, outs), (x, gates, outs)

    def backward(self, dy, cache):
        x, gates, outs = cache
        dgates = np.einsum("no,neo->ne", dy, outs)
        douts = np.einsum("no,ne->neo", dy, gates)
        self.experts.grad += np.einsum("nd,neo->edo", x, douts)
        dlogits = gates * (dgates - (gates * dgates).sum(-1, keepdims=True))
        self.router.grad += x.T @ dlogits
        return np.einsum("neo,edo->nd", douts, self.experts.data) + dlogits @ self.router.data.T


@case
def soft_moe(rng, b, t, d):
    return SoftMoE(d, 3, rng), [normal(rng, b * t, d)]


# ==== topk_moe

class TopKMoE(Layer):
    """Mixtral: softmax over the k largest logits; the other experts get nothing. Experts are
    tanh(x W_e)."""

    def __init__(self, d, n_experts, k, rng):
        self.k = k
        self.gate = weight(rng, d, n_experts)
        self.w = [weight(rng, d, d) for _ in range(n_experts)]

    def forward(self, x):
        logits = x @ self.gate.data
        order = np.argsort(-logits.real, axis=-1)
        chosen = np.zeros(logits.shape, bool)
        np.put_along_axis(chosen, order[:, :self.k], True, axis=-1)
        probs = softmax(np.where(chosen, logits, -1e9))
        y = np.zeros_like(x)
        hidden = []
        for e, w in enumerate(self.w):
            rows = np.nonzero(chosen[:, e])[0]
            h = np.tanh(x[rows] @ w.data)
            y[rows] += probs[rows, e, None] * h
            hidden.append((rows, h))
        return y, (x, probs, hidden)

    def backward(self, dy, cache):
        x, probs, hidden = cache
        dx = np.zeros_like(x)
        dprobs = np.zeros_like(probs)
        for e, (rows, h) in enumerate(hidden):
            g = dy[rows]
            dprobs[rows, e] = (g * h).sum(-1)
            dpre = g * probs[rows, e, None] * (1 - h * h)
            self.w[e].grad += x[rows].T @ dpre
            dx[rows] += dpre @ self.w[e].data.T
        dlogits = probs * (dprobs - (probs * dprobs).sum(-1, keepdims=True))
        self.gate.grad += x.T @ dlogits
        dx += dlogits @ self.gate.data.T
        return dx


@case
def topk_moe(rng, b, t, d):
    return TopKMoE(d, 4, 2, rng), [normal(rng, b * t, d)]


# ==== switch_router

class SwitchRouter(Layer):
    """Top-1 routing to a per-expert scaling, and the load-balancing loss E * sum(f * mean p) as a
    second output."""

    def __init__(self, d, experts, rng):
        self.router = weight(rng, d, experts)
        self.scales = Parameter(normal(rng, experts, d))

    def forward(self, x):
        p = softmax(x @ self.router.data)
        n, E = p.shape
        top = p.real.argmax(axis=1)
        p_top = p[np.arange(n), top]
        fraction = np.bincount(top, minlength=E).astype(x.real.dtype) / n
        aux = E * (fraction * p.mean(axis=0)).sum()
        y = p_top[:, None] * x * self.scales.data[top]
        return (y, aux), (x, p, top, p_top, fraction)

    def backward(self, dys, cache):
        dy, daux = dys
        x, p, top, p_top, fraction = cache
        n, E = p.shape
        s = self.scales.data[top]
        np.add.at(self.scales.grad, top, dy * p_top[:, None] * x)
        dp = np.zeros_like(p)
        dp[np.arange(n), top] = (dy * x * s).sum(1)
        dp += daux * E * fraction / n
        dlogits = p * (dp - (p * dp).sum(1, keepdims=True))
        self.router.grad += x.T @ dlogits
        return dy * p_top[:, None] * s + dlogits @ self.router.data.T


@case
def switch_router(rng, b, t, d):
    return SwitchRouter(d, 3, rng), [normal(rng, b * t, d)]


# ==== lora

class LoRALinear(Layer):
    """A frozen weight (a plain array, not a Parameter) plus alpha / r times x A B."""

    def __init__(self, d_in, d_out, r, alpha, rng):
        self.frozen = normal(rng, d_in, d_out)
        self.A, self.B = weight(rng, d_in, r), weight(rng, r, d_out)
        self.scaling = alpha / r

    def forward(self, x):
        low = x @ self.A.data
        return x @ self.frozen.astype(x.dtype) + self.scaling * (low @ self.B.data), (x, low)

    def backward(self, dy, cache):
        x, low = cache
        d_low = self.scaling * (dy @ self.B.data.T)
        self.B.grad += self.scaling * np.einsum("btr,bto->ro", low, dy)
        self.A.grad += np.einsum("bti,btr->ir", x, d_low)
        return dy @ self.frozen.astype(dy.dtype).T + d_low @ self.A.data.T


@case
def lora(rng, b, t, d):
    return LoRALinear(d, d + 1, 2, 6, rng), [normal(rng, b, t, d)]


# ==== dora

class DoRA(Layer):
    """W = m V / |V| by column, V = W0 + A B; the length of V is differentiated, too."""

    def __init__(self, d, r, rng):
        self.W0 = normal(rng, d, d)
        self.A, self.B = weight(rng, d, r), weight(rng, r, d)
        self.m = Parameter(rng.uniform(0.5, 2, d))

    def forward(self, x):
        V = self.W0.astype(x.dtype) + self.A.data @ self.B.data
        length = np.sqrt((V * V).sum(0))
        direction = V / length
        return x @ (self.m.data * direction), (x, direction, length)

    def backward(self, dy, cache):
        x, direction, length = cache
        dW = x.T @ dy
        self.m.grad += (dW * direction).sum(0)
        ddir = dW * self.m.data
        dV = (ddir - direction * (ddir * direction).sum(0)) / length
        self.A.grad += dV @ self.B.data.T
        self.B.grad += self.A.data.T @ dV
        return dy @ (self.m.data * direction).T


@case
def dora(rng, b, t, d):
    return DoRA(d, 2, rng), [normal(rng, b * t, d)]


# ==== info_nce

class CLIPLoss(Layer):
    """Symmetric InfoNCE of two batches of embeddings, with a learned log temperature."""

    def __init__(self):
        self.log_scale = Parameter(np.array([1.0]))

    def forward(self, a, b):
        an = np.sqrt((a * a).sum(1, keepdims=True))
        bn = np.sqrt((b * b).sum(1, keepdims=True))
        ah, bh = a / an, b / bn
        sim = ah @ bh.T
        scale = np.exp(self.log_scale.data)
        logits = scale * sim
        rows, cols = softmax(logits, 1), softmax(logits, 0)
        diag = np.arange(len(a))
        loss = -(np.log(rows[diag, diag]) + np.log(cols[diag, diag])).mean() / 2
        return loss, (an, bn, ah, bh, sim, scale, rows, cols)

    def backward(self, dloss, cache):
        an, bn, ah, bh, sim, scale, rows, cols = cache
        n = len(sim)
        eye = np.eye(n, dtype=sim.real.dtype)
        dlogits = dloss * ((rows - eye) + (cols - eye)) / (2 * n)
        self.log_scale.grad += (dlogits * sim).sum() * scale
        dsim = dlogits * scale
        dah, dbh = dsim @ bh, dsim.T @ ah
        da = (dah - ah * (dah * ah).sum(1, keepdims=True)) / an
        db = (dbh - bh * (dbh * bh).sum(1, keepdims=True)) / bn
        return da, db


@case
def info_nce(rng, b, t, d):
    return CLIPLoss(), [normal(rng, b + 2, d), normal(rng, b + 2, d)]


# ==== focal_loss

class FocalLoss(Layer):
    """mean of -(1 - p)^gamma log p of the right class."""

    def __init__(self, gamma=2.0):
        self.gamma = gamma

    def forward(self, logits, target):
        prob = softmax(logits)
        p = np.take_along_axis(prob, target[:, None], axis=1)
        loss = -((1 - p) ** self.gamma * np.log(p)).mean()
        return loss, (prob, p, target)

    def backward(self, dloss, cache):
        prob, p, target = cache
        g = self.gamma
        dp = g * (1 - p) ** (g - 1) * np.log(p) - (1 - p) ** g / p
        onehot = np.zeros_like(prob)
        np.put_along_axis(onehot, target[:, None], 1, axis=1)
        dlogits = dp * p * (onehot - prob)
        return dloss * dlogits / len(p)


@case
def focal_loss(rng, b, t, d):
    return FocalLoss(), [normal(rng, b * t, d), rng.integers(0, d, b * t)]


# ==== hinge_loss

class MulticlassHinge(Layer):
    """Weston and Watkins: sum over the wrong classes of max(0, 1 + s_j - s_y), one number per
    row."""

    def forward(self, scores, y):
        rows = np.arange(len(y))
        margin = 1 + scores - scores[rows, y][:, None]
        active = margin.real > 0
        active[rows, y] = False
        return (margin * active).sum(axis=1), (active, y)

    def backward(self, dloss, cache):
        active, y = cache
        dscores = active.astype(dloss.dtype)
        dscores[np.arange(len(y)), y] = -active.sum(axis=1)
        return dscores * dloss[:, None]


@case
def hinge_loss(rng, b, t, d):
    return MulticlassHinge(), [normal(rng, b * t, d), rng.integers(0, d, b * t)]


# ==== smoothed_ce

class SmoothedCrossEntropy(Layer):
    """Label smoothing, and target -1 is left out; the mean over the others."""

    smooth = 0.2

    def forward(self, logits, target):
        keep = target >= 0
        shifted = logits - logits.max(-1, keepdims=True)
        logp = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
        V = logits.shape[-1]
        q = np.full(logits.shape, self.smooth / V, logits.dtype)
        q[np.arange(len(target)), np.where(keep, target, 0)] += 1 - self.smooth
        count = int(keep.sum())
        loss = -(q * logp)[keep].sum() / count
        return loss, (logp, q, keep, count)

    def backward(self, dloss, cache):
        logp, q, keep, count = cache
        dlogits = np.exp(logp) - q
        dlogits = dlogits * keep[:, None]
        return dloss * dlogits / count


@case
def smoothed_ce(rng, b, t, d):
    target = rng.integers(0, d, b * t)
    target[::3] = -1
    return SmoothedCrossEntropy(), [normal(rng, b * t, d), target]


# ==== triplet_loss

class TripletLoss(Layer):
    """mean of max(0, |a - p| - |a - n| + margin)."""

    margin = 1.0

    def forward(self, anchor, positive, negative):
        dp, dn = anchor - positive, anchor - negative
        lp = np.sqrt((dp ** 2).sum(-1, keepdims=True) + 1e-8)
        ln = np.sqrt((dn ** 2).sum(-1, keepdims=True) + 1e-8)
        gap = lp - ln + self.margin
        on = gap.real > 0
        return (gap * on).mean(), (dp, dn, lp, ln, on)

    def backward(self, dout, cache):
        dp, dn, lp, ln, on = cache
        g = dout * on / len(on)
        gp = g * dp / lp
        gn = g * dn / ln
        return gp - gn, -gp, gn


@case
def triplet_loss(rng, b, t, d):
    return TripletLoss(), [normal(rng, b * t, d) for _ in range(3)]


# ==== distillation

def log_softmax(x):
    z = x - x.max(-1, keepdims=True)
    return z - np.log(np.exp(z).sum(-1, keepdims=True))


class Distillation(Layer):
    """T^2 KL(teacher || student) at temperature T, one number per row; both get a gradient."""

    T = 2.0

    def forward(self, student, teacher):
        ls, lt = log_softmax(student / self.T), log_softmax(teacher / self.T)
        kl = (np.exp(lt) * (lt - ls)).sum(-1)
        return self.T ** 2 * kl, (ls, lt, kl)

    def backward(self, dy, cache):
        ls, lt, kl = cache
        ps, pt = np.exp(ls), np.exp(lt)
        dkl = (self.T ** 2 * dy)[..., None]
        dstudent = dkl * (ps - pt) / self.T
        dteacher = dkl * pt * (lt - ls - kl[..., None]) / self.T
        return dstudent, dteacher


@case
def distillation(rng, b, t, d):
    return Distillation(), [normal(rng, b, t, d), normal(rng, b, t, d)]


# ==== gaussian_nll

class GaussianNLL(Layer):
    """mean of 0.5 (logvar + (x - mu)^2 / exp(logvar)) over everything; gradients for mu, logvar
    and x."""

    def forward(self, mu, logvar, x):
        prec = np.exp(-logvar)
        diff = x - mu
        return 0.5 * (logvar + diff * diff * prec).mean(), (prec, diff)

    def backward(self, dl, cache):
        prec, diff = cache
        dl = dl / diff.size
        ddiff = dl * diff * prec
        dlogvar = 0.5 * dl * (1 - diff * diff * prec)
        return -ddiff, dlogvar, ddiff


@case
def gaussian_nll(rng, b, t, d):
    return GaussianNLL(), [normal(rng, b, d) for _ in range(3)]


# ==== max_pool

class MaxPool1d(Layer):
    """Windows of `size` steps that start at each `stride`-th step; windows overlap."""

    def __init__(self, size=2, stride=1):
        self.size, self.stride = size, stride

    def forward(self, x):
        B, T, D = x.shape
        starts = range(0, T - self.size + 1, self.stride)
        y = np.empty((B, len(starts), D), x.dtype)
        where = np.empty(y.shape, int)
        for j, s in enumerate(starts):
            win = x[:, s:s + self.size]
            where[:, j] = s + win.real.argmax(axis=1)
            y[:, j] = np.take_along_axis(x, where[:, j:j + 1], axis=1)[:, 0]
        return y, (where, x.shape)

    def backward(self, dy, cache):
        where, shape = cache
        dx = np.zeros(shape, dy.dtype)
        b, _, d = np.ogrid[:shape[0], :1, :shape[2]]
        for j in range(dy.shape[1]):
            dx[b, where[:, j:j + 1], d] += dy[:, j:j + 1]
        return dx


@case
def max_pool(rng, b, t, d):
    return MaxPool1d(), [normal(rng, b, t, d)]


# ==== stats_pool

class StatsPool(Layer):
    """Mean and standard deviation over the real positions (x-vectors): two outputs."""

    def forward(self, x, real):
        m = real[:, :, None].astype(x.real.dtype)
        n = m.sum(1, keepdims=True)
        mean = (x * m).sum(1, keepdims=True) / n
        c = (x - mean) * m
        std = np.sqrt((c * c).sum(1, keepdims=True) / n + 1e-4)
        return (mean[:, 0], std[:, 0]), (c, m, n, std)

    def backward(self, dy, cache):
        dmean, dstd = dy
        c, m, n, std = cache
        dvar = dstd[:, None] / (2 * std)
        dx = dmean[:, None] * m / n
        dx = dx + dvar * 2 * c / n
        return dx


@case
def stats_pool(rng, b, t, d):
    real = np.ones((b, t), bool)
    real[0, -1] = False
    return StatsPool(), [normal(rng, b, t, d), real]


# ==== embedding_bag

class WeightedBag(Layer):
    """y = sum_t w_t E[id_t]."""

    def __init__(self, vocab, d, rng):
        self.E = Parameter(normal(rng, vocab, d))

    def forward(self, ids, w):
        rows = self.E.data[ids]
        return (w[..., None] * rows).sum(1), (ids, w, rows)

    def backward(self, dy, cache):
        ids, w, rows = cache
        np.add.at(self.E.grad, ids, w[..., None] * dy[:, None, :])
        dw = (rows * dy[:, None, :]).sum(-1)
        return dw


@case
def embedding_bag(rng, b, t, d):
    ids = rng.integers(0, 4, (b, t))
    ids[:, :2] = 0      # repeats at every size
    return WeightedBag(4, d, rng), [ids, normal(rng, b, t)]


# ==== graph_conv

class MeanGraphConv(Layer):
    """Each node gets W_self x plus the mean over its incoming edges of W_nbr x[source]."""

    def __init__(self, d, n, rng):
        self.w_self, self.w_nbr = weight(rng, d, n), weight(rng, d, n)

    def forward(self, x, src, dst):
        deg = np.bincount(dst, minlength=len(x)).astype(x.real.dtype)
        inv = (1 / np.maximum(deg, 1))[:, None]
        agg = np.zeros_like(x)
        np.add.at(agg, dst, x[src])
        agg = agg * inv
        return x @ self.w_self.data + agg @ self.w_nbr.data, (x, src, dst, inv, agg)

    def backward(self, dy, cache):
        x, src, dst, inv, agg = cache
        self.w_self.grad += x.T @ dy
        self.w_nbr.grad += agg.T @ dy
        dx = dy @ self.w_self.data.T
        dagg = dy @ self.w_nbr.data.T * inv
        np.add.at(dx, src, dagg[dst])
        return dx


@case
def graph_conv(rng, b, t, d):
    n = b * t
    src, dst = rng.integers(0, n, 3 * n), rng.integers(0, n // 2, 3 * n)
    return MeanGraphConv(d, 5, rng), [normal(rng, n, d), src, dst]


# ==== gem_pool

class GeM(Layer):
    """Generalised mean over time of positive features u = softplus(x): (mean u^p)^(1/p), p
    learned."""

    def __init__(self):
        self.p = Parameter(np.array([2.5]))

    def forward(self, x):
        u = np.log(1 + np.exp(x))
        up = u ** self.p.data
        m = up.mean(axis=1, keepdims=True)
        y = m ** (1 / self.p.data)
        return y[:, 0], (x, u, up, m, y)

    def backward(self, dy, cache):
        x, u, up, m, y = cache
        p, T = self.p.data, x.shape[1]
        dy = dy[:, None]
        dm = dy * y / (p * m)
        du = dm * p * up / u / T
        dp_outer = dy * y * np.log(m) * (-1 / p ** 2)
        dp_inner = dm * (up * np.log(u)).mean(axis=1, keepdims=True)
        self.p.grad += (dp_outer + dp_inner).sum()
        return du * sigmoid(x)


@case
def gem_pool(rng, b, t, d):
    return GeM(), [normal(rng, b, t, d)]


# ==== bilinear

class Bilinear(Layer):
    """y_o = x^T W_o z + b_o."""

    def __init__(self, d, out, rng):
        self.W = Parameter(normal(rng, out, d, d, scale=1 / d))
        self.b = Parameter(normal(rng, out))

    def forward(self, x, z):
        return np.einsum("ni,oij,nj->no", x, self.W.data, z, optimize=True) + self.b.data, (x, z)

    def backward(self, dy, cache):
        x, z = cache
        self.b.grad += dy.sum(0)
        self.W.grad += np.einsum("no,ni,nj->oij", dy, x, z)
        dx = np.einsum("no,oij,nj->ni", dy, self.W.data, z)
        dz = np.einsum("no,oij,ni->nj", dy, self.W.data, x)
        return dx, dz


@case
def bilinear(rng, b, t, d):
    return Bilinear(d, 3, rng), [normal(rng, b * t, d), normal(rng, b * t, d)]


# ==== mixer

class TinyMLP(Layer):
    def __init__(self, n, hidden, rng):
        self.a, self.b = weight(rng, n, hidden), weight(rng, hidden, n)

    def forward(self, x):
        h = np.tanh(x @ self.a.data)
        return h @ self.b.data, (x, h)

    def backward(self, dy, cache):
        x, h = cache
        self.b.grad += np.tensordot(h, dy, ([0, 1], [0, 1]))
        dpre = (dy @ self.b.data.T) * (1 - h ** 2)
        self.a.grad += np.tensordot(x, dpre, ([0, 1], [0, 1]))
        return dpre @ self.a.data.T


class MixerBlock(Layer):
    """MLP-Mixer: mix over time, then over channels, each with a residual."""

    def __init__(self, T, d, rng):
        self.time = TinyMLP(T, 4, rng)
        self.channel = TinyMLP(d, 5, rng)

    def forward(self, x):
        mixed, cache_time = self.time.forward(x.swapaxes(1, 2))
        middle = x + mixed.swapaxes(1, 2)
        out, cache_channel = self.channel.forward(middle)
        return middle + out, (cache_time, cache_channel)

    def backward(self, dy, cache):
        cache_time, cache_channel = cache
        dmiddle = dy + self.channel.backward(dy, cache_channel)
        dmixed = self.time.backward(dmiddle.swapaxes(1, 2), cache_time)
        return dmiddle + dmixed.swapaxes(1, 2)


@case
def mixer(rng, b, t, d):
    return MixerBlock(t, d, rng), [normal(rng, b, t, d)]


# ==== causal_conv

class CausalDepthwiseConv(Layer):
    """y_t = sum_k w_k x_{t-k} + b, one kernel per channel (Mamba's short convolution), then
    silu."""

    def __init__(self, d, width, rng):
        self.w = Parameter(normal(rng, width, d))
        self.b = Parameter(normal(rng, d))

    def forward(self, x):
        T = x.shape[1]
        pre = np.zeros_like(x) + self.b.data
        for k, w in enumerate(self.w.data):
            pre[:, k:] += w * x[:, :T - k]
        s = sigmoid(pre)
        return pre * s, (x, pre, s)

    def backward(self, dy, cache):
        x, pre, s = cache
        T = x.shape[1]
        dpre = dy * s * (1 + pre * (1 - s))
        self.b.grad += dpre.sum((0, 1))
        dx = np.zeros_like(x)
        for k, w in enumerate(self.w.data):
            dx[:, :T - k] += w * dpre[:, k:]
            self.w.grad[k] += (dpre[:, k:] * x[:, :T - k]).sum((0, 1))
        return dx


@case
def causal_conv(rng, b, t, d):
    return CausalDepthwiseConv(d, 3, rng), [normal(rng, b, t, d)]


# ==== tied_autoencoder

class TiedAutoencoder(Layer):
    """y = tanh(x W + b) W^T + c: the decoder is the encoder transposed."""

    def __init__(self, d, n, rng):
        self.W = weight(rng, d, n)
        self.b, self.c = Parameter(normal(rng, n)), Parameter(normal(rng, d))

    def forward(self, x):
        h = np.tanh(x @ self.W.data + self.b.data)
        return h @ self.W.data.T + self.c.data, (x, h)

    def backward(self, dy, cache):
        x, h = cache
        self.c.grad += dy.sum(axis=0)
        # decoder
        self.W.grad += dy.T @ h
        dh = dy @ self.W.data
        dpre = dh * (1 - h ** 2)
        # encoder
        self.b.grad += dpre.sum(axis=0)
        self.W.grad += x.T @ dpre
        return dpre @ self.W.data.T


@case
def tied_autoencoder(rng, b, t, d):
    return TiedAutoencoder(d, 3, rng), [normal(rng, b * t, d)]
