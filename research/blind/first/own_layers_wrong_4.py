"""Own layers, each with one mistake in its backward (part 4)."""

from typing import NamedTuple

import numpy as np

from minitransformer import Layer, Parameter
from research.blind.first.parts import normal, softmax, vector, weight


class OwnPReLU(Layer):
    """y = x where x > 0, else slope * x, with a learnt slope for each channel."""

    def __init__(self, rng, d):
        self.slope = vector(rng, d, 0.4)

    def forward(self, x):
        return np.where(x.real > 0, x, self.slope.data * x), x

    def backward(self, dy, x):
        negative = x.real < 0
        self.slope.grad += (dy * x * negative).sum(axis=0)
        return np.where(negative, self.slope.data * dy, dy)


class Maxout(Layer):
    """The largest of P linear pieces for each output."""

    def __init__(self, rng, d, pieces, e):
        self.w = weight(rng, d, pieces, e)
        self.b = Parameter(0.1 * rng.standard_normal((pieces, e)))

    def forward(self, x):
        a = np.tensordot(x, self.w.data, 1) + self.b.data
        winner = a.real.argmax(axis=1)
        return np.take_along_axis(a, winner[:, None], axis=1)[:, 0], (x, winner)

    def backward(self, dy, cache):
        x, winner = cache
        chosen = np.arange(self.w.shape[1])[:, None] == winner[:, None]
        da = chosen * dy[:, None]
        self.w.grad += np.tensordot(x, da, axes=(0, 0))
        self.b.grad += da.sum(axis=0)
        return np.tensordot(da, self.w.data, axes=([1, 2], [1, 2]))


class TemperedSoftmax(Layer):
    """y = softmax(x / tau), with one learnt temperature for each row group."""

    def __init__(self, rng, t):
        self.tau = Parameter(1.5 + rng.random((t, 1)))

    def forward(self, x):
        y = softmax(x / self.tau.data)
        return y, {"x": x, "y": y}

    def backward(self, dy, cache):
        x, y = cache["x"], cache["y"]
        dz = y * (dy - (dy * y).sum(axis=-1, keepdims=True))
        dtau = -dz * x / self.tau.data ** 2
        self.tau.grad += dtau.sum(axis=(0, 2))[:, None]
        return dz / self.tau.data


class CosineSimilarity(Layer):
    """The cosine of the angle between rows of a and rows of b, times a learnt scale."""

    def __init__(self, rng):
        self.scale = Parameter(2.0 + rng.random(1))

    def forward(self, a, b):
        na, nb = np.sqrt((a * a).sum(axis=-1)), np.sqrt((b * b).sum(axis=-1))
        cosine = (a * b).sum(axis=-1) / (na * nb)
        return self.scale.data * cosine, (a, b, na, nb, cosine)

    def backward(self, dy, cache):
        a, b, na, nb, cosine = cache
        self.scale.grad += (dy * cosine).sum()
        g = (dy * self.scale.data)[:, None]
        na, nb, cosine = na[:, None], nb[:, None], cosine[:, None]
        da = g * (b / (na * nb) - cosine * a / na ** 2)
        db = g * (a / (na * nb) - cosine * b / nb ** 2)
        return da, db


class WeightNormLinear(Layer):
    """y = x W with columns W_j = g_j v_j / |v_j|."""

    def __init__(self, rng, d, e):
        self.v, self.g = Parameter(rng.standard_normal((d, e))), vector(rng, e, 1.0)

    def forward(self, x):
        length = np.sqrt((self.v.data ** 2).sum(axis=0))
        u = self.v.data / length
        return x @ (u * self.g.data), (x, u, length)

    def backward(self, dy, cache):
        x, u, length = cache
        dw = np.einsum("btd,bte->de", x, dy)
        self.g.grad += (dw * u).sum(axis=0)
        du = dw * self.g.data
        self.v.grad += (du - u * (u * du).sum(axis=0)) / length
        return dy @ (u * self.g.data).T


