"""The common part of the models that predict the next token: logits, and the loss."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from minitransformer.backend import Array
from minitransformer.checks import check_cache
from minitransformer.data.special import PAD
from minitransformer.errors import InputError
from minitransformer.layers.layer import Layer
from minitransformer.layers.output_projection import LinearCrossEntropy, OutputCache, OutputProjection


class LossSums(NamedTuple):
    """Sums over a batch's real terms: arrays with no dimensions, still on their device."""

    loss: Any                     # with label smoothing: the quantity that is minimised
    negative_log_likelihood: Any  # without: the exponential of its mean is the perplexity


class LogitsCache(NamedTuple):
    hidden: Any           # the cache of `hidden`
    output: OutputCache


class LossCache(NamedTuple):
    hidden: Any           # the cache of `hidden`
    loss: Any             # the cache of the layer LinearCrossEntropy


class NextTokenModel(Layer):
    """A model that returns logits for the next token at each position.

    A subclass has `hidden(*ids, rng=None) -> y, cache`, the last hidden states (B, T, d_model), and
    `hidden_backward(dy, cache)`; `output`, the layer from hidden states to logits; and `loss`, the
    LinearCrossEntropy of these logits. A batch for it has `inputs`, the ids that `hidden` takes, and
    `next_target` (B, T), the id to predict at each position, or PAD.
    """

    embedded: ClassVar[str] = "target_embedding"    # the embedding whose weight `output` has, if the configuration says so
    hidden: Callable[..., tuple[Array, Any]]
    hidden_backward: Callable[[Array, Any], None]
    config: Any
    output: Any
    loss: LinearCrossEntropy

    def forward(self, *inputs, **rng) -> tuple[Array, LogitsCache]:    # the checker sees by the name that there is dropout
        """The logits (B, T, V), for what `hidden` takes: with an `rng` the model trains with dropout, else it is evaluated."""
        self.check_shared()
        y, hidden = self.hidden(*inputs, **rng)             # (B, T, d_model)
        logits, output = self.output.forward(y)             # (B, T, V)
        return logits, LogitsCache(hidden, output)

    def backward(self, dlogits, cache) -> None:
        """Adds to every parameter's gradient; ids have none."""
        check_cache(self, cache, LogitsCache)
        dy = self.output.backward(dlogits, cache.output)
        self.hidden_backward(dy, cache.hidden)

    def loss_forward(self, batch, rng=None, smoothing=0.0) -> tuple[LossSums, LossCache]:
        """Returns LossSums over the batch's `terms`, and the cache; `rng` draws the dropout."""
        self.check_shared()
        y, hidden = self.hidden(*batch.inputs, rng=rng)     # (B, T, d_model)
        loss, cache = self.loss.forward(y, self.output, batch.next_target, smoothing, padding=PAD)
        return LossSums(loss, -cache.log_likelihood.sum()), LossCache(hidden, cache)

    def loss_backward(self, dloss, cache) -> None:
        """Adds the gradient of dloss * loss to that of every parameter."""
        check_cache(self, cache, LossCache)
        dy = self.loss.backward(dloss, self.output, cache.loss)
        self.hidden_backward(dy, cache.hidden)

    def make_output(self, vocab_size, rng) -> OutputProjection:
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
