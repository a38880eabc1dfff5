"""Own layers, each with one mistake in its backward (part 3)."""

import numpy as np

from minitransformer import Layer, Parameter
from research.blind.first.parts import linear, normal, sigmoid, vector, weight


class OwnBatchNorm(Layer):
    """Over all rows of x (B, T, D): each feature gets mean 0 and variance 1, then gamma and beta."""

    epsilon = 1e-3

    def __init__(self, rng, d):
        self.gamma, self.beta = vector(rng, d, 1.0), vector(rng, d)

    def forward(self, x):
        c = x - x.mean(axis=(0, 1))
        s = 1 / np.sqrt((c * c).mean(axis=(0, 1)) + self.epsilon)
        n = c * s
        return self.gamma.data * n + self.beta.data, (n, s)

    def backward(self, dy, cache):
        n, s = cache
        self.gamma.grad += (dy * n).sum(axis=(0, 1))
        self.beta.grad += dy.sum(axis=(0, 1))
        dn = dy * self.gamma.data
        through_mean = dn.mean(axis=(0, 1))
        through_variance = n * (dn * n).mean(axis=(0, 1))
        return s * (dn - through_mean - through_variance)


class OwnLayerNorm(Layer):
    """Layer normalisation, written out in small steps."""

    def __init__(self, rng, d, eps=1e-2):
        self.g = vector(rng, d, 1.0)
        self.b = vector(rng, d)
        self.eps = eps

    def forward(self, x):
        d = x.shape[-1]
        mu = np.sum(x, axis=-1, keepdims=True) / d
        xc = x - mu
        var = np.sum(xc ** 2, axis=-1, keepdims=True) / d
        std = np.sqrt(var + self.eps)
        xhat = xc / std
        return self.g.data * xhat + self.b.data, {"xc": xc, "std": std, "xhat": xhat}

    def backward(self, dy, cache):
        xc, std, xhat = cache["xc"], cache["std"], cache["xhat"]
        d = xc.shape[-1]
        rows = tuple(range(dy.ndim - 1))
        self.g.grad += (dy * xhat).sum(axis=rows)
        self.b.grad += dy.sum(axis=rows)
        dxhat = dy * self.g.data
        dxc = dxhat / std
        dstd = -np.sum(dxhat * xc, axis=-1, keepdims=True) / std ** 2
        dvar = dstd / (2 * std)
        dxc = dxc + 2 * xc * dvar / d
        dmu = -np.sum(dxc, axis=-1, keepdims=True)
        return dxc + dmu / d


class OwnGroupNorm(Layer):
    """x (B, C, T): the channels in groups; each group of each example has mean 0 and variance 1."""

    def __init__(self, rng, groups, per_group):
        self.groups = groups
        self.scale = Parameter(1 + 0.3 * rng.standard_normal((groups * per_group, 1)))

    def forward(self, x):
        grouped = x.reshape(len(x), self.groups, -1)
        centred = grouped - grouped.mean(axis=2, keepdims=True)
        inverse = 1 / np.sqrt((centred ** 2).mean(axis=2, keepdims=True) + 1e-5)
        n = centred * inverse
        return self.scale.data * n.reshape(x.shape), (n, inverse)

    def backward(self, dy, cache):
        n, inverse = cache
        self.scale.grad += (dy * n.reshape(dy.shape)).sum(axis=(0, 2))[:, None]
        dn = (dy * self.scale.data).reshape(n.shape)
        a = dn.mean(axis=2, keepdims=True)
        b = (dn * n).mean(axis=2, keepdims=True)
        return (inverse * (dn - a - n * b)).reshape(dy.shape)


def channels_first(rng, s):
    return (rng.standard_normal((s["B"], s["G"] * s["C"], s["T"])),)


class OwnRMSNorm(Layer):
    """y = g x / sqrt(mean(x^2) + epsilon)."""

    def __init__(self, rng, d):
        self.g = vector(rng, d, 1.0)

    def forward(self, x):
        r = ((x * x).mean(axis=-1, keepdims=True) + 0.1) ** -0.5
        return self.g.data * x * r, (x, r)

    def backward(self, dy, cache):
        x, r = cache
        d = x.shape[-1]
        self.g.grad += np.einsum("btd,btd->d", dy, x * r)
        dn = dy * self.g.data
        dot = (dn * x).sum(axis=-1, keepdims=True)
        return r * dn - r ** 3 * x * dot / d