class Bilinear(Layer):
    """y_k = x^T W_k z + b_k."""

    def __init__(self, rng, d, e, k):
        self.w, self.b = weight(rng, d, e, k), vector(rng, k)

    def forward(self, x, z):
        return np.einsum("bd,dek,be->bk", x, self.w.data, z) + self.b.data, (x, z)

    def backward(self, dy, cache):
        x, z = cache
        self.w.grad += np.einsum("bd,be,bk->dek", x, z, dy)
        self.b.grad += dy.sum(axis=0)
        dx = np.einsum("dek,be,bk->bd", self.w.data, z, dy)
        dz = np.einsum("dek,bd,bk->be", self.w.data, x, dy)
        return dx, dz


class QuadraticForm(Layer):
    """y_k = x^T A_k x, with any square A_k."""

    def __init__(self, rng, d, k):
        self.a = weight(rng, d, d, k)

    def forward(self, x):
        return np.einsum("bi,ijk,bj->bk", x, self.a.data, x), x

    def backward(self, dy, x):
        self.a.grad += np.einsum("bi,bj,bk->ijk", x, x, dy)
        dx = np.einsum("ijk,bj,bk->bi", self.a.data, x, dy)
        dx = dx + np.einsum("ijk,bi,bk->bj", self.a.data, x, dy)
        return dx


class TiedAutoencoder(Layer):
    """y = tanh(x W + b) W^T: the decoder uses the encoder's matrix."""

    def __init__(self, rng, d, h):
        self.w, self.b = weight(rng, d, h), vector(rng, h)

    def forward(self, x):
        code = np.tanh(x @ self.w.data + self.b.data)
        return code @ self.w.data.T, (x, code)

    def backward(self, dy, cache):
        x, code = cache
        da = (dy @ self.w.data) * (1 - code ** 2)
        self.w.grad += dy.T @ code
        self.w.grad += x.T @ da
        self.b.grad += da.sum(axis=0)
        return da @ self.w.data.T


class Expert(NamedTuple):
    w: Parameter
    b: Parameter


class SoftExperts(Layer):
    """y = sum_i p_i tanh(x W_i + b_i), with gates p = softmax(x G)."""

    def __init__(self, rng, n, d, e):
        self.experts = [Expert(weight(rng, d, e), vector(rng, e)) for _ in range(n)]
        self.gate = weight(rng, d, n)

    def forward(self, x):
        p = softmax(x @ self.gate.data)
        outputs = [np.tanh(x @ w.data + b.data) for w, b in self.experts]
        y = 0
        for i, output in enumerate(outputs):
            y = y + p[:, i:i + 1] * output
        return y, dict(x=x, p=p, outputs=outputs)

    def backward(self, dy, cache):
        x, p, outputs = cache["x"], cache["p"], cache["outputs"]
        dx, dp = 0, np.zeros_like(p)
        for i, (w, b) in enumerate(self.experts):
            dp[:, i] = (dy * outputs[i]).sum(axis=-1)
            da = p[:, i:i + 1] * dy * (1 - outputs[i] ** 2)
            w.grad[...] += x.T @ da
            b.grad[...] += da.sum(axis=0)
            dx = dx + da @ w.data.T
        ds = p * (dp - (dp * p).sum(axis=-1, keepdims=True))
        self.gate.grad += x.T @ ds
        return dx + ds @ self.gate.data.T


class ScaledLowRank(Layer):
    """y = ((x U) * s) V, with a learnt scale for each rank (as a truncated SVD)."""

    def __init__(self, rng, d, r, e):
        self.u, self.v, self.s = weight(rng, d, r), weight(rng, r, e), vector(rng, r, 1.0)

    def forward(self, x):
        h = x @ self.u.data
        return (h * self.s.data) @ self.v.data, (x, h)

    def backward(self, dy, cache):
        x, h = cache
        scaled = h * self.s.data
        self.v.grad += scaled.T @ dy
        dscaled = dy @ self.v.data.T
        self.s.grad += (dscaled * h).sum(axis=0)
        dh = dscaled * self.s.data
        self.u.grad += x.T @ dh
        return dh @ self.u.data.T


