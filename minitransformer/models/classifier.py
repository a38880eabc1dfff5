"""An encoder-only classifier: a sentence in, one logit for each class out."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from minitransformer.backend import Array, Generator, module_of, to_device
from minitransformer.checks import check_cache, check_model, check_shape
from minitransformer.functional import cross_entropy_backward, cross_entropy_forward, padding_mask
from minitransformer.functional.cross_entropy import CrossEntropyCache
from minitransformer.layers.config import StackConfig
from minitransformer.layers.embedding import Embedding
from minitransformer.layers.encoder import Encoder, EncoderCache
from minitransformer.layers.input import Input, InputCache
from minitransformer.layers.layer import Alias
from minitransformer.layers.linear import Linear, LinearCache
from minitransformer.layers.pooling import FirstToken, MeanOverTokens
from minitransformer.layers.positions import POSITIONS
from minitransformer.lookup import Table
from minitransformer.models.model import AnyBatch, LossSums, Model
from minitransformer.tables import setting

POOLINGS = Table("pooling", {"mean": MeanOverTokens, "first": FirstToken})


@dataclass(frozen=True, kw_only=True)
class ClassifierConfig(StackConfig):
    """All sizes and choices of a classifier."""

    vocab_size: int                      # number of tokens
    num_classes: int
    pooling: str = setting("the mean over the real positions, or the first position, represents the sentence", "mean", POOLINGS)


class LabelledIds(AnyBatch, Protocol):
    @property
    def ids(self) -> Array: ...       # (B, T), then padding

    @property
    def labels(self) -> Array: ...    # (B,) 0 .. C-1


class ClassifierCache(NamedTuple):
    input: InputCache
    encoder: EncoderCache
    pooling: Any
    output: LinearCache


class ClassifierLossCache(NamedTuple):
    forward: ClassifierCache
    loss: CrossEntropyCache


class Classifier(Model):
    """ids (B, T), padded with PAD -> logits (B, C).

    Every position attends to all real ones; their hidden states become one vector (pooling), from which a linear layer
    computes the logits. Padding has no effect: nothing attends to it, and pooling ignores it.
    """

    Config = ClassifierConfig
    embedding = Alias("input", "embedding")

    def __init__(self, config: ClassifierConfig, seed: int = 0):
        check_model(self, config, seed)
        rng = np.random.default_rng(seed)
        self.config = config
        embedding = Embedding(config.vocab_size, config.d_model, rng)
        self.input = Input(embedding, POSITIONS[config.positions].of(config, rng), config.input_dropout)
        self.encoder = Encoder(config, rng)
        self.pooling = POOLINGS[config.pooling]()
        self.output = Linear(config.d_model, config.num_classes, rng)

    def forward(self, ids: Array, rng: Generator | None = None) -> tuple[Array, ClassifierCache]:
        """With `rng` the model trains with dropout; without it the model is evaluated."""
        check_shape("Classifier: ids", ids, "B", "T")
        x, input = self.input.forward(ids, rng)
        real = padding_mask(ids)
        x, encoder = self.encoder.forward(x, to_device(real, module_of(x)), rng)
        x, pooling = self.pooling.forward(x, to_device(real[:, 0, 0], module_of(x)))    # (B, d_model)
        logits, output = self.output.forward(x)
        return logits, ClassifierCache(input, encoder, pooling, output)

    def backward(self, dlogits: Array, cache: ClassifierCache) -> None:
        """Adds to every parameter's gradient; ids have none."""
        check_cache(self, cache, ClassifierCache)
        dx = self.output.backward(dlogits, cache.output)
        dx = self.pooling.backward(dx, cache.pooling)
        dx = self.encoder.backward(dx, cache.encoder)
        self.input.backward(dx, cache.input)

    def loss_forward(self, batch: LabelledIds, rng: Generator | None = None,
                     smoothing: float = 0.0) -> tuple[LossSums, ClassifierLossCache]:
        """Returns LossSums over the batch's sentences, and the cache; batch.labels (B,) are the right classes."""
        logits, cache = self.forward(batch.ids, rng)
        loss, loss_cache = cross_entropy_forward(logits, batch.labels, smoothing, padding=None)
        return LossSums(loss, -loss_cache.log_likelihood.sum()), ClassifierLossCache(cache, loss_cache)

    def loss_backward(self, dloss: float | Array, cache: ClassifierLossCache) -> None:
        """Adds the gradient of dloss * loss to that of every parameter."""
        check_cache(self, cache, ClassifierLossCache)
        self.backward(cross_entropy_backward(dloss, cache.loss), cache.forward)

    def attention_weights(self, ids: Array) -> dict[str, list[Array]]:
        """The attention weights: {"encoder": (B, H, T, T) of each layer}."""
        _, cache = self.forward(ids)
        return {"encoder": [layer.self_attention.attended(one.self_attention)
                            for layer, one in zip(self.encoder.layers, cache.encoder.layers)]}
