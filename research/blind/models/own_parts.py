"""Small layers as users write them: norms, activations, feed-forward networks, linear layers.

Each is correct: forward and backward agree, nothing is kept on the layer, the dtype is the input's,
and the complex step passes through.
"""

from typing import Any, NamedTuple

import numpy as np

from library import (
    ACTIVATIONS,
    GATES,
    NORMS,
    FeedForward,
    Layer,
    LayerNorm,
    Linear,
    Parameter,
    dropout_backward,
    dropout_forward,
    layer_norm_backward,
)


class OwnCache(NamedTuple):
    x: Any
    inner: Any = None
    more: Any = None


def scalar(value) -> Parameter:
    return Parameter(np.array(value, np.float64))


def leading(x) -> tuple:
    """All axes but the last."""
    return tuple(range(x.ndim - 1))


# ---- norms


class OwnRMSNorm(Layer):
    """The layer of docs/add_a_layer.md."""

    def __init__(self, d_model, epsilon=1e-6):
        self.gamma = Parameter(np.ones(d_model))
        self.epsilon = epsilon

    def forward(self, x):
        inverse = 1 / np.sqrt((x * x).mean(axis=-1, keepdims=True) + self.epsilon)
        normed = x * inverse
        return self.gamma.data * normed, OwnCache(normed, inverse)

    def backward(self, dy, cache):
        normed, inverse, _ = cache
        self.gamma.grad += (dy * normed).sum(axis=leading(dy))
        dn = dy * self.gamma.data
        return inverse * (dn - normed * (dn * normed).mean(axis=-1, keepdims=True))


class ScaleNorm(Layer):
    """y = g x / sqrt(mean(x^2) + epsilon), with one number g."""

    def __init__(self):
        self.g = scalar(1.3)

    def forward(self, x):
        inverse = 1 / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-3)
        return self.g.data * (x * inverse), OwnCache(x * inverse, inverse)

    def backward(self, dy, cache):
        normed, inverse, _ = cache
        self.g.grad += (dy * normed).sum()
        dn = dy * self.g.data
        return inverse * (dn - normed * (dn * normed).mean(axis=-1, keepdims=True))


class NoNorm(Layer):
    def forward(self, x):
        return x, OwnCache(None)

    def backward(self, dy, cache):
        return dy


class TanhNorm(Layer):
    """y = gamma tanh(alpha x) + beta (Zhu et al. 2025), alpha one number."""

    def __init__(self, d_model):
        self.alpha = scalar(0.7)
        self.gamma = Parameter(np.linspace(0.8, 1.2, d_model))
        self.beta = Parameter(np.linspace(-0.1, 0.1, d_model))

    def forward(self, x):
        tanh = np.tanh(self.alpha.data * x)
        return self.gamma.data * tanh + self.beta.data, OwnCache(x, tanh)

    def backward(self, dy, cache):
        x, tanh, _ = cache
        self.gamma.grad += (dy * tanh).sum(axis=leading(dy))
        self.beta.grad += dy.sum(axis=leading(dy))
        da = dy * self.gamma.data * (1 - tanh * tanh)
        self.alpha.grad += (da * x).sum()
        return da * self.alpha.data


class ScaledLayerNorm(LayerNorm):
    """A subclass of the library's with a scale that has no dimensions."""

    def __init__(self, d_model, epsilon=1e-5):
        super().__init__(d_model, epsilon)
        self.scale = scalar(1.2)

    def forward(self, x):
        y, inner = super().forward(x)
        return self.scale.data * y, OwnCache(y, inner)

    def backward(self, dy, cache):
        self.scale.grad += (dy * cache.x).sum()
        return super().backward(self.scale.data * dy, cache.inner)


class FrozenLayerNorm(LayerNorm):
    frozen_names = "gamma", "beta"

    def backward(self, dy, cache):
        return layer_norm_backward(dy, cache)[0]


