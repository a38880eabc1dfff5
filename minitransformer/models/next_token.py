"""The common part of the models that predict the next token."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol

from minitransformer.backend import Array, Generator
from minitransformer.checks import check_cache
from minitransformer.data.special import PAD
from minitransformer.errors import InputError
from minitransformer.layers.output_projection import LinearCrossEntropy, OutputCache, OutputProjection
from minitransformer.models.model import AnyBatch, LossSums, Model


class NextTokenBatch(AnyBatch, Protocol):
    @property
    def inputs(self) -> tuple[Array, ...]: ...    # (B, T) each: the ids that `hidden` takes

    @property
    def next_target(self) -> Array: ...           # (B, T) the id to predict at each position, or PAD


class LogitsCache(NamedTuple):
    hidden: Any           # the cache of `hidden`
    output: OutputCache


class LossCache(NamedTuple):
    hidden: Any           # the cache of `hidden`
    loss: Any             # the cache of the layer LinearCrossEntropy


class NextTokenModel(Model):
    """A model that returns logits for the next token at each position.

    A subclass has `hidden(*ids, rng=None) -> y, cache`, the last hidden states (B, T, d_model), and
    `hidden_backward(dy, cache)`; `output`, the layer from hidden states to logits; and `loss`, the
    LinearCrossEntropy of these logits.
    """

    embedded: ClassVar[str] = "target_embedding"    # the embedding whose weight `output` has, if the configuration says so
    hidden: Callable[..., tuple[Array, Any]]
    hidden_backward: Callable[[Array, Any], None]
    output: Any
    loss: LinearCrossEntropy

    def forward(self, *inputs: Array, **rng: Generator | None) -> tuple[Array, LogitsCache]:
        """The logits (B, T, V), for what `hidden` takes: with an `rng` the model trains with dropout, else it is evaluated.

        The checker sees by the name `rng` that there is dropout.
        """
        self.check_shared()
        y, hidden = self.hidden(*inputs, **rng)             # (B, T, d_model)
        logits, output = self.output.forward(y)             # (B, T, V)
        return logits, LogitsCache(hidden, output)

    def backward(self, dlogits: Array, cache: LogitsCache) -> None:
        """Adds to every parameter's gradient; ids have none."""
        check_cache(self, cache, LogitsCache)
        dy = self.output.backward(dlogits, cache.output)
        self.hidden_backward(dy, cache.hidden)

    def loss_forward(self, batch: NextTokenBatch, rng: Generator | None = None,
                     smoothing: float = 0.0) -> tuple[LossSums, LossCache]:
        """Returns LossSums over the batch's `terms`, and the cache; `rng` draws the dropout."""
        self.check_shared()
        y, hidden = self.hidden(*batch.inputs, rng=rng)     # (B, T, d_model)
        loss, cache = self.loss.forward(y, self.output, batch.next_target, smoothing, padding=PAD)
        return LossSums(loss, -cache.log_likelihood.sum()), LossCache(hidden, cache)

    def loss_backward(self, dloss: float | Array, cache: LossCache) -> None:
        """Adds the gradient of dloss * loss to that of every parameter."""
        check_cache(self, cache, LossCache)
        dy = self.loss.backward(dloss, self.output, cache.loss)
        self.hidden_backward(dy, cache.hidden)

    def make_output(self, vocab_size: int, rng: Generator | None) -> OutputProjection:
        """The layer that makes the logits. With share_output it has the embedding's weight: each use adds its gradient to it."""
        embedding, shared = getattr(self, self.embedded), self.config.share_output
        output = OutputProjection(vocab_size, self.config.d_model, rng, embedding.weight if shared else None)
        output._shares_weight = embedding._shares_weight = shared
        return output

    def check_shared(self) -> None:
        """Raise InputError if the Parameter that both layers have was replaced in one of them: they would be trained apart."""
        output = self.output
        embedding: Any = getattr(self, self.embedded, output)
        if embedding._shares_weight and output._shares_weight and embedding.weight is not output.weight:
            raise InputError("the embedding's weight and output.weight are one Parameter (share_output), but one was replaced; "
                             "replace the other, too, or write into it: model.output.weight.data[...] = w")
