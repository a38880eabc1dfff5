"""The encoder layer and the encoder stack (section 3.1 of the paper)."""

from typing import NamedTuple

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


class EncoderLayerCache(NamedTuple):
    self_attention_entered: LayerNormCache | None    # pre-norm only
    self_attention: MultiHeadAttentionCache
    self_attention_residual: ResidualCache
    feed_forward_entered: LayerNormCache | None      # pre-norm only
    feed_forward: FeedForwardCache
    feed_forward_residual: ResidualCache


class EncoderLayer(Layer):
    """Self-attention, then feed-forward, each in a residual: x, y (B, T, d_model).

    `config` is a StackConfig. The paper's attention gets from its mask where it may look; a kind without one gets it from `causal`.
    """

    def __init__(self, config: StackConfig, rng: Generator | None = None, causal: bool = False):
        self.self_attention = ATTENTIONS[config.attention].make_self(config, rng, causal)
        self.feed_forward = FeedForward.of(config, rng)
        self.self_attention_residual = Residual.of(config)
        self.feed_forward_residual = Residual.of(config)
        initial.shrink_ends(config.num_layers, self.self_attention, self.feed_forward)

    def forward(self, x: Array, mask: Array | None = None,
                rng: Generator | None = None) -> tuple[Array, EncoderLayerCache]:
        """mask: None or bool, (T, T) or with four axes that broadcast to (B, H, T, T); True = may attend."""
        h, self_attention_entered = self.self_attention_residual.enter(x)
        h, self_attention = self.self_attention.forward(h, mask, rng=rng)
        x, self_attention_residual = self.self_attention_residual.forward(x, h, rng)

        h, feed_forward_entered = self.feed_forward_residual.enter(x)
        h, feed_forward = self.feed_forward.forward(h, rng=rng)
        y, feed_forward_residual = self.feed_forward_residual.forward(x, h, rng)
        return y, EncoderLayerCache(self_attention_entered, self_attention, self_attention_residual,
                                    feed_forward_entered, feed_forward, feed_forward_residual)

    def backward(self, dy: Array, cache: EncoderLayerCache) -> Array:
        """dy, dx: (B, T, d_model). Each x goes past the sub-layer and through it, so its gradient is a sum."""
        check_cache(self, cache, EncoderLayerCache)
        dx, dh = self.feed_forward_residual.backward(dy, cache.feed_forward_residual)
        dh = self.feed_forward.backward(dh, cache.feed_forward)
        dx = dx + self.feed_forward_residual.enter_backward(dh, cache.feed_forward_entered)

        dx, dh = self.self_attention_residual.backward(dx, cache.self_attention_residual)
        dh = self.self_attention.backward(dh, cache.self_attention)
        dx = dx + self.self_attention_residual.enter_backward(dh, cache.self_attention_entered)
        return dx


class EncoderCache(NamedTuple):
    layers: list                   # one EncoderLayerCache each
    norm: LayerNormCache | None    # pre-norm only


class Encoder(Layer):
    """The stack: x (B, T, d_model) -> memory (B, T, d_model).

    The output of post-norm layers is already normalised; pre-norm needs one more LayerNorm, because
    nothing has normalised the residual stream.
    """

    def __init__(self, config: StackConfig, rng: Generator | None = None, causal: bool = False):
        self.layers = [EncoderLayer(config, rng, causal) for _ in range(config.num_layers)]
        self.norm = NORMS[config.norm](config.d_model, config.norm_epsilon) if config.pre_norm else None

    def forward(self, x: Array, mask: Array | None = None,
                rng: Generator | None = None) -> tuple[Array, EncoderCache]:
        caches = []
        for layer in self.layers:
            x, cache = layer.forward(x, mask, rng)
            caches.append(cache)
        x, norm = self.norm.forward(x) if self.norm else (x, None)
        return x, EncoderCache(caches, norm)

    def backward(self, dy: Array, cache: EncoderCache) -> Array:
        """dy, dx: (B, T, d_model)."""
        check_cache(self, cache, EncoderCache)
        if self.norm:
            dy = self.norm.backward(dy, cache.norm)
        for layer, layer_cache in zip(reversed(self.layers), reversed(cache.layers)):
            dy = layer.backward(dy, layer_cache)
        return dy
