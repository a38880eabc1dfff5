"""200 layers, as different users would bring them, all with a correct gradient. See README.md."""

import math
from typing import NamedTuple

import numpy as np

from minitransformer.functional import softmax_backward, softmax_forward
from minitransformer.layers import Layer, Linear
from minitransformer.layers.parameter import Parameter

RIGHT = []    # (name, make): make() returns (layer, inputs)


def add(name, make):
    RIGHT.append((name, make))


def randn(seed, *shape, scale=1.0):
    return scale * np.random.default_rng(seed).standard_normal(shape)


def ints(seed, high, *shape):
    return np.random.default_rng(seed).integers(0, high, shape)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# ---------------------------------------------------------------------------- normalisation


class LayerNormTextbook(Layer):
    def __init__(self, d, eps=1e-5):
        self.d, self.eps = d, eps
        self.gamma = Parameter(np.ones(d))
        self.beta = Parameter(np.zeros(d))

    def forward(self, x):
        mu = x.sum(-1, keepdims=True) / self.d
        c = x - mu
        var = (c * c).sum(-1, keepdims=True) / self.d
        r = 1 / np.sqrt(var + self.eps)
        n = c * r
        return self.gamma.data * n + self.beta.data, (n, r)

    def backward(self, dy, cache):
        n, r = cache
        axes = tuple(range(dy.ndim - 1))
        self.gamma.grad += (dy * n).sum(axes)
        self.beta.grad += dy.sum(axes)
        dn = dy * self.gamma.data
        return r / self.d * (self.d * dn - dn.sum(-1, keepdims=True)
                             - n * (dn * n).sum(-1, keepdims=True))


add("layer_norm_textbook", lambda: (LayerNormTextbook(5), [randn(1, 3, 5)]))
add("layer_norm_textbook_3d", lambda: (LayerNormTextbook(6), [randn(2, 2, 4, 6)]))
add("layer_norm_textbook_1d", lambda: (LayerNormTextbook(7), [randn(3, 7)]))
add("layer_norm_textbook_1e-8", lambda: (LayerNormTextbook(5, 1e-20), [randn(4, 3, 5, scale=1e-8)]))
add("layer_norm_textbook_1e20", lambda: (LayerNormTextbook(5), [randn(5, 3, 5, scale=1e20)]))


class LayerNormCS231n(Layer):
    """With every intermediate value kept, step by step backwards."""

    def __init__(self, dim):
        self.gamma = Parameter(np.ones(dim))
        self.beta = Parameter(np.zeros(dim))
        self.dim = dim

    def forward(self, x):
        N = self.dim
        mu = 1.0 / N * np.sum(x, axis=-1, keepdims=True)
        xmu = x - mu
        sq = xmu ** 2
        var = 1.0 / N * np.sum(sq, axis=-1, keepdims=True)
        sqrtvar = np.sqrt(var + 1e-6)
        ivar = 1.0 / sqrtvar
        xhat = xmu * ivar
        gammax = self.gamma.data * xhat
        return gammax + self.beta.data, (xhat, xmu, ivar, sqrtvar)

    def backward(self, dout, cache):
        xhat, xmu, ivar, sqrtvar = cache
        N = self.dim
        self.beta.grad += np.sum(dout, axis=0)
        self.gamma.grad += np.sum(dout * xhat, axis=0)
        dxhat = dout * self.gamma.data
        divar = np.sum(dxhat * xmu, axis=-1, keepdims=True)
        dxmu1 = dxhat * ivar
        dsqrtvar = -1.0 / (sqrtvar ** 2) * divar
        dvar = 0.5 / sqrtvar * dsqrtvar
        dsq = 1.0 / N * dvar
        dxmu2 = 2 * xmu * dsq
        dx1 = dxmu1 + dxmu2
        dmu = -1 * np.sum(dxmu1 + dxmu2, axis=-1, keepdims=True)
        dx2 = 1.0 / N * dmu
        return dx1 + dx2


add("layer_norm_cs231n", lambda: (LayerNormCS231n(6), [randn(6, 4, 6)]))
add("layer_norm_cs231n_batch_1", lambda: (LayerNormCS231n(6), [randn(7, 1, 6)]))


class LayerNormNoAffine(Layer):
    def __init__(self, epsilon=1e-5):
        self.epsilon = epsilon

    def forward(self, x):
        c = x - x.mean(axis=-1, keepdims=True)
        s = (np.mean(c * c, axis=-1, keepdims=True) + self.epsilon) ** -0.5
        return c * s, (c, s)

    def backward(self, dy, cache):
        c, s = cache
        dc = dy * s - c * s ** 3 * (dy * c).mean(axis=-1, keepdims=True)
        return dc - dc.mean(axis=-1, keepdims=True)


add("layer_norm_no_affine_1e15", lambda: (LayerNormNoAffine(), [randn(9, 3, 6, scale=1e15)]))
add("layer_norm_no_affine_1e-15",
    lambda: (LayerNormNoAffine(1e-34), [randn(10, 3, 6, scale=1e-15)]))


class LayerNormTwoAxes(Layer):
    """Over the last two axes, as in torch.nn.LayerNorm((T, D))."""

    def __init__(self, T, D):
        self.shape = (T, D)
        self.weight = Parameter(np.ones((T, D)))
        self.bias = Parameter(np.zeros((T, D)))

    def forward(self, x):
        mean = x.mean((-2, -1), keepdims=True)
        var = ((x - mean) ** 2).mean((-2, -1), keepdims=True)
        inv = 1 / np.sqrt(var + 1e-5)
        xn = (x - mean) * inv
        return xn * self.weight.data + self.bias.data, (xn, inv)

    def backward(self, dy, cache):
        xn, inv = cache
        self.weight.grad += (dy * xn).sum(0)
        self.bias.grad += dy.sum(0)
        g = dy * self.weight.data
        m = self.shape[0] * self.shape[1]
        total = g.sum((-2, -1), keepdims=True)
        dot = (g * xn).sum((-2, -1), keepdims=True)
        return inv * (g - total / m - xn * dot / m)


add("layer_norm_two_axes", lambda: (LayerNormTwoAxes(3, 4), [randn(11, 2, 3, 4)]))


class UnbiasedLayerNorm(Layer):
    """D - 1 in the variance, epsilon added to the standard deviation (Annotated Transformer)."""

    def __init__(self, features, eps=1e-6):
        self.features = features
        self.a_2 = Parameter(np.ones(features))
        self.b_2 = Parameter(np.zeros(features))
        self.eps = eps

    def forward(self, x):
        c = x - x.mean(-1, keepdims=True)
        std = np.sqrt((c * c).sum(-1, keepdims=True) / (self.features - 1))
        y = self.a_2.data * c / (std + self.eps) + self.b_2.data
        return y, (c, std)

    def backward(self, dy, cache):
        c, std = cache
        s = std + self.eps
        rows = tuple(range(dy.ndim - 1))
        self.a_2.grad += (dy * c / s).sum(rows)
        self.b_2.grad += dy.sum(rows)
        g = dy * self.a_2.data
        dstd = -(g * c).sum(-1, keepdims=True) / s ** 2
        dc = g / s + dstd * c / (std * (self.features - 1))
        return dc - dc.mean(-1, keepdims=True)


add("layer_norm_annotated_transformer", lambda: (UnbiasedLayerNorm(5), [randn(12, 2, 3, 5)]))


class RMSNormLlama(Layer):
    def __init__(self, dim, eps=1e-6):
        self.weight = Parameter(np.ones(dim, np.float32))
        self.eps = eps

    def forward(self, x):
        rms = np.sqrt((x * x).mean(-1, keepdims=True) + self.eps)
        return self.weight.data * (x / rms), (x, rms)

    def backward(self, dy, cache):
        x, rms = cache
        self.weight.grad += (dy * x / rms).reshape(-1, x.shape[-1]).sum(0)
        dn = dy * self.weight.data
        return dn / rms - x * (dn * x).mean(-1, keepdims=True) / rms ** 3


add("rms_norm_llama", lambda: (RMSNormLlama(6), [randn(13, 2, 3, 6)]))
add("rms_norm_llama_1e-12", lambda: (RMSNormLlama(6, 1e-30), [randn(14, 3, 6, scale=1e-12)]))
add("rms_norm_llama_1e25", lambda: (RMSNormLlama(6), [randn(15, 3, 6, scale=1e25)]))


class GemmaRMSNorm(Layer):
    """The weight is stored as its difference from one."""

    def __init__(self, d):
        self.d = d
        self.w = Parameter(np.zeros(d))

    def forward(self, x):
        r = (np.sum(x * x, -1, keepdims=True) / self.d + 1e-6) ** -0.5
        return x * r * (1 + self.w.data), (x, r)

    def backward(self, dy, cache):
        x, r = cache
        self.w.grad += (dy * x * r).reshape(-1, self.d).sum(axis=0)
        g = dy * (1 + self.w.data)
        return r * g - r ** 3 * x * (g * x).sum(-1, keepdims=True) / self.d


add("rms_norm_gemma", lambda: (GemmaRMSNorm(5), [randn(16, 4, 5)]))


class PartialRMSNorm(Layer):
    """The mean square of the first k of the numbers scales all of them."""

    def __init__(self, d, k):
        self.k = k
        self.g = Parameter(randn(17, d))

    def forward(self, x):
        part = x[..., :self.k]
        r = 1 / np.sqrt((part * part).mean(-1, keepdims=True) + 1e-5)
        return x * r * self.g.data, (x, r)

    def backward(self, dy, cache):
        x, r = cache
        self.g.grad += (dy * x * r).sum(tuple(range(x.ndim - 1)))
        dn = dy * self.g.data
        dx = dn * r
        dr = (dn * x).sum(-1, keepdims=True)
        dx[..., :self.k] -= dr * r ** 3 * x[..., :self.k] / self.k
        return dx


add("rms_norm_partial", lambda: (PartialRMSNorm(6, 3), [randn(18, 3, 6)]))


class BatchNorm1d(Layer):
    def __init__(self, num_features, eps=1e-5):
        self.gamma = Parameter(np.ones(num_features))
        self.beta = Parameter(np.zeros(num_features))
        self.eps = eps

    def forward(self, x):
        mu = x.mean(axis=0)
        var = ((x - mu) ** 2).mean(axis=0)
        std_inv = 1.0 / np.sqrt(var + self.eps)
        x_hat = (x - mu) * std_inv
        return self.gamma.data * x_hat + self.beta.data, (x_hat, std_inv)

    def backward(self, dy, cache):
        x_hat, std_inv = cache
        m = dy.shape[0]
        self.gamma.grad += np.sum(dy * x_hat, axis=0)
        self.beta.grad += np.sum(dy, axis=0)
        dx_hat = dy * self.gamma.data
        dot = (dx_hat * x_hat).sum(axis=0)
        return std_inv / m * (m * dx_hat - dx_hat.sum(axis=0) - x_hat * dot)


add("batch_norm_1d", lambda: (BatchNorm1d(4), [randn(19, 6, 4)]))
add("batch_norm_1d_1e-6", lambda: (BatchNorm1d(4, 1e-16), [randn(20, 6, 4, scale=1e-6)]))


class BatchNormLong(Layer):
    """dvar, dmu and dx as in the paper of Ioffe and Szegedy."""

    def __init__(self, c):
        self.gamma = Parameter(np.ones(c))
        self.beta = Parameter(np.zeros(c))

    def forward(self, x):
        mean = np.mean(x, axis=0)
        xc = x - mean
        var = np.mean(xc * xc, axis=0) + 1e-5
        return self.gamma.data * xc / np.sqrt(var) + self.beta.data, (xc, var)

    def backward(self, dy, cache):
        xc, var = cache
        n = len(dy)
        self.gamma.grad += (dy * xc / np.sqrt(var)).sum(0)
        self.beta.grad += dy.sum(0)
        dxhat = dy * self.gamma.data
        dvar = np.sum(dxhat * xc * -0.5 * var ** -1.5, axis=0)
        dmu = np.sum(-dxhat / np.sqrt(var), axis=0) + dvar * np.mean(-2 * xc, axis=0)
        return dxhat / np.sqrt(var) + dvar * 2 * xc / n + dmu / n


add("batch_norm_paper", lambda: (BatchNormLong(3), [randn(21, 5, 3)]))


class BatchNorm2d(Layer):
    def __init__(self, channels):
        self.weight = Parameter(randn(22, channels))
        self.bias = Parameter(np.zeros(channels))

    def forward(self, x):
        ax = (0, 2, 3)
        mu = x.mean(ax, keepdims=True)
        v = ((x - mu) * (x - mu)).mean(ax, keepdims=True)
        inv = 1 / np.sqrt(v + 1e-5)
        n = (x - mu) * inv
        y = self.weight.data[None, :, None, None] * n + self.bias.data[None, :, None, None]
        return y, (n, inv)

    def backward(self, dy, cache):
        n, inv = cache
        ax = (0, 2, 3)
        self.weight.grad += np.einsum("bchw,bchw->c", dy, n)
        self.bias.grad += np.einsum("bchw->c", dy)
        dn = dy * self.weight.data[None, :, None, None]
        return inv * (dn - dn.mean(ax, keepdims=True) - n * (dn * n).mean(ax, keepdims=True))


add("batch_norm_2d", lambda: (BatchNorm2d(2), [randn(23, 3, 2, 3, 3)]))


class BatchNormEval(Layer):
    """With running statistics, which are constants."""

    def __init__(self, c):
        self.running_mean = randn(24, c)
        self.running_var = 1 + randn(25, c) ** 2
        self.gamma = Parameter(np.ones(c))
        self.beta = Parameter(np.zeros(c))

    def forward(self, x):
        n = (x - self.running_mean) / np.sqrt(self.running_var + 1e-5)
        return self.gamma.data * n + self.beta.data, n

    def backward(self, dy, n):
        self.gamma.grad += (dy * n).sum(0)
        self.beta.grad += dy.sum(0)
        return dy * self.gamma.data / np.sqrt(self.running_var + 1e-5)


add("batch_norm_eval", lambda: (BatchNormEval(4), [randn(26, 3, 4)]))


class GroupNorm(Layer):
    def __init__(self, groups, channels):
        self.G, self.C = groups, channels
        self.gamma = Parameter(np.ones(channels))
        self.beta = Parameter(np.zeros(channels))

    def forward(self, x):
        N, C, L = x.shape
        z = x.reshape(N, self.G, -1)
        z = z - z.mean(-1, keepdims=True)
        s = 1 / np.sqrt((z * z).mean(-1, keepdims=True) + 1e-5)
        n = z * s
        y = n.reshape(x.shape) * self.gamma.data[:, None] + self.beta.data[:, None]
        return y, (n, s)

    def backward(self, dy, cache):
        n, s = cache
        self.gamma.grad += (dy * n.reshape(dy.shape)).sum((0, 2))
        self.beta.grad += dy.sum((0, 2))
        dn = (dy * self.gamma.data[:, None]).reshape(n.shape)
        dz = s * (dn - dn.mean(-1, keepdims=True) - n * (dn * n).mean(-1, keepdims=True))
        return dz.reshape(dy.shape)


add("group_norm", lambda: (GroupNorm(2, 4), [randn(27, 2, 4, 3)]))


class InstanceNorm(Layer):
    def forward(self, x):
        mu = x.mean((2, 3), keepdims=True)
        c = x - mu
        sd = np.sqrt((c ** 2).mean((2, 3), keepdims=True) + 1e-5)
        return c / sd, (c, sd)

    def backward(self, dy, cache):
        c, sd = cache
        g = dy / sd
        h = c * (dy * c).mean((2, 3), keepdims=True) / sd ** 3
        return g - g.mean((2, 3), keepdims=True) - h


add("instance_norm_4d", lambda: (InstanceNorm(), [randn(29, 2, 3, 2, 4)]))


class ScaleNorm(Layer):
    """Nguyen and Salazar: one learned length."""

    def __init__(self, d):
        self.g = Parameter(np.array([d ** 0.5]))

    def forward(self, x):
        norm = np.sqrt((x * x).sum(-1, keepdims=True) + 1e-12)
        return self.g.data * x / norm, (x, norm)

    def backward(self, dy, cache):
        x, norm = cache
        u = x / norm
        dot = (dy * u).sum(-1, keepdims=True)
        self.g.grad += dot.sum()
        return self.g.data * (dy - u * dot) / norm


add("scale_norm", lambda: (ScaleNorm(5), [randn(30, 2, 3, 5)]))


class L2Normalize(Layer):
    def forward(self, x):
        length = np.sqrt(np.einsum("...i,...i->...", x, x))[..., None]
        u = x / length
        return u, (u, length)

    def backward(self, dy, cache):
        u, length = cache
        return (dy - u * np.einsum("...i,...i->...", dy, u)[..., None]) / length