class FactorisedEmbedding(Layer):
    """A narrow table, then a matrix to the full width: y = E[ids] P."""

    def __init__(self, rng, v, r, d):
        self.table, self.project = Parameter(rng.standard_normal((v, r))), weight(rng, r, d)

    def forward(self, ids):
        rows = self.table.data[ids]
        return rows @ self.project.data, (ids, rows)

    def backward(self, dy, cache):
        ids, rows = cache
        drows = dy @ self.project.data.T
        np.add.at(self.table.grad, ids, drows)
        self.project.grad += np.einsum("btr,btd->rd", rows, dy)
        return None


def repeated_ids(rng, s):
    return (rng.integers(0, s["V"], size=(s["B"], s["T"])),)


class FactorisationMachine(Layer):
    """All pairs of features: y = x w + ((x V)^2 - x^2 V^2) / 2, summed over the factors."""

    def __init__(self, rng, d, k):
        self.w, self.v = vector(rng, d), weight(rng, d, k)

    def forward(self, x):
        xv = x @ self.v.data
        squares = (x * x) @ (self.v.data ** 2)
        return x @ self.w.data + 0.5 * (xv * xv - squares).sum(axis=1), (x, xv)

    def backward(self, dy, cache):
        x, xv = cache
        v, g = self.v.data, dy[:, None]
        self.w.grad += x.T @ dy
        self.v.grad += x.T @ (g * xv) - (x * x * g).sum(axis=0)[:, None] * v
        dx = g * (self.w.data + xv @ v.T - x * (v * v).sum(axis=1))
        return dx


class OuterProduct(Layer):
    """All products x_i z_j in one long row, then a matrix."""

    def __init__(self, rng, d, e, k):
        self.w = weight(rng, d * e, k)

    def forward(self, x, z):
        pairs = (x[:, :, None] * z[:, None, :]).reshape(len(x), -1)
        return pairs @ self.w.data, (x, z, pairs)

    def backward(self, dy, cache):
        x, z, pairs = cache
        self.w.grad += pairs.T @ dy
        dpairs = (dy @ self.w.data.T).reshape(len(x), x.shape[1], z.shape[1])
        return (dpairs * z[:, None, :]).sum(axis=2), (dpairs * x[:, :, None]).sum(axis=1)


class GraphStep(Layer):
    """y = relu(A X W), where A is the given matrix of weights between nodes, with each row divided by its sum."""

    def __init__(self, rng, d, e):
        self.w = weight(rng, d, e)

    def forward(self, a, x):
        total = a.sum(axis=1, keepdims=True)
        n = a / total
        h = n @ x
        z = h @ self.w.data
        return z * (z.real > 0), (x, n, total, h, z.real > 0)

    def backward(self, dy, cache):
        x, n, total, h, on = cache
        dz = dy * on
        self.w.grad += h.T @ dz
        dh = dz @ self.w.data.T
        dx = n.T @ dh
        dn = dh @ x.T
        da = (dn - (dn * n).sum(axis=1, keepdims=True)) / total
        return da, dx


def graph(rng, s):
    return 0.5 + rng.random((s["N"], s["N"])), rng.standard_normal((s["N"], s["D"]))


class Coupling(Layer):
    """A step of a flow: a stays, and b becomes b * exp(s(a)) + t(a)."""

    def __init__(self, rng, d, e):
        self.ws, self.wt = weight(rng, d, e), weight(rng, d, e)

    def forward(self, a, b):
        s = np.tanh(a @ self.ws.data)
        grow = np.exp(s)
        return np.concatenate([a, b * grow + a @ self.wt.data], axis=1), (a, b, s, grow)

    def backward(self, dy, cache):
        a, b, s, grow = cache
        da, db = dy[:, :a.shape[1]], dy[:, a.shape[1]:]
        ds = db * b * grow * (1 - s * s)
        self.ws.grad += a.T @ ds
        self.wt.grad += a.T @ db
        da = da + ds @ self.ws.data.T + db @ self.wt.data.T
        return da, db * grow


