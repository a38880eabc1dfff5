"""Layers of users: embeddings, positions, inputs, outputs, residuals, recurrent cells."""

import numpy as np

from library import (
    RNN,
    AttentionalState,
    Embedding,
    Input,
    Layer,
    MeanOverTokens,
    OutputProjection,
    Parameter,
    Residual,
    SinusoidalPositions,
)
from own_parts import OwnCache, leading, rows, scalar

# ---- embeddings and inputs


class PlainEmbedding(Embedding):
    """y = W[ids], without the factor sqrt(d_model)."""

    def forward(self, ids):
        return self.weight.data[ids], OwnCache(ids)

    def backward(self, dy, cache):
        np.add.at(self.weight.grad, cache.x, dy)


class ScaledEmbedding(Embedding):
    """The library's, times a learned number."""

    def __init__(self, vocab_size, d_model, rng=None):
        super().__init__(vocab_size, d_model, rng)
        self.scale = scalar(0.9)

    def forward(self, ids):
        y, inner = super().forward(ids)
        return self.scale.data * y, OwnCache(y, inner)

    def backward(self, dy, cache):
        self.scale.grad += (dy * cache.x).sum()
        super().backward(self.scale.data * dy, cache.inner)


class FactorisedEmbedding(Layer):
    """y = table[ids] up: a narrow table (V, r) and a matrix (r, d_model); it has no `weight`."""

    def __init__(self, vocab_size, d_model, rng, width=3):
        self.table = Parameter(rng.standard_normal((vocab_size, width)))
        self.up = Parameter(rng.standard_normal((width, d_model)))

    def forward(self, ids):
        low = self.table.data[ids]
        return low @ self.up.data, OwnCache(ids, low)

    def backward(self, dy, cache):
        self.up.grad += rows(cache.inner).T @ rows(dy)
        np.add.at(self.table.grad, cache.x, dy @ self.up.data.T)


class FrozenEmbedding(Embedding):
    frozen_names = ("weight",)

    def backward(self, dy, cache):
        return None


class ScaledInput(Input):
    """A learned number on the sum of embeddings and positions."""

    def __init__(self, embedding, positions, dropout):
        super().__init__(embedding, positions, dropout)
        self.scale = scalar(0.7)

    def forward(self, ids, rng=None):
        y, inner = super().forward(ids, rng)
        return self.scale.data * y, OwnCache(y, inner)

    def backward(self, dy, cache):
        self.scale.grad += (dy * cache.x).sum()
        super().backward(self.scale.data * dy, cache.inner)


class NormedInput(Input):
    """A LayerNorm after embeddings and positions, as in BERT."""

    def __init__(self, embedding, positions, dropout, norm):
        super().__init__(embedding, positions, dropout)
        self.norm = norm

    def forward(self, ids, rng=None):
        x, inner = super().forward(ids, rng)
        y, norm = self.norm.forward(x)
        return y, OwnCache(None, inner, norm)

    def backward(self, dy, cache):
        super().backward(self.norm.backward(dy, cache.more), cache.inner)


class HalfPositions(SinusoidalPositions):
    """Half as large, in both of its methods."""

    def forward(self, x):
        y, cache = super().forward(x)
        return 0.5 * x + 0.5 * y, cache

    def at(self, x, position):
        return 0.5 * x + 0.5 * super().at(x, position)


class HalfPositionsInForward(SinusoidalPositions):
    """Half as large, in `forward` alone: all that docs/add_a_layer.md speaks of."""

    def forward(self, x):
        y, cache = super().forward(x)
        return 0.5 * x + 0.5 * y, cache


class RampPositions(Layer):
    """Written from scratch, with a learned slope: y = x + slope t / 10."""

    max_length = 1000

    def __init__(self, d_model):
        self.slope = Parameter(np.linspace(-1, 1, d_model))

    def forward(self, x):
        t = np.arange(x.shape[1])[:, None] / 10
        return x + t * self.slope.data, OwnCache(x.shape)

    def at(self, x, position):
        return x + position / 10 * self.slope.data

    def backward(self, dy, cache):
        t = np.arange(dy.shape[1])[:, None] / 10
        self.slope.grad += (dy * t).sum(axis=(0, 1))
        return dy