add("l2_normalize", lambda: (L2Normalize(), [randn(31, 4, 3)]))
add("l2_normalize_1e30", lambda: (L2Normalize(), [randn(32, 4, 3, scale=1e30)]))
add("l2_normalize_1e-30", lambda: (L2Normalize(), [randn(33, 4, 3, scale=1e-30)]))


class WeightNormLinear(Layer):
    """w = g v / |v|, Salimans and Kingma."""

    def __init__(self, n_in, n_out):
        self.v = Parameter(randn(34, n_out, n_in))
        self.g = Parameter(np.ones(n_out))
        self.b = Parameter(np.zeros(n_out))

    def forward(self, x):
        v = self.v.data
        norm = np.sqrt((v * v).sum(1, keepdims=True))
        w = self.g.data[:, None] * v / norm
        return x @ w.T + self.b.data, (x, norm, w)

    def backward(self, dy, cache):
        x, norm, w = cache
        dw = dy.T @ x
        v, g = self.v.data, self.g.data[:, None]
        dg = (dw * v).sum(1, keepdims=True) / norm
        self.g.grad += dg[:, 0]
        self.v.grad += g / norm * dw - g * dg / norm ** 2 * v
        self.b.grad += dy.sum(0)
        return dy @ w


add("weight_norm_linear", lambda: (WeightNormLinear(4, 3), [randn(35, 5, 4)]))
add("weight_norm_linear_square", lambda: (WeightNormLinear(4, 4), [randn(36, 2, 4)]))


class WeightStandardizedLinear(Layer):
    def __init__(self, n_in, n_out):
        self.n_in = n_in
        self.w = Parameter(randn(37, n_in, n_out))
        self.gain = Parameter(np.ones(n_out))

    def forward(self, x):
        c = self.w.data - self.w.data.mean(0)
        s = 1 / np.sqrt((c * c).sum(0) / self.n_in + 1e-4)
        what = c * s
        return x @ (what * self.gain.data), (x, what, s)

    def backward(self, dy, cache):
        x, what, s = cache
        dW = x.reshape(-1, self.n_in).T @ dy.reshape(-1, dy.shape[-1])
        self.gain.grad += (dW * what).sum(0)
        dh = dW * self.gain.data
        self.w.grad += s * (dh - dh.mean(0) - what * (dh * what).mean(0))
        return dy @ (what * self.gain.data).T


add("weight_standardized_linear", lambda: (WeightStandardizedLinear(5, 3), [randn(38, 2, 2, 5)]))


class DynamicTanh(Layer):
    """Transformers without normalization: y = gamma tanh(alpha x) + beta."""

    def __init__(self, d):
        self.alpha = Parameter(np.array(0.5))
        self.gamma = Parameter(np.ones(d))
        self.beta = Parameter(np.zeros(d))

    def forward(self, x):
        t = np.tanh(self.alpha.data * x)
        return self.gamma.data * t + self.beta.data, (x, t)

    def backward(self, dy, cache):
        x, t = cache
        rows = tuple(range(dy.ndim - 1))
        self.gamma.grad += (dy * t).sum(axis=rows)
        self.beta.grad += dy.sum(axis=rows)
        da = dy * self.gamma.data * (1 - t * t)
        self.alpha.grad += (da * x).sum()
        return da * self.alpha.data


add("dynamic_tanh", lambda: (DynamicTanh(4), [randn(39, 2, 3, 4)]))


class AdaLN(Layer):
    """The scale and the shift come from a second input, as in DiT."""

    def __init__(self, d, d_cond):
        self.d = d
        self.w = Parameter(randn(40, d_cond, 2 * d, scale=0.5))

    def forward(self, x, cond):
        c = x - x.mean(-1, keepdims=True)
        s = 1 / np.sqrt((c * c).mean(-1, keepdims=True) + 1e-5)
        n = c * s
        h = cond @ self.w.data
        scale, shift = h[:, None, :self.d], h[:, None, self.d:]
        return n * (1 + scale) + shift, (n, s, scale, cond)

    def backward(self, dy, cache):
        n, s, scale, cond = cache
        dscale = (dy * n).sum(1)
        dshift = dy.sum(1)
        dh = np.concatenate([dscale, dshift], axis=-1)
        self.w.grad += cond.T @ dh
        dcond = dh @ self.w.data.T
        dn = dy * (1 + scale)
        dx = s / self.d * (self.d * dn - dn.sum(-1, keepdims=True)
                           - n * (dn * n).sum(-1, keepdims=True))
        return dx, dcond


add("adaptive_layer_norm", lambda: (AdaLN(4, 3), [randn(41, 2, 3, 4), randn(42, 2, 3)]))


class ChannelFirstLayerNorm(Layer):
    def __init__(self, c):
        self.c = c
        self.w = Parameter(np.ones((c, 1, 1)))
        self.b = Parameter(np.zeros((c, 1, 1)))

    def forward(self, x):
        u = x.mean(1, keepdims=True)
        s = ((x - u) ** 2).mean(1, keepdims=True)
        n = (x - u) / np.sqrt(s + 1e-6)
        return self.w.data * n + self.b.data, (n, np.sqrt(s + 1e-6))

    def backward(self, dy, cache):
        n, std = cache
        self.w.grad += (dy * n).sum((0, 2, 3))[:, None, None]
        self.b.grad += dy.sum((0, 2, 3))[:, None, None]
        dn = dy * self.w.data
        return (dn - dn.sum(1, keepdims=True) / self.c
                - n * (dn * n).sum(1, keepdims=True) / self.c) / std


add("layer_norm_channel_first", lambda: (ChannelFirstLayerNorm(3), [randn(43, 2, 3, 2, 2)]))


class PixelNorm(Layer):
    def forward(self, x):
        m = np.mean(x * x, axis=1, keepdims=True) + 1e-8
        return x / np.sqrt(m), (x, m)

    def backward(self, dy, cache):
        x, m = cache
        C = x.shape[1]
        return dy * m ** -0.5 - x * m ** -1.5 * np.sum(dy * x, axis=1, keepdims=True) / C


add("pixel_norm", lambda: (PixelNorm(), [randn(44, 2, 4, 3)]))


class PackedLayerNorm(Layer):
    """gamma and beta are one vector."""

    def __init__(self, d):
        self.d = d
        self.p = Parameter(np.concatenate([np.ones(d), np.zeros(d)]))

    def forward(self, x):
        g, b = self.p.data[:self.d], self.p.data[self.d:]
        c = x - x.mean(-1, keepdims=True)
        r = 1 / np.sqrt((c * c).mean(-1, keepdims=True) + 1e-5)
        return g * c * r + b, (c * r, r)

    def backward(self, dy, cache):
        n, r = cache
        lead = tuple(range(dy.ndim - 1))
        self.p.grad += np.concatenate([(dy * n).sum(lead), dy.sum(lead)])
        dn = dy * self.p.data[:self.d]
        return r * (dn - dn.mean(-1, keepdims=True) - n * (dn * n).mean(-1, keepdims=True))


add("layer_norm_packed", lambda: (PackedLayerNorm(4), [randn(45, 3, 4)]))


# ---------------------------------------------------------------------------- linear maps


class MyLinear(Layer):
    def __init__(self, n_in, n_out, scale=1.0, seed=50):
        self.n_in, self.n_out = n_in, n_out
        self.W = Parameter(randn(seed, n_in, n_out, scale=scale))
        self.b = Parameter(np.zeros(n_out))

    def forward(self, x):
        return x @ self.W.data + self.b.data, x

    def backward(self, dy, x):
        x2 = x.reshape(-1, self.n_in)
        dy2 = dy.reshape(-1, self.n_out)
        self.W.grad += x2.T @ dy2
        self.b.grad += dy2.sum(axis=0)
        return dy @ self.W.data.T


add("linear_reshape", lambda: (MyLinear(4, 3), [randn(51, 2, 3, 4)]))
add("linear_square", lambda: (MyLinear(4, 4), [randn(52, 2, 3, 4)]))
add("linear_batch_1", lambda: (MyLinear(3, 2), [randn(53, 1, 3)]))
add("linear_weights_1e-20", lambda: (MyLinear(3, 2, 1e-20), [randn(54, 4, 3)]))
add("linear_weights_1e20", lambda: (MyLinear(3, 2, 1e20), [randn(55, 4, 3)]))
add("linear_input_1e-25", lambda: (MyLinear(3, 3), [randn(56, 4, 3, scale=1e-25)]))


class TorchLinear(Layer):
    """The weight is (out, in)."""

    def __init__(self, in_features, out_features):
        bound = 1 / math.sqrt(in_features)
        r = np.random.default_rng(58)
        self.weight = Parameter(r.uniform(-bound, bound, (out_features, in_features)))
        self.bias = Parameter(r.uniform(-bound, bound, out_features))

    def forward(self, x):
        return np.matmul(x, self.weight.data.T) + self.bias.data, (x,)

    def backward(self, dy, cache):
        x, = cache
        self.weight.grad += np.einsum("bo,bi->oi", dy, x)
        self.bias.grad += np.einsum("bo->o", dy)
        return np.matmul(dy, self.weight.data)


add("linear_torch_square", lambda: (TorchLinear(3, 3), [randn(60, 2, 3)]))


class VectorLinear(Layer):
    """For one vector, without a batch."""

    def __init__(self, n, m):
        self.A = Parameter(randn(61, m, n))
        self.b = Parameter(randn(62, m))

    def forward(self, x):
        return self.A.data @ x + self.b.data, x

    def backward(self, dy, x):
        self.A.grad += np.outer(dy, x)
        self.b.grad += dy
        return self.A.data.T @ dy


add("linear_one_vector", lambda: (VectorLinear(5, 3), [randn(63, 5)]))


class PackedLinear(Layer):
    """All numbers in one vector."""

    def __init__(self, n_in, n_out):
        self.n_in, self.n_out = n_in, n_out
        self.theta = Parameter(randn(64, n_in * n_out + n_out))

    def forward(self, x):
        k = self.n_in * self.n_out
        W = self.theta.data[:k].reshape(self.n_in, self.n_out)
        return x @ W + self.theta.data[k:], (x, W)

    def backward(self, dy, cache):
        x, W = cache
        dW = x.T @ dy
        db = dy.sum(axis=0)
        self.theta.grad += np.concatenate([dW.ravel(), db])
        return dy @ W.T


add("linear_packed", lambda: (PackedLinear(3, 4), [randn(65, 2, 3)]))


class Bilinear(Layer):
    def __init__(self, m, n, k):
        self.W = Parameter(randn(66, k, m, n, scale=0.5))

    def forward(self, a, b):
        return np.einsum("bi,kij,bj->bk", a, self.W.data, b), (a, b)

    def backward(self, dy, cache):
        a, b = cache
        W = self.W.data
        self.W.grad += np.einsum("bk,bi,bj->kij", dy, a, b)
        da = np.einsum("bk,kij,bj->bi", dy, W, b)
        db = np.einsum("bk,kij,bi->bj", dy, W, a)
        return da, db


add("bilinear", lambda: (Bilinear(3, 4, 2), [randn(67, 3, 3), randn(68, 3, 4)]))
add("bilinear_square", lambda: (Bilinear(3, 3, 3), {"a": randn(69, 2, 3), "b": randn(70, 2, 3)}))
add("bilinear_1e18",
    lambda: (Bilinear(3, 2, 2), [randn(71, 3, 3, scale=1e18), randn(72, 3, 2, scale=1e-18)]))


class LoRALinear(Layer):
    ALPHA = 16

    def __init__(self, n_in, n_out, r=2):
        self.r = r
        self.W = randn(73, n_in, n_out)          # frozen
        self.A = Parameter(randn(74, n_in, r))
        self.B = Parameter(np.zeros((r, n_out)))

    def forward(self, x):
        h = x @ self.A.data
        return x @ self.W + self.ALPHA / self.r * (h @ self.B.data), (x, h)

    def backward(self, dy, cache):
        x, h = cache
        s = self.ALPHA / self.r
        self.B.grad += s * h.T @ dy
        dh = s * dy @ self.B.data.T
        self.A.grad += x.T @ dh
        return dy @ self.W.T + dh @ self.A.data.T


add("lora", lambda: (LoRALinear(4, 3), [randn(75, 3, 4)]))


class LowRank(Layer):
    def __init__(self, d, r):
        self.U = Parameter(randn(76, d, r))
        self.V = Parameter(randn(77, d, r))

    def forward(self, x):
        z = x @ self.V.data
        return z @ self.U.data.T, (x, z)

    def backward(self, dy, cache):
        x, z = cache
        self.U.grad += np.tensordot(dy, z, axes=((0, 1), (0, 1)))
        dz = dy @ self.U.data
        self.V.grad += np.tensordot(x, dz, axes=((0, 1), (0, 1)))
        return dz @ self.V.data.T


add("low_rank", lambda: (LowRank(4, 2), [randn(78, 2, 3, 4)]))


class TiedAutoencoder(Layer):
    """The decoder is the transpose of the encoder."""

    def __init__(self, d, h):
        self.W = Parameter(randn(79, d, h, scale=0.5))
        self.b = Parameter(np.zeros(h))
        self.c = Parameter(np.zeros(d))

    def forward(self, x):
        h = np.tanh(x @ self.W.data + self.b.data)
        return h @ self.W.data.T + self.c.data, (x, h)

    def backward(self, dy, cache):
        x, h = cache
        self.c.grad += dy.sum(0)
        self.W.grad += dy.T @ h
        da = dy @ self.W.data * (1 - h ** 2)
        self.W.grad += x.T @ da
        self.b.grad += da.sum(0)
        return da @ self.W.data.T


add("tied_autoencoder", lambda: (TiedAutoencoder(4, 3), [randn(80, 3, 4)]))
add("tied_autoencoder_square", lambda: (TiedAutoencoder(3, 3), [randn(81, 2, 3)]))


class KroneckerLinear(Layer):
    def __init__(self, a, b):
        self.a, self.b = a, b
        self.A = Parameter(randn(82, a, a))
        self.B = Parameter(randn(83, b, b))

    def forward(self, x):
        X = x.reshape(-1, self.a, self.b)
        Y = self.A.data @ X @ self.B.data.T
        return Y.reshape(x.shape), X

    def backward(self, dy, X):
        G = dy.reshape(-1, self.a, self.b)
        XB = X @ self.B.data.T
        AX = self.A.data @ X
        self.A.grad += (G @ XB.transpose(0, 2, 1)).sum(0)
        self.B.grad += (G.transpose(0, 2, 1) @ AX).sum(0)
        return (self.A.data.T @ G @ self.B.data).reshape(dy.shape)


add("kronecker_square", lambda: (KroneckerLinear(3, 3), [randn(85, 2, 9)]))


class DiagonalPlusRankOne(Layer):
    def __init__(self, n):
        self.d = Parameter(np.ones(n))
        self.u = Parameter(randn(86, n))
        self.v = Parameter(randn(87, n))

    def forward(self, x):
        s = x @ self.v.data
        return x * self.d.data + s[..., None] * self.u.data, (x, s)

    def backward(self, dy, cache):
        x, s = cache
        lead = tuple(range(x.ndim - 1))
        self.d.grad += (dy * x).sum(lead)
        self.u.grad += (dy * s[..., None]).sum(lead)
        ds = dy @ self.u.data
        self.v.grad += (ds[..., None] * x).sum(lead)
        return dy * self.d.data + ds[..., None] * self.v.data


add("diagonal_plus_rank_one", lambda: (DiagonalPlusRankOne(4), [randn(88, 2, 3, 4)]))


class Circulant(Layer):
    """y_i = sum_j w_(i-j) x_j: a convolution around a circle, without a Fourier transform."""

    def __init__(self, n):
        self.n = n
        self.w = Parameter(randn(89, n))
        self.index = (np.arange(n)[:, None] - np.arange(n)) % n

    def forward(self, x):
        return x @ self.w.data[self.index].T, x

    def backward(self, dy, x):
        dW = dy.T @ x
        np.add.at(self.w.grad, self.index, dW)
        return dy @ self.w.data[self.index]


add("circulant", lambda: (Circulant(5), [randn(90, 3, 5)]))


class CosineBasis(Layer):
    """A learned filter of the discrete cosine transform."""

    def __init__(self, T):
        self.T = T
        k, t = np.arange(T)[:, None], np.arange(T)
        self.basis = np.cos(np.pi / T * (t + 0.5) * k) * (2 / T) ** 0.5
        self.basis[0] /= 2 ** 0.5
        self.filter = Parameter(np.ones(T))

    def forward(self, x):
        spectrum = np.einsum("kt,btd->bkd", self.basis, x)
        y = np.einsum("kt,bkd->btd", self.basis, spectrum * self.filter.data[:, None])
        return y, spectrum

    def backward(self, dy, spectrum):
        g = np.einsum("kt,btd->bkd", self.basis, dy)
        self.filter.grad += (g * spectrum).sum((0, 2))
        return np.einsum("kt,bkd->btd", self.basis, g * self.filter.data[:, None])