class RadialBasis(Layer):
    """y_k = exp(-w_k |x - c_k|^2)."""

    def __init__(self, rng, d, k):
        self.centres = Parameter(0.5 * rng.standard_normal((k, d)))
        self.w = Parameter((0.5 + rng.random(k)) / d)

    def forward(self, x):
        gap = x[:, None] - self.centres.data
        square = (gap * gap).sum(axis=2)
        y = np.exp(-self.w.data * square)
        return y, (gap, square, y)

    def backward(self, dy, cache):
        gap, square, y = cache
        du = dy * y
        self.w.grad -= (du * square).sum(axis=0)
        dsquare = -du * self.w.data
        dgap = 2 * gap * dsquare[:, :, None]
        self.centres.grad -= dgap.sum(axis=0)
        return dgap.sum(axis=1)


class FourierFeatures(Layer):
    """sin(x W) and cos(x W) side by side, divided by the root of their number."""

    def __init__(self, rng, d, h):
        self.w = weight(rng, d, h)

    def forward(self, x):
        a = x @ self.w.data
        s, c = np.sin(a), np.cos(a)
        return np.concatenate([s, c], axis=-1) / np.sqrt(2 * a.shape[-1]), (x, s, c)

    def backward(self, dy, cache):
        x, s, c = cache
        h = s.shape[-1]
        ds, dc = dy[..., :h], dy[..., h:]
        da = (ds * c - dc * s) / np.sqrt(2 * h)
        self.w.grad += x.reshape(-1, x.shape[-1]).T @ da.reshape(-1, h)
        return da @ self.w.data.T


class LearntPositions(Layer):
    """Adds a learnt row for each position, and a learnt row for the kind of each sequence (ids)."""

    def __init__(self, rng, t, d, kinds):
        self.position = Parameter(rng.standard_normal((t, d)))
        self.kind = Parameter(rng.standard_normal((kinds, d)))

    def forward(self, x, kinds):
        return x + self.position.data[:x.shape[1]] + self.kind.data[kinds][:, None], kinds

    def backward(self, dy, kinds):
        for t in range(dy.shape[1]):
            self.position.grad[t] += dy[:, t].sum(axis=0)
        for i, kind in enumerate(kinds):
            self.kind.grad[kind] += dy[i].sum(axis=0)
        return dy


def rows_and_kinds(rng, s):
    return rng.standard_normal((s["B"], s["T"], s["D"])), rng.integers(0, s["V"], size=s["B"])