class OwnGLU(Layer):
    """One linear layer makes content and gate: y = a * sigmoid(b)."""

    def __init__(self, rng, d, h):
        self.both = linear(rng, d, 2 * h)

    def forward(self, x):
        ab, inner = self.both.forward(x)
        a, b = np.split(ab, 2, axis=-1)
        s = sigmoid(b)
        return a * s, (inner, a, s)

    def backward(self, dy, cache):
        inner, a, s = cache
        da = dy * s
        db = dy * a * s * (1 - s)
        dab = np.concatenate((da, db), axis=-1)
        return self.both.backward(dab, inner)


class Highway(Layer):
    """y = t * relu(x Wh) + (1 - t) * x with t = sigmoid(x Wt + b)."""

    def __init__(self, rng, d):
        self.wh, self.wt, self.b = weight(rng, d, d), weight(rng, d, d), vector(rng, d)

    def forward(self, x):
        a = x @ self.wh.data
        h = a * (a.real > 0)
        t = sigmoid(x @ self.wt.data + self.b.data)
        return t * h + (1 - t) * x, (x, h, t)

    def backward(self, dy, cache):
        x, h, t = cache
        dh = dy * t * (h.real > 0)
        dt = dy * (h - x)
        dt = dt * t * (1 - t)
        flat = x.reshape(-1, x.shape[-1])
        self.wh.grad += flat.T @ dh.reshape(flat.shape)
        self.wt.grad += flat.T @ dt.reshape(flat.shape)
        self.b.grad += dt.reshape(flat.shape).sum(axis=0)
        dx = dy * (1 - t)
        return dx + dh @ self.wh.data.T + dt @ self.wt.data.T


class SqueezeExcite(Layer):
    """Each channel is scaled by a gate that sees the means of all channels over time."""

    def __init__(self, rng, d, h):
        self.down, self.up = weight(rng, d, h), weight(rng, h, d)

    def forward(self, x):
        mean = x.mean(axis=1)
        h = np.tanh(mean @ self.down.data)
        g = sigmoid(h @ self.up.data)
        return x * g[:, None], (x, mean, h, g)

    def backward(self, dy, cache):
        x, mean, h, g = cache
        dg = np.einsum("btd,btd->bd", dy, x)
        du = dg * g * (1 - g)
        self.up.grad += h.T @ du
        da = (du @ self.up.data.T) * (1 - h * h)
        self.down.grad += mean.T @ da
        dmean = da @ self.down.data.T
        return dy * g[:, None] + dmean[:, None] / x.shape[1]


class FiLM(Layer):
    """A condition c (B, E) scales and shifts the features of x (B, T, D)."""

    def __init__(self, rng, e, d):
        self.gamma, self.beta = linear(rng, e, d), linear(rng, e, d)

    def forward(self, x, c):
        gamma, cache_gamma = self.gamma.forward(c)
        beta, cache_beta = self.beta.forward(c)
        return (1 + gamma)[:, None] * x + beta[:, None], (x, gamma, cache_gamma, cache_beta)

    def backward(self, dy, cache):
        x, gamma, cache_gamma, cache_beta = cache
        dgamma = np.sum(dy * x, axis=1)
        dbeta = np.sum(dy, axis=1)
        dc = self.gamma.backward(dgamma, cache_gamma)
        dc = dc + self.beta.backward(dbeta, cache_beta)
        return dy * (1 + gamma)[:, None], dc


class MixedResidual(Layer):
    """y = m x + (1 - m) tanh(x W), with one learnt m for each feature."""

    def __init__(self, rng, d):
        self.m = vector(rng, d, 0.5)
        self.w = weight(rng, d, d)

    def forward(self, x):
        f = np.tanh(x @ self.w.data)
        return self.m.data * x + (1 - self.m.data) * f, (x, f)

    def backward(self, dy, cache):
        x, f = cache
        for row in range(len(x)):
            self.m.grad += dy[row] * (x[row] - f[row])
            da = dy[row] * (1 - self.m.data) * (1 - f[row] ** 2)
            self.w.grad += np.outer(x[row], da)
        da = dy * (1 - self.m.data) * (1 - f ** 2)
        return self.m.data * dy + da @ self.w.data.T