add("dct_filter", lambda: (CosineBasis(4), [randn(91, 2, 4, 3)]))


class RealFourierMixing(Layer):
    """FNet: the real part of the Fourier transform over positions, as a matrix."""

    def __init__(self, T):
        self.T = T
        self.C = np.cos(2 * np.pi * np.outer(np.arange(T), np.arange(T)) / T)

    def forward(self, x):
        return self.C @ x / self.T ** 0.5, None

    def backward(self, dy, cache):
        return self.C.T @ dy / self.T ** 0.5


add("fnet_mixing", lambda: (RealFourierMixing(4), [randn(92, 2, 4, 3)]))


class Highway(Layer):
    def __init__(self, d):
        self.WH = Parameter(randn(93, d, d, scale=0.6))
        self.bH = Parameter(np.zeros(d))
        self.WT = Parameter(randn(94, d, d, scale=0.6))
        self.bT = Parameter(-np.ones(d))

    def forward(self, x):
        h = np.tanh(x @ self.WH.data + self.bH.data)
        t = sigmoid(x @ self.WT.data + self.bT.data)
        return t * h + (1 - t) * x, (x, h, t)

    def backward(self, dy, cache):
        x, h, t = cache
        dah = dy * t * (1 - h * h)
        dat = dy * (h - x) * t * (1 - t)
        self.WH.grad += x.T @ dah
        self.bH.grad += dah.sum(0)
        self.WT.grad += x.T @ dat
        self.bT.grad += dat.sum(0)
        return dy * (1 - t) + dah @ self.WH.data.T + dat @ self.WT.data.T


add("highway", lambda: (Highway(3), [randn(95, 4, 3)]))


class GLU(Layer):
    def __init__(self, n, m):
        self.m = m
        self.W = Parameter(randn(96, n, 2 * m))

    def forward(self, x):
        h = x @ self.W.data
        a, b = h[..., :self.m], h[..., self.m:]
        s = 1 / (1 + np.exp(-b))
        return a * s, (x, a, s)

    def backward(self, dy, cache):
        x, a, s = cache
        dh = np.concatenate([dy * s, dy * a * s * (1 - s)], axis=-1)
        self.W.grad += x.reshape(-1, x.shape[-1]).T @ dh.reshape(-1, 2 * self.m)
        return dh @ self.W.data.T


add("glu", lambda: (GLU(4, 3), [randn(97, 2, 2, 4)]))


class SwiGLUFeedForward(Layer):
    def __init__(self, d, hidden):
        self.w1 = Parameter(randn(98, d, hidden, scale=d ** -0.5))
        self.w2 = Parameter(randn(99, hidden, d, scale=hidden ** -0.5))
        self.w3 = Parameter(randn(100, d, hidden, scale=d ** -0.5))

    def forward(self, x):
        g = x @ self.w1.data
        u = x @ self.w3.data
        sig = sigmoid(g)
        h = g * sig * u
        return h @ self.w2.data, (x, g, u, sig, h)

    def backward(self, dy, cache):
        x, g, u, sig, h = cache
        flat = lambda a: a.reshape(-1, a.shape[-1])
        self.w2.grad += flat(h).T @ flat(dy)
        dh = dy @ self.w2.data.T
        du = dh * g * sig
        dg = dh * u * sig * (1 + g * (1 - sig))
        self.w1.grad += flat(x).T @ flat(dg)
        self.w3.grad += flat(x).T @ flat(du)
        return dg @ self.w1.data.T + du @ self.w3.data.T


add("swiglu", lambda: (SwiGLUFeedForward(3, 4), [randn(101, 2, 3, 3)]))
add("swiglu_square", lambda: (SwiGLUFeedForward(3, 3), [randn(102, 2, 3, 3)]))


class GEGLU(Layer):
    C = math.sqrt(2 / math.pi)

    def __init__(self, d, hidden):
        self.gate = Linear(d, hidden, np.random.default_rng(103))
        self.up = Linear(d, hidden, np.random.default_rng(104))

    def forward(self, x):
        g, gate = self.gate.forward(x)
        u, up = self.up.forward(x)
        t = np.tanh(self.C * (g + 0.044715 * g ** 3))
        return 0.5 * g * (1 + t) * u, (g, u, t, gate, up)

    def backward(self, dy, cache):
        g, u, t, gate, up = cache
        du = dy * 0.5 * g * (1 + t)
        slope = 0.5 * (1 + t) + 0.5 * g * (1 - t ** 2) * self.C * (1 + 3 * 0.044715 * g ** 2)
        dg = dy * u * slope
        return self.gate.backward(dg, gate) + self.up.backward(du, up)


add("geglu_of_linears", lambda: (GEGLU(3, 4), [randn(105, 2, 3, 3)]))


class TwoLayerNet(Layer):
    def __init__(self, D, H, C):
        self.params = {"W1": Parameter(randn(106, D, H)), "b1": Parameter(np.zeros(H)),
                       "W2": Parameter(randn(107, H, C)), "b2": Parameter(np.zeros(C))}

    def forward(self, X):
        p = self.params
        z1 = X.dot(p["W1"].data) + p["b1"].data
        a1 = z1 * (z1.real > 0)
        return a1.dot(p["W2"].data) + p["b2"].data, (X, z1, a1)

    def backward(self, dscores, cache):
        X, z1, a1 = cache
        p = self.params
        p["W2"].grad += a1.T.dot(dscores)
        p["b2"].grad += np.sum(dscores, axis=0)
        da1 = dscores.dot(p["W2"].data.T)
        dz1 = da1 * (z1.real > 0)
        p["W1"].grad += X.T.dot(dz1)
        p["b1"].grad += np.sum(dz1, axis=0)
        return dz1.dot(p["W1"].data.T)


add("two_layer_net", lambda: (TwoLayerNet(4, 5, 3), [randn(108, 3, 4)]))


class MLPList(Layer):
    """Weights in a list, tanh between them."""

    def __init__(self, sizes):
        self.sizes = sizes
        self.Ws = [Parameter(randn(109 + i, a, b) / a ** 0.5)
                   for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:]))]
        self.bs = [Parameter(np.zeros(b)) for b in sizes[1:]]

    def forward(self, x):
        hs = [x]
        for W, b in zip(self.Ws, self.bs):
            hs.append(np.tanh(hs[-1] @ W.data + b.data))
        return hs[-1], hs

    def backward(self, dy, hs):
        for i in reversed(range(len(self.Ws))):
            dz = dy * (1 - hs[i + 1] ** 2)
            self.Ws[i].grad += hs[i].T @ dz
            self.bs[i].grad += dz.sum(0)
            dy = dz @ self.Ws[i].data.T
        return dy


add("mlp_list", lambda: (MLPList([3, 4, 3, 2]), [randn(115, 3, 3)]))


class SkipInit(Layer):
    """y = x + alpha tanh(x W), with alpha = 0 at the start."""

    def __init__(self, d):
        self.W = Parameter(np.eye(d))
        self.alpha = Parameter(np.zeros(1))

    def forward(self, x):
        t = np.tanh(x @ self.W.data)
        return x + self.alpha.data * t, (x, t)

    def backward(self, dy, cache):
        x, t = cache
        self.alpha.grad += np.sum(dy * t)
        da = self.alpha.data * dy * (1 - t * t)
        self.W.grad += x.T @ da
        return dy + da @ self.W.data.T


add("skip_init", lambda: (SkipInit(3), [randn(116, 4, 3)]))


class LayerScaleResidual(Layer):
    def __init__(self, d):
        self.inner = Linear(d, d, np.random.default_rng(117))
        self.gamma = Parameter(np.full(d, 1e-6))

    def forward(self, x):
        h, cache = self.inner.forward(x)
        return x + self.gamma.data * h, (h, cache)

    def backward(self, dy, cache):
        h, inner = cache
        self.gamma.grad += (dy * h).sum((0, 1))
        return dy + self.inner.backward(dy * self.gamma.data, inner)


add("layer_scale_residual", lambda: (LayerScaleResidual(4), [randn(118, 2, 3, 4)]))


class MaskedLinear(Layer):
    """A linear layer with a fixed sparse pattern (MADE)."""

    def __init__(self, d):
        self.d = d
        self.M = np.tril(np.ones((d, d)), -1)
        self.W = Parameter(randn(119, d, d))
        self.b = Parameter(randn(120, d))

    def forward(self, x):
        return x @ (self.W.data * self.M).T + self.b.data, x

    def backward(self, dy, x):
        self.W.grad += (dy.T @ x) * self.M
        self.b.grad += dy.sum(0)
        return dy @ (self.W.data * self.M)


add("masked_linear", lambda: (MaskedLinear(4), [randn(121, 3, 4)]))


class ComplexLinearAsReal(Layer):
    """(a + ib)(P + iQ), with the real and the imaginary parts side by side."""

    def __init__(self, n, m):
        self.n, self.m = n, m
        self.P = Parameter(randn(122, n, m))
        self.Q = Parameter(randn(123, n, m))

    def forward(self, x):
        a, b = x[:, :self.n], x[:, self.n:]
        P, Q = self.P.data, self.Q.data
        return np.hstack([a @ P - b @ Q, a @ Q + b @ P]), (a, b)

    def backward(self, dy, cache):
        a, b = cache
        P, Q = self.P.data, self.Q.data
        g, h = dy[:, :self.m], dy[:, self.m:]
        self.P.grad += a.T @ g + b.T @ h
        self.Q.grad += a.T @ h - b.T @ g
        return np.hstack([g @ P.T + h @ Q.T, h @ P.T - g @ Q.T])


add("complex_linear_as_real", lambda: (ComplexLinearAsReal(2, 3), [randn(124, 3, 4)]))


class Polynomial(Layer):
    """y = a + b x + c x^2 + d x^3, the four numbers in one array."""

    def __init__(self):
        self.coef = Parameter(np.array([0.5, 1.0, -0.3, 0.2]))

    def forward(self, x):
        a, b, c, d = self.coef.data
        return a + b * x + c * x ** 2 + d * x ** 3, x

    def backward(self, dy, x):
        a, b, c, d = self.coef.data
        self.coef.grad += np.array([dy.sum(), (dy * x).sum(), (dy * x ** 2).sum(),
                                    (dy * x ** 3).sum()])
        return dy * (b + 2 * c * x + 3 * d * x ** 2)


add("polynomial", lambda: (Polynomial(), [randn(125, 3, 4)]))


class Affine(Layer):
    def __init__(self, a=1.0, b=0.0):
        self.ab = Parameter(np.array([a, b]))

    def forward(self, x):
        return self.ab.data[0] * x + self.ab.data[1], x

    def backward(self, dy, x):
        da = np.sum(dy * x)
        db = np.sum(dy)
        self.ab.grad += np.array([da, db])
        return dy * self.ab.data[0]


add("affine_two_numbers", lambda: (Affine(), [randn(127, 3, 2)]))
add("affine_two_numbers_1e-10", lambda: (Affine(3e-10, 2e-10), [randn(128, 3, 2)]))


class Triple(Layer):
    def forward(self, x):
        return 3 * x, None

    def backward(self, dy, cache):
        return 3 * dy


add("triple_1e8", lambda: (Triple(), [randn(129, 2, 3, scale=1e8)]))
add("triple_1e30", lambda: (Triple(), [randn(130, 2, 3, scale=1e30)]))
add("triple_1e-30", lambda: (Triple(), [randn(131, 2, 3, scale=1e-30)]))


class Square(Layer):
    def forward(self, x):
        return x * x, x

    def backward(self, dy, x):
        return 2 * dy * x


add("square_1e30", lambda: (Square(), [randn(132, 4, scale=1e30)]))
add("square_1e-30", lambda: (Square(), [randn(133, 4, scale=1e-30)]))


# ---------------------------------------------------------------------------- attention


class SingleHeadAttention(Layer):
    def __init__(self, d, seed=140):
        self.d = d
        self.Wq = Parameter(randn(seed, d, d, scale=0.7))
        self.Wk = Parameter(randn(seed + 1, d, d, scale=0.7))
        self.Wv = Parameter(randn(seed + 2, d, d, scale=0.7))

    def forward(self, x):
        q, k, v = x @ self.Wq.data, x @ self.Wk.data, x @ self.Wv.data
        s = q @ k.transpose(0, 2, 1) / self.d ** .5
        e = np.exp(s - s.real.max(-1, keepdims=True))
        p = e / e.sum(-1, keepdims=True)
        return p @ v, (x, q, k, v, p)

    def backward(self, dy, cache):
        x, q, k, v, p = cache
        dp = dy @ v.transpose(0, 2, 1)
        dv = p.transpose(0, 2, 1) @ dy
        ds = p * (dp - (dp * p).sum(-1, keepdims=True))
        dq = ds @ k / self.d ** .5
        dk = ds.transpose(0, 2, 1) @ q / self.d ** .5
        self.Wq.grad += np.einsum("bti,btj->ij", x, dq)
        self.Wk.grad += np.einsum("bti,btj->ij", x, dk)
        self.Wv.grad += np.einsum("bti,btj->ij", x, dv)
        return dq @ self.Wq.data.T + dk @ self.Wk.data.T + dv @ self.Wv.data.T


add("attention_single_head", lambda: (SingleHeadAttention(4), [randn(143, 2, 3, 4)]))
add("attention_single_head_t_1", lambda: (SingleHeadAttention(3), [randn(144, 2, 1, 3)]))
add("attention_single_head_1e-10", lambda: (
    SingleHeadAttention(3), [randn(145, 1, 4, 3, scale=1e-10)]))


class CausalSelfAttention(Layer):
    """nanoGPT's: one matrix for queries, keys and values."""

    def __init__(self, n_embd, n_head, block_size):
        self.n_embd, self.n_head, self.block_size = n_embd, n_head, block_size
        self.c_attn = Parameter(randn(146, n_embd, 3 * n_embd, scale=0.5))
        self.c_proj = Parameter(randn(147, n_embd, n_embd, scale=0.5))
        self.mask = np.tril(np.ones((block_size, block_size), bool))

    def forward(self, x):
        B, T, C = x.shape
        hs = C // self.n_head
        qkv = (x @ self.c_attn.data).reshape(B, T, 3, self.n_head, hs).transpose(2, 0, 3, 1, 4)
        q, k, v = qkv
        att = (q @ k.swapaxes(-1, -2)) * (1.0 / math.sqrt(hs))
        att = np.where(self.mask[:T, :T], att, -1e9)
        att = np.exp(att - att.real.max(-1, keepdims=True))
        att = att / att.sum(-1, keepdims=True)
        o = (att @ v).transpose(0, 2, 1, 3).reshape(B, T, C)
        return o @ self.c_proj.data, (x, q, k, v, att, o)

    def backward(self, dy, cache):
        x, q, k, v, att, o = cache
        B, T, C = x.shape
        hs = C // self.n_head
        self.c_proj.grad += o.reshape(-1, C).T @ dy.reshape(-1, C)
        do = (dy @ self.c_proj.data.T).reshape(B, T, self.n_head, hs).transpose(0, 2, 1, 3)
        datt = do @ v.swapaxes(-1, -2)
        dv = att.swapaxes(-1, -2) @ do
        ds = att * (datt - (datt * att).sum(-1, keepdims=True)) * (1.0 / math.sqrt(hs))
        dq = ds @ k
        dk = ds.swapaxes(-1, -2) @ q
        dqkv = np.stack([dq, dk, dv]).transpose(1, 3, 0, 2, 4).reshape(B, T, 3 * C)
        self.c_attn.grad += x.reshape(-1, C).T @ dqkv.reshape(-1, 3 * C)
        return dqkv @ self.c_attn.data.T


add("attention_nanogpt", lambda: (CausalSelfAttention(4, 2, 5), [randn(148, 2, 3, 4)]))


class CrossAttention(Layer):
    """Queries from x, keys and values from memory, padding masked."""

    def __init__(self, d, d_mem):
        self.d = d
        self.wq = Parameter(randn(150, d, d, scale=0.5))
        self.wkv = Parameter(randn(151, d_mem, 2 * d, scale=0.5))

    def forward(self, x, memory, mask=None):
        q = x @ self.wq.data
        kv = memory @ self.wkv.data
        k, v = np.split(kv, 2, axis=-1)
        scores = np.einsum("bqd,bkd->bqk", q, k) * self.d ** -0.5
        p, softmax = softmax_forward(scores, None if mask is None else mask[:, None, :])
        return np.einsum("bqk,bkd->bqd", p, v), (x, memory, q, k, v, p, softmax)

    def backward(self, dy, cache):
        x, memory, q, k, v, p, softmax = cache
        dv = np.einsum("bqk,bqd->bkd", p, dy)
        ds = softmax_backward(np.einsum("bqd,bkd->bqk", dy, v), softmax) * self.d ** -0.5
        dq = np.einsum("bqk,bkd->bqd", ds, k)
        dk = np.einsum("bqk,bqd->bkd", ds, q)
        dkv = np.concatenate([dk, dv], -1)
        self.wq.grad += np.einsum("bqi,bqj->ij", x, dq)
        self.wkv.grad += np.einsum("bki,bkj->ij", memory, dkv)
        return dq @ self.wq.data.T, dkv @ self.wkv.data.T