CASES = [
    {"right": lambda rng, s: OwnPReLU(rng, s["D"]), "inputs": normal("B D"), "sizes": dict(B=5, D=4), "wrong": [
        {"name": "prelu-slope-from-the-positive-side",
         "change": ("self.slope.grad += (dy * x * negative).sum(axis=0)", "self.slope.grad += (dy * x * ~negative).sum(axis=0)"),
         "keywords": ["positive", "negative", "mask"],
         "truth": "The slope's gradient is summed where x is positive instead of where it is negative."},
    ]},
    {"right": lambda rng, s: Maxout(rng, s["D"], s["P"], s["E"]), "inputs": normal("B D"), "sizes": dict(B=6, D=4, P=3, E=5),
     "wrong": [
        {"name": "maxout-gradient-to-all-pieces",
         "change": ("da = chosen * dy[:, None]", "da = np.ones_like(chosen) * dy[:, None] / self.w.shape[1]"),
         "keywords": ["max", "largest", "winner", "equal", "mean", "argmax", "mask"],
         "truth": "The gradient is shared equally by all pieces instead of going to the largest only."},
    ]},
    {"right": lambda rng, s: TemperedSoftmax(rng, s["T"]), "inputs": normal("B T D"), "sizes": dict(B=3, T=5, D=4), "wrong": [
        {"name": "tempered-softmax-temperature-not-squared",
         "change": ("dtau = -dz * x / self.tau.data ** 2", "dtau = -dz * x / self.tau.data"),
         "keywords": ["squar", "factor", "tau", "power", "divid", "temperature"],
         "truth": "The derivative of x / tau in tau is divided by tau instead of by its square."},
        {"name": "tempered-softmax-multiplied-by-temperature", "change": ("return dz / self.tau.data", "return dz * self.tau.data"),
         "keywords": ["invers", "divid", "multipl", "factor", "tau", "temperature"],
         "truth": "The gradient of x is multiplied by the temperature instead of divided by it."},
    ]},
    {"right": lambda rng, s: CosineSimilarity(rng), "inputs": normal("B D", "B D"), "sizes": dict(B=5, D=4), "wrong": [
        {"name": "cosine-norm-taken-as-constant",
         "change": ("da = g * (b / (na * nb) - cosine * a / na ** 2)", "da = g * b / (na * nb)"),
         "keywords": ["norm", "project", "length", "constant", "missing"],
         "truth": "The length of a is taken for a constant: the term along a, - cos * a / |a|^2, is missing."},
        {"name": "cosine-length-not-squared",
         "change": ("db = g * (a / (na * nb) - cosine * b / nb ** 2)", "db = g * (a / (na * nb) - cosine * b / nb)"),
         "keywords": ["squar", "power", "factor", "norm", "length"],
         "truth": "In the projection's term of b the length is not squared."},
    ]},
    {"right": lambda rng, s: WeightNormLinear(rng, s["D"], s["E"]), "inputs": normal("B T D"), "sizes": dict(B=2, T=3, D=4, E=5),
     "wrong": [
        {"name": "weight-norm-without-projection",
         "change": ("self.v.grad += (du - u * (u * du).sum(axis=0)) / length", "self.v.grad += du / length"),
         "large": dict(B=16, T=24, D=32, E=20), "keywords": ["project", "norm", "length", "subtract", "along", "constant"],
         "truth": "The gradient of v is not projected: the part along v, which the division by its length removes, is "
         "not subtracted."},
        {"name": "weight-norm-projection-over-rows",
         "change": ("self.v.grad += (du - u * (u * du).sum(axis=0)) / length",
                    "self.v.grad += (du - u * (u * du).sum(axis=1, keepdims=True)) / length"),
         "keywords": ["axis"],
         "truth": "The projection's sum goes over the outputs instead of over the inputs of each column: the wrong axis."},
    ]},
    {"right": lambda rng, s: Bilinear(rng, s["D"], s["E"], s["K"]), "inputs": normal("B D", "B E"),
     "sizes": dict(B=2, D=4, E=5, K=3), "wrong": [
        {"name": "bilinear-weight-from-summed-rows",
         "change": ('self.w.grad += np.einsum("bd,be,bk->dek", x, z, dy)', 'self.w.grad += np.einsum("bd,ae,bk->dek", x, z, dy)'),
         "keywords": ["batch", "index", "sum", "pair", "mix"],
         "truth": "In the gradient of W each row of x meets the sum of all rows of z instead of its own: the batch "
         "index is summed separately."},
    ]},
    {"right": lambda rng, s: QuadraticForm(rng, s["D"], s["K"]), "inputs": normal("B D"), "sizes": dict(B=2, D=4, K=3), "wrong": [
        {"name": "quadratic-form-taken-as-symmetric",
         "change": ('dx = dx + np.einsum("ijk,bi,bk->bj", self.a.data, x, dy)', "dx = 2 * dx"), "large": dict(B=16, D=24, K=12),
         "keywords": ["symmetr", "transpos", "a^t"],
         "truth": "The gradient of x is 2 A x, as for a symmetric A, instead of (A + A^T) x."},
    ]},
    {"right": lambda rng, s: TiedAutoencoder(rng, s["D"], s["H"]), "inputs": normal("B D"), "sizes": dict(B=3, D=5, H=4), "wrong": [
        {"name": "tied-autoencoder-gradient-assigned", "change": ("self.w.grad += x.T @ da", "self.w.grad[...] = x.T @ da"),
         "large": dict(B=24, D=32, H=10),
         "keywords": ["assign", "overwrit", "twice", "decoder", "path", "replac", "both", "missing"],
         "truth": "The matrix is used twice, but the encoder's gradient is assigned and replaces the decoder's instead "
         "of being added to it."},
    ]},
    {"right": lambda rng, s: SoftExperts(rng, s["N"], s["D"], s["E"]), "inputs": normal("B D"), "sizes": dict(B=6, N=3, D=4, E=5),
     "wrong": [
        {"name": "experts-softmax-jacobian-diagonal",
         "change": ("ds = p * (dp - (dp * p).sum(axis=-1, keepdims=True))", "ds = p * (1 - p) * dp"),
         "large": dict(B=24, N=4, D=32, E=20), "keywords": ["softmax", "diagonal", "jacobian", "sigmoid"],
         "truth": "The gate's softmax has only the diagonal of its Jacobian, p (1 - p), as if the gates were sigmoids."},
        {"name": "experts-gate-path-forgotten", "change": ("return dx + ds @ self.gate.data.T", "return dx"),
         "keywords": ["gate", "path", "missing", "lacks"], "truth": "The gradient of x lacks the path through the gates."},
        {"name": "experts-gate-forgotten-in-expert",
         "change": ("da = p[:, i:i + 1] * dy * (1 - outputs[i] ** 2)", "da = dy * (1 - outputs[i] ** 2)"),
         "keywords": ["gate", "factor", "p_i", "weight", "multipl", "p["],
         "truth": "The gradient of each expert is not multiplied by its gate p_i."},
    ]},
    {"right": lambda rng, s: ScaledLowRank(rng, s["D"], s["R"], s["E"]), "inputs": normal("B D"), "sizes": dict(B=5, D=4, R=2, E=6),
     "wrong": [
        {"name": "low-rank-scale-forgotten", "change": ("self.u.grad += x.T @ dh", "self.u.grad += x.T @ dscaled"),
         "keywords": ["scale", "factor"], "truth": "The gradient of U lacks the scale s between the two factors."},
        {"name": "low-rank-scale-from-scaled-value",
         "change": ("self.s.grad += (dscaled * h).sum(axis=0)", "self.s.grad += (dscaled * scaled).sum(axis=0)"),
         "keywords": ["after", "scaled", "before", "factor", "stale", "wrong input"],
         "truth": "The gradient of the scale is formed with the values after the scaling, s * h, instead of before it."},
    ]},
    {"right": lambda rng, s: FactorisedEmbedding(rng, s["V"], s["R"], s["D"]), "inputs": repeated_ids,
     "sizes": dict(B=2, T=7, V=4, R=3, D=5), "wrong": [
        {"name": "embedding-repeated-ids-overwritten",
         "change": ("np.add.at(self.table.grad, ids, drows)", "self.table.grad[ids] += drows"),
         "large": dict(B=16, T=24, V=40, R=8, D=32),
         "keywords": ["repeat", "duplicate", "add.at", "several", "overwrit", "last", "occur"],
         "truth": "Ids occur several times, and the indexed += keeps the gradient of only one occurrence instead of their sum."},
    ]},
    {"right": lambda rng, s: FactorisationMachine(rng, s["D"], s["K"]), "inputs": normal("B D"), "sizes": dict(B=3, D=5, K=4),
     "wrong": [
        {"name": "factorisation-machine-half-kept",
         "change": ("self.v.grad += x.T @ (g * xv) - (x * x * g).sum(axis=0)[:, None] * v",
                    "self.v.grad += 0.5 * (x.T @ (g * xv) - (x * x * g).sum(axis=0)[:, None] * v)"),
         "keywords": ["half", "factor", "0.5"],
         "truth": "The gradient of V is half as large as it must be: the factor 2 of the squares, which cancels the "
         "1/2, is forgotten."},
    ]},
    {"right": lambda rng, s: OuterProduct(rng, s["D"], s["E"], s["K"]), "inputs": normal("B D", "B E"),
     "sizes": dict(B=2, D=4, E=5, K=3), "wrong": [
        {"name": "outer-product-reshaped-in-the-other-order",
         "change": ("dpairs = (dy @ self.w.data.T).reshape(len(x), x.shape[1], z.shape[1])",
                    "dpairs = (dy @ self.w.data.T).reshape(len(x), z.shape[1], x.shape[1]).swapaxes(1, 2)"),
         "large": dict(B=16, D=20, E=12, K=24), "keywords": ["order", "reshape", "permut", "transpos", "swap", "mixed"],
         "truth": "The long row is cut in the other order, as if z's index came first, so that the pairs are permuted."},
    ]},
    {"right": lambda rng, s: GraphStep(rng, s["D"], s["E"]), "inputs": graph, "sizes": dict(N=5, D=3, E=4), "wrong": [
        {"name": "graph-step-not-transposed", "change": ("dx = n.T @ dh", "dx = n @ dh"), "large": dict(N=24, D=32, E=20),
         "keywords": ["transpos"],
         "truth": "The gradient of the nodes goes through the matrix A instead of through its transpose."},
        {"name": "graph-step-row-sum-taken-as-constant",
         "change": ("da = (dn - (dn * n).sum(axis=1, keepdims=True)) / total", "da = dn / total"),
         "keywords": ["sum", "normal", "constant", "path", "subtract", "missing"],
         "truth": "The row sums that divide A are taken for constants: the normalisation's term is missing."},
    ]},
    {"right": lambda rng, s: Coupling(rng, s["D"], s["E"]), "inputs": normal("B D", "B E"), "sizes": dict(B=3, D=4, E=5), "wrong": [
        {"name": "coupling-slope-of-exponential-forgotten",
         "change": ("ds = db * b * grow * (1 - s * s)", "ds = db * b * (1 - s * s)"),
         "keywords": ["exp", "slope", "derivative", "factor"],
         "truth": "The derivative of exp(s), exp(s) itself, is missing from the gradient of s."},
        {"name": "coupling-inverse-growth", "change": ("return da, db * grow", "return da, db / grow"),
         "keywords": ["invers", "divid", "exp", "factor"],
         "truth": "The gradient of b is divided by exp(s) instead of multiplied, as in the inverse of the flow."},
    ]},
    {"right": lambda rng, s: RadialBasis(rng, s["D"], s["K"]), "inputs": normal("B D"), "sizes": dict(B=5, D=3, K=4), "wrong": [
        {"name": "radial-basis-sign-of-centres",
         "change": ("self.centres.grad -= dgap.sum(axis=0)", "self.centres.grad += dgap.sum(axis=0)"),
         "keywords": ["sign", "minus", "negat"],
         "truth": "The gradient of the centres has the wrong sign: they are subtracted from x."},
        {"name": "radial-basis-square-without-two",
         "change": ("dgap = 2 * gap * dsquare[:, :, None]", "dgap = gap * dsquare[:, :, None]"), "large": dict(B=24, D=32, K=20),
         "keywords": ["factor", "half", "twice", "0.5", "2 *"],
         "truth": "The derivative of the squared distance lacks its factor 2."},
    ]},
    {"right": lambda rng, s: FourierFeatures(rng, s["D"], s["H"]), "inputs": normal("B T D"), "sizes": dict(B=2, T=5, D=3, H=4),
     "wrong": [
        {"name": "fourier-features-sign-of-cosine",
         "change": ("da = (ds * c - dc * s) / np.sqrt(2 * h)", "da = (ds * c + dc * s) / np.sqrt(2 * h)"),
         "keywords": ["sign", "minus", "negat", "cos"], "truth": "The derivative of the cosine has the wrong sign: it is - sin."},
    ]},
    {"right": lambda rng, s: LearntPositions(rng, s["T"], s["D"], s["V"]), "inputs": rows_and_kinds,
     "sizes": dict(B=6, T=5, D=4, V=3), "wrong": [
        {"name": "positions-averaged-over-batch",
         "change": ("self.position.grad[t] += dy[:, t].sum(axis=0)", "self.position.grad[t] += dy[:, t].mean(axis=0)"),
         "keywords": ["mean", "averag", "sum", "factor", "batch"],
         "truth": "The gradient of the positions is averaged over the batch instead of summed."},
    ]},
]
