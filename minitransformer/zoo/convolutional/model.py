"""A convolutional encoder-decoder with attention: ConvS2S (Gehring et al. 2017, https://arxiv.org/abs/1705.03122), simplified."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from minitransformer.backend import Array, module_of, to_device
from minitransformer.checks import check_cache, check_config, check_shape
from minitransformer.decoding.state import EXTRA_LENGTH
from minitransformer.functional import padding_mask
from minitransformer.functional.layer_norm import LayerNormCache
from minitransformer.functional.special import PAD
from minitransformer.layers import (
    CrossAttention, Embedding, Input, Layer, LayerNorm, LinearCrossEntropy, OutputProjection, Residual, SinusoidalPositions)
from minitransformer.layers.attention import MultiHeadAttentionCache
from minitransformer.layers.input import InputCache
from minitransformer.layers.residual import ResidualCache
from minitransformer.models.next_token import NextTokenModel
from minitransformer.models import MODELS
from minitransformer.models.transformer import EncoderDecoderConfig
from minitransformer.zoo.convolutional.gated import GatedConvolution, GatedConvolutionCache
from minitransformer.zoo.convolutional.state import ConvolutionalState

NAMED: dict[str, dict[str, Any]] = {
    "toy": dict(num_layers=2, d_model=64, dropout=0.0),
    # For small corpora such as Multi30K: about as many parameters as the tiny Transformer.
    "tiny": dict(num_layers=4, d_model=140, dropout=0.1),
}


@dataclass(frozen=True, kw_only=True)
class ConvolutionalConfig(EncoderDecoderConfig):
    """All sizes and choices of a convolutional encoder-decoder.

    `dropout` is on what a stack and each convolution read, and on what attention adds.
    """

    kind, examples = "convolutional", NAMED
    settings: ClassVar[dict[str, str]] = {"kernel_size": "how many positions a convolution sees"}

    num_layers: int = 2                  # in the encoder, and in the decoder
    d_model: int = 64                    # width of embeddings and hidden states
    dropout: float = 0.0
    kernel_size: int = 3                 # how many positions a convolution sees


class ConvolutionalDecoderLayerCache(NamedTuple):
    convolution: GatedConvolutionCache
    convolution_residual: ResidualCache
    attention: MultiHeadAttentionCache
    attention_residual: ResidualCache


class ConvolutionalDecoderLayer(Layer):
    """A causal convolution, then attention to the memory, each in a residual: x, y (B, T_q, d_model), memory (B, T_k, d_model)."""

    def __init__(self, config, rng=None):
        self.convolution = GatedConvolution(config.d_model, rng, config.kernel_size, causal=True, dropout=config.dropout)
        self.attention = CrossAttention(config.d_model, 1, rng)
        self.convolution_residual = Residual(config.d_model)
        self.attention_residual = Residual(config.d_model, config.dropout)

    def forward(self, x, memory, memory_mask=None, rng=None) -> tuple[Array, ConvolutionalDecoderLayerCache]:
        """memory_mask: None or bool, (T_q, T_k) or with four axes that broadcast to (B, 1, T_q, T_k); True = may attend."""
        h, convolution = self.convolution.forward(x, rng=rng)
        x, convolution_residual = self.convolution_residual.forward(x, h, rng)
        h, attention = self.attention.forward(x, memory, memory_mask, rng)
        y, attention_residual = self.attention_residual.forward(x, h, rng)
        return y, ConvolutionalDecoderLayerCache(convolution, convolution_residual, attention, attention_residual)

    def backward(self, dy, cache) -> tuple[Array, Array]:
        """Returns dx, dmemory."""
        check_cache(self, cache, ConvolutionalDecoderLayerCache)
        dx, dh = self.attention_residual.backward(dy, cache.attention_residual)
        dh, dmemory = self.attention.backward(dh, cache.attention)
        dx, dh = self.convolution_residual.backward(dx + dh, cache.convolution_residual)
        dh = self.convolution.backward(dh, cache.convolution)
        return dx + dh, dmemory


class ConvolutionalEncoderLayerCache(NamedTuple):
    sublayer: GatedConvolutionCache
    norm: LayerNormCache


class ConvolutionalEncoderLayer(Layer):
    """y = LayerNorm(x + convolution(x)): x, y (B, T, d_model)."""

    def __init__(self, config, rng=None):
        self.sublayer = GatedConvolution(config.d_model, rng, config.kernel_size, dropout=config.dropout)
        self.norm = LayerNorm(config.d_model)

    def forward(self, x, real=None, rng=None) -> tuple[Array, ConvolutionalEncoderLayerCache]:
        """real: None or (B, T) bool, False at padding."""
        h, sublayer = self.sublayer.forward(x, real, rng)
        y, norm = self.norm.forward(x + h)
        return y, ConvolutionalEncoderLayerCache(sublayer, norm)

    def backward(self, dy, cache) -> Array:
        check_cache(self, cache, ConvolutionalEncoderLayerCache)
        dx = self.norm.backward(dy, cache.norm)
        return dx + self.sublayer.backward(dx, cache.sublayer)


class ConvolutionalEncodeCache(NamedTuple):
    input: InputCache
    layers: list           # one ConvolutionalEncoderLayerCache each


class ConvolutionalHiddenCache(NamedTuple):
    encode: ConvolutionalEncodeCache
    input: InputCache      # of the target
    layers: list           # one ConvolutionalDecoderLayerCache each


class ConvolutionalModel(NextTokenModel):
    """source (B, T_k), target (B, T_q) token ids -> logits (B, T_q, V) of the token after each target token.

    Gated convolutions over the source; causal ones over the target, each followed by attention with one head to the last
    hidden states of the source. As in ConvS2S, all positions are computed at once. Unlike there, a LayerNorm after each
    residual replaces weight normalisation and the factor sqrt(1/2), scaled dot products of projections replace dot products
    with the target embedding added, and sinusoids replace learned positions. The values are the memory alone, without the
    source embedding; embeddings and hidden states have one width, and encoder and decoder one gradient scale.
    """

    Config = ConvolutionalConfig
    batch_fields = ("source", "target", "next_target")

    def __init__(self, config, seed=0):
        check_config(self, config, ConvolutionalConfig, seed)
        rng = np.random.default_rng(seed)
        self.config = config
        self.target_embedding = Embedding(config.target_vocab, config.d_model, rng)
        self.source_embedding = (self.target_embedding if config.share_embeddings
                                 else Embedding(config.source_vocab, config.d_model, rng))
        self.source_input = Input(self.source_embedding, SinusoidalPositions(), config.dropout)
        self.target_input = Input(self.target_embedding, SinusoidalPositions(), config.dropout)
        self.encoder = [ConvolutionalEncoderLayer(config, rng) for _ in range(config.num_layers)]
        self.decoder = [ConvolutionalDecoderLayer(config, rng) for _ in range(config.num_layers)]
        self.output = OutputProjection(config.target_vocab, config.d_model, rng,
                                       weight=self.target_embedding.weight if config.share_output else None)
        self.loss = LinearCrossEntropy(self.output.weight)

    def hidden(self, source, target, rng=None) -> tuple[Array, ConvolutionalHiddenCache]:
        """The last hidden states y (B, T_q, d_model), from which `output` computes the logits, and `loss` the loss."""
        check_shape("ConvolutionalModel: source", source, "B", "T_k")
        check_shape("ConvolutionalModel: target", target, source.shape[0], "T_q")
        memory, encode = self.encode(source, rng)
        y, input = self.target_input.forward(target, rng)
        memory_mask, caches = to_device(padding_mask(source), module_of(y)), []
        for layer in self.decoder:
            y, cache = layer.forward(y, memory, memory_mask, rng)
            caches.append(cache)
        return y, ConvolutionalHiddenCache(encode, input, caches)

    def hidden_backward(self, dy, cache) -> None:
        dx: Any = 0
        for layer, layer_cache in zip(reversed(self.decoder), reversed(cache.layers)):
            dy, dmemory = layer.backward(dy, layer_cache)
            dx = dx + dmemory
        self.target_input.backward(dy, cache.input)
        for convolution, layer_cache in zip(reversed(self.encoder), reversed(cache.encode.layers)):
            dx = convolution.backward(dx, layer_cache)
        self.source_input.backward(dx, cache.encode.input)

    def encode(self, source, rng=None) -> tuple[Array, ConvolutionalEncodeCache]:
        """source (B, T_k) -> memory (B, T_k, d_model), and the cache."""
        x, input = self.source_input.forward(source, rng)
        real, caches = to_device(source != PAD, module_of(x)), []
        for layer in self.encoder:
            x, cache = layer.forward(x, real, rng)
            caches.append(cache)
        return x, ConvolutionalEncodeCache(input, caches)

    def start(self, source, extra_length=EXTRA_LENGTH) -> ConvolutionalState:
        """`extra_length`: how many tokens more than its source (B, T_k) an output may have."""
        check_shape("source", source, "B", "T_k")
        return ConvolutionalState(self, source, extra_length)

    def attention_weights(self, source, target) -> dict[str, list[Array]]:
        """The attention weights: {"cross": (B, 1, T_q, T_k) of each layer}."""
        _, cache = self.hidden(source, target)
        return {"cross": [layer.attention.attended(one.attention) for layer, one in zip(self.decoder, cache.layers)]}


MODELS["conv"] = ConvolutionalModel