add("cross_attention_mask", lambda: (
    CrossAttention(3, 4), [randn(152, 2, 2, 3), randn(153, 2, 3, 4),
                           np.array([[True, True, False], [True, True, True]])]))
add("cross_attention_no_mask", lambda: (
    CrossAttention(3, 3), {"x": randn(154, 2, 2, 3), "memory": randn(155, 2, 3, 3)}))


class LinearAttention(Layer):
    """Katharopoulos et al., phi(x) = elu(x) + 1, not causal."""

    def __init__(self, d):
        self.d = d

    def phi(self, x):
        return np.where(x.real > 0, x + 1, np.exp(x * (x.real <= 0)))

    def dphi(self, x):
        return np.where(x.real > 0, 1, np.exp(x * (x.real <= 0)))

    def forward(self, q, k, v):
        a, b = self.phi(q), self.phi(k)
        S = b.swapaxes(1, 2) @ v
        z = b.sum(1)
        den = np.einsum("btd,bd->bt", a, z)[..., None]
        num = a @ S
        return num / den, (q, k, v, a, b, S, z, den, num)

    def backward(self, dy, cache):
        q, k, v, a, b, S, z, den, num = cache
        dnum = dy / den
        dden = -(dy * num).sum(-1, keepdims=True) / den ** 2
        da = dnum @ S.swapaxes(1, 2) + dden * z[:, None, :]
        dS = a.swapaxes(1, 2) @ dnum
        dz = (dden * a).sum(1)
        db = v @ dS.swapaxes(1, 2) + dz[:, None, :]
        dv = b @ dS
        return da * self.dphi(q), db * self.dphi(k), dv


add("linear_attention", lambda: (
    LinearAttention(3), [randn(156, 2, 4, 3), randn(157, 2, 4, 3), randn(158, 2, 4, 3)]))


class AdditiveAttention(Layer):
    """Bahdanau: score = v . tanh(q W + k U)."""

    def __init__(self, dq, dk, h):
        self.W = Parameter(randn(159, dq, h))
        self.U = Parameter(randn(160, dk, h))
        self.v = Parameter(randn(161, h))

    def forward(self, query, keys):
        t = np.tanh((query @ self.W.data)[:, None, :] + keys @ self.U.data)
        s = t @ self.v.data
        a, sm = softmax_forward(s)
        return (a[:, :, None] * keys).sum(1), (query, keys, t, a, sm)

    def backward(self, dy, cache):
        query, keys, t, a, sm = cache
        da = np.einsum("bd,btd->bt", dy, keys)
        dkeys = a[:, :, None] * dy[:, None, :]
        ds = softmax_backward(da, sm)
        self.v.grad += np.einsum("bt,bth->h", ds, t)
        dpre = ds[:, :, None] * self.v.data * (1 - t * t)
        self.W.grad += query.T @ dpre.sum(1)
        self.U.grad += np.einsum("btd,bth->dh", keys, dpre)
        dquery = dpre.sum(1) @ self.W.data.T
        return dquery, dkeys + dpre @ self.U.data.T


add("attention_bahdanau", lambda: (
    AdditiveAttention(3, 4, 2), [randn(162, 2, 3), randn(163, 2, 3, 4)]))


class AttentionPooling(Layer):
    def __init__(self, d):
        self.w = Parameter(np.zeros(d))

    def forward(self, x, mask):
        s = np.where(mask, x @ self.w.data, -1e30)
        e = np.exp(s - s.real.max(1, keepdims=True))
        a = e / e.sum(1, keepdims=True)
        return np.einsum("bt,btd->bd", a, x), (x, a)

    def backward(self, dy, cache):
        x, a = cache
        da = np.einsum("bd,btd->bt", dy, x)
        ds = a * (da - np.sum(da * a, 1, keepdims=True))
        self.w.grad += np.einsum("bt,btd->d", ds, x)
        return a[..., None] * dy[:, None] + ds[..., None] * self.w.data


add("attention_pooling_mask", lambda: (
    AttentionPooling(3), [randn(164, 2, 4, 3), np.arange(4) < np.array([[3], [4]])]))


class ALiBiAttention(Layer):
    def __init__(self, heads, T):
        self.heads, self.T = heads, T
        slopes = 2.0 ** (-8 * (np.arange(heads) + 1) / heads)
        distance = np.arange(T)[:, None] - np.arange(T)
        self.bias = np.where(distance >= 0, -slopes[:, None, None] * distance, -1e9)

    def forward(self, q, k, v):
        d = q.shape[-1]
        s = np.einsum("bhid,bhjd->bhij", q, k) / d ** 0.5 + self.bias
        e = np.exp(s - s.real.max(-1, keepdims=True))
        p = e / e.sum(-1, keepdims=True)
        return np.einsum("bhij,bhjd->bhid", p, v), (q, k, v, p)

    def backward(self, dy, cache):
        q, k, v, p = cache
        d = q.shape[-1]
        dp = np.einsum("bhid,bhjd->bhij", dy, v)
        dv = np.einsum("bhij,bhid->bhjd", p, dy)
        ds = p * (dp - np.sum(p * dp, axis=-1, keepdims=True)) / d ** 0.5
        return np.einsum("bhij,bhjd->bhid", ds, k), np.einsum("bhij,bhid->bhjd", ds, q), dv


add("attention_alibi", lambda: (
    ALiBiAttention(2, 3), [randn(165, 2, 2, 3, 2), randn(166, 2, 2, 3, 2), randn(167, 2, 2, 3, 2)]))


class T5RelativeBias(Layer):
    """Adds a learned bias for each distance to scores (B, H, T, T)."""

    def __init__(self, heads, T):
        self.heads, self.T = heads, T
        self.table = Parameter(np.zeros((2 * T - 1, heads)))
        self.index = np.arange(T)[:, None] - np.arange(T) + T - 1

    def forward(self, scores):
        return scores + self.table.data[self.index].transpose(2, 0, 1), None

    def backward(self, dy, cache):
        np.add.at(self.table.grad, self.index, dy.sum(0).transpose(1, 2, 0))
        return dy


add("relative_bias_t5", lambda: (T5RelativeBias(2, 3), [randn(168, 2, 2, 3, 3)]))


class ShawRelativeKeys(Layer):
    """scores = q (k + r)^T, r by distance."""

    def __init__(self, T, d):
        self.T, self.d = T, d
        self.rel = Parameter(randn(169, 2 * T - 1, d))
        self.idx = np.arange(T) - np.arange(T)[:, None] + T - 1

    def forward(self, q, k):
        r = self.rel.data[self.idx]
        s = np.einsum("bid,bjd->bij", q, k) + np.einsum("bid,ijd->bij", q, r)
        return s / np.sqrt(self.d), (q, k, r)

    def backward(self, ds, cache):
        q, k, r = cache
        ds = ds / np.sqrt(self.d)
        dq = np.einsum("bij,bjd->bid", ds, k) + np.einsum("bij,ijd->bid", ds, r)
        dk = np.einsum("bij,bid->bjd", ds, q)
        dr = np.einsum("bij,bid->ijd", ds, q)
        np.add.at(self.rel.grad, self.idx, dr)
        return dq, dk


add("relative_keys_shaw", lambda: (
    ShawRelativeKeys(3, 2), [randn(170, 2, 3, 2), randn(171, 2, 3, 2)]))


class Rotary(Layer):
    def __init__(self, T, d, base=10000.0):
        self.T, self.d = T, d
        freq = base ** (-np.arange(0, d, 2) / d)
        angle = np.arange(T)[:, None] * freq
        self.cos, self.sin = np.cos(angle), np.sin(angle)

    def forward(self, x):
        x1, x2 = x[..., 0::2], x[..., 1::2]
        y = np.empty_like(x)
        y[..., 0::2] = x1 * self.cos - x2 * self.sin
        y[..., 1::2] = x1 * self.sin + x2 * self.cos
        return y, None

    def backward(self, dy, cache):
        d1, d2 = dy[..., 0::2], dy[..., 1::2]
        dx = np.empty_like(dy)
        dx[..., 0::2] = d1 * self.cos + d2 * self.sin
        dx[..., 1::2] = -d1 * self.sin + d2 * self.cos
        return dx


add("rotary", lambda: (Rotary(3, 4), [randn(172, 2, 3, 4)]))
add("rotary_t_1", lambda: (Rotary(1, 4), [randn(173, 2, 1, 4)]))
add("rotary_1e30", lambda: (Rotary(3, 4), [randn(174, 1, 3, 4, scale=1e30)]))


class RotaryHalf(Layer):
    """rotate_half, as in Llama."""

    def __init__(self, T, dim):
        self.dim = dim
        inv_freq = 1.0 / (100.0 ** (np.arange(0, dim, 2) / dim))
        emb = np.concatenate([np.outer(np.arange(T), inv_freq)] * 2, -1)
        self.cos, self.sin = np.cos(emb), np.sin(emb)

    def forward(self, x):
        h = self.dim // 2
        rotated = np.concatenate([-x[..., h:], x[..., :h]], axis=-1)
        return x * self.cos + rotated * self.sin, None

    def backward(self, dy, cache):
        h = self.dim // 2
        g = dy * self.sin
        return dy * self.cos + np.concatenate([g[..., h:], -g[..., :h]], axis=-1)


add("rotary_half", lambda: (RotaryHalf(4, 4), [randn(175, 2, 2, 4, 4)]))


class LearnedPositions(Layer):
    def __init__(self, T, d):
        self.T = T
        self.pos = Parameter(randn(176, T, d))

    def forward(self, x):
        t = x.shape[1]
        return x + self.pos.data[:t], t

    def backward(self, dy, t):
        self.pos.grad[:t] += dy.sum(0)
        return dy


add("learned_positions", lambda: (LearnedPositions(5, 3), [randn(177, 2, 3, 3)]))


class SinusoidScaled(Layer):
    """x * sqrt(d) + a * PE."""

    def __init__(self, T, d):
        self.d = d
        w = 10000 ** (-np.arange(0, d, 2) / d)
        a = np.arange(T)[:, None] * w
        self.pe = np.stack([np.sin(a), np.cos(a)], -1).reshape(T, d)
        self.a = Parameter(np.ones(1))

    def forward(self, x):
        return x * self.d ** 0.5 + self.a.data * self.pe, None

    def backward(self, dy, cache):
        self.a.grad += (dy * self.pe).sum()
        return dy * self.d ** 0.5


add("sinusoids_scaled", lambda: (SinusoidScaled(3, 4), [randn(178, 2, 3, 4)]))


class MultiQueryAttention(Layer):
    """One key and value for all heads."""

    def __init__(self, d, heads):
        self.h, self.dh = heads, d // heads
        self.wq = Parameter(randn(179, heads, d, self.dh, scale=0.5))
        self.wk = Parameter(randn(180, d, self.dh, scale=0.5))
        self.wv = Parameter(randn(181, d, self.dh, scale=0.5))
        self.wo = Parameter(randn(182, heads, self.dh, d, scale=0.5))

    def forward(self, x):
        q = np.einsum("btd,hdk->bhtk", x, self.wq.data)
        k = x @ self.wk.data
        v = x @ self.wv.data
        s = np.einsum("bhtk,bsk->bhts", q, k) / self.dh ** 0.5
        p, sm = softmax_forward(s)
        o = np.einsum("bhts,bsv->bhtv", p, v)
        y = np.einsum("bhtv,hvd->btd", o, self.wo.data)
        return y, (x, q, k, v, p, sm, o)

    def backward(self, dy, cache):
        x, q, k, v, p, sm, o = cache
        self.wo.grad += np.einsum("bhtv,btd->hvd", o, dy)
        do = np.einsum("btd,hvd->bhtv", dy, self.wo.data)
        dp = np.einsum("bhtv,bsv->bhts", do, v)
        dv = np.einsum("bhts,bhtv->bsv", p, do)
        ds = softmax_backward(dp, sm) / self.dh ** 0.5
        dq = np.einsum("bhts,bsk->bhtk", ds, k)
        dk = np.einsum("bhts,bhtk->bsk", ds, q)
        self.wq.grad += np.einsum("btd,bhtk->hdk", x, dq)
        self.wk.grad += np.einsum("btd,btk->dk", x, dk)
        self.wv.grad += np.einsum("btd,btv->dv", x, dv)
        dx = np.einsum("bhtk,hdk->btd", dq, self.wq.data)
        return dx + dk @ self.wk.data.T + dv @ self.wv.data.T


add("attention_multi_query", lambda: (MultiQueryAttention(4, 2), [randn(183, 1, 3, 4)]))


class CosineAttentionScores(Layer):
    """Swin v2: the cosine of queries and keys, times a learned exp(scale)."""

    def __init__(self):
        self.log_scale = Parameter(np.array([0.0]))

    def forward(self, q, k):
        nq = np.sqrt((q * q).sum(-1, keepdims=True))
        nk = np.sqrt((k * k).sum(-1, keepdims=True))
        u, w = q / nq, k / nk
        s = u @ w.swapaxes(-1, -2)
        return np.exp(self.log_scale.data) * s, (u, w, nq, nk, s)

    def backward(self, dy, cache):
        u, w, nq, nk, s = cache
        e = np.exp(self.log_scale.data)
        self.log_scale.grad += (dy * s).sum() * e
        ds = dy * e
        du = ds @ w
        dw = ds.swapaxes(-1, -2) @ u
        dq = (du - u * (du * u).sum(-1, keepdims=True)) / nq
        dk = (dw - w * (dw * w).sum(-1, keepdims=True)) / nk
        return dq, dk


add("cosine_attention_scores", lambda: (
    CosineAttentionScores(), [randn(184, 2, 3, 4), randn(185, 2, 2, 4)]))


class ExternalAttention(Layer):
    """Keys and values are parameters."""

    def __init__(self, d, slots):
        self.slots, self.d = slots, d
        self.K = Parameter(randn(186, slots, d))
        self.V = Parameter(randn(187, slots, d))

    def forward(self, x):
        s = x @ self.K.data.T / self.d ** 0.5
        p = np.exp(s)
        p = p / p.sum(-1, keepdims=True)
        return p @ self.V.data, (x, p)

    def backward(self, dy, cache):
        x, p = cache
        X = x.reshape(-1, self.d)
        G = dy.reshape(-1, self.d)
        A = p.reshape(-1, self.slots)
        self.V.grad += A.T @ G
        dA = G @ self.V.data.T
        dS = A * (dA - (dA * A).sum(1)[:, None]) / self.d ** 0.5
        self.K.grad += dS.T @ X
        return (dS @ self.K.data).reshape(x.shape)


add("external_attention", lambda: (ExternalAttention(3, 4), [randn(188, 2, 2, 3)]))


# ---------------------------------------------------------------------------- embeddings, gather


class OneHotEmbedding(Layer):
    def __init__(self, vocab, d):
        self.vocab = vocab
        self.E = Parameter(randn(200, vocab, d))

    def forward(self, ids):
        onehot = np.eye(self.vocab)[ids]
        return onehot @ self.E.data, onehot

    def backward(self, dy, onehot):
        flat = onehot.reshape(-1, self.vocab)
        self.E.grad += flat.T @ dy.reshape(-1, dy.shape[-1])


add("embedding_one_hot", lambda: (OneHotEmbedding(6, 3), [ints(201, 6, 2, 4)]))


class GatherEmbedding(Layer):
    def __init__(self, V, D):
        self.D = D
        self.table = Parameter(randn(202, V, D))

    def forward(self, ids):
        return self.table.data[ids] * math.sqrt(self.D), ids

    def backward(self, dy, ids):
        np.add.at(self.table.grad, ids, dy * math.sqrt(self.D))
        return None


add("embedding_gather", lambda: (GatherEmbedding(5, 3), [ints(203, 5, 2, 4)]))


class TiedEmbeddingModel(Layer):
    """Logits of a bag of words, with the embedding as the output matrix."""

    def __init__(self, vocab, d):
        self.vocab = vocab
        self.E = Parameter(randn(204, vocab, d))

    def forward(self, ids):
        h = self.E.data[ids].mean(1)
        return h @ self.E.data.T, (ids, h)

    def backward(self, dy, cache):
        ids, h = cache
        self.E.grad += dy.T @ h
        dh = dy @ self.E.data
        T = ids.shape[1]
        for b in range(len(ids)):
            for i in ids[b]:
                self.E.grad[i] += dh[b] / T
        return None


add("embedding_tied", lambda: (TiedEmbeddingModel(5, 3), [ints(205, 5, 2, 3)]))


