"""The Transformer (figure 1 of the paper): tokens in, logits of the next token out."""

from typing import NamedTuple

import numpy as np

from minitransformer.backend import module_of, to_device
from minitransformer.errors import check_shape
from minitransformer.functional import causal_mask, padding_mask
from minitransformer.layers.decoder import Decoder, DecoderCache
from minitransformer.layers.embedding import Embedding, OutputCache, OutputProjection
from minitransformer.layers.encoder import Encoder, EncoderCache
from minitransformer.layers.input import Input, InputCache
from minitransformer.layers.layer import Layer
from minitransformer.layers.positions import LearnedPositions, SinusoidalPositions


class EncodeCache(NamedTuple):
    input: InputCache
    encoder: EncoderCache


class DecodeCache(NamedTuple):
    input: InputCache
    decoder: DecoderCache


class HiddenCache(NamedTuple):
    encode: EncodeCache
    decode: DecodeCache


class TransformerCache(NamedTuple):
    hidden: HiddenCache
    output: OutputCache


class Transformer(Layer):
    """source (B, T_k), target (B, T_q) token ids -> logits (B, T_q, V) of the token after each target.

    `config` is a TransformerConfig; the same `seed` makes the same weights on every array module.
    With share_embeddings and share_output one Parameter is embedding of both sides and pre-softmax
    weight (section 3.4): each use adds its gradient to it.
    """

    def __init__(self, config, seed=0):
        rng = np.random.default_rng(seed)
        self.config = config
        self.target_embedding = Embedding(config.target_vocab, config.d_model, rng)
        self.source_embedding = (self.target_embedding if config.share_embeddings
                                 else Embedding(config.source_vocab, config.d_model, rng))
        dropout = config.dropout if config.embedding_dropout is None else config.embedding_dropout
        self.source_input = Input(self.source_embedding, _positions(config, rng), dropout)
        self.target_input = Input(self.target_embedding, _positions(config, rng), dropout)
        self.encoder = Encoder(config, rng)
        self.decoder = Decoder(config, rng)
        self.output = OutputProjection(config.target_vocab, config.d_model, rng,
                                       weight=self.target_embedding.weight if config.share_output else None)

    def forward(self, source, target, rng=None):
        """Give `rng` to train with dropout; without it the model is evaluated."""
        y, hidden = self.hidden(source, target, rng)
        logits, output = self.output.forward(y)
        return logits, TransformerCache(hidden, output)

    def backward(self, dlogits, cache):
        """Adds to every parameter's gradient; ids get none."""
        dy = self.output.backward(dlogits, cache.output)
        self.hidden_backward(dy, cache.hidden)

    def hidden(self, source, target, rng=None):
        """Up to the last hidden states y (B, T_q, d_model), from which `output` makes the logits or the loss."""
        check_shape("Transformer: source", source, "B", "T_k")
        check_shape("Transformer: target", target, source.shape[0], "T_q")
        memory, encode = self.encode(source, rng)
        y, decode = self.decode(target, memory, source, rng)
        return y, HiddenCache(encode, decode)

    def hidden_backward(self, dy, cache):
        dx, dmemory = self.decoder.backward(dy, cache.decode.decoder)
        self.target_input.backward(dx, cache.decode.input)
        dx = self.encoder.backward(dmemory, cache.encode.encoder)
        self.source_input.backward(dx, cache.encode.input)

    def encode(self, source, rng=None):
        """source (B, T_k) -> memory (B, T_k, d_model)."""
        x, input = self.source_input.forward(source, rng)
        mask = to_device(padding_mask(source), module_of(x))
        memory, encoder = self.encoder.forward(x, mask, rng)
        return memory, EncodeCache(input, encoder)

    def decode(self, target, memory, source, rng=None):
        """target (B, T_q) and the memory of `source` -> (B, T_q, d_model), what `output` takes."""
        x, input = self.target_input.forward(target, rng)
        mask = to_device(causal_mask(target) & padding_mask(target), module_of(x))
        memory_mask = to_device(padding_mask(source), module_of(x))
        y, decoder = self.decoder.forward(x, memory, mask, memory_mask, rng)
        return y, DecodeCache(input, decoder)


def _positions(config, rng):
    if config.positions == "learned":
        return LearnedPositions(config.max_length, config.d_model, rng)
    return SinusoidalPositions()
