"""The decoder layer and the decoder stack (section 3.1 of the paper)."""

from typing import Any, NamedTuple

from minitransformer.backend import Array, Generator
from minitransformer.checks import check_cache
from minitransformer.functional.layer_norm import LayerNormCache
from minitransformer.layers import initial
from minitransformer.layers.attention import MultiHeadAttentionCache
from minitransformer.layers.attention_kinds import ATTENTIONS
from minitransformer.layers.config import StackConfig
from minitransformer.layers.feed_forward import FeedForward, FeedForwardCache
from minitransformer.layers.layer import Layer
from minitransformer.layers.layer_norm import NORMS
from minitransformer.layers.residual import Residual, ResidualCache


class DecoderLayerCache(NamedTuple):
    self_attention_entered: LayerNormCache | None    # pre-norm only, as the other two
    self_attention: MultiHeadAttentionCache
    self_attention_residual: ResidualCache
    cross_attention_entered: LayerNormCache | None
    cross_attention: MultiHeadAttentionCache
    cross_attention_residual: ResidualCache
    feed_forward_entered: LayerNormCache | None
    feed_forward: FeedForwardCache
    feed_forward_residual: ResidualCache


class DecoderLayer(Layer):
    """Self-attention, cross-attention to the memory, feed-forward, each in a residual.

    x, y: (B, T_q, d_model); memory: (B, T_k, d_model); `config` is a StackConfig.
    """

    def __init__(self, config: StackConfig, rng: Generator | None = None):
        attention = ATTENTIONS[config.attention]
        self.self_attention = attention.make_self(config, rng, causal=True)
        self.cross_attention = attention.make_cross(config, rng)
        self.feed_forward = FeedForward.of(config, rng)
        self.self_attention_residual = Residual.of(config)
        self.cross_attention_residual = Residual.of(config)
        self.feed_forward_residual = Residual.of(config)
        initial.shrink_ends(config.num_layers, self.self_attention, self.cross_attention, self.feed_forward)

    def forward(self, x: Array, memory: Array, mask: Array | None = None,
                memory_mask: Array | None = None,
                rng: Generator | None = None) -> tuple[Array, DecoderLayerCache]:
        """mask: (T_q, T_q) or four axes that broadcast to (B, H, T_q, T_q); memory_mask: in the same way to (B, H, T_q, T_k)."""
        h, self_attention_entered = self.self_attention_residual.enter(x)
        h, self_attention = self.self_attention.forward(h, mask, rng=rng)
        x, self_attention_residual = self.self_attention_residual.forward(x, h, rng)

        h, cross_attention_entered = self.cross_attention_residual.enter(x)
        h, cross_attention = self.cross_attention.forward(h, memory, memory_mask, rng=rng)
        x, cross_attention_residual = self.cross_attention_residual.forward(x, h, rng)

        h, feed_forward_entered = self.feed_forward_residual.enter(x)
        h, feed_forward = self.feed_forward.forward(h, rng=rng)
        y, feed_forward_residual = self.feed_forward_residual.forward(x, h, rng)
        return y, DecoderLayerCache(self_attention_entered, self_attention, self_attention_residual,
                                    cross_attention_entered, cross_attention, cross_attention_residual,
                                    feed_forward_entered, feed_forward, feed_forward_residual)

    def backward(self, dy: Array, cache: DecoderLayerCache) -> tuple[Array, Array]:
        """Returns dx (B, T_q, d_model) and dmemory (B, T_k, d_model)."""
        check_cache(self, cache, DecoderLayerCache)
        dx, dh = self.feed_forward_residual.backward(dy, cache.feed_forward_residual)
        dh = self.feed_forward.backward(dh, cache.feed_forward)
        dx = dx + self.feed_forward_residual.enter_backward(dh, cache.feed_forward_entered)

        dx, dh = self.cross_attention_residual.backward(dx, cache.cross_attention_residual)
        dh, dmemory = self.cross_attention.backward(dh, cache.cross_attention)
        dx = dx + self.cross_attention_residual.enter_backward(dh, cache.cross_attention_entered)

        dx, dh = self.self_attention_residual.backward(dx, cache.self_attention_residual)
        dh = self.self_attention.backward(dh, cache.self_attention)
        dx = dx + self.self_attention_residual.enter_backward(dh, cache.self_attention_entered)
        return dx, dmemory


class DecoderCache(NamedTuple):
    layers: list                   # one DecoderLayerCache each
    norm: LayerNormCache | None    # pre-norm only


class Decoder(Layer):
    """The stack: x (B, T_q, d_model), memory (B, T_k, d_model) -> y (B, T_q, d_model).

    Every layer attends to the same memory, so the memory's gradient is the sum over all layers.
    """

    def __init__(self, config: StackConfig, rng: Generator | None = None):    # without rng, its layers raise InputError
        self.layers = [DecoderLayer(config, rng) for _ in range(config.num_layers)]
        self.norm = NORMS[config.norm](config.d_model, config.norm_epsilon) if config.pre_norm else None

    def forward(self, x: Array, memory: Array, mask: Array | None = None,
                memory_mask: Array | None = None,
                rng: Generator | None = None) -> tuple[Array, DecoderCache]:
        caches = []
        for layer in self.layers:
            x, cache = layer.forward(x, memory, mask, memory_mask, rng)
            caches.append(cache)
        x, norm = self.norm.forward(x) if self.norm else (x, None)
        return x, DecoderCache(caches, norm)

    def backward(self, dy: Array, cache: DecoderCache) -> tuple[Array, Array]:
        """Returns dx (B, T_q, d_model) and dmemory (B, T_k, d_model)."""
        check_cache(self, cache, DecoderCache)
        if self.norm:
            dy = self.norm.backward(dy, cache.norm)
        dmemory: Any = 0
        for layer, layer_cache in zip(reversed(self.layers), reversed(cache.layers)):
            dy, dlayer = layer.backward(dy, layer_cache)
            dmemory = dmemory + dlayer    # every layer has read it
        return dy, dmemory