class EmbeddingBag(Layer):
    """Weighted sum of the embeddings of a bag."""

    def __init__(self, V, D):
        self.W = Parameter(randn(206, V, D))

    def forward(self, ids, weights):
        rows = self.W.data[ids]
        return (rows * weights[..., None]).sum(1), (ids, weights, rows)

    def backward(self, dy, cache):
        ids, weights, rows = cache
        np.add.at(self.W.grad, ids, dy[:, None, :] * weights[..., None])
        return (rows * dy[:, None, :]).sum(-1)


add("embedding_bag", lambda: (EmbeddingBag(5, 3), [ints(207, 5, 2, 3), randn(208, 2, 3)]))


class SegmentSum(Layer):
    """Sums rows into a fixed number of segments, as a graph network does."""

    def __init__(self, segments):
        self.segments = segments

    def forward(self, x, segment):
        y = np.zeros((self.segments,) + x.shape[1:], x.dtype)
        np.add.at(y, segment, x)
        return y, segment

    def backward(self, dy, segment):
        return dy[segment]


add("segment_sum", lambda: (SegmentSum(3), [randn(209, 5, 2), np.array([0, 2, 1, 0, 2])]))


class TakeAlong(Layer):
    """Picks one number per row."""

    def forward(self, x, index):
        return np.take_along_axis(x, index[:, None], axis=1)[:, 0], (index, x.shape)

    def backward(self, dy, cache):
        index, shape = cache
        dx = np.zeros(shape, dy.dtype)
        dx[np.arange(len(index)), index] = dy
        return dx


add("take_along", lambda: (TakeAlong(), [randn(210, 4, 5), ints(211, 5, 4)]))


class GraphConv(Layer):
    """A (X W), with a fixed graph of n nodes."""

    def __init__(self, n, d, m):
        self.n = n
        A = np.eye(n) + np.eye(n, k=1) + np.eye(n, k=-1)
        degree = A.sum(1)
        self.A = A / degree[:, None]
        self.W = Parameter(randn(212, d, m))

    def forward(self, x):
        ax = self.A @ x
        h = ax @ self.W.data
        return np.maximum(h, 0), (ax, h)

    def backward(self, dy, cache):
        ax, h = cache
        dh = np.where(h.real > 0, dy, 0)
        self.W.grad += np.einsum("bnd,bnm->dm", ax, dh)
        return self.A.T @ (dh @ self.W.data.T)


add("graph_conv", lambda: (GraphConv(4, 3, 2), [randn(213, 2, 4, 3)]))


# ---------------------------------------------------------------------------- convolution, pooling


class Conv1d(Layer):
    def __init__(self, c_in, c_out, k):
        self.k = k
        self.W = Parameter(randn(220, k, c_in, c_out))
        self.b = Parameter(np.zeros(c_out))

    def forward(self, x):
        T = x.shape[1] - self.k + 1
        y = sum(x[:, i:i + T] @ self.W.data[i] for i in range(self.k)) + self.b.data
        return y, x

    def backward(self, dy, x):
        T = dy.shape[1]
        dx = np.zeros_like(x)
        for i in range(self.k):
            self.W.grad[i] += np.einsum("bti,bto->io", x[:, i:i + T], dy)
            dx[:, i:i + T] += dy @ self.W.data[i].T
        self.b.grad += dy.sum(axis=(0, 1))
        return dx


add("conv1d", lambda: (Conv1d(2, 3, 3), [randn(221, 2, 6, 2)]))
add("conv1d_square", lambda: (Conv1d(3, 3, 2), [randn(222, 1, 4, 3)]))


class CausalConv1d(Layer):
    """Pads on the left, dilated, im2col."""

    def __init__(self, c, k, dilation):
        self.k, self.dil, self.c = k, dilation, c
        self.W = Parameter(randn(223, k * c, c))

    def forward(self, x):
        B, T, C = x.shape
        pad = (self.k - 1) * self.dil
        xp = np.concatenate([np.zeros((B, pad, C), x.dtype), x], axis=1)
        cols = np.concatenate([xp[:, i * self.dil:i * self.dil + T] for i in range(self.k)], -1)
        return cols @ self.W.data, (cols, T)

    def backward(self, dy, cache):
        cols, T = cache
        B = dy.shape[0]
        self.W.grad += cols.reshape(-1, self.k * self.c).T @ dy.reshape(-1, self.c)
        dcols = dy @ self.W.data.T
        pad = (self.k - 1) * self.dil
        dxp = np.zeros((B, pad + T, self.c), dy.dtype)
        for i in range(self.k):
            dxp[:, i * self.dil:i * self.dil + T] += dcols[..., i * self.c:(i + 1) * self.c]
        return dxp[:, pad:]


add("conv1d_causal_dilated", lambda: (CausalConv1d(2, 3, 2), [randn(224, 2, 6, 2)]))


class DepthwiseConv1d(Layer):
    def __init__(self, channels, k=3):
        self.k = k
        self.w = Parameter(randn(225, k, channels))

    def forward(self, x):
        p = self.k // 2
        xp = np.pad(x, ((0, 0), (p, p), (0, 0)))
        T = x.shape[1]
        y = np.zeros_like(x)
        for j in range(self.k):
            y = y + xp[:, j:j + T] * self.w.data[j]
        return y, xp

    def backward(self, dy, xp):
        T, p = dy.shape[1], self.k // 2
        dxp = np.zeros_like(xp)
        for j in range(self.k):
            self.w.grad[j] += (xp[:, j:j + T] * dy).sum((0, 1))
            dxp[:, j:j + T] += dy * self.w.data[j]
        return dxp[:, p:p + T]


add("conv1d_depthwise", lambda: (DepthwiseConv1d(3), [randn(226, 2, 5, 3)]))


class Conv2d(Layer):
    """Channels first, stride and padding, four loops as in the course."""

    def __init__(self, c_in, c_out, k, stride=1, pad=0):
        self.k, self.stride, self.pad = k, stride, pad
        self.w = Parameter(randn(227, c_out, c_in, k, k, scale=0.5))
        self.b = Parameter(np.zeros(c_out))

    def forward(self, x):
        N, C, H, W = x.shape
        p, s, k = self.pad, self.stride, self.k
        xp = np.pad(x, ((0, 0), (0, 0), (p, p), (p, p)))
        Ho, Wo = (H + 2 * p - k) // s + 1, (W + 2 * p - k) // s + 1
        y = np.zeros((N, self.w.data.shape[0], Ho, Wo), x.dtype)
        for i in range(Ho):
            for j in range(Wo):
                patch = xp[:, :, i * s:i * s + k, j * s:j * s + k]
                y[:, :, i, j] = np.einsum("ncij,fcij->nf", patch, self.w.data) + self.b.data
        return y, xp

    def backward(self, dy, xp):
        p, s, k = self.pad, self.stride, self.k
        dxp = np.zeros_like(xp)
        for i in range(dy.shape[2]):
            for j in range(dy.shape[3]):
                patch = xp[:, :, i * s:i * s + k, j * s:j * s + k]
                g = dy[:, :, i, j]
                self.w.grad += np.einsum("nf,ncij->fcij", g, patch)
                dpatch = np.einsum("nf,fcij->ncij", g, self.w.data)
                dxp[:, :, i * s:i * s + k, j * s:j * s + k] += dpatch
        self.b.grad += dy.sum((0, 2, 3))
        return dxp[:, :, p:-p, p:-p] if p else dxp


add("conv2d", lambda: (Conv2d(2, 2, 2), [randn(228, 1, 2, 3, 3)]))
add("conv2d_stride_pad", lambda: (Conv2d(1, 2, 3, 2, 1), [randn(229, 2, 1, 4, 4)]))


class PointwiseConv(Layer):
    def __init__(self, c_in, c_out):
        self.w = Parameter(randn(230, c_out, c_in))

    def forward(self, x):
        return np.einsum("oc,bchw->bohw", self.w.data, x), x

    def backward(self, dy, x):
        self.w.grad += np.einsum("bohw,bchw->oc", dy, x)
        return np.einsum("oc,bohw->bchw", self.w.data, dy)


add("conv_1x1", lambda: (PointwiseConv(3, 2), [randn(231, 2, 3, 2, 2)]))


class ConvTranspose1d(Layer):
    def __init__(self, k, stride):
        self.k, self.stride = k, stride
        self.w = Parameter(randn(232, k))

    def forward(self, x):
        B, T = x.shape
        y = np.zeros((B, (T - 1) * self.stride + self.k), x.dtype)
        for t in range(T):
            y[:, t * self.stride:t * self.stride + self.k] += x[:, t:t + 1] * self.w.data
        return y, x

    def backward(self, dy, x):
        dx = np.zeros_like(x)
        for t in range(x.shape[1]):
            window = dy[:, t * self.stride:t * self.stride + self.k]
            dx[:, t] = window @ self.w.data
            self.w.grad += x[:, t] @ window
        return dx


add("conv_transpose1d", lambda: (ConvTranspose1d(3, 2), [randn(233, 2, 4)]))