class HyperConnection(Layer):
    """n streams x (B, N, D): a mixture of them goes through a tanh layer and back to each stream; the streams are mixed too."""

    def __init__(self, rng, n, d):
        self.read, self.write = vector(rng, n, 0.5), vector(rng, n, 1.0)
        self.mix = Parameter(np.eye(n) + 0.3 * rng.standard_normal((n, n)))
        self.w = weight(rng, d, d)

    def forward(self, x):
        u = np.einsum("n,bnd->bd", self.read.data, x)
        f = np.tanh(u @ self.w.data)
        return np.einsum("nm,bmd->bnd", self.mix.data, x) + self.write.data[:, None] * f[:, None], (x, u, f)

    def backward(self, dy, cache):
        x, u, f = cache
        self.mix.grad += np.einsum("bnd,bmd->nm", dy, x)
        self.write.grad += np.einsum("bnd,bd->n", dy, f)
        da = np.einsum("bnd,n->bd", dy, self.write.data) * (1 - f * f)
        self.w.grad += u.T @ da
        du = da @ self.w.data.T
        self.read.grad += np.einsum("bd,bnd->n", du, x)
        dx = np.einsum("bnd,nm->bmd", dy, self.mix.data)
        return dx + self.read.data[:, None] * du[:, None]


class LearntSwish(Layer):
    """y = x sigmoid(beta x), with a beta for each channel."""

    def __init__(self, rng, d):
        self.beta = vector(rng, d, 1.0)

    def forward(self, x):
        s = sigmoid(self.beta.data * x)
        return x * s, (x, s)

    def backward(self, dy, cache):
        x, s = cache
        slope = s * (1 - s)
        self.beta.grad += (dy * x * x * slope).sum(axis=tuple(range(x.ndim - 1)))
        return dy * (s + x * self.beta.data * slope)


