"""Own layers, each with one mistake in its backward (part 1)."""

from typing import NamedTuple

import numpy as np

from minitransformer import Layer, Parameter
from research.blind.first.parts import linear, normal, softmax, vector, weight


class AttentionCache(NamedTuple):
    x: np.ndarray
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    p: np.ndarray


class OwnAttention(Layer):
    """y = softmax(q k^T / sqrt(K)) v."""

    def __init__(self, rng, d, k):
        self.wq = weight(rng, d, k)
        self.wk = weight(rng, d, k)
        self.wv = weight(rng, d, k)

    def forward(self, x):
        q = np.einsum("btd,dk->btk", x, self.wq.data)
        k = np.einsum("btd,dk->btk", x, self.wk.data)
        v = np.einsum("btd,dk->btk", x, self.wv.data)
        s = np.einsum("bik,bjk->bij", q, k) / np.sqrt(q.shape[-1])
        p = softmax(s)
        return np.einsum("bij,bjk->bik", p, v), AttentionCache(x, q, k, v, p)

    def backward(self, dy, cache):
        x, q, k, v, p = cache
        dv = np.einsum("bij,bik->bjk", p, dy)
        dp = np.einsum("bik,bjk->bij", dy, v)
        ds = p * (dp - (dp * p).sum(axis=-1, keepdims=True))
        ds = ds / np.sqrt(q.shape[-1])
        dq = np.einsum("bij,bjk->bik", ds, k)
        dk = np.einsum("bij,bik->bjk", ds, q)
        self.wq.grad += np.einsum("btd,btk->dk", x, dq)
        self.wk.grad += np.einsum("btd,btk->dk", x, dk)
        self.wv.grad += np.einsum("btd,btk->dk", x, dv)
        return dq @ self.wq.data.T + dk @ self.wk.data.T + dv @ self.wv.data.T


class OwnCrossAttention(Layer):
    """The rows of x (B, T, D) look into a memory (B, S, E)."""

    def __init__(self, rng, d, e, h):
        self.query = weight(rng, d, h)
        self.key = weight(rng, e, h)
        self.value = weight(rng, e, d)
        self.scale = h ** -0.5

    def forward(self, x, memory):
        q, k, v = x @ self.query.data, memory @ self.key.data, memory @ self.value.data
        p = softmax(self.scale * (q @ k.transpose(0, 2, 1)))
        return x + p @ v, (x, memory, q, k, v, p)

    def backward(self, dy, cache):
        x, memory, q, k, v, p = cache
        d, e = x.shape[-1], memory.shape[-1]
        dp = dy @ v.transpose(0, 2, 1)
        dv = p.transpose(0, 2, 1) @ dy
        mean = (p * dp).sum(axis=-1, keepdims=True)
        ds = self.scale * p * (dp - mean)
        dq = ds @ k
        dk = ds.transpose(0, 2, 1) @ q
        self.query.grad += x.reshape(-1, d).T @ dq.reshape(-1, dq.shape[-1])
        self.key.grad += memory.reshape(-1, e).T @ dk.reshape(-1, dk.shape[-1])
        self.value.grad += memory.reshape(-1, e).T @ dv.reshape(-1, d)
        dx = dy + dq @ self.query.data.T
        dmemory = dk @ self.key.data.T + dv @ self.value.data.T
        return dx, dmemory


