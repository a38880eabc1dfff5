"""One step of training: forward, loss, backward, clip, Adam."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from minitransformer.backend import Array, Generator, module_of
from minitransformer.checks import check_kind, is_integer
from minitransformer.errors import InputError
from minitransformer.layers.layer import Layer
from minitransformer.layers.parameter import Flat
from minitransformer.models.model import AnyBatch, LossSums, Model
from minitransformer.training.workers import OneWorker

SomeBatch = TypeVar("SomeBatch", bound=AnyBatch)
EachPiece = Callable[[Callable[[slice], Any]], Any]  # calls a function with the slices of a vector


class Optimizer(Protocol):
    """What a training step asks of an optimizer, such as Adam."""

    def step(
        self, learning_rate: float, clip: float | None, square: Array, each_piece: EachPiece
    ) -> None: ...


@np.errstate(under="ignore")  # gradients of weights near 0
def training_step(
    model: Model,
    optimizer: Optimizer,
    batch: SomeBatch | list[SomeBatch],
    learning_rate: float,
    seed: Sequence[int] | None = None,
    smoothing: float = 0.0,
    clip: float | None = 1.0,
    workers: OneWorker | None = None,
) -> LossSums:
    """Update `model` once at `learning_rate`; returns LossSums over the batch's terms in all
    processes. The gradients are then those of this step, to be read until the next one; a step
    that fails leaves none.

    batch: a batch, or a list of batches whose gradients are added up into one update.
    seed: integers that seed the dropout, such as (0, step); None: no dropout.
    clip: the maximum norm of the gradient; None or infinity: no maximum.
    workers: the threads that share the work, such as Threads(model, 2); None: the calling thread
    alone. Raises NonFiniteError if the gradient is not finite (locate_non_finite.py finds the block
    that produced such a value); on a GPU the optimizer counts the step instead (Adam.skipped).
    Raises InputError for an optimizer of another model, and for batches without terms.
    """
    batches = batch if isinstance(batch, list) else [batch]
    workers = OneWorker(model) if workers is None else workers
    flat = model.flat
    flat.grad[...] = 0  # of the step before
    _check(model, flat, optimizer, batches, seed, workers)
    # real target tokens: the divisor of the summed loss
    terms = sum(batch.terms for batch in batches)
    # for each thread: a model, its part of the sentences, a generator
    shares = workers.shard(batches, seed)
    sums = workers.run(partial(add_gradients, terms=terms, smoothing=smoothing), shares)
    square = workers.sum_gradients()  # () the square of the gradient's norm
    optimizer.step(learning_rate, clip, square, workers.each_piece)
    return _total(sums, workers)


def add_gradients(
    model: Model,
    batches: Sequence[AnyBatch],
    rng: Generator | None = None,
    *,
    terms: int,
    smoothing: float = 0.0,
) -> LossSums:
    """Add the gradients of the batches' summed losses / `terms` to the model's; returns LossSums."""
    loss = negative_log_likelihood = 0
    for batch in batches:
        sums, cache = model.loss_forward(batch, rng, smoothing)
        model.loss_backward(1 / terms, cache)
        loss, negative_log_likelihood = (
            loss + sums.loss,
            negative_log_likelihood + sums.negative_log_likelihood,
        )
    return LossSums(loss, negative_log_likelihood)


def _total(sums: list[LossSums], workers: OneWorker) -> LossSums:
    """The sums of all threads and processes; one of several may have had no sentence."""
    total = module_of(workers.flat.data).zeros(2, workers.flat.data.dtype)
    for loss, negative_log_likelihood in sums:
        total[0] += loss
        total[1] += negative_log_likelihood
    workers.sum(total)
    return LossSums(total[0], total[1])


def _check(
    model: Model,
    flat: Flat,
    optimizer: Optimizer,
    batches: Sequence[AnyBatch],
    seed: Sequence[int] | None,
    workers: OneWorker,
) -> None:
    check_kind(hasattr(optimizer, "step"), "optimizer", optimizer, "one such as Adam(model)")
    check_kind(hasattr(workers, "shard"), "workers", workers, "some such as Threads(model, 2)")
    for batch in batches:
        check_kind(hasattr(batch, "terms"), "batch", batch, "a batch or a list of batches")
    if seed is not None and not (
        isinstance(seed, (tuple, list)) and all(is_integer(number, 0) for number in seed)
    ):
        raise InputError(f"seed is {seed!r}, expected integers of at least 0, such as (0, step)")
    if getattr(optimizer, "model", model) is not model:  # a custom optimizer need not have one
        raise InputError(
            "the optimizer was made for another model; make a new Adam(model) for the model that you train"
        )
    if workers.models[0] is not model:
        raise InputError("these workers were made for another model; make new Threads(model)")
    check_flat(model, flat, getattr(optimizer, "flat", flat))
    if sum(batch.terms for batch in batches) < 1:
        raise InputError(
            "training_step: the batch has no terms to learn from, expected at least one"
        )


def check_flat(model: Layer, flat: Flat, moved: Flat) -> None:
    """Raise InputError unless the model's vectors `flat` are those that an optimizer has `moved`."""
    if flat is not moved:
        raise InputError(
            f"the parameters of the {type(model).__name__}, or their order, have changed since this "
            "Adam was made; make a new Adam(model)"
        )
