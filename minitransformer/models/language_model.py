"""A decoder-only language model: each token is predicted from the tokens before it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from minitransformer.backend import Array, Generator, module_of, to_device
from minitransformer.checks import check_model, check_shape
from minitransformer.layers.attention_kinds import ATTENTIONS
from minitransformer.layers.config import StackConfig
from minitransformer.layers.embedding import EMBEDDINGS
from minitransformer.layers.encoder import Encoder, EncoderCache
from minitransformer.layers.input import Input, InputCache
from minitransformer.layers.layer import Alias
from minitransformer.layers.output_projection import LinearCrossEntropy
from minitransformer.layers.positions import POSITIONS
from minitransformer.lookup import imported
from minitransformer.models.next_token import NextTokenModel
from minitransformer.tables import setting

if TYPE_CHECKING:
    from minitransformer.decoding.state import DecodingState


@dataclass(frozen=True, kw_only=True)
class LanguageModelConfig(StackConfig):
    """All sizes and choices of a language model; `max_length` is the window that it reads, with either kind of positions."""

    vocab_size: int                      # number of tokens
    embedding: str = setting("whether tokens enter multiplied by sqrt(d_model), as in the paper", "scaled", EMBEDDINGS)
    share_output: bool = True            # embedding = pre-softmax linear


class LanguageModelHiddenCache(NamedTuple):
    input: InputCache
    stack: EncoderCache


class LanguageModel(NextTokenModel):
    """ids (B, T) -> logits (B, T, V) of the token after each.

    The stack is that of an Encoder, self-attention and feed-forward, with a causal mask: the paper's decoder
    without a source and cross-attention (Liu et al. 2018, https://arxiv.org/abs/1801.10198, section 4.2.4). With
    share_output, the output projection has the embedding's weight.
    """

    Config = LanguageModelConfig
    embedded = "embedding"
    embedding = Alias("input", "embedding")

    def __init__(self, config: LanguageModelConfig, seed: int = 0):
        check_model(self, config, seed)
        rng = np.random.default_rng(seed)
        self.config = config
        embedding = EMBEDDINGS[config.embedding](config.vocab_size, config.d_model, rng)
        self.input = Input(embedding, POSITIONS[config.positions].of(config, rng), config.input_dropout)
        self.stack = Encoder(config, rng, causal=True)
        self.output = self.make_output(config.vocab_size, rng)
        self.loss = LinearCrossEntropy()

    def hidden(self, ids: Array,
               rng: Generator | None = None) -> tuple[Array, LanguageModelHiddenCache]:
        """The last hidden states y (B, T, d_model), from which `output` computes the logits, and `loss` the loss."""
        check_shape("LanguageModel: ids", ids, "B", "T")
        x, input = self.input.forward(ids, rng)
        mask = to_device(ATTENTIONS[self.config.attention].causal_self_mask(ids), module_of(x))
        y, stack = self.stack.forward(x, mask, rng)
        return y, LanguageModelHiddenCache(input, stack)

    def hidden_backward(self, dy: Array, cache: LanguageModelHiddenCache) -> None:
        dx = self.stack.backward(dy, cache.stack)
        self.input.backward(dx, cache.input)

    def start(self, prompt: Array) -> "DecodingState":
        """The DecodingState that continues prompt (B, T), ids of at least one token each, without padding (decoding/start.py)."""
        return imported("decoding.start:start_language_model")(self, prompt)

    def attention_weights(self, ids: Array) -> dict[str, list[Array]]:
        """The attention weights: {"decoder": (B, H, T, T) of each layer}."""
        _, cache = self.hidden(ids)
        return {"decoder": [layer.self_attention.attended(one.self_attention)
                            for layer, one in zip(self.stack.layers, cache.stack.layers)]}