class MaxPool1d(Layer):
    def __init__(self, window):
        self.window = window

    def forward(self, x):
        B, T, C = x.shape
        z = x.reshape(B, T // self.window, self.window, C)
        i = z.real.argmax(axis=2)[:, :, None]
        return np.take_along_axis(z, i, 2)[:, :, 0], (i, z.shape, x.shape)

    def backward(self, dy, cache):
        i, shape, original = cache
        dz = np.zeros(shape, dy.dtype)
        np.put_along_axis(dz, i, dy[:, :, None], 2)
        return dz.reshape(original)


add("max_pool1d", lambda: (MaxPool1d(2), [randn(240, 2, 6, 3)]))
add("max_pool1d_1e28", lambda: (MaxPool1d(3), [randn(241, 2, 6, 2, scale=1e28)]))


class MaxPool2d(Layer):
    def __init__(self, k):
        self.k = k

    def forward(self, x):
        n, c, h, w = x.shape
        k = self.k
        z = x.reshape(n, c, h // k, k, w // k, k)
        m = z.real.max(axis=(3, 5), keepdims=True)
        mask = z.real == m
        return (z * mask).sum((3, 5)), (mask, x.shape)

    def backward(self, dy, cache):
        mask, shape = cache
        return (mask * dy[:, :, :, None, :, None]).reshape(shape)


add("max_pool2d", lambda: (MaxPool2d(2), [randn(242, 2, 2, 4, 4)]))


class AvgPool2d(Layer):
    def __init__(self, k):
        self.k = k

    def forward(self, x):
        n, c, h, w = x.shape
        k = self.k
        return x.reshape(n, c, h // k, k, w // k, k).mean((3, 5)), None

    def backward(self, dy, cache):
        k = self.k
        return np.repeat(np.repeat(dy, k, axis=2), k, axis=3) / k ** 2


add("avg_pool2d", lambda: (AvgPool2d(2), [randn(243, 2, 1, 4, 4)]))


class AvgPoolOverlap(Layer):
    """Windows that overlap, over time."""

    def __init__(self, window, stride):
        self.window, self.stride = window, stride

    def forward(self, x):
        starts = range(0, x.shape[1] - self.window + 1, self.stride)
        return np.stack([x[:, s:s + self.window].mean(1) for s in starts], 1), x.shape

    def backward(self, dy, shape):
        dx = np.zeros(shape, dy.dtype)
        for i in range(dy.shape[1]):
            s = i * self.stride
            dx[:, s:s + self.window] += dy[:, i:i + 1] / self.window
        return dx


add("avg_pool_overlap", lambda: (AvgPoolOverlap(3, 1), [randn(244, 2, 5, 2)]))


class MaskedMean(Layer):
    def forward(self, x, mask):
        m = mask[..., None].astype(x.real.dtype)
        n = m.sum(1)
        return (x * m).sum(1) / n, (m, n)

    def backward(self, dy, cache):
        m, n = cache
        return (dy / n)[:, None, :] * m


add("masked_mean", lambda: (
    MaskedMean(), [randn(245, 2, 3, 4), np.array([[True, False, True], [True, True, True]])]))


class LogSumExpPool(Layer):
    """A soft maximum over time: log mean exp(r x) / r."""

    def __init__(self, r=2.0):
        self.r = r

    def forward(self, x):
        z = self.r * x
        m = z.real.max(1, keepdims=True)
        e = np.exp(z - m)
        s = e.sum(1, keepdims=True)
        y = (np.log(s / x.shape[1]) + m)[:, 0] / self.r
        return y, e / s

    def backward(self, dy, p):
        return dy[:, None] * p


add("log_sum_exp_pool", lambda: (LogSumExpPool(), [randn(246, 2, 4, 3)]))


class GeMPool(Layer):
    """Generalised mean with a learned power, over positive inputs."""

    def __init__(self):
        self.p = Parameter(np.array([3.0]))

    def forward(self, x):
        p = self.p.data
        m = (x ** p).mean(1)
        return m ** (1 / p), (x, m)

    def backward(self, dy, cache):
        x, m = cache
        p = self.p.data
        y = m ** (1 / p)
        dm = dy * y / (p * m)
        self.p.grad += (dm * (x ** p * np.log(x)).mean(1)).sum()
        self.p.grad -= (dy * y * np.log(m)).sum() / p ** 2
        return dm[:, None] * p * x ** (p - 1) / x.shape[1]


add("gem_pool", lambda: (GeMPool(), [0.5 + randn(247, 2, 4, 3) ** 2]))


class Upsample(Layer):
    def __init__(self, factor):
        self.factor = factor

    def forward(self, x):
        return np.repeat(x, self.factor, axis=1), None

    def backward(self, dy, cache):
        B, T, C = dy.shape
        return dy.reshape(B, T // self.factor, self.factor, C).sum(2)


add("upsample", lambda: (Upsample(2), [randn(248, 2, 3, 2)]))


class PixelShuffle(Layer):
    def __init__(self, r):
        self.r = r

    def forward(self, x):
        b, c, h, w = x.shape
        r = self.r
        y = x.reshape(b, c // r ** 2, r, r, h, w).transpose(0, 1, 4, 2, 5, 3)
        return y.reshape(b, c // r ** 2, h * r, w * r), None

    def backward(self, dy, cache):
        b, c, h, w = dy.shape
        r = self.r
        dx = dy.reshape(b, c, h // r, r, w // r, r).transpose(0, 1, 3, 5, 2, 4)
        return dx.reshape(b, c * r ** 2, h // r, w // r)


add("pixel_shuffle", lambda: (PixelShuffle(2), [randn(249, 2, 4, 2, 2)]))


class PatchEmbed(Layer):
    def __init__(self, patch, c, d):
        self.p, self.c = patch, c
        self.W = Parameter(randn(250, patch * patch * c, d))
        self.b = Parameter(np.zeros(d))

    def forward(self, x):
        B, C, H, W = x.shape
        p = self.p
        z = x.reshape(B, C, H // p, p, W // p, p).transpose(0, 2, 4, 1, 3, 5)
        z = z.reshape(B, -1, C * p * p)
        return z @ self.W.data + self.b.data, (z, x.shape)

    def backward(self, dy, cache):
        z, (B, C, H, W) = cache
        p = self.p
        self.W.grad += np.einsum("bti,btj->ij", z, dy)
        self.b.grad += dy.sum((0, 1))
        dz = (dy @ self.W.data.T).reshape(B, H // p, W // p, C, p, p)
        return dz.transpose(0, 3, 1, 4, 2, 5).reshape(B, C, H, W)


add("patch_embed", lambda: (PatchEmbed(2, 1, 3), [randn(251, 2, 1, 4, 4)]))


class SqueezeExcite(Layer):
    def __init__(self, c, r):
        self.w1 = Parameter(randn(252, c, r))
        self.w2 = Parameter(randn(253, r, c))

    def forward(self, x):
        z = x.mean((2, 3))
        h = z @ self.w1.data
        a = h * (h.real > 0)
        s = sigmoid(a @ self.w2.data)
        return x * s[:, :, None, None], (x, z, h, a, s)

    def backward(self, dy, cache):
        x, z, h, a, s = cache
        ds = (dy * x).sum((2, 3))
        do = ds * s * (1 - s)
        self.w2.grad += a.T @ do
        dh = do @ self.w2.data.T * (h.real > 0)
        self.w1.grad += z.T @ dh
        dz = dh @ self.w1.data.T
        area = x.shape[2] * x.shape[3]
        return dy * s[:, :, None, None] + dz[:, :, None, None] / area


add("squeeze_excite", lambda: (SqueezeExcite(3, 2), [randn(254, 2, 3, 2, 2)]))


# ---------------------------------------------------------------------------- recurrence


class VanillaRNN(Layer):
    def __init__(self, n, h):
        self.h = h
        self.Wx = Parameter(randn(260, n, h, scale=0.5))
        self.Wh = Parameter(randn(261, h, h, scale=0.5))
        self.b = Parameter(np.zeros(h))

    def forward(self, x, h0):
        N, T, _ = x.shape
        h = np.zeros((N, T, self.h), np.result_type(x, h0, self.Wx.data))
        prev = h0
        for t in range(T):
            prev = np.tanh(x[:, t] @ self.Wx.data + prev @ self.Wh.data + self.b.data)
            h[:, t] = prev
        return h, (x, h0, h)

    def backward(self, dh, cache):
        x, h0, h = cache
        dx = np.zeros_like(x)
        dprev = np.zeros_like(h0)
        for t in reversed(range(x.shape[1])):
            da = (dh[:, t] + dprev) * (1 - h[:, t] ** 2)
            before = h[:, t - 1] if t > 0 else h0
            self.Wx.grad += x[:, t].T @ da
            self.Wh.grad += before.T @ da
            self.b.grad += da.sum(0)
            dx[:, t] = da @ self.Wx.data.T
            dprev = da @ self.Wh.data.T
        return dx, dprev


add("rnn_vanilla", lambda: (VanillaRNN(2, 3), [randn(262, 2, 4, 2), randn(263, 2, 3)]))
add("rnn_vanilla_zero_state", lambda: (VanillaRNN(3, 3), [randn(264, 2, 3, 3), np.zeros((2, 3))]))
add("rnn_vanilla_t_1", lambda: (VanillaRNN(3, 2), [randn(265, 2, 1, 3), randn(266, 2, 2)]))


class GRU(Layer):
    """PyTorch's form: the reset gate inside the bracket, after the matrix."""

    def __init__(self, n, h):
        self.H = h
        self.W = Parameter(randn(267, n, 3 * h, scale=0.5))
        self.U = Parameter(randn(268, h, 3 * h, scale=0.5))
        self.b = Parameter(np.zeros(3 * h))

    def forward(self, x):
        H = self.H
        h = np.zeros((x.shape[0], H), x.dtype)
        steps, ys = [], []
        for t in range(x.shape[1]):
            a = x[:, t] @ self.W.data + self.b.data
            u = h @ self.U.data
            r = sigmoid(a[:, :H] + u[:, :H])
            z = sigmoid(a[:, H:2 * H] + u[:, H:2 * H])
            n = np.tanh(a[:, 2 * H:] + r * u[:, 2 * H:])
            steps.append((h, r, z, n, u[:, 2 * H:]))
            h = (1 - z) * n + z * h
            ys.append(h)
        return np.stack(ys, 1), (x, steps)

    def backward(self, dy, cache):
        x, steps = cache
        dx = np.zeros_like(x)
        dh = np.zeros_like(dy[:, 0])
        for t in reversed(range(x.shape[1])):
            prev, r, z, n, un = steps[t]
            dh = dh + dy[:, t]
            dn = dh * (1 - z) * (1 - n * n)
            dz = dh * (prev - n) * z * (1 - z)
            dr = dn * un * r * (1 - r)
            da = np.concatenate([dr, dz, dn], 1)
            du = np.concatenate([dr, dz, dn * r], 1)
            self.W.grad += x[:, t].T @ da
            self.U.grad += prev.T @ du
            self.b.grad += da.sum(0)
            dx[:, t] = da @ self.W.data.T
            dh = dh * z + du @ self.U.data.T
        return dx


add("gru", lambda: (GRU(2, 3), [randn(269, 2, 3, 2)]))


class MinimalGRUCell(Layer):
    """One step, the Cho version with r * h inside."""

    def __init__(self, d, h):
        s = 0.6
        self.Wz = Parameter(randn(270, d, h, scale=s))
        self.Uz = Parameter(randn(271, h, h, scale=s))
        self.Wh = Parameter(randn(272, d, h, scale=s))
        self.Uh = Parameter(randn(273, h, h, scale=s))

    def forward(self, x, h):
        z = sigmoid(x @ self.Wz.data + h @ self.Uz.data)
        c = np.tanh(x @ self.Wh.data + (z * h) @ self.Uh.data)
        return (1 - z) * h + z * c, (x, h, z, c)

    def backward(self, dy, cache):
        x, h, z, c = cache
        dc = dy * z * (1 - c ** 2)
        dzh = dc @ self.Uh.data.T
        dz = (dy * (c - h) + dzh * h) * z * (1 - z)
        self.Wh.grad += x.T @ dc
        self.Uh.grad += (z * h).T @ dc
        self.Wz.grad += x.T @ dz
        self.Uz.grad += h.T @ dz
        dx = dc @ self.Wh.data.T + dz @ self.Wz.data.T
        dh = dy * (1 - z) + dzh * z + dz @ self.Uz.data.T
        return dx, dh


add("gru_minimal_cell", lambda: (MinimalGRUCell(2, 3), [randn(274, 3, 2), randn(275, 3, 3)]))


class LSTM(Layer):
    def __init__(self, n, h):
        self.H = h
        self.Wx = Parameter(randn(276, n, 4 * h, scale=0.5))
        self.Wh = Parameter(randn(277, h, 4 * h, scale=0.5))
        self.b = Parameter(np.concatenate([np.zeros(h), np.ones(h), np.zeros(2 * h)]))

    def forward(self, x):
        N, T, _ = x.shape
        H = self.H
        h = np.zeros((N, H), x.dtype)
        c = np.zeros((N, H), x.dtype)
        ys, caches = [], []
        for t in range(T):
            a = x[:, t] @ self.Wx.data + h @ self.Wh.data + self.b.data
            i, f, o = sigmoid(a[:, :H]), sigmoid(a[:, H:2 * H]), sigmoid(a[:, 2 * H:3 * H])
            g = np.tanh(a[:, 3 * H:])
            caches.append((h, c, i, f, o, g))
            c = f * c + i * g
            h = o * np.tanh(c)
            ys.append(h)
        return np.stack(ys, axis=1), (x, caches)

    def backward(self, dy, cache):
        x, caches = cache
        dx = np.zeros_like(x)
        dh = np.zeros_like(dy[:, 0])
        dc = np.zeros_like(dh)
        for t in range(x.shape[1] - 1, -1, -1):
            h, c, i, f, o, g = caches[t]
            tc = np.tanh(f * c + i * g)
            dh = dh + dy[:, t]
            dc = dc + dh * o * (1 - tc * tc)
            da = np.hstack([dc * g * i * (1 - i), dc * c * f * (1 - f), dh * tc * o * (1 - o),
                            dc * i * (1 - g * g)])
            self.Wx.grad += x[:, t].T @ da
            self.Wh.grad += h.T @ da
            self.b.grad += da.sum(0)
            dx[:, t] = da @ self.Wx.data.T
            dh = da @ self.Wh.data.T
            dc = dc * f
        return dx


add("lstm", lambda: (LSTM(2, 3), [randn(278, 2, 3, 2)]))


class LSTMCell(Layer):
    """One step with two outputs, h and c."""

    def __init__(self, d):
        self.d = d
        self.W = Parameter(randn(279, 2 * d, 4 * d, scale=0.5))

    def forward(self, x, h, c):
        xh = np.concatenate([x, h], 1)
        i, f, o, g = np.split(xh @ self.W.data, 4, axis=1)
        i, f, o, g = sigmoid(i), sigmoid(f), sigmoid(o), np.tanh(g)
        c2 = f * c + i * g
        t = np.tanh(c2)
        return (o * t, c2), (xh, c, i, f, o, g, t)

    def backward(self, dy, cache):
        dh, dc = dy
        xh, c, i, f, o, g, t = cache
        dc = dc + dh * o * (1 - t ** 2)
        da = np.concatenate([dc * g * i * (1 - i), dc * c * f * (1 - f), dh * t * o * (1 - o),
                             dc * i * (1 - g ** 2)], 1)
        self.W.grad += xh.T @ da
        dxh = da @ self.W.data.T
        return dxh[:, :self.d], dxh[:, self.d:], dc * f


add("lstm_cell_two_outputs", lambda: (
    LSTMCell(2), [randn(280, 3, 2), randn(281, 3, 2), randn(282, 3, 2)]))


class DiagonalSSM(Layer):
    """h_t = a h_(t-1) + b x_t, y_t = c h_t + d x_t for each channel, a = sigmoid(alpha)."""

    def __init__(self, channels):
        self.channels = channels
        self.alpha = Parameter(randn(283, channels))
        self.b = Parameter(np.ones(channels))
        self.c = Parameter(randn(284, channels))
        self.skip = Parameter(np.ones(channels))

    def forward(self, x):
        a = sigmoid(self.alpha.data)
        h = np.zeros((x.shape[0], self.channels), x.dtype)
        hs = []
        for t in range(x.shape[1]):
            h = a * h + self.b.data * x[:, t]
            hs.append(h)
        hs = np.stack(hs, axis=1)
        return self.c.data * hs + self.skip.data * x, (x, a, hs)

    def backward(self, dy, cache):
        x, a, hs = cache
        self.c.grad += np.sum(dy * hs, (0, 1))
        self.skip.grad += np.sum(dy * x, (0, 1))
        dx = dy * self.skip.data
        dh = np.zeros_like(hs[:, 0])
        da = np.zeros_like(a)
        for t in reversed(range(x.shape[1])):
            dh = dh + dy[:, t] * self.c.data
            if t > 0:
                da = da + (dh * hs[:, t - 1]).sum(0)
            self.b.grad += (dh * x[:, t]).sum(0)
            dx[:, t] += dh * self.b.data
            dh = dh * a
        self.alpha.grad += da * a * (1 - a)
        return dx


add("ssm_diagonal", lambda: (DiagonalSSM(3), [randn(285, 2, 4, 3)]))


class SSMConvolution(Layer):
    """The same thing as a convolution with the kernel c a^k b (one channel, N states)."""

    def __init__(self, N, T):
        self.N, self.T = N, T
        self.a = Parameter(np.linspace(0.3, 0.8, N))
        self.b = Parameter(np.ones(N))
        self.c = Parameter(randn(286, N))

    def forward(self, x):
        k = np.arange(self.T)
        powers = self.a.data[:, None] ** k
        kernel = (self.c.data * self.b.data) @ powers
        i = k[:, None] - k
        M = np.where(i >= 0, kernel[np.abs(i)], 0)
        return x @ M.T, (x, M, i, powers)

    def backward(self, dy, cache):
        x, M, i, powers = cache
        dM = dy.T @ x
        dkernel = np.array([dM[i == j].sum() for j in range(self.T)])
        self.c.grad += self.b.data * (powers @ dkernel)
        self.b.grad += self.c.data * (powers @ dkernel)
        j = np.arange(1, self.T)
        slopes = j * self.a.data[:, None] ** (j - 1)
        self.a.grad += self.c.data * self.b.data * (slopes @ dkernel[1:])
        return dy @ M


add("ssm_convolution", lambda: (SSMConvolution(3, 4), [randn(287, 2, 4)]))


class SelectiveScan(Layer):
    """h_t = exp(-delta_t) h_(t-1) + delta_t x_t, with delta given (positive)."""

    def forward(self, x, delta):
        decay = np.exp(-delta)
        h = np.zeros_like(x)
        state = 0 * x[:, 0]
        for t in range(x.shape[1]):
            state = decay[:, t] * state + delta[:, t] * x[:, t]
            h[:, t] = state
        return h, (x, delta, decay, h)

    def backward(self, dy, cache):
        x, delta, decay, h = cache
        dx, dd = np.zeros_like(x), np.zeros_like(delta)
        g = np.zeros_like(dy[:, 0])
        for t in range(x.shape[1] - 1, -1, -1):
            g = g + dy[:, t]
            prev = h[:, t - 1] if t else 0
            dx[:, t] = g * delta[:, t]
            dd[:, t] = g * (x[:, t] - decay[:, t] * prev)
            g = g * decay[:, t]
        return dx, dd


add("selective_scan", lambda: (
    SelectiveScan(), [randn(288, 2, 4, 3), 0.1 + randn(289, 2, 4, 3) ** 2]))


class ExponentialMovingAverage(Layer):
    def __init__(self, d):
        self.logit = Parameter(np.zeros(d))

    def forward(self, x):
        a = sigmoid(self.logit.data)
        y = [x[:, 0]]
        for t in range(1, x.shape[1]):
            y.append(a * y[-1] + (1 - a) * x[:, t])
        y = np.stack(y, 1)
        return y, (x, y, a)

    def backward(self, dy, cache):
        x, y, a = cache
        dx = np.empty_like(dy)
        g = np.zeros_like(dy[:, 0])
        da = 0
        for t in range(x.shape[1] - 1, 0, -1):
            g = g + dy[:, t]
            da = da + (g * (y[:, t - 1] - x[:, t])).sum(0)
            dx[:, t] = g * (1 - a)
            g = g * a
        dx[:, 0] = g + dy[:, 0]
        self.logit.grad += da * a * (1 - a)
        return dx


add("exponential_moving_average_1e16",
    lambda: (ExponentialMovingAverage(3), [randn(291, 2, 4, 3, scale=1e16)]))


class LinearRecurrence(Layer):
    """RetNet-like: y_t = q_t S_t, S_t = decay S_(t-1) + k_t v_t^T."""

    def __init__(self, decay=0.9):
        self.decay = decay

    def forward(self, q, k, v):
        T = q.shape[1]
        n = np.arange(T)
        D = np.where(n[:, None] >= n, self.decay ** (n[:, None] - n).astype(float), 0.0)
        A = (q @ k.swapaxes(1, 2)) * D
        return A @ v, (q, k, v, D, A)

    def backward(self, dy, cache):
        q, k, v, D, A = cache
        dA = dy @ v.swapaxes(1, 2) * D
        return dA @ k, dA.swapaxes(1, 2) @ q, A.swapaxes(1, 2) @ dy


add("retention", lambda: (
    LinearRecurrence(), [randn(292, 2, 3, 2), randn(293, 2, 3, 2), randn(294, 2, 3, 4)]))
add("retention_1e10", lambda: (LinearRecurrence(), [
    randn(295, 1, 3, 2, scale=1e10), randn(296, 1, 3, 2, scale=1e-10),
    randn(297, 1, 3, 2, scale=1e10)]))


class TokenShift(Layer):
    """RWKV: mixes each position with the one before it."""

    def __init__(self, d):
        self.mu = Parameter(np.full(d, 0.5))

    def forward(self, x):
        last = np.concatenate([np.zeros_like(x[:, :1]), x[:, :-1]], 1)
        return self.mu.data * x + (1 - self.mu.data) * last, (x, last)

    def backward(self, dy, cache):
        x, last = cache
        self.mu.grad += (dy * (x - last)).sum((0, 1))
        dx = self.mu.data * dy
        dx[:, :-1] += (1 - self.mu.data) * dy[:, 1:]
        return dx


add("token_shift", lambda: (TokenShift(3), [randn(298, 2, 4, 3)]))


class CumulativeMean(Layer):
    def __init__(self, T):
        self.T = T
        self.n = np.arange(1, T + 1)[:, None]

    def forward(self, x):
        return np.cumsum(x, axis=1) / self.n, None

    def backward(self, dy, cache):
        return np.cumsum((dy / self.n)[:, ::-1], axis=1)[:, ::-1]


add("cumulative_mean", lambda: (CumulativeMean(4), [randn(299, 2, 4, 2)]))


# ---------------------------------------------------------------------------- mixtures


class SoftMoE(Layer):
    """A dense mixture of linear experts with a softmax gate."""

    def __init__(self, d, experts):
        self.experts = experts
        self.gate = Parameter(randn(310, d, experts))
        self.W = Parameter(randn(311, experts, d, d))

    def forward(self, x):
        p, sm = softmax_forward(x @ self.gate.data)
        e = np.einsum("bi,eij->bej", x, self.W.data)
        return np.einsum("be,bej->bj", p, e), (x, p, sm, e)

    def backward(self, dy, cache):
        x, p, sm, e = cache
        dp = np.einsum("bj,bej->be", dy, e)
        de = p[:, :, None] * dy[:, None, :]
        self.W.grad += np.einsum("bi,bej->eij", x, de)
        ds = softmax_backward(dp, sm)
        self.gate.grad += x.T @ ds
        return np.einsum("bej,eij->bi", de, self.W.data) + ds @ self.gate.data.T


add("moe_soft", lambda: (SoftMoE(3, 2), [randn(312, 4, 3)]))


class SigmoidMoE(Layer):
    """Experts as layers in a list, gates that are independent."""

    def __init__(self, d, n):
        self.experts = [Linear(d, d, np.random.default_rng(313 + i)) for i in range(n)]
        self.router = Linear(d, n, np.random.default_rng(320))

    def forward(self, x):
        logits, rc = self.router.forward(x)
        g = sigmoid(logits)
        outs = [e.forward(x) for e in self.experts]
        y = sum(g[..., i:i + 1] * o for i, (o, _) in enumerate(outs))
        return y, (g, rc, outs)

    def backward(self, dy, cache):
        g, rc, outs = cache
        dx = 0
        dg = []
        for i, (o, c) in enumerate(outs):
            dg.append((dy * o).sum(-1, keepdims=True))
            dx = dx + self.experts[i].backward(dy * g[..., i:i + 1], c)
        dlogits = np.concatenate(dg, -1) * g * (1 - g)
        return dx + self.router.backward(dlogits, rc)


add("moe_sigmoid_list", lambda: (SigmoidMoE(3, 2), [randn(321, 2, 2, 3)]))


class TopOneMoE(Layer):
    """Switch: only the best expert, times its probability."""

    def __init__(self, d, E):
        self.E = E
        self.Wg = Parameter(randn(322, d, E))
        self.scale = Parameter(randn(323, E, d))

    def forward(self, x):
        s = x @ self.Wg.data
        e = np.exp(s - s.real.max(1, keepdims=True))
        p = e / e.sum(1, keepdims=True)
        best = p.real.argmax(1)
        gate = p[np.arange(len(x)), best][:, None]
        return gate * self.scale.data[best] * x, (x, p, best, gate)

    def backward(self, dy, cache):
        x, p, best, gate = cache
        w = self.scale.data[best]
        np.add.at(self.scale.grad, best, dy * gate * x)
        dgate = (dy * w * x).sum(1, keepdims=True)
        ds = dgate * gate * (np.eye(self.E)[best] - p)
        self.Wg.grad += x.T @ ds
        return dy * gate * w + ds @ self.Wg.data.T


add("moe_top_one", lambda: (TopOneMoE(3, 3), [randn(324, 4, 3)]))


class FiLM(Layer):
    def forward(self, x, gamma, beta):
        return gamma[:, None, :] * x + beta[:, None, :], (x, gamma)

    def backward(self, dy, cache):
        x, gamma = cache
        return dy * gamma[:, None, :], (dy * x).sum(axis=1), dy.sum(axis=1)


add("film", lambda: (
    FiLM(), {"x": randn(325, 2, 3, 4), "gamma": np.ones((2, 4)), "beta": np.zeros((2, 4))}))


class Hypernetwork(Layer):
    """A weight that a second input makes."""

    def __init__(self, d, m, z):
        self.d, self.m = d, m
        self.H = Parameter(randn(326, z, d * m))

    def forward(self, x, z):
        W = (z @ self.H.data).reshape(-1, self.d, self.m)
        return np.einsum("bi,bij->bj", x, W), (x, z, W)

    def backward(self, dy, cache):
        x, z, W = cache
        dW = np.einsum("bi,bj->bij", x, dy).reshape(-1, self.d * self.m)
        self.H.grad += z.T @ dW
        return np.einsum("bij,bj->bi", W, dy), dW @ self.H.data.T


add("hypernetwork", lambda: (Hypernetwork(3, 2, 2), [randn(327, 2, 3), randn(328, 2, 2)]))


# ---------------------------------------------------------------------------- losses


class MSELoss(Layer):
    def forward(self, pred, target):
        d = pred - target
        return (d * d).mean(), d

    def backward(self, dloss, d):
        g = 2 * d / d.size * dloss
        return g, -g


add("loss_mse", lambda: (MSELoss(), [randn(330, 3, 2), randn(331, 3, 2)]))
add("loss_mse_1e20", lambda: (
    MSELoss(), [randn(332, 3, 2, scale=1e20), randn(333, 3, 2, scale=1e20)]))
add("loss_mse_1e-20", lambda: (MSELoss(), [randn(334, 4, scale=1e-20), randn(335, 4, scale=1e-20)]))


class CrossEntropyMean(Layer):
    def forward(self, logits, targets):
        z = logits - logits.real.max(1, keepdims=True)
        logp = z - np.log(np.exp(z).sum(1, keepdims=True))
        n = len(logits)
        return -logp[np.arange(n), targets].sum() / n, (logp, targets)

    def backward(self, dloss, cache):
        logp, targets = cache
        n = len(logp)
        g = np.exp(logp)
        g[np.arange(n), targets] -= 1
        return g / n * dloss


add("loss_cross_entropy", lambda: (CrossEntropyMean(), [randn(336, 4, 5), ints(337, 5, 4)]))


class LabelSmoothingLoss(Layer):
    def __init__(self, classes, eps=0.1):
        self.classes, self.eps = classes, eps

    def forward(self, x, t):
        e = np.exp(x - x.real.max(-1, keepdims=True))
        p = e / e.sum(-1, keepdims=True)
        q = np.full(x.shape, self.eps / self.classes)
        q[np.arange(len(t)), t] += 1 - self.eps
        return -(q * np.log(p)).sum(), (p, q)

    def backward(self, dy, cache):
        p, q = cache
        return dy * (p - q)


add("loss_label_smoothing", lambda: (
    LabelSmoothingLoss(4), {"x": randn(338, 3, 4), "t": ints(339, 4, 3)}))


class FocalLoss(Layer):
    """-(1 - p)^gamma log p of the right class, one loss per row."""

    GAMMA = 2

    def forward(self, logits, labels):
        p, sm = softmax_forward(logits)
        pt = p[np.arange(len(labels)), labels]
        return -(1 - pt) ** self.GAMMA * np.log(pt), (p, pt, labels, sm)

    def backward(self, dy, cache):
        p, pt, labels, sm = cache
        g = self.GAMMA
        dpt = dy * (g * (1 - pt) ** (g - 1) * np.log(pt) - (1 - pt) ** g / pt)
        dp = np.zeros_like(p)
        dp[np.arange(len(labels)), labels] = dpt
        return softmax_backward(dp, sm)


add("loss_focal", lambda: (FocalLoss(), [randn(340, 3, 4), ints(341, 4, 3)]))


class BCEWithLogits(Layer):
    def __init__(self, pos_weight=2.0):
        self.pos_weight = pos_weight

    def forward(self, x, y):
        y = y.astype(float)
        s = 1 / (1 + np.exp(-x))
        loss = -(self.pos_weight * y * np.log(s) + (1 - y) * np.log(1 - s))
        return loss.mean(axis=-1), (s, y)

    def backward(self, dy, cache):
        s, y = cache
        g = -self.pos_weight * y * (1 - s) + (1 - y) * s
        return dy[:, None] * g / y.shape[-1]


add("loss_bce_logits", lambda: (BCEWithLogits(), [randn(342, 3, 4), ints(343, 2, 3, 4)]))


class HuberLoss(Layer):
    def __init__(self, delta=1.0):
        self.delta = delta

    def forward(self, x, y):
        r = x - y
        small = (r * r).real < self.delta ** 2
        sign = np.where(r.real > 0, 1.0, -1.0)
        loss = np.where(small, 0.5 * r * r, self.delta * (r * sign - 0.5 * self.delta))
        return loss.sum(), (r, small, sign)

    def backward(self, dy, cache):
        r, small, sign = cache
        g = dy * np.where(small, r, self.delta * sign)
        return g, -g


add("loss_huber", lambda: (HuberLoss(), [randn(344, 3, 4), randn(345, 3, 4)]))


class HingeLoss(Layer):
    """Multiclass SVM, margin 1."""

    def forward(self, scores, y):
        n = np.arange(len(y))
        m = scores - scores[n, y][:, None] + 1
        m[n, y] = 0
        active = m.real > 0
        return (m * active).sum() / len(y), (active, y)

    def backward(self, dy, cache):
        active, y = cache
        g = active.astype(float)
        g[np.arange(len(y)), y] = -active.sum(1)
        return g * dy / len(y)


add("loss_hinge", lambda: (HingeLoss(), [randn(346, 4, 3), ints(347, 3, 4)]))


class ContrastiveLoss(Layer):
    """CLIP: the cross-entropy of the similarities, in both directions."""

    def __init__(self):
        self.log_t = Parameter(np.array([1.0]))

    def forward(self, a, b):
        t = np.exp(self.log_t.data[0])
        s = a @ b.T
        z = t * s
        e = np.exp(z - z.real.max())
        p = e / e.sum(1, keepdims=True)
        q = e / e.sum(0, keepdims=True)
        n = len(a)
        i = np.arange(n)
        loss = -(np.log(p[i, i]).sum() + np.log(q[i, i]).sum()) / (2 * n)
        return loss, (a, b, s, p, q, t)

    def backward(self, dy, cache):
        a, b, s, p, q, t = cache
        n = len(a)
        dz = dy * (p + q - 2 * np.eye(n)) / (2 * n)
        self.log_t.grad += (dz * s).sum() * t
        return t * dz @ b, t * dz.T @ a


add("loss_clip", lambda: (ContrastiveLoss(), [randn(348, 3, 2), randn(349, 3, 2)]))


class TripletLoss(Layer):
    def __init__(self, margin=1.0):
        self.margin = margin

    def forward(self, a, p, n):
        d = ((a - p) ** 2).sum(1) - ((a - n) ** 2).sum(1) + self.margin
        on = d.real > 0
        return np.where(on, d, 0), (a, p, n, on)

    def backward(self, dy, cache):
        a, p, n, on = cache
        g = (dy * on)[:, None]
        return 2 * g * (n - p), -2 * g * (a - p), 2 * g * (a - n)


add("loss_triplet", lambda: (
    TripletLoss(4.0), [randn(350, 4, 3), randn(351, 4, 3), randn(352, 4, 3)]))


class CosineSimilarity(Layer):
    def __init__(self, eps=1e-8):
        self.eps = eps

    def forward(self, a, b):
        na = np.sqrt((a * a).sum(-1) + self.eps)
        nb = np.sqrt((b * b).sum(-1) + self.eps)
        c = (a * b).sum(-1) / (na * nb)
        return c, (a, b, na, nb, c)

    def backward(self, dy, cache):
        a, b, na, nb, c = [v[..., None] if v.ndim == 1 else v for v in cache]
        dy = dy[..., None]
        da = dy * (b / (na * nb) - c * a / na ** 2)
        db = dy * (a / (na * nb) - c * b / nb ** 2)
        return da, db


add("cosine_similarity_1e15",
    lambda: (CosineSimilarity(), [randn(355, 3, 4, scale=1e15), randn(356, 3, 4, scale=1e15)]))


class GaussianKL(Layer):
    """The KL divergence of the VAE; two inputs, one number per row."""

    def forward(self, mu, logvar):
        v = np.exp(logvar)
        return 0.5 * (v + mu * mu - 1 - logvar).sum(1), (mu, v)

    def backward(self, dy, cache):
        mu, v = cache
        return dy[:, None] * mu, dy[:, None] * 0.5 * (v - 1)


add("loss_gaussian_kl", lambda: (GaussianKL(), [randn(357, 3, 2), randn(358, 3, 2)]))


class Distillation(Layer):
    """T^2 KL(teacher || student), the teacher an input without a mistake in its gradient."""

    T = 2.0

    def forward(self, student, teacher):
        p, cp = softmax_forward(teacher / self.T)
        q, cq = softmax_forward(student / self.T)
        return self.T ** 2 * (p * (np.log(p) - np.log(q))).sum(-1).mean(), (p, q, cp)

    def backward(self, dy, cache):
        p, q, cp = cache
        n = len(p)
        dstudent = dy * self.T * (q - p) / n
        dp = dy * self.T ** 2 * (np.log(p) - np.log(q) + 1) / n
        return dstudent, softmax_backward(dp, cp) / self.T


add("loss_distillation", lambda: (Distillation(), [randn(359, 3, 4), randn(360, 3, 4)]))


class CRFPairwise(Layer):
    """The log of the partition function of a chain, by the forward algorithm."""

    def __init__(self, tags):
        self.tags = tags
        self.A = Parameter(randn(361, tags, tags))

    def forward(self, x):
        alpha = x[0]
        alphas = [alpha]
        for t in range(1, len(x)):
            z = alpha[:, None] + self.A.data
            m = z.real.max(0)
            alpha = m + np.log(np.exp(z - m).sum(0)) + x[t]
            alphas.append(alpha)
        m = alpha.real.max()
        return m + np.log(np.exp(alpha - m).sum()), (x, alphas)

    def backward(self, dy, cache):
        x, alphas = cache
        dx = np.zeros_like(x)
        g = np.exp(alphas[-1] - alphas[-1].real.max())
        g = dy * g / g.sum()
        for t in range(len(x) - 1, 0, -1):
            dx[t] = g
            z = alphas[t - 1][:, None] + self.A.data
            e = np.exp(z - z.real.max(0))
            dz = e / e.sum(0) * g
            self.A.grad += dz
            g = dz.sum(1)
        dx[0] = g
        return dx


add("crf_partition", lambda: (CRFPairwise(3), [randn(362, 4, 3)]))


# ---------------------------------------------------------------------------- activations


class Softplus(Layer):
    def forward(self, x):
        return np.log(1 + np.exp(x)), x

    def backward(self, dy, x):
        return dy / (1 + np.exp(-x))


add("softplus", lambda: (Softplus(), [randn(370, 3, 4)]))


class ELU(Layer):
    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def forward(self, x):
        neg = self.alpha * np.expm1(np.where(x.real > 0, 0, x))
        return np.where(x.real > 0, x, neg), (x, neg)

    def backward(self, dy, cache):
        x, neg = cache
        return dy * np.where(x.real > 0, 1, neg + self.alpha)


add("elu", lambda: (ELU(), [randn(371, 3, 4)]))
add("elu_1e-9", lambda: (ELU(0.7), [randn(372, 3, 4, scale=1e-9)]))

SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805


class SELU(Layer):
    def forward(self, x):
        pos = x.real > 0
        e = np.exp(x * ~pos)
        return SELU_SCALE * np.where(pos, x, SELU_ALPHA * (e - 1)), (pos, e)

    def backward(self, dy, cache):
        pos, e = cache
        return SELU_SCALE * np.where(pos, dy, dy * SELU_ALPHA * e)


add("selu", lambda: (SELU(), [randn(373, 10)]))


class Mish(Layer):
    def forward(self, x):
        t = np.tanh(np.log(1 + np.exp(x)))
        return x * t, (x, t)

    def backward(self, dy, cache):
        x, t = cache
        s = 1 / (1 + np.exp(-x))
        return dy * (t + x * (1 - t * t) * s)


add("mish", lambda: (Mish(), [randn(374, 3, 4)]))


class QuickGELU(Layer):
    def forward(self, x):
        s = sigmoid(1.702 * x)
        return x * s, (x, s)

    def backward(self, dy, cache):
        x, s = cache
        return dy * (s + 1.702 * x * s * (1 - s))


add("quick_gelu", lambda: (QuickGELU(), [randn(375, 2, 3, 4)]))

SQRT_2_OVER_PI = np.sqrt(2 / np.pi)


class GELUTanh(Layer):
    def forward(self, x):
        inner = SQRT_2_OVER_PI * (x + 0.044715 * x ** 3)
        t = np.tanh(inner)
        return 0.5 * x * (1 + t), (x, t)

    def backward(self, dy, cache):
        x, t = cache
        dinner = SQRT_2_OVER_PI * (1 + 0.134145 * x ** 2)
        return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t ** 2) * dinner)


add("gelu_tanh", lambda: (GELUTanh(), [randn(376, 3, 5)]))


class SwishBeta(Layer):
    def __init__(self):
        self.beta = Parameter(np.ones(1))

    def forward(self, x):
        s = sigmoid(self.beta.data * x)
        return x * s, (x, s)

    def backward(self, dy, cache):
        x, s = cache
        ds = s * (1 - s)
        self.beta.grad += np.sum(dy * x * x * ds)
        return dy * (s + self.beta.data * x * ds)


add("swish_beta", lambda: (SwishBeta(), [randn(377, 3, 4)]))


class PReLU(Layer):
    def __init__(self, c, a=0.25):
        self.a = Parameter(np.full(c, a))

    def forward(self, x):
        pos = x.real > 0
        return np.where(pos, x, self.a.data * x), (x, pos)

    def backward(self, dy, cache):
        x, pos = cache
        self.a.grad += np.where(pos, 0, dy * x).sum(axis=tuple(range(x.ndim - 1)))
        return np.where(pos, dy, self.a.data * dy)


add("prelu", lambda: (PReLU(4), [randn(378, 3, 4)]))
add("prelu_1e22", lambda: (PReLU(3), [randn(379, 4, 3, scale=1e22)]))


class LeakyReLU(Layer):
    def forward(self, x, slope=0.01):
        k = np.where(x.real >= 0, 1.0, slope)
        return x * k, k

    def backward(self, dy, k):
        return dy * k


add("leaky_relu_1e-30", lambda: (LeakyReLU(), [randn(381, 3, 4, scale=1e-30)]))


class SnakeActivation(Layer):
    """x + sin^2(a x) / a."""

    def __init__(self, d):
        self.a = Parameter(np.ones(d))

    def forward(self, x):
        a = self.a.data
        s = np.sin(a * x)
        return x + s * s / a, x

    def backward(self, dy, x):
        a = self.a.data
        s2 = np.sin(2 * a * x)
        s = np.sin(a * x)
        self.a.grad += (dy * (x * s2 / a - s * s / a ** 2)).reshape(-1, a.size).sum(0)
        return dy * (1 + s2)


add("snake", lambda: (SnakeActivation(3), [randn(382, 2, 2, 3)]))


class Maxout(Layer):
    def __init__(self, pieces):
        self.k = pieces

    def forward(self, x):
        z = x.reshape(x.shape[:-1] + (-1, self.k))
        return z.max(-1), (z, x.shape)

    def backward(self, dy, cache):
        z, shape = cache
        dz = np.zeros_like(z)
        np.put_along_axis(dz, z.argmax(-1)[..., None], dy[..., None], -1)
        return dz.reshape(shape)


add("maxout", lambda: (Maxout(2), [randn(383, 3, 6)]))


class TemperatureSoftmax(Layer):
    def __init__(self, temperature=1.0):
        self.log_t = Parameter(np.log(np.array([temperature])))

    def forward(self, x):
        t = np.exp(self.log_t.data)
        z = x / t
        e = np.exp(z - z.real.max(-1, keepdims=True))
        p = e / e.sum(-1, keepdims=True)
        return p, (x, p, t)

    def backward(self, dy, cache):
        x, p, t = cache
        dz = p * (dy - (dy * p).sum(-1, keepdims=True))
        self.log_t.grad -= (dz * x / t).sum()
        return dz / t


add("softmax_temperature", lambda: (TemperatureSoftmax(), [randn(384, 2, 5)]))


class LogSoftmax(Layer):
    def forward(self, x):
        m = x.real.max(-1, keepdims=True)
        y = x - m - np.log(np.exp(x - m).sum(-1, keepdims=True))
        return y, y

    def backward(self, dy, y):
        return dy - np.exp(y) * dy.sum(-1, keepdims=True)


add("log_softmax", lambda: (LogSoftmax(), [randn(385, 2, 3, 4)]))


class Squash(Layer):
    """Capsules: v = |s|^2 / (1 + |s|^2) s / |s|."""

    def forward(self, s):
        n2 = (s * s).sum(-1, keepdims=True)
        n = np.sqrt(n2)
        return s * n / (1 + n2), (s, n)

    def backward(self, dy, cache):
        s, n = cache
        n2 = n * n
        f = n / (1 + n2)
        df = (1 - n2) / (1 + n2) ** 2
        return dy * f + s / n * df * (dy * s).sum(-1, keepdims=True)


add("squash", lambda: (Squash(), [randn(386, 3, 4)]))


# ---------------------------------------------------------------------------- dropout and the rest


class Dropout(Layer):
    def __init__(self, p=0.5):
        self.p = p

    def forward(self, x, rng=None):
        if rng is None:
            return x, None
        mask = (rng.random(x.shape) > self.p) / (1 - self.p)
        return x * mask, mask

    def backward(self, dy, mask):
        return dy if mask is None else dy * mask


add("dropout", lambda: (Dropout(0.4), [randn(390, 3, 5), np.random.default_rng(391)]))
add("dropout_off", lambda: (Dropout(), [randn(392, 3, 5)]))


class SpatialDropoutResidual(Layer):
    """Drops whole channels of a linear branch."""

    def __init__(self, d, p):
        self.p = p
        self.W = Parameter(randn(393, d, d))

    def forward(self, x, rng=None):
        h = x @ self.W.data
        keep = 1.0
        if rng is not None:
            keep = (rng.random((x.shape[0], 1, x.shape[2])) >= self.p) / (1 - self.p)
        return x + h * keep, (x, keep)

    def backward(self, dy, cache):
        x, keep = cache
        dh = dy * keep
        self.W.grad += np.tensordot(x, dh, ([0, 1], [0, 1]))
        return dy + dh @ self.W.data.T


add("dropout_spatial_residual", lambda: (
    SpatialDropoutResidual(4, 0.3), {"x": randn(394, 2, 3, 4), "rng": np.random.default_rng(395)}))


class GaussianSample(Layer):
    """The reparametrisation of the VAE; two inputs and noise from rng."""

    def forward(self, mu, logvar, rng=None):
        eps = rng.standard_normal(mu.shape) if rng is not None else np.zeros(mu.shape)
        sd = np.exp(0.5 * logvar)
        return mu + sd * eps, sd * eps

    def backward(self, dy, noise):
        return dy, 0.5 * dy * noise


add("gaussian_sample", lambda: (
    GaussianSample(), [randn(396, 3, 2), randn(397, 3, 2), np.random.default_rng(398)]))


class MeanAndStd(Layer):
    """Two outputs (statistics pooling)."""

    def forward(self, x):
        m = x.mean(1)
        c = x - m[:, None]
        s = np.sqrt((c * c).mean(1) + 1e-6)
        return (m, s), (c, s)

    def backward(self, dy, cache):
        dm, ds = dy
        c, s = cache
        T = c.shape[1]
        return dm[:, None] / T + (ds / s)[:, None] * c / T


add("mean_and_std_two_outputs", lambda: (MeanAndStd(), [randn(399, 2, 4, 3)]))


class PreNormFeedForward(Layer):
    """x + FF(LN(x)), made of layers."""

    def __init__(self, d, h):
        r = np.random.default_rng(400)
        self.norm = LayerNormTextbook(d)
        self.up = Linear(d, h, r)
        self.act = GELUTanh()
        self.down = Linear(h, d, r)

    def forward(self, x):
        n, c1 = self.norm.forward(x)
        u, c2 = self.up.forward(n)
        a, c3 = self.act.forward(u)
        y, c4 = self.down.forward(a)
        return x + y, (c1, c2, c3, c4)

    def backward(self, dy, cache):
        c1, c2, c3, c4 = cache
        g = self.down.backward(dy, c4)
        g = self.act.backward(g, c3)
        g = self.up.backward(g, c2)
        return dy + self.norm.backward(g, c1)


add("pre_norm_feed_forward", lambda: (PreNormFeedForward(3, 4), [randn(401, 2, 2, 3)]))


class EncoderBlock(Layer):
    """Post-norm: LN(x + attention(x)), twice with the same norm."""

    def __init__(self, d):
        self.attention = SingleHeadAttention(d, 402)
        self.norm = LayerNormTextbook(d)
        self.ff = MyLinear(d, d, 0.5, 405)

    def forward(self, x):
        a, c1 = self.attention.forward(x)
        h, c2 = self.norm.forward(x + a)
        f, c3 = self.ff.forward(h)
        y, c4 = self.norm.forward(h + f)
        return y, (c1, c2, c3, c4)

    def backward(self, dy, cache):
        c1, c2, c3, c4 = cache
        g = self.norm.backward(dy, c4)
        dh = g + self.ff.backward(g, c3)
        g = self.norm.backward(dh, c2)
        return g + self.attention.backward(g, c1)


add("encoder_block_shared_norm", lambda: (EncoderBlock(3), [randn(406, 1, 3, 3)]))


class Siamese(Layer):
    """The same network on both inputs, then their difference squared."""

    def __init__(self, d, h):
        self.net = Linear(d, h, np.random.default_rng(407))

    def forward(self, a, b):
        u, ca = self.net.forward(a)
        v, cb = self.net.forward(b)
        return ((u - v) ** 2).sum(-1), (u, v, ca, cb)

    def backward(self, dy, cache):
        u, v, ca, cb = cache
        g = 2 * dy[:, None] * (u - v)
        return self.net.backward(g, ca), self.net.backward(-g, cb)


add("siamese", lambda: (Siamese(3, 2), [randn(408, 2, 3), randn(409, 2, 3)]))


class PairwiseDistances(Layer):
    """Squared distances to learned prototypes, with |a|^2 - 2 ab + |b|^2."""

    def __init__(self, k, d):
        self.k = k
        self.P = Parameter(randn(410, k, d))

    def forward(self, x):
        P = self.P.data
        d2 = (x * x).sum(1)[:, None] - 2 * x @ P.T + (P * P).sum(1)
        return -d2, x

    def backward(self, dy, x):
        P = self.P.data
        g = -dy
        self.P.grad += 2 * (g.sum(0)[:, None] * P - g.T @ x)
        return 2 * (g.sum(1)[:, None] * x - g @ P)


add("prototype_distances", lambda: (PairwiseDistances(3, 2), [randn(411, 4, 2)]))


class RBF(Layer):
    def __init__(self, k):
        self.centres = Parameter(np.linspace(-1, 1, k))
        self.log_width = Parameter(np.zeros(k))

    def forward(self, x):
        d = x[..., None] - self.centres.data
        w = np.exp(self.log_width.data)
        y = np.exp(-d * d * w)
        return y, (d, w, y)

    def backward(self, dy, cache):
        d, w, y = cache
        g = dy * y
        over = tuple(range(d.ndim - 1))
        self.centres.grad += (2 * g * d * w).sum(over)
        self.log_width.grad -= (g * d * d * w).sum(over)
        return -(2 * g * d * w).sum(-1)


add("rbf", lambda: (RBF(4), [randn(412, 3, 2)]))


class Standardize(Layer):
    """The z-score of a whole vector (advantages in PPO)."""

    def forward(self, x):
        n = x.size
        mu = x.sum() / n
        c = x - mu
        sd = np.sqrt((c * c).sum() / n)
        z = c / sd
        return z, (z, sd)

    def backward(self, dy, cache):
        z, sd = cache
        return (dy - dy.mean() - z * (dy * z).mean()) / sd


add("standardize_1d", lambda: (Standardize(), [randn(413, 7)]))


# ---------------------------------------------------------------------------- pairs of functions


def relu_pair_forward(x):
    return np.where(x.real > 0, x, 0), x


def relu_pair_backward(dy, x):
    return np.where(x.real > 0, dy, 0)


add("pair_relu", lambda: ((relu_pair_forward, relu_pair_backward), [randn(420, 3, 4)]))


def affine_forward(x, w, b):
    """CS231n's, with x of any shape."""
    out = x.reshape(x.shape[0], -1) @ w + b
    return out, (x, w)


def affine_backward(dout, cache):
    x, w = cache
    dx = (dout @ w.T).reshape(x.shape)
    dw = x.reshape(x.shape[0], -1).T @ dout
    db = dout.sum(axis=0)
    return dx, dw, db


add("pair_affine", lambda: (
    (affine_forward, affine_backward), [randn(421, 2, 2, 3), randn(422, 6, 4), np.zeros(4)]))


def attention_pair_forward(q, k, v):
    d = q.shape[-1]
    s = q @ np.swapaxes(k, -1, -2) / d ** 0.5
    e = np.exp(s - s.real.max(-1, keepdims=True))
    a = e / e.sum(-1, keepdims=True)
    return a @ v, (q, k, v, a)


def attention_pair_backward(dy, cache):
    q, k, v, a = cache
    d = q.shape[-1]
    dv = np.swapaxes(a, -1, -2) @ dy
    da = dy @ np.swapaxes(v, -1, -2)
    ds = a * (da - np.sum(da * a, axis=-1, keepdims=True)) / d ** 0.5
    return ds @ k, np.swapaxes(ds, -1, -2) @ q, dv


add("pair_attention", lambda: (
    (attention_pair_forward, attention_pair_backward),
    [randn(423, 2, 3, 4), randn(424, 2, 3, 4), randn(425, 2, 3, 4)]))
add("pair_attention_square", lambda: (
    (attention_pair_forward, attention_pair_backward),
    {"q": randn(426, 3, 3), "k": randn(427, 3, 3), "v": randn(428, 3, 3)}))


def layernorm_pair_forward(x, gamma, beta):
    c = x - x.mean(-1, keepdims=True)
    istd = 1 / np.sqrt((c ** 2).mean(-1, keepdims=True) + 1e-5)
    n = c * istd
    return gamma * n + beta, (n, istd, gamma)


def layernorm_pair_backward(dy, cache):
    n, istd, gamma = cache
    dgamma = (dy * n).sum(0)
    dbeta = dy.sum(0)
    dn = dy * gamma
    dx = istd * (dn - dn.mean(-1, keepdims=True) - n * (dn * n).mean(-1, keepdims=True))
    return dx, dgamma, dbeta


add("pair_layer_norm", lambda: (
    (layernorm_pair_forward, layernorm_pair_backward), [randn(429, 3, 5), np.ones(5), np.zeros(5)]))


def batchnorm_pair_forward(x, gamma, beta):
    mu = x.mean(0)
    xc = x - mu
    var = (xc * xc).mean(0)
    ivar = 1 / np.sqrt(var + 1e-5)
    return gamma * xc * ivar + beta, (xc, ivar, gamma)


def batchnorm_pair_backward(dy, cache):
    xc, ivar, gamma = cache
    n = xc.shape[0]
    dgamma = (dy * xc * ivar).sum(0)
    dbeta = dy.sum(0)
    dx = gamma * ivar / n * (n * dy - dbeta - xc * ivar ** 2 * (dy * xc).sum(0))
    return dx, dgamma, dbeta


add("pair_batch_norm", lambda: (
    (batchnorm_pair_forward, batchnorm_pair_backward), [randn(430, 5, 3), np.ones(3), np.zeros(3)]))


def rnn_step_forward(x, prev_h, Wx, Wh, b):
    h = np.tanh(x @ Wx + prev_h @ Wh + b)
    return h, (x, prev_h, Wx, Wh, h)


def rnn_step_backward(dh, cache):
    x, prev_h, Wx, Wh, h = cache
    da = dh * (1 - h ** 2)
    return da @ Wx.T, da @ Wh.T, x.T @ da, prev_h.T @ da, da.sum(0)


add("pair_rnn_step", lambda: (
    (rnn_step_forward, rnn_step_backward),
    [randn(431, 2, 3), randn(432, 2, 3), randn(433, 3, 3), randn(434, 3, 3), np.zeros(3)]))


def max_pair_forward(x):
    i = x.real.argmax(-1)
    return np.take_along_axis(x, i[..., None], -1)[..., 0], (i, x)


def max_pair_backward(dy, cache):
    i, x = cache
    dx = np.zeros_like(x)
    np.put_along_axis(dx, i[..., None], dy[..., None], -1)
    return dx


add("pair_max", lambda: ((max_pair_forward, max_pair_backward), [randn(435, 2, 3, 4)]))


def nll_forward(logits, targets):
    z = logits - logits.real.max(-1, keepdims=True)
    p = np.exp(z) / np.exp(z).sum(-1, keepdims=True)
    rows = np.arange(len(targets))
    return -np.log(p[rows, targets]), (p, rows, targets)


def nll_backward(dy, cache):
    p, rows, targets = cache
    g = p.copy()
    g[rows, targets] -= 1
    return g * dy[:, None]


add("pair_nll", lambda: ((nll_forward, nll_backward), [randn(436, 3, 4), ints(437, 4, 3)]))


def outer_forward(a, b):
    return a[:, :, None] * b[:, None, :], (a, b)


def outer_backward(dy, cache):
    a, b = cache
    return (dy * b[:, None, :]).sum(2), (dy * a[:, :, None]).sum(1)


add("pair_outer", lambda: ((outer_forward, outer_backward), [randn(438, 2, 3), randn(439, 2, 3)]))
add("pair_outer_1e14", lambda: (
    (outer_forward, outer_backward), [randn(440, 2, 3, scale=1e14), randn(441, 2, 4, scale=1e-14)]))


def conv_pair_forward(x, w):
    """One channel, 'valid', as a sum over windows."""
    T = len(x) - len(w) + 1
    windows = np.stack([x[i:i + len(w)] for i in range(T)])
    return windows @ w, (windows, w, len(x))


def conv_pair_backward(dy, cache):
    windows, w, n = cache
    dx = np.zeros(n, dy.dtype)
    for i in range(len(dy)):
        dx[i:i + len(w)] += dy[i] * w
    return dx, windows.T @ dy


add("pair_conv_1d", lambda: (
    (conv_pair_forward, conv_pair_backward), [randn(442, 7), randn(443, 3)]))


def silu_forward(x):
    s = 1 / (1 + np.exp(-x))
    y = x * s
    return y, (s, y)


def silu_backward(dy, cache):
    s, y = cache
    return dy * (s + y * (1 - s))


add("pair_silu", lambda: ((silu_forward, silu_backward), [randn(444, 3, 4)]))


def where_forward(mask, a, b):
    return np.where(mask, a, b), mask


def where_backward(dy, mask):
    return dy * mask, dy * ~mask


add("pair_where", lambda: (
    (where_forward, where_backward), [randn(445, 3, 4) > 0, randn(446, 3, 4), randn(447, 3, 4)]))


def divide_forward(a, b):
    return a / b, (a, b)


def divide_backward(dy, cache):
    a, b = cache
    return dy / b, -dy * a / b ** 2


add("pair_divide_1e-18", lambda: (
    (divide_forward, divide_backward),
    [randn(448, 3, scale=1e-18), 1e-18 * (1 + randn(449, 3) ** 2)]))
