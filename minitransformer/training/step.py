"""One step of training: forward, loss, backward, clip, Adam."""

from typing import Any, NamedTuple

from minitransformer.optim import clip_gradient_norm


class StepLoss(NamedTuple):
    """Sums over a batch's real target tokens; arrays of no dimension, still on their device."""

    loss: Any                     # with label smoothing: what is minimised
    negative_log_likelihood: Any  # without: its mean's exponential is the perplexity


def training_step(model, optimizer, batch, rate, rng=None, smoothing=0.0, clip=1.0):
    """Train `model` on one Batch at learning rate `rate`; `rng` draws the dropout. Returns StepLoss."""
    sums = add_gradient(model, batch, batch.tokens, rng, smoothing)
    clip_gradient_norm(optimizer.grad, clip)
    optimizer.step(rate)
    return sums


def add_gradient(model, batch, tokens, rng=None, smoothing=0.0):
    """Add the gradient of the summed loss / `tokens` to the model's; returns StepLoss."""
    y, cache = model.hidden(batch.source, batch.target, rng)
    loss, loss_cache = model.output.loss_forward(y, batch.next_target, smoothing)
    dy = model.output.loss_backward(1 / tokens, loss_cache)
    model.hidden_backward(dy, cache)
    return StepLoss(loss, -loss_cache.log_likelihood.sum())