class OwnMultiHead(Layer):
    """Multi-head attention with four linear layers of the library."""

    def __init__(self, rng, d, heads, k):
        self.heads = heads
        self.q = linear(rng, d, heads * k)
        self.k = linear(rng, d, heads * k)
        self.v = linear(rng, d, heads * k)
        self.out = linear(rng, heads * k, d)

    def split(self, x):
        b, t, f = x.shape
        return x.reshape(b, t, self.heads, f // self.heads).transpose(0, 2, 1, 3)

    def merge(self, x):
        b, h, t, k = x.shape
        return x.transpose(0, 2, 1, 3).reshape(b, t, h * k)

    def forward(self, x):
        q, cache_q = self.q.forward(x)
        k, cache_k = self.k.forward(x)
        v, cache_v = self.v.forward(x)
        q, k, v = self.split(q), self.split(k), self.split(v)
        p = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
        y, cache_out = self.out.forward(self.merge(p @ v))
        return y, dict(q=q, k=k, v=v, p=p, caches=(cache_q, cache_k, cache_v), out=cache_out)

    def backward(self, dy, cache):
        q, k, v, p = cache["q"], cache["k"], cache["v"], cache["p"]
        cache_q, cache_k, cache_v = cache["caches"]
        do = self.split(self.out.backward(dy, cache["out"]))
        dv = p.swapaxes(-1, -2) @ do
        dp = do @ v.swapaxes(-1, -2)
        ds = p * (dp - np.sum(dp * p, axis=-1, keepdims=True)) / np.sqrt(q.shape[-1])
        dq = ds @ k
        dk = ds.swapaxes(-1, -2) @ q
        dx = self.q.backward(self.merge(dq), cache_q)
        dx += self.k.backward(self.merge(dk), cache_k)
        dx += self.v.backward(self.merge(dv), cache_v)
        return dx


class CausalLinearAttention(Layer):
    """y_t = S_t q_t with S_t = S_(t-1) + v_t k_t^T, where q and k are positive."""

    def __init__(self, rng, d, k, v):
        self.wq, self.wk, self.wv = weight(rng, d, k), weight(rng, d, k), weight(rng, d, v)

    def forward(self, x):
        q, k, v = np.exp(0.5 * (x @ self.wq.data)), np.exp(0.5 * (x @ self.wk.data)), x @ self.wv.data
        state, ys, states = 0, [], []
        for t in range(x.shape[1]):
            state = state + v[:, t, :, None] * k[:, t, None, :]
            states.append(state)
            ys.append((state @ q[:, t, :, None])[..., 0])
        return np.stack(ys, axis=1), {"x": x, "q": q, "k": k, "v": v, "states": states}

    def backward(self, dy, cache):
        x, q, k, v, states = (cache[name] for name in ("x", "q", "k", "v", "states"))
        dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
        dstate = 0
        for t in reversed(range(x.shape[1])):
            dq[:, t] = np.einsum("bvk,bv->bk", states[t], dy[:, t])
            dstate = dstate + dy[:, t, :, None] * q[:, t, None, :]
            dv[:, t] = np.einsum("bvk,bk->bv", dstate, k[:, t])
            dk[:, t] = np.einsum("bvk,bv->bk", dstate, v[:, t])
        dq, dk = 0.5 * dq * q, 0.5 * dk * k
        for w, d in ((self.wq, dq), (self.wk, dk), (self.wv, dv)):
            w.grad += np.einsum("btd,btk->dk", x, d)
        return dq @ self.wq.data.T + dk @ self.wk.data.T + dv @ self.wv.data.T


class AdditiveAttention(Layer):
    """Bahdanau's scores v . tanh(query U + key W); the weights then average the keys."""

    def __init__(self, rng, d, e, h):
        self.u, self.w, self.v = weight(rng, d, h), weight(rng, e, h), vector(rng, h, 1.0)

    def forward(self, query, keys):
        h = np.tanh((query @ self.u.data)[:, None, :] + keys @ self.w.data)
        p = softmax(h @ self.v.data)
        context = np.einsum("bs,bse->be", p, keys)
        return context, (query, keys, h, p)

    def backward(self, dcontext, cache):
        query, keys, h, p = cache
        dp = np.einsum("be,bse->bs", dcontext, keys)
        ds = p * (dp - np.sum(p * dp, axis=1, keepdims=True))
        self.v.grad += np.einsum("bs,bsh->h", ds, h)
        da = ds[:, :, None] * self.v.data * (1 - h * h)
        dkeys = p[:, :, None] * dcontext[:, None, :] + da @ self.w.data.T
        self.w.grad += np.einsum("bse,bsh->eh", keys, da)
        da = da.sum(axis=1)
        self.u.grad += query.T @ da
        return da @ self.u.data.T, dkeys


class AttentionPooling(Layer):
    """One vector for each sequence: softmax(x . w) averages the rows."""

    def __init__(self, rng, d):
        self.w = vector(rng, d, 0.5)

    def forward(self, x):
        a = softmax(x @ self.w.data)
        y = (a[..., None] * x).sum(axis=1)
        return y, (x, a, y)

    def backward(self, dy, cache):
        x, a, y = cache
        da = (x * dy[:, None]).sum(axis=-1)
        ds = a * (da - (dy * y).sum(axis=-1)[:, None])
        self.w.grad += (ds[..., None] * x).sum(axis=(0, 1))
        return a[..., None] * dy[:, None] + ds[..., None] * self.w.data


class RelativeBiasAttention(Layer):
    """Self-attention of x with itself, with a learnt bias for each distance j - i."""

    def __init__(self, rng, t, d):
        self.bias = Parameter(rng.standard_normal(2 * t - 1))
        self.wv = weight(rng, d, d)
        self.index = np.arange(t)[None, :] - np.arange(t)[:, None] + t - 1

    def forward(self, x):
        s = 0.3 * np.einsum("bid,bjd->bij", x, x) + self.bias.data[self.index]
        p = softmax(s)
        v = x @ self.wv.data
        return p @ v, (x, v, p)

    def backward(self, dy, cache):
        x, v, p = cache
        dv = np.swapaxes(p, 1, 2) @ dy
        dp = dy @ np.swapaxes(v, 1, 2)
        ds = p * (dp - (dp * p).sum(-1)[..., None])
        np.add.at(self.bias.grad, self.index, ds.sum(axis=0))
        self.wv.grad += np.einsum("btd,bte->de", x, dv)
        dx = dv @ self.wv.data.T
        dx += 0.3 * (ds + np.swapaxes(ds, 1, 2)) @ x
        return dx


class SlopeAttention(Layer):
    """Heads that prefer near rows: scores - slope_h * distance, with learnt slopes (ALiBi); the values are x."""

    def __init__(self, rng, h, d):
        self.slope = Parameter(0.5 + 0.2 * rng.random(h))
        self.mix = weight(rng, h, d)

    def forward(self, x):
        t = x.shape[1]
        distance = (np.arange(t)[:, None] - np.arange(t)[None, :]) ** 2 / t
        dots = x @ x.transpose(0, 2, 1) / x.shape[-1]
        p = softmax(dots[:, None] - self.slope.data[:, None, None] * distance)
        heads = np.einsum("bhij,bjd->bhid", p, x)
        return np.einsum("bhid,hd->bid", heads, self.mix.data), (x, distance, p, heads)

    def backward(self, dy, cache):
        x, distance, p, heads = cache
        self.mix.grad += np.einsum("bid,bhid->hd", dy, heads)
        dheads = np.einsum("bid,hd->bhid", dy, self.mix.data)
        dp = np.einsum("bhid,bjd->bhij", dheads, x)
        ds = p * (dp - (p * dp).sum(axis=3, keepdims=True))
        self.slope.grad -= np.einsum("bhij,ij->h", ds, distance)
        dx = np.einsum("bhij,bhid->bjd", p, dheads)
        ddots = ds.sum(axis=1) / x.shape[-1]
        return dx + ddots @ x + ddots.transpose(0, 2, 1) @ x


class LearntRotary(Layer):
    """Turns each pair of features by the angle position * rate, with a learnt rate for each pair."""

    def __init__(self, rng, pairs):
        self.rate = Parameter(0.2 + rng.random(pairs))

    def forward(self, x):
        angle = np.arange(x.shape[1])[:, None] * self.rate.data
        c, s = np.cos(angle), np.sin(angle)
        a, b = x[..., 0::2], x[..., 1::2]
        y = np.stack([a * c - b * s, a * s + b * c], axis=-1).reshape(x.shape)
        return y, (y, c, s)

    def backward(self, dy, cache):
        y, c, s = cache
        da, db = dy[..., 0::2], dy[..., 1::2]
        dangle = db * y[..., 0::2] - da * y[..., 1::2]
        position = np.arange(dy.shape[1])
        self.rate.grad += np.einsum("btp,t->p", dangle, position)
        return np.stack([da * c + db * s, db * c - da * s], axis=-1).reshape(dy.shape)


def pairs_of_features(rng, s):
    return (rng.standard_normal((s["B"], s["T"], 2 * s["P"])),)


CASES = [
    {"right": lambda rng, s: OwnAttention(rng, s["D"], s["K"]), "inputs": normal("B T D"), "sizes": dict(B=3, T=5, D=4, K=6),
     "wrong": [
        {"name": "attention-scale-forgotten", "change": ("ds = ds / np.sqrt(q.shape[-1])", ""),
         "large": dict(B=16, T=24, D=32, K=20), "keywords": ["scale", "sqrt", "factor", "divid"],
         "truth": "The gradient of the scores is not divided by sqrt(K): the scale of the dot products is forgotten in backward."},
        {"name": "attention-softmax-without-sum", "change": ("ds = p * (dp - (dp * p).sum(axis=-1, keepdims=True))", "ds = p * dp"),
         "keywords": ["softmax", "jacobian", "subtract"],
         "truth": "The softmax's Jacobian is incomplete: the sum of dp * p over the row is not subtracted."},
        {"name": "attention-key-path-forgotten",
         "change": ("return dq @ self.wq.data.T + dk @ self.wk.data.T + dv @ self.wv.data.T",
                    "return dq @ self.wq.data.T + dv @ self.wv.data.T"),
         "keywords": ["path", "missing", "wk", "key", "lacks"],
         "truth": "The gradient of x lacks the path through the keys, dk Wk^T."},
        {"name": "attention-values-not-weighted-transposed",
         "change": ('dv = np.einsum("bij,bik->bjk", p, dy)', 'dv = np.einsum("bij,bjk->bik", p, dy)'),
         "keywords": ["transpos", "p^t", "wv", "value"],
         "truth": "The gradient of the values uses the attention weights p instead of their transpose."},
    ]},
    {"right": lambda rng, s: OwnCrossAttention(rng, s["D"], s["E"], s["H"]), "inputs": normal("B T D", "B S E"),
     "sizes": dict(B=2, T=4, S=5, D=3, E=6, H=7), "wrong": [
        {"name": "cross-attention-memory-only-through-values",
         "change": ("dmemory = dk @ self.key.data.T + dv @ self.value.data.T", "dmemory = dv @ self.value.data.T"),
         "large": dict(B=16, T=24, S=20, D=32, E=28, H=18), "keywords": ["key", "path", "missing", "lacks"],
         "truth": "The gradient of the memory lacks the path through the keys."},
        {"name": "cross-attention-softmax-sum-over-queries",
         "change": ("mean = (p * dp).sum(axis=-1, keepdims=True)", "mean = (p * dp).sum(axis=1, keepdims=True)"),
         "keywords": ["softmax", "axis"],
         "truth": "In the softmax's backward the sum of p * dp goes over the queries instead of over the keys: the wrong axis."},
    ]},
    {"right": lambda rng, s: OwnMultiHead(rng, s["D"], s["H"], s["K"]), "inputs": normal("B T D"),
     "sizes": dict(B=2, T=5, D=6, H=3, K=4), "wrong": [
        {"name": "multi-head-values-merged-without-swap",
         "change": ("dx += self.v.backward(self.merge(dv), cache_v)",
                    "dx += self.v.backward(dv.reshape(len(dy), dy.shape[1], -1), cache_v)"),
         "large": dict(B=16, T=24, D=32, H=4, K=6), "keywords": ["swap", "transpos", "axes", "mixed", "permut", "reshape", "order"],
         "truth": "The heads of dv are merged by a reshape without swapping the head and time axes back, so that they get mixed."},
        {"name": "multi-head-keys-not-transposed", "change": ("dk = ds.swapaxes(-1, -2) @ q", "dk = ds @ q"),
         "keywords": ["transpos"], "truth": "The gradient of the keys uses the gradient of the scores without its transpose."},
        {"name": "multi-head-scale-of-all-heads",
         "change": ("ds = p * (dp - np.sum(dp * p, axis=-1, keepdims=True)) / np.sqrt(q.shape[-1])",
                    "ds = p * (dp - np.sum(dp * p, axis=-1, keepdims=True)) / np.sqrt(self.heads * q.shape[-1])"),
         "keywords": ["scale", "factor", "sqrt"],
         "truth": "The gradient of the scores is divided by the root of the whole width instead of that of one head: a "
         "factor 1 / sqrt(heads)."},
    ]},
    {"right": lambda rng, s: CausalLinearAttention(rng, s["D"], s["K"], s["V"]), "inputs": normal("B T D"),
     "sizes": dict(B=2, T=5, D=3, K=4, V=6), "wrong": [
        {"name": "linear-attention-sum-runs-forward",
         "change": ("for t in reversed(range(x.shape[1])):", "for t in range(x.shape[1]):"),
         "large": dict(B=16, T=24, D=32, K=10, V=12),
         "keywords": ["direction", "revers", "later", "future", "order", "time", "cumul"],
         "truth": "The state's gradient is summed from the first time step on instead of from the last back: the "
         "running sum has the wrong direction."},
        {"name": "linear-attention-state-before-update",
         "change": ('dq[:, t] = np.einsum("bvk,bv->bk", states[t], dy[:, t])',
                    'dq[:, t] = np.einsum("bvk,bv->bk", states[t - 1], dy[:, t]) if t > 0 else 0'),
         "keywords": ["state", "t-1", "t - 1", "stale", "before", "previous", "off by one", "shift"],
         "truth": "The gradient of the query uses the state before the update, S_(t-1), instead of S_t."},
        {"name": "linear-attention-slope-of-exponential",
         "change": ("dq, dk = 0.5 * dq * q, 0.5 * dk * k", "dq, dk = 0.5 * dq * q, 0.5 * dk"),
         "keywords": ["slope", "exp", "factor", "derivative"],
         "truth": "The slope of the exponential in the keys is forgotten: dk is not multiplied by k."},
    ]},
    {"right": lambda rng, s: AdditiveAttention(rng, s["D"], s["E"], s["H"]), "inputs": normal("B D", "B S E"),
     "sizes": dict(B=3, S=5, D=4, E=6, H=7), "wrong": [
        {"name": "additive-attention-slope-not-squared",
         "change": ("da = ds[:, :, None] * self.v.data * (1 - h * h)", "da = ds[:, :, None] * self.v.data * (1 - h)"),
         "keywords": ["slope", "tanh", "1 - h", "derivative"],
         "truth": "The slope of tanh is taken as 1 - h instead of 1 - h * h."},
        {"name": "additive-attention-mean-over-keys", "change": ("da = da.sum(axis=1)", "da = da.mean(axis=1)"),
         "keywords": ["mean", "sum", "factor", "averag", "number"],
         "truth": "The query's gradient is averaged over the keys instead of summed: it is too small by the number of keys."},
        {"name": "additive-attention-keys-only-in-scores",
         "change": ("dkeys = p[:, :, None] * dcontext[:, None, :] + da @ self.w.data.T", "dkeys = da @ self.w.data.T"),
         "keywords": ["path", "missing", "average", "direct", "lacks"],
         "truth": "The gradient of the keys lacks the path through the weighted average, p * dcontext."},
    ]},
    {"right": lambda rng, s: AttentionPooling(rng, s["D"]), "inputs": normal("B T D"), "sizes": dict(B=3, T=5, D=4), "wrong": [
        {"name": "attention-pooling-weights-taken-as-constant",
         "change": ("return a[..., None] * dy[:, None] + ds[..., None] * self.w.data", "return a[..., None] * dy[:, None]"),
         "large": dict(B=16, T=24, D=32), "keywords": ["path", "missing", "score", "constant", "softmax", "detach", "weights"],
         "truth": "The gradient of x takes the pooling weights for constants: the path through the scores, ds * w, is missing."},
        {"name": "attention-pooling-gradient-from-output",
         "change": ("self.w.grad += (ds[..., None] * x).sum(axis=(0, 1))",
                    "self.w.grad += (ds[..., None] * (a[..., None] * x)).sum(axis=(0, 1))"),
         "keywords": ["weighted", "input", "instead of x", "a * x", "wrong value", "factor"],
         "truth": "The gradient of w is formed with the weighted rows a * x instead of with the rows x."},
    ]},
    {"right": lambda rng, s: RelativeBiasAttention(rng, s["T"], s["D"]), "inputs": normal("B T D"), "sizes": dict(B=3, T=5, D=4),
     "wrong": [
        {"name": "relative-bias-repeated-index-overwritten",
         "change": ("np.add.at(self.bias.grad, self.index, ds.sum(axis=0))", "self.bias.grad[self.index] += ds.sum(axis=0)"),
         "large": dict(B=16, T=24, D=32),
         "keywords": ["repeat", "duplicate", "add.at", "more than once", "overwrit", "only one", "last"],
         "truth": "The distances repeat, and the indexed += keeps only one of the pairs with each distance instead of their sum."},
        {"name": "relative-bias-index-transposed",
         "change": ("np.add.at(self.bias.grad, self.index, ds.sum(axis=0))",
                    "np.add.at(self.bias.grad, self.index.T, ds.sum(axis=0))"),
         "keywords": ["transpos", "revers", "i - j", "mirror", "flip", "order"],
         "truth": "The bias's gradient is collected at the distance i - j instead of j - i: the index is transposed, "
         "the table reversed."},
        {"name": "relative-bias-scores-one-sided", "change": ("dx += 0.3 * (ds + np.swapaxes(ds, 1, 2)) @ x", "dx += 0.3 * ds @ x"),
         "keywords": ["both", "transpos", "missing", "path", "key", "twice"],
         "truth": "x is on both sides of the scores x x^T, but only the query's side reaches dx: the transposed term is missing."},
    ]},
    {"right": lambda rng, s: SlopeAttention(rng, s["H"], s["D"]), "inputs": normal("B T D"), "sizes": dict(B=3, T=5, D=4, H=2),
     "wrong": [
        {"name": "slope-attention-sign-of-slope",
         "change": ('self.slope.grad -= np.einsum("bhij,ij->h", ds, distance)',
                    'self.slope.grad += np.einsum("bhij,ij->h", ds, distance)'),
         "keywords": ["sign", "minus", "negat"],
         "truth": "The gradient of the slopes has the wrong sign: the distance is subtracted in the scores."},
        {"name": "slope-attention-mean-over-heads",
         "change": ("ddots = ds.sum(axis=1) / x.shape[-1]", "ddots = ds.mean(axis=1) / x.shape[-1]"),
         "keywords": ["mean", "sum", "head", "factor", "averag"],
         "truth": "The gradient of the dot products, shared by all heads, is averaged over the heads instead of summed."},
    ]},
    {"right": lambda rng, s: LearntRotary(rng, s["P"]), "inputs": pairs_of_features, "sizes": dict(B=2, T=5, P=3), "wrong": [
        {"name": "rotary-turned-the-same-way",
         "change": ("return np.stack([da * c + db * s, db * c - da * s], axis=-1).reshape(dy.shape)",
                    "return np.stack([da * c - db * s, da * s + db * c], axis=-1).reshape(dy.shape)"),
         "large": dict(B=16, T=24, P=12), "keywords": ["transpos", "angle", "rotat", "sign", "opposite", "inverse"],
         "truth": "Backward turns the gradient by the same angle as forward, instead of by the opposite one: the "
         "rotation is not transposed."},
        {"name": "rotary-rate-without-position",
         "change": ('self.rate.grad += np.einsum("btp,t->p", dangle, position)', 'self.rate.grad += np.einsum("btp->p", dangle)'),
         "keywords": ["position", "factor", "time"],
         "truth": "The gradient of the rate lacks the factor position, by which the rate is multiplied."},
    ]},
]
