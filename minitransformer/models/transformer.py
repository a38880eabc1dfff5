"""The Transformer (figure 1 of the paper): tokens in, logits of the next token out."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minitransformer.backend import Array, Generator, module_of, to_device
from minitransformer.checks import check_integer, check_model, check_shape
from minitransformer.data.special import EOS
from minitransformer.errors import InputError
from minitransformer.functional import padding_mask
from minitransformer.layers.attention_kinds import ATTENTIONS
from minitransformer.layers.config import Config, ModelConfig, StackConfig
from minitransformer.layers.decoder import Decoder, DecoderCache
from minitransformer.layers.embedding import Embedding
from minitransformer.layers.encoder import Encoder, EncoderCache
from minitransformer.layers.input import Input, InputCache
from minitransformer.layers.layer import Alias
from minitransformer.layers.output_projection import LinearCrossEntropy
from minitransformer.layers.positions import POSITIONS
from minitransformer.lookup import imported
from minitransformer.models.next_token import NextTokenModel

if TYPE_CHECKING:
    from minitransformer.decoding.state import DecodingState


@dataclass(frozen=True, kw_only=True)
class EncoderDecoderConfig(ModelConfig):
    """What every model that reads a source and writes a target has."""

    source_vocab: int                    # number of source tokens
    target_vocab: int                    # number of target tokens
    share_embeddings: bool = True        # source embedding = target embedding
    share_output: bool = True            # target embedding = pre-softmax linear

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("source_vocab", "target_vocab"):
            check_integer(name, getattr(self, name), EOS + 1)    # every source and every target ends with it
        if self.share_embeddings and self.source_vocab != self.target_vocab:
            raise InputError(f"share_embeddings needs one vocabulary, but source_vocab is {self.source_vocab} "
                             f"and target_vocab {self.target_vocab}: make them equal or pass share_embeddings=False")

    @classmethod
    def named(cls: type[Config], name: str, vocab_size: int, **changes: Any) -> Config:
        """The configuration called `name`, for a vocabulary shared by source and target, with `changes`."""
        return super().named(name, **{"source_vocab": vocab_size, "target_vocab": vocab_size, **changes})


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(EncoderDecoderConfig, StackConfig):
    """All sizes and choices of a Transformer; the defaults are the paper's base model."""


class EncodeCache(NamedTuple):
    input: InputCache
    encoder: EncoderCache


class DecodeCache(NamedTuple):
    input: InputCache
    decoder: DecoderCache


class HiddenCache(NamedTuple):
    encode: EncodeCache
    decode: DecodeCache


class Transformer(NextTokenModel):
    """source (B, T_k), target (B, T_q) token ids -> logits (B, T_q, V) of the token after each target token.

    `config` is a TransformerConfig; the same `seed` makes the same weights on every array module.
    `forward`, `backward` and the loss are NextTokenModel's; this class adds the hidden states between ids and logits.
    With share_embeddings and share_output, one Parameter is the embedding of both sides and the pre-softmax
    weight (section 3.4): each use adds its gradient to it.
    """

    Config = TransformerConfig
    target_embedding = Alias("target_input", "embedding")
    source_embedding = Alias("source_input", "embedding")

    def __init__(self, config: TransformerConfig, seed: int = 0):
        check_model(self, config, seed)
        rng = np.random.default_rng(seed)
        self.config = config
        target = Embedding(config.target_vocab, config.d_model, rng)
        source = target if config.share_embeddings else Embedding(config.source_vocab, config.d_model, rng)
        self.source_input = Input(source, POSITIONS[config.positions].of(config, rng), config.input_dropout)
        self.target_input = Input(target, POSITIONS[config.positions].of(config, rng), config.input_dropout)
        self.encoder = Encoder(config, rng)
        self.decoder = Decoder(config, rng)
        self.output = self.make_output(config.target_vocab, rng)
        self.loss = LinearCrossEntropy()

    def hidden(self, source: Array, target: Array,
               rng: Generator | None = None) -> tuple[Array, HiddenCache]:
        """The last hidden states y (B, T_q, d_model), from which `output` computes the logits, and `loss` the loss."""
        check_shape("Transformer: source", source, "B", "T_k")
        check_shape("Transformer: target", target, source.shape[0], "T_q")
        memory, encode = self.encode(source, rng)                     # (B, T_k, d_model)
        y, decode = self.decode(target, memory, source, rng)          # (B, T_q, d_model)
        return y, HiddenCache(encode, decode)

    def hidden_backward(self, dy: Array, cache: HiddenCache) -> None:
        """dy (B, T_q, d_model). Adds to the gradients of all parameters below `output`."""
        dx, dmemory = self.decoder.backward(dy, cache.decode.decoder)
        self.target_input.backward(dx, cache.decode.input)
        dx = self.encoder.backward(dmemory, cache.encode.encoder)
        self.source_input.backward(dx, cache.encode.input)

    def encode(self, source: Array, rng: Generator | None = None) -> tuple[Array, EncodeCache]:
        """source (B, T_k) -> memory (B, T_k, d_model)."""
        x, input = self.source_input.forward(source, rng)             # (B, T_k, d_model)
        mask = to_device(padding_mask(source), module_of(x))          # (B, 1, 1, T_k)
        memory, encoder = self.encoder.forward(x, mask, rng)
        return memory, EncodeCache(input, encoder)

    def decode(self, target: Array, memory: Array, source: Array,
               rng: Generator | None = None) -> tuple[Array, DecodeCache]:
        """target (B, T_q) and the memory of `source` -> (B, T_q, d_model), the input of `output`."""
        x, input = self.target_input.forward(target, rng)             # (B, T_q, d_model)
        mask = to_device(ATTENTIONS[self.config.attention].causal_self_mask(target), module_of(x))    # (B, 1, T_q, T_q)
        memory_mask = to_device(padding_mask(source), module_of(x))   # (B, 1, 1, T_k)
        y, decoder = self.decoder.forward(x, memory, mask, memory_mask, rng)
        return y, DecodeCache(input, decoder)

    def start(self, source: Array) -> "DecodingState":
        """The DecodingState that writes the outputs for source (B, T_k), token by token (decoding/start.py)."""
        return imported("decoding.start:start_transformer")(self, source)

    def attention_weights(self, source: Array, target: Array) -> dict[str, list[Array]]:
        """The attention weights: {"encoder", "decoder" or "cross": (B, H, T_q, T_k) of each layer}."""
        _, cache = self.hidden(source, target)
        encoder = list(zip(self.encoder.layers, cache.encode.encoder.layers))
        decoder = list(zip(self.decoder.layers, cache.decode.decoder.layers))
        return {"encoder": [layer.self_attention.attended(one.self_attention) for layer, one in encoder],
                "decoder": [layer.self_attention.attended(one.self_attention) for layer, one in decoder],
                "cross": [layer.cross_attention.attended(one.cross_attention) for layer, one in decoder]}
