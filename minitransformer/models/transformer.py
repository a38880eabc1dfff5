"""The Transformer (figure 1 of the paper): tokens in, logits of the next token out."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from minitransformer.backend import Array, module_of, to_device
from minitransformer.checks import check_cache, check_config, check_shape
from minitransformer.errors import InputError
from minitransformer.functional import padding_mask
from minitransformer.layers.attention_kinds import causal_self_mask
from minitransformer.layers.config import StackConfig
from minitransformer.layers.decoder import Decoder, DecoderCache
from minitransformer.layers.embedding import Embedding
from minitransformer.layers.encoder import Encoder, EncoderCache
from minitransformer.layers.input import Input, InputCache
from minitransformer.layers.linear_cross_entropy import LinearCrossEntropy
from minitransformer.layers.output_projection import OutputCache, OutputProjection
from minitransformer.layers.positions import make_positions
from minitransformer.models.cached import CachedStack
from minitransformer.models.next_token import NextTokenModel
from minitransformer.models.recomputed import RecomputedState, cache_would_bypass
from minitransformer.models.registry import MODELS
from minitransformer.special import BOS, PAD

EXTRA_LENGTH = 50   # an output is at most this much longer than its source (section 6.1 of the paper)


def check_sharing(config) -> None:
    """Raise InputError for embeddings shared by vocabularies of different sizes."""
    if config.share_embeddings and config.source_vocab != config.target_vocab:
        raise InputError(f"share_embeddings needs one vocabulary, but source_vocab is {config.source_vocab} "
                         f"and target_vocab {config.target_vocab}: make them equal or pass share_embeddings=False")


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(StackConfig):
    """All sizes and choices of a Transformer; the defaults are the paper's base model."""

    source_vocab: int                    # number of source tokens
    target_vocab: int                    # number of target tokens
    share_embeddings: bool = True        # source embedding = target embedding
    share_output: bool = True            # target embedding = pre-softmax linear

    def __post_init__(self) -> None:
        super().__post_init__()
        check_sharing(self)

    def sizes(self) -> list[str]:
        return ["source_vocab", "target_vocab"]

    @classmethod
    def named(cls, name, vocab_size, **changes) -> "TransformerConfig":
        """The configuration called `name`, for a vocabulary shared by source and target, with `changes`."""
        return super().named(name, **{"source_vocab": vocab_size, "target_vocab": vocab_size, **changes})


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


@MODELS.register("transformer")
class Transformer(NextTokenModel):
    """source (B, T_k), target (B, T_q) token ids -> logits (B, T_q, V) of the token after each target token.

    `config` is a TransformerConfig; the same `seed` makes the same weights on every array module.
    With share_embeddings and share_output, one Parameter is the embedding of both sides and the pre-softmax
    weight (section 3.4): each use adds its gradient to it.
    """

    Config = TransformerConfig
    batch_fields = ("source", "target", "next_target")

    def __init__(self, config, seed=0):
        check_config(self, config, TransformerConfig, seed)
        rng = np.random.default_rng(seed)
        self.config = config
        self.target_embedding = Embedding(config.target_vocab, config.d_model, rng)
        self.source_embedding = (self.target_embedding if config.share_embeddings
                                 else Embedding(config.source_vocab, config.d_model, rng))
        self.source_input = Input(self.source_embedding, make_positions(config, rng), config.input_dropout)
        self.target_input = Input(self.target_embedding, make_positions(config, rng), config.input_dropout)
        self.encoder = Encoder(config, rng)
        self.decoder = Decoder(config, rng)
        self.output = OutputProjection(config.target_vocab, config.d_model, rng,
                                       weight=self.target_embedding.weight if config.share_output else None)
        self.loss = LinearCrossEntropy(self.output.weight)

    def forward(self, source, target, rng=None) -> tuple[Array, TransformerCache]:
        """With `rng` the model trains with dropout; without it the model is evaluated."""
        y, hidden = self.hidden(source, target, rng)
        logits, output = self.output.forward(y)
        return logits, TransformerCache(hidden, output)

    def backward(self, dlogits, cache) -> None:
        """Adds to every parameter's gradient; ids have none."""
        check_cache(self, cache, TransformerCache)
        dy = self.output.backward(dlogits, cache.output)
        self.hidden_backward(dy, cache.hidden)

    def hidden(self, source, target, rng=None) -> tuple[Array, HiddenCache]:
        """The last hidden states y (B, T_q, d_model), from which `output` computes the logits, and `loss` the loss."""
        check_shape("Transformer: source", source, "B", "T_k")
        check_shape("Transformer: target", target, source.shape[0], "T_q")
        memory, encode = self.encode(source, rng)
        y, decode = self.decode(target, memory, source, rng)
        return y, HiddenCache(encode, decode)

    def hidden_backward(self, dy, cache) -> None:
        dx, dmemory = self.decoder.backward(dy, cache.decode.decoder)
        self.target_input.backward(dx, cache.decode.input)
        dx = self.encoder.backward(dmemory, cache.encode.encoder)
        self.source_input.backward(dx, cache.encode.input)

    def encode(self, source, rng=None) -> tuple[Array, EncodeCache]:
        """source (B, T_k) -> memory (B, T_k, d_model)."""
        x, input = self.source_input.forward(source, rng)
        mask = to_device(padding_mask(source), module_of(x))
        memory, encoder = self.encoder.forward(x, mask, rng)
        return memory, EncodeCache(input, encoder)

    def decode(self, target, memory, source, rng=None) -> tuple[Array, DecodeCache]:
        """target (B, T_q) and the memory of `source` -> (B, T_q, d_model), the input of `output`."""
        x, input = self.target_input.forward(target, rng)
        mask = to_device(causal_self_mask(self.config, target), module_of(x))
        memory_mask = to_device(padding_mask(source), module_of(x))
        y, decoder = self.decoder.forward(x, memory, mask, memory_mask, rng)
        return y, DecodeCache(input, decoder)

    def start(self, source, extra_length=EXTRA_LENGTH) -> CachedStack | RecomputedState:
        """The state (such as a CachedStack) that writes the outputs for source (B, T_k), token by token.

        `extra_length`: how many tokens more than its source an output may have.
        """
        check_shape("source", source, "B", "T_k")
        memory, _ = self.encode(source)
        memory_mask = to_device(padding_mask(source), module_of(memory))
        limit = np.minimum((source != PAD).sum(axis=1) - 1 + extra_length, self.target_input.positions.max_length - 1)
        first = np.full((len(source), 1), BOS)
        if cache_would_bypass() or self.config.attention != "scaled":
            def decode(rows, target) -> Array:
                return self.decode(target, memory[to_device(rows, module_of(memory))], source[rows])[0]

            return RecomputedState(decode, self.output, first, limit, np.empty((len(source), 1, 0), int))
        return CachedStack(self.decoder, self.target_input, self.output, first, limit, memory, memory_mask)

    def attention_weights(self, source, target) -> dict[str, list[Array]]:
        """Who attends to whom: {"encoder", "decoder" or "cross": (B, H, T_q, T_k) of each layer}."""
        _, cache = self.hidden(source, target)
        encoder = list(zip(self.encoder.layers, cache.encode.encoder.layers))
        decoder = list(zip(self.decoder.layers, cache.decode.decoder.layers))
        return {"encoder": [layer.self_attention.attended(one.self_attention.sublayer) for layer, one in encoder],
                "decoder": [layer.self_attention.attended(one.self_attention.sublayer) for layer, one in decoder],
                "cross": [layer.cross_attention.attended(one.cross_attention.sublayer) for layer, one in decoder]}
