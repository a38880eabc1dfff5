"""A decoder-only language model: each token is predicted from the tokens before it."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from minitransformer.backend import Array, module_of, to_device
from minitransformer.checks import check_cache, check_config, check_shape
from minitransformer.errors import InputError
from minitransformer.layers.attention_kinds import causal_self_mask
from minitransformer.layers.config import StackConfig
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


@dataclass(frozen=True, kw_only=True)
class LanguageModelConfig(StackConfig):
    """All sizes and choices of a language model; `max_length` is the window that it reads, with either kind of positions."""

    vocab_size: int                      # number of tokens

    def sizes(self) -> list[str]:
        return ["vocab_size"]


class LanguageModelHiddenCache(NamedTuple):
    input: InputCache
    stack: EncoderCache


class LanguageModelCache(NamedTuple):
    hidden: LanguageModelHiddenCache
    output: OutputCache


@MODELS.register("language-model")
class LanguageModel(NextTokenModel):
    """ids (B, T) -> logits (B, T, V) of the token after each.

    The stack is that of an Encoder, self-attention and feed-forward, with a causal mask: the paper's decoder
    without a source and cross-attention (Liu et al. 2018, https://arxiv.org/abs/1801.10198, section 4.2.4). The output
    projection shares the embedding's weight.
    """

    Config = LanguageModelConfig
    batch_fields = ("ids", "next_target")

    def __init__(self, config, seed=0):
        check_config(self, config, LanguageModelConfig, seed)
        rng = np.random.default_rng(seed)
        self.config = config
        self.embedding = Embedding(config.vocab_size, config.d_model, rng)
        self.input = Input(self.embedding, make_positions(config, rng), config.input_dropout)
        self.stack = Encoder(config, rng, causal=True)
        self.output = OutputProjection(config.vocab_size, config.d_model, rng, weight=self.embedding.weight)
        self.loss = LinearCrossEntropy(self.output.weight)

    def forward(self, ids, rng=None) -> tuple[Array, LanguageModelCache]:
        """With `rng` the model trains with dropout; without it the model is evaluated."""
        y, hidden = self.hidden(ids, rng)
        logits, output = self.output.forward(y)
        return logits, LanguageModelCache(hidden, output)

    def backward(self, dlogits, cache) -> None:
        """Adds to every parameter's gradient; ids have none."""
        check_cache(self, cache, LanguageModelCache)
        dy = self.output.backward(dlogits, cache.output)
        self.hidden_backward(dy, cache.hidden)

    def hidden(self, ids, rng=None) -> tuple[Array, LanguageModelHiddenCache]:
        """The last hidden states y (B, T, d_model), from which `output` computes the logits, and `loss` the loss."""
        check_shape("LanguageModel: ids", ids, "B", "T")
        x, input = self.input.forward(ids, rng)
        mask = to_device(causal_self_mask(self.config, ids), module_of(x))
        y, stack = self.stack.forward(x, mask, rng)
        return y, LanguageModelHiddenCache(input, stack)

    def hidden_backward(self, dy, cache) -> None:
        dx = self.stack.backward(dy, cache.stack)
        self.input.backward(dx, cache.input)

    def start(self, prompt) -> CachedStack | RecomputedState:
        """The state (such as a CachedStack) that continues prompt (B, T), ids of at least one token each, without padding."""
        check_shape("prompt", prompt, "B", "T")
        if not prompt.shape[1]:
            raise InputError("the prompt is empty, expected at least one token to continue")
        if prompt.shape[1] > self.config.max_length:
            raise InputError(f"the prompt has {prompt.shape[1]} tokens, but the model has {self.config.max_length} positions")
        limit = np.full(len(prompt), self.config.max_length - prompt.shape[1])    # no positions beyond these were trained
        if cache_would_bypass() or self.config.attention != "scaled":
            return RecomputedState(lambda rows, ids: self.hidden(ids)[0], self.output, prompt[:, -1:], limit,
                                   prompt[:, None, :-1])
        state = CachedStack(self.stack, self.input, self.output, prompt[:, -1:], limit)
        for ids in prompt[:, :-1].T:
            state.advance(ids[:, None])
        return state

    def attention_weights(self, ids) -> dict[str, list[Array]]:
        """Who attends to whom: {"decoder": (B, H, T, T) of each layer}."""
        _, cache = self.hidden(ids)
        return {"decoder": [layer.self_attention.attended(one.self_attention.sublayer)
                            for layer, one in zip(self.stack.layers, cache.stack.layers)]}