NORMS["own"] = OwnRMSNorm


# ---- activations, put into the table that the feed-forward networks look them up in


def squared_forward(x):
    """y = max(0, x)^2."""
    positive = x * (x.real > 0)
    return positive * positive, OwnCache(positive)


def squared_backward(dy, cache):
    return 2 * cache.x * dy


def silu_forward(x):
    sigmoid = 1 / (1 + np.exp(-x))
    return x * sigmoid, OwnCache(x, sigmoid)


def silu_backward(dy, cache):
    x, sigmoid, _ = cache
    return dy * sigmoid * (1 + x * (1 - sigmoid))


def tanh_forward(x):
    tanh = np.tanh(x)
    return tanh, OwnCache(tanh)


def tanh_backward(dy, cache):
    return dy * (1 - cache.x * cache.x)


ACTIVATIONS["squared"] = squared_forward, squared_backward
ACTIVATIONS["silu"] = silu_forward, silu_backward
GATES["tanhglu"] = tanh_forward, tanh_backward


# ---- feed-forward networks


class ScaledFeedForward(FeedForward):
    """The library's, times a learned number."""

    def __init__(self, d_model, d_ff, rng=None, activation="relu", dropout=0.0):
        super().__init__(d_model, d_ff, rng, activation, dropout)
        self.scale = scalar(0.8)

    def forward(self, x, rng=None):
        y, inner = super().forward(x, rng)
        return self.scale.data * y, OwnCache(y, inner)

    def backward(self, dy, cache):
        self.scale.grad += (dy * cache.x).sum()
        return super().backward(self.scale.data * dy, cache.inner)


class TanhFeedForward(Layer):
    """Written from scratch: y = tanh(x W1 + b1) W2 + b2."""

    def __init__(self, d_model, d_ff, rng):
        self.first, self.second = Linear(d_model, d_ff, rng), Linear(d_ff, d_model, rng)

    def forward(self, x, rng=None):
        h, first = self.first.forward(x)
        tanh = np.tanh(h)
        y, second = self.second.forward(tanh)
        return y, OwnCache(tanh, first, second)

    def backward(self, dy, cache):
        dh = self.second.backward(dy, cache.more)
        return self.first.backward(dh * (1 - cache.x * cache.x), cache.inner)


# ---- linear layers


class FrozenLinear(Linear):
    frozen_names = "weight", "bias"

    def backward(self, dy, cache):
        return dy @ self.weight.data.T


class LoRALinear(Linear):
    """y = x (W + A B) + b: W and b are frozen, A and B are learned."""

    frozen_names = "weight", "bias"

    def __init__(self, base, rng, rank=2):
        self.weight, self.bias = base.weight, base.bias
        d_in, d_out = base.weight.shape
        self.a = Parameter(rng.standard_normal((d_in, rank)) * 0.3)
        self.b = Parameter(rng.standard_normal((rank, d_out)) * 0.3)

    def forward(self, x):
        low = x @ self.a.data
        return x @ self.weight.data + low @ self.b.data + self.bias.data, OwnCache(x, low)

    def backward(self, dy, cache):
        x, low, _ = cache
        dlow = dy @ self.b.data.T
        self.b.grad += rows(low).T @ rows(dy)
        self.a.grad += rows(x).T @ rows(dlow)
        return dy @ self.weight.data.T + dlow @ self.a.data.T


class ScaledLinear(Linear):
    """y = s (x W + b), s one number."""

    def __init__(self, d_in, d_out, rng=None):
        super().__init__(d_in, d_out, rng)
        self.s = scalar(1.1)

    def forward(self, x):
        y, inner = super().forward(x)
        return self.s.data * y, OwnCache(y, inner)

    def backward(self, dy, cache):
        self.s.grad += (dy * cache.x).sum()
        return super().backward(self.s.data * dy, cache.inner)


def rows(x):
    return x.reshape(-1, x.shape[-1])