CASES = [
    {"right": lambda rng, s: OwnBatchNorm(rng, s["D"]), "inputs": normal("B T D"), "sizes": dict(B=3, T=5, D=4), "wrong": [
        {"name": "batch-norm-mean-taken-as-constant",
         "change": ("return s * (dn - through_mean - through_variance)", "return s * (dn - through_variance)"),
         "keywords": ["mean", "centr", "constant"],
         "truth": "The batch's mean is taken for a constant: the mean of dn is not subtracted from the gradient of x."},
        {"name": "batch-norm-variance-taken-as-constant",
         "change": ("return s * (dn - through_mean - through_variance)", "return s * (dn - through_mean)"),
         "keywords": ["variance", "std", "deviation", "constant"],
         "truth": "The batch's variance is taken for a constant: the term n * mean(dn * n) is missing from the gradient of x."},
        {"name": "batch-norm-means-over-one-axis",
         "change": ("through_mean = dn.mean(axis=(0, 1))\n    through_variance = n * (dn * n).mean(axis=(0, 1))",
                    "through_mean = dn.mean(axis=0)\n    through_variance = n * (dn * n).mean(axis=0)"),
         "keywords": ["axis", "axes", "time", "batch"],
         "truth": "Both means in backward go over the batch only, though forward's mean and variance go over batch and "
         "time: the wrong axis."},
    ]},
    {"right": lambda rng, s: OwnLayerNorm(rng, s["D"]), "inputs": normal("B T D"), "sizes": dict(B=2, T=3, D=5), "wrong": [
        {"name": "layer-norm-square-without-two", "change": ("dxc = dxc + 2 * xc * dvar / d", "dxc = dxc + xc * dvar / d"),
         "keywords": ["factor", "half", "variance", "twice"],
         "truth": "The derivative of the square in the variance lacks its factor 2: the variance's term is half as "
         "large as it must be."},
        {"name": "layer-norm-gamma-forgotten", "change": ("dxhat = dy * self.g.data", "dxhat = dy"),
         "large": dict(B=16, T=24, D=32), "keywords": ["gamma", "scale", "factor", "weight"],
         "truth": "The gradient of the normalised rows is not multiplied by the learnt scale gamma."},
        {"name": "layer-norm-scale-from-unnormalised",
         "change": ("self.g.grad += (dy * xhat).sum(axis=rows)", "self.g.grad += (dy * xc).sum(axis=rows)"),
         "keywords": ["normalis", "normaliz", "centred", "centered", "std", "deviation", "divi", "sigma", "factor", "before"],
         "truth": "The gradient of gamma is formed with the centred rows instead of the normalised ones: the division "
         "by the deviation is missing."},
    ]},
    {"right": lambda rng, s: OwnGroupNorm(rng, s["G"], s["C"]), "inputs": channels_first, "sizes": dict(B=4, G=2, C=3, T=5),
     "wrong": [
        {"name": "group-norm-means-over-groups",
         "change": ("a = dn.mean(axis=2, keepdims=True)\n    b = (dn * n).mean(axis=2, keepdims=True)",
                    "a = dn.mean(axis=1, keepdims=True)\n    b = (dn * n).mean(axis=1, keepdims=True)"),
         "keywords": ["axis", "group"],
         "truth": "The two means in backward go over the groups instead of over the numbers of a group: the wrong axis."},
    ]},
    {"right": lambda rng, s: OwnRMSNorm(rng, s["D"]), "inputs": normal("B T D"), "sizes": dict(B=3, T=5, D=4), "wrong": [
        {"name": "rms-norm-sum-instead-of-mean",
         "change": ("return r * dn - r ** 3 * x * dot / d", "return r * dn - r ** 3 * x * dot"), "large": dict(B=16, T=24, D=32),
         "keywords": ["mean", "divid", "factor", "number", "1/d", "sum"],
         "truth": "The term through the mean square is not divided by the number of features D: a sum instead of a mean."},
        {"name": "rms-norm-epsilon-forgotten",
         "change": ("return r * dn - r ** 3 * x * dot / d", "return r * dn - r * x * dot / (x * x).sum(axis=-1, keepdims=True)"),
         "keywords": ["epsilon", "eps"], "truth": "The term through the mean square is computed as if epsilon were 0."},
        {"name": "rms-norm-power-of-root",
         "change": ("return r * dn - r ** 3 * x * dot / d", "return r * dn - r ** 2 * x * dot / d"),
         "keywords": ["power", "cube", "factor", "squared", "inverse"],
         "truth": "The inverse root has the power 2 instead of 3 in the term through the mean square."},
    ]},
    {"right": lambda rng, s: OwnGLU(rng, s["D"], s["H"]), "inputs": normal("B T D"), "sizes": dict(B=3, T=5, D=4, H=6), "wrong": [
        {"name": "glu-slope-of-sigmoid-forgotten", "change": ("db = dy * a * s * (1 - s)", "db = dy * a"),
         "large": dict(B=16, T=24, D=32, H=20), "keywords": ["slope", "sigmoid", "s * (1 - s)", "derivative", "gate"],
         "truth": "The slope of the sigmoid, s * (1 - s), is missing from the gate's gradient."},
        {"name": "glu-halves-swapped",
         "change": ("dab = np.concatenate((da, db), axis=-1)", "dab = np.concatenate((db, da), axis=-1)"),
         "keywords": ["swap", "order", "halves", "half", "permut", "exchange"],
         "truth": "The gradients of content and gate are put together in the wrong order: the two halves are swapped."},
    ]},
    {"right": lambda rng, s: Highway(rng, s["D"]), "inputs": normal("B T D"), "sizes": dict(B=3, T=5, D=4), "wrong": [
        {"name": "highway-carry-path-forgotten",
         "change": ("return dx + dh @ self.wh.data.T + dt @ self.wt.data.T", "return dh @ self.wh.data.T + dt @ self.wt.data.T"),
         "keywords": ["carry", "path", "1 - t", "missing", "skip", "residual", "direct"],
         "truth": "The gradient of x lacks the carry path (1 - t) * dy."},
        {"name": "highway-gate-without-carry", "change": ("dt = dy * (h - x)", "dt = dy * h"), "large": dict(B=16, T=24, D=32),
         "keywords": ["h - x", "carry", "- x", "-x", "gate", "missing", "path"],
         "truth": "The gate's gradient lacks the carry's term: h instead of h - x, because the gate also sets the "
         "share 1 - t of x."},
        {"name": "highway-matrix-not-transposed",
         "change": ("return dx + dh @ self.wh.data.T + dt @ self.wt.data.T", "return dx + dh @ self.wh.data + dt @ self.wt.data.T"),
         "keywords": ["transpos"], "truth": "The gradient of x goes through Wh instead of through its transpose."},
    ]},
    {"right": lambda rng, s: SqueezeExcite(rng, s["D"], s["H"]), "inputs": normal("B T D"), "sizes": dict(B=3, T=5, D=4, H=2),
     "wrong": [
        {"name": "squeeze-mean-not-divided",
         "change": ("return dy * g[:, None] + dmean[:, None] / x.shape[1]", "return dy * g[:, None] + dmean[:, None]"),
         "large": dict(B=16, T=24, D=32, H=8), "keywords": ["mean", "divid", "1/t", "factor", "number"],
         "truth": "The gradient through the mean over time is not divided by the number of steps T."},
    ]},
    {"right": lambda rng, s: FiLM(rng, s["E"], s["D"]), "inputs": normal("B T D", "B E"), "sizes": dict(B=3, T=5, D=4, E=6),
     "wrong": [
        {"name": "film-shift-from-last-row", "change": ("dbeta = np.sum(dy, axis=1)", "dbeta = dy[:, -1]"),
         "keywords": ["sum", "last", "time", "broadcast"],
         "truth": "The shift is used in every row, but its gradient is taken from the last row only instead of summed over time."},
        {"name": "film-condition-only-through-scale",
         "change": ("dc = dc + self.beta.backward(dbeta, cache_beta)", "self.beta.backward(dbeta, cache_beta)"),
         "large": dict(B=16, T=24, D=32, E=20), "keywords": ["beta", "path", "missing", "shift", "lacks"],
         "truth": "The gradient of the condition lacks the path through the shift beta."},
    ]},
    {"right": lambda rng, s: MixedResidual(rng, s["D"]), "inputs": normal("B D"), "sizes": dict(B=5, D=4), "wrong": [
        {"name": "mixed-residual-share-forgotten",
         "change": ("da = dy * (1 - self.m.data) * (1 - f ** 2)", "da = dy * (1 - f ** 2)"),
         "keywords": ["1 - m", "share", "factor", "mix"],
         "truth": "In the gradient of x the share 1 - m of the transformed part is forgotten."},
        {"name": "mixed-residual-outer-product-transposed",
         "change": ("self.w.grad += np.outer(x[row], da)", "self.w.grad += np.outer(da, x[row])"), "keywords": ["transpos"],
         "truth": "The gradient of W is the transpose of the right one: da x^T instead of x da^T."},
    ]},
    {"right": lambda rng, s: HyperConnection(rng, s["N"], s["D"]), "inputs": normal("B N D"), "sizes": dict(B=3, N=2, D=4),
     "wrong": [
        {"name": "hyper-connection-mix-not-transposed",
         "change": ('dx = np.einsum("bnd,nm->bmd", dy, self.mix.data)', 'dx = np.einsum("bmd,nm->bnd", dy, self.mix.data)'),
         "large": dict(B=16, N=4, D=32), "keywords": ["transpos"],
         "truth": "The gradient of the streams goes through the mixing matrix instead of its transpose."},
        {"name": "hyper-connection-reads-with-write-weights",
         "change": ("return dx + self.read.data[:, None] * du[:, None]", "return dx + self.write.data[:, None] * du[:, None]"),
         "keywords": ["read", "write", "wrong weight", "swap", "factor"],
         "truth": "The gradient of the layer's input goes back to the streams with the writing weights instead of the "
         "reading weights."},
    ]},
    {"right": lambda rng, s: LearntSwish(rng, s["D"]), "inputs": normal("B T D"), "sizes": dict(B=3, T=5, D=4), "wrong": [
        {"name": "swish-beta-with-one-x",
         "change": ("self.beta.grad += (dy * x * x * slope).sum(axis=tuple(range(x.ndim - 1)))",
                    "self.beta.grad += (dy * x * slope).sum(axis=tuple(range(x.ndim - 1)))"),
         "large": dict(B=16, T=24, D=32), "keywords": ["factor", "x * x", "x^2", "squar", "x**2"],
         "truth": "The gradient of beta lacks a factor x: x once instead of squared."},
        {"name": "swish-beta-forgotten-in-slope",
         "change": ("return dy * (s + x * self.beta.data * slope)", "return dy * (s + x * slope)"),
         "keywords": ["beta", "inner", "factor", "chain"],
         "truth": "The inner derivative, beta, is missing from the slope of the sigmoid in the gradient of x."},
    ]},
]
