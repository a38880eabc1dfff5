"""Larger pieces as users write them: kinds of attention, layers of a stack, stacks, models."""

import math
from typing import Any, NamedTuple

import numpy as np

from library import (
    CrossAttention,
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    GroupedQueryAttention,
    GRUModel,
    LanguageModel,
    Layer,
    Linear,
    LSTMAttentionModel,
    SelfAttention,
    Transformer,
)
from own_parts import OwnCache, scalar

# ---- attention: each mixin goes before SelfAttention, CrossAttention or GroupedQueryAttention


class Temperature:
    """`attend` overridden: queries times a learned number."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.temperature = scalar(1.3)

    def attend(self, q, k, v, mask, rng):
        y, inner = super().attend(self.temperature.data * q, k, v, mask, rng)
        return y, OwnCache(q, inner)

    def attend_backward(self, dheads, cache):
        dq, dk, dv = super().attend_backward(dheads, cache.inner)
        self.temperature.grad += (dq * cache.x).sum()
        return self.temperature.data * dq, dk, dv


class ScoresCache(NamedTuple):
    q: Any
    k: Any
    v: Any
    p: Any


class OwnScores:
    """`attend` from scratch: softmax(q k^T / sqrt(d_k) + bias), one more weight goes nowhere."""

    def bias(self, queries, keys):
        return np.zeros((queries, keys))

    def attend(self, q, k, v, mask, rng):
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]) + self.bias(q.shape[2], k.shape[2])
        kept = np.broadcast_to(True if mask is None else mask, scores.shape)
        peak = np.where(kept, scores.real, 0).max(axis=-1, keepdims=True).clip(min=0)
        weights = np.where(kept, np.exp(np.where(kept, scores - peak, 0)), 0)
        p = weights / (weights.sum(axis=-1, keepdims=True) + np.exp(-peak))
        return p @ v, ScoresCache(q, k, v, p)

    def attend_backward(self, dheads, cache):
        q, k, v, p = cache
        dp = dheads @ v.swapaxes(-1, -2)
        dscores = p * (dp - (dp * p).sum(axis=-1, keepdims=True)) / math.sqrt(q.shape[-1])
        return dscores @ k, dscores.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ dheads


class Distance(OwnScores):
    """Like ALiBi: what is farther away counts less."""

    def bias(self, queries, keys):
        return -0.3 * np.abs(np.arange(queries)[:, None] - np.arange(keys))


class OwnHeads:
    """`split` and `merge` overridden: neighbouring numbers belong to different heads."""

    def split(self, x):
        batch, length, width = x.shape
        heads = self.num_heads
        return x.reshape(batch, length, width // heads, heads).transpose(0, 3, 1, 2)

    def merge(self, x):
        batch, heads, length, d = x.shape
        return x.transpose(0, 2, 3, 1).reshape(batch, length, heads * d)


class SkipSelf:
    """`forward` and `backward` overridden: y = attention(x) + 0.3 x."""

    def forward(self, x, mask=None, rng=None):
        y, cache = super().forward(x, mask, rng)
        return y + 0.3 * x, cache

    def backward(self, dy, cache):
        return super().backward(dy, cache) + 0.3 * dy


class SkipCross:
    def forward(self, x, memory, mask=None, rng=None):
        y, cache = super().forward(x, memory, mask, rng)
        return y + 0.3 * x, cache

    def backward(self, dy, cache):
        dx, dmemory = super().backward(dy, cache)
        return dx + 0.3 * dy, dmemory


class TemperatureSelf(Temperature, SelfAttention):
    pass


class SinkSelf(OwnScores, SelfAttention):
    pass


class DistanceSelf(Distance, SelfAttention):
    pass


class OwnHeadsSelf(OwnHeads, SelfAttention):
    pass


class SkippingSelf(SkipSelf, SelfAttention):
    pass


class EmptySelf(SelfAttention):
    """A subclass that changes nothing."""


class TemperatureGrouped(Temperature, GroupedQueryAttention):
    pass


class SkippingGrouped(SkipSelf, GroupedQueryAttention):
    pass


class TemperatureCross(Temperature, CrossAttention):
    pass


class SinkCross(OwnScores, CrossAttention):
    pass


class OwnHeadsCross(OwnHeads, CrossAttention):
    pass


class SkippingCross(SkipCross, CrossAttention):
    pass


class MeanSelf(Layer):
    """Not derived from anything: y_t = the mean of x_s W + b over what t may attend to."""

    def __init__(self, d_model, rng):
        self.mix = Linear(d_model, d_model, rng)

    def forward(self, x, mask=None, rng=None):
        h, mix = self.mix.forward(x)
        batch, length, _ = x.shape
        kept = np.broadcast_to(True if mask is None else mask, (batch, 1, length, length))[:, 0]
        share = kept / np.maximum(kept.sum(axis=-1, keepdims=True), 1)
        return share @ h, OwnCache(share, mix)

    def backward(self, dy, cache):
        return self.mix.backward(cache.x.swapaxes(-1, -2) @ dy, cache.inner)


# ---- layers of a stack


class ReZeroEncoderLayer(EncoderLayer):
    """y = x + alpha (layer(x) - x), alpha one learned number."""

    def __init__(self, config, rng=None, causal=False):
        super().__init__(config, rng, causal)
        self.alpha = scalar(0.4)

    def forward(self, x, mask=None, rng=None):
        y, inner = super().forward(x, mask, rng)
        return x + self.alpha.data * (y - x), OwnCache(y - x, inner)

    def backward(self, dy, cache):
        self.alpha.grad += (dy * cache.x).sum()
        return dy - self.alpha.data * dy + super().backward(self.alpha.data * dy, cache.inner)


class ParallelCache(NamedTuple):
    norm: Any
    attention: Any
    feed_forward: Any


class ParallelEncoderLayer(EncoderLayer):
    """y = x + attention(norm(x)) + feed_forward(norm(x)), as in GPT-J: one norm."""

    def forward(self, x, mask=None, rng=None):
        h, norm = self.self_attention_residual.norm.forward(x)
        a, attention = self.self_attention.forward(h, mask, rng=rng)
        f, feed_forward = self.feed_forward.forward(h, rng=rng)
        return x + a + f, ParallelCache(norm, attention, feed_forward)

    def backward(self, dy, cache):
        dh = self.feed_forward.backward(dy, cache.feed_forward)
        dh = dh + self.self_attention.backward(dy, cache.attention)
        return dy + self.self_attention_residual.norm.backward(dh, cache.norm)


class OwnEncoderLayer(Layer):
    """Not derived from EncoderLayer, with names of its own: y = x + attention(norm(x))."""

    def __init__(self, attention, norm):
        self.mixer, self.before = attention, norm

    def forward(self, x, mask=None, rng=None):
        h, before = self.before.forward(x)
        h, mixer = self.mixer.forward(h, mask, rng=rng)
        return x + h, OwnCache(None, mixer, before)

    def backward(self, dy, cache):
        return dy + self.before.backward(self.mixer.backward(dy, cache.inner), cache.more)


class ReZeroDecoderLayer(DecoderLayer):
    def __init__(self, config, rng=None):
        super().__init__(config, rng)
        self.alpha = scalar(0.4)

    def forward(self, x, memory, mask=None, memory_mask=None, rng=None):
        y, inner = super().forward(x, memory, mask, memory_mask, rng)
        return x + self.alpha.data * (y - x), OwnCache(y - x, inner)

    def backward(self, dy, cache):
        self.alpha.grad += (dy * cache.x).sum()
        dx, dmemory = super().backward(self.alpha.data * dy, cache.inner)
        return dy - self.alpha.data * dy + dx, dmemory


class CrossFirstCache(NamedTuple):
    cross_norm: Any
    cross: Any
    self_norm: Any
    own: Any


class CrossFirstDecoderLayer(DecoderLayer):
    """Cross-attention first, then self-attention, both pre-norm, no feed-forward."""

    def forward(self, x, memory, mask=None, memory_mask=None, rng=None):
        h, cross_norm = self.cross_attention_residual.norm.forward(x)
        h, cross = self.cross_attention.forward(h, memory, memory_mask, rng=rng)
        x = x + h
        h, self_norm = self.self_attention_residual.norm.forward(x)
        h, own = self.self_attention.forward(h, mask, rng=rng)
        return x + h, CrossFirstCache(cross_norm, cross, self_norm, own)

    def backward(self, dy, cache):
        dh = self.self_attention.backward(dy, cache.own)
        dx = dy + self.self_attention_residual.norm.backward(dh, cache.self_norm)
        dh, dmemory = self.cross_attention.backward(dx, cache.cross)
        return dx + self.cross_attention_residual.norm.backward(dh, cache.cross_norm), dmemory


# ---- stacks


class SkipEncoder(Encoder):
    """y = x + stack(x). Made from the layers of another."""

    def __init__(self, other):
        self.layers, self.norm = list(other.layers), other.norm

    def forward(self, x, mask=None, rng=None):
        y, cache = super().forward(x, mask, rng)
        return x + y, cache

    def backward(self, dy, cache):
        return dy + super().backward(dy, cache)


class LoopedEncoder(SkipEncoder):
    """The same layers twice, as in the Universal Transformer."""

    def forward(self, x, mask=None, rng=None):
        x, first = Encoder.forward(self, x, mask, rng)
        x, second = Encoder.forward(self, x, mask, rng)
        return x, OwnCache(None, first, second)

    def backward(self, dy, cache):
        dy = Encoder.backward(self, dy, cache.more)
        return Encoder.backward(self, dy, cache.inner)


class BareEncoder(Layer):
    """Not derived from Encoder, with a list of another name and without a last norm."""

    def __init__(self, other):
        self.blocks = list(other.layers)

    def forward(self, x, mask=None, rng=None):
        caches = []
        for block in self.blocks:
            x, cache = block.forward(x, mask, rng)
            caches.append(cache)
        return x, OwnCache(None, caches)

    def backward(self, dy, cache):
        for block, one in zip(reversed(self.blocks), reversed(cache.inner)):
            dy = block.backward(dy, one)
        return dy


class SkipDecoder(Decoder):
    def __init__(self, other):
        self.layers, self.norm = list(other.layers), other.norm

    def forward(self, x, memory, mask=None, memory_mask=None, rng=None):
        y, cache = super().forward(x, memory, mask, memory_mask, rng)
        return x + y, cache

    def backward(self, dy, cache):
        dx, dmemory = super().backward(dy, cache)
        return dy + dx, dmemory


# ---- models


class Cold:
    """`hidden` overridden: half as large."""

    def hidden(self, *inputs, rng=None):
        y, cache = super().hidden(*inputs, rng=rng)
        return 0.5 * y, cache

    def hidden_backward(self, dy, cache):
        super().hidden_backward(0.5 * dy, cache)


class ColdTransformer(Cold, Transformer):
    pass


class ColdLanguageModel(Cold, LanguageModel):
    pass


class ColdGRUModel(Cold, GRUModel):
    pass


class ColdLSTMAttentionModel(Cold, LSTMAttentionModel):
    pass


class ShiftedMemory(Transformer):
    """`encode` overridden: a constant is added to the memory, whose gradient is what it was."""

    def encode(self, source, rng=None):
        memory, cache = super().encode(source, rng)
        return memory + 0.25, cache


class ShiftedDecode(Transformer):
    """`decode` overridden in the same way."""

    def decode(self, target, memory, source, rng=None):
        y, cache = super().decode(target, memory, source, rng)
        return y + np.linspace(-1, 1, y.shape[-1]), cache