# ---- outputs


class BiasedOutput(OutputProjection):
    """logits = x W^T + b."""

    def __init__(self, vocab_size, d_model, rng=None, weight=None):
        super().__init__(vocab_size, d_model, rng, weight)
        self.bias = Parameter(np.linspace(-0.5, 0.5, vocab_size))

    def forward(self, x):
        logits, cache = super().forward(x)
        return logits + self.bias.data, cache

    def backward(self, dlogits, cache):
        self.bias.grad += dlogits.sum(axis=leading(dlogits))
        return super().backward(dlogits, cache)


class CappedOutput(OutputProjection):
    """logits = 2 tanh(x W^T / 2)."""

    def forward(self, x):
        logits, inner = super().forward(x)
        tanh = np.tanh(logits / 2)
        return 2 * tanh, OwnCache(tanh, inner)

    def backward(self, dlogits, cache):
        return super().backward(dlogits * (1 - cache.x * cache.x), cache.inner)


class TemperatureOutput(OutputProjection):
    """logits = x W^T / temperature, one learned number."""

    def __init__(self, vocab_size, d_model, rng=None, weight=None):
        super().__init__(vocab_size, d_model, rng, weight)
        self.coldness = scalar(1.4)

    def forward(self, x):
        logits, inner = super().forward(x)
        return self.coldness.data * logits, OwnCache(logits, inner)

    def backward(self, dlogits, cache):
        self.coldness.grad += (dlogits * cache.x).sum()
        return super().backward(self.coldness.data * dlogits, cache.inner)


# ---- residuals, pooling, recurrent cells


class ScaledResidual(Residual):
    """Like ReZero: the sub-layer's output times a learned number."""

    def __init__(self, d_model, dropout=0.0, pre_norm=False, norm=None):
        super().__init__(d_model, dropout, pre_norm, norm)
        self.scale = scalar(0.6)

    def forward(self, x, h, rng=None):
        y, inner = super().forward(x, self.scale.data * h, rng)
        return y, OwnCache(h, inner)

    def backward(self, dy, cache):
        dx, dscaled = super().backward(dy, cache.inner)
        self.scale.grad += (dscaled * cache.x).sum()
        return dx, self.scale.data * dscaled


class NoResidual(Residual):
    """The sub-layer's output without x."""

    def forward(self, x, h, rng=None):
        return h, OwnCache(None)

    def backward(self, dy, cache):
        return np.zeros_like(dy), dy


class ScaledMean(MeanOverTokens):
    def __init__(self):
        self.scale = scalar(1.5)

    def forward(self, x, real):
        y, inner = super().forward(x, real)
        return self.scale.data * y, OwnCache(y, inner)

    def backward(self, dy, cache):
        self.scale.grad += (dy * cache.x).sum()
        return super().backward(self.scale.data * dy, cache.inner)


def leaky_step_forward(z, h, weight):
    """h' = h / 2 + tanh(z + h U) / 2."""
    tanh = np.tanh(z + h @ weight)
    return 0.5 * h + 0.5 * tanh, OwnCache(h, weight, tanh)


def leaky_step_backward(dafter, cache):
    h, weight, tanh = cache
    dz = 0.5 * dafter * (1 - tanh * tanh)
    return dz, 0.5 * dafter + dz @ weight.T, h.T @ dz


class LeakyRNN(RNN):
    step = leaky_step_forward, leaky_step_backward


class ScaledReadout(AttentionalState):
    """The library's, times a learned number."""

    def __init__(self, attention, d_model, d_memory, rng=None, dropout=0.0):
        super().__init__(attention, d_model, d_memory, rng, dropout)
        self.scale = scalar(1.5)

    def forward(self, x, memory, mask=None, rng=None):
        y, inner = super().forward(x, memory, mask, rng)
        return self.scale.data * y, OwnCache(y, inner)

    def backward(self, dy, cache):
        self.scale.grad += (dy * cache.x).sum()
        return super().backward(self.scale.data * dy, cache.inner)
