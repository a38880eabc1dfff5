"""One step of training: forward, loss, backward, clip, Adam."""

from minitransformer.checks import check_whole, is_whole
from minitransformer.errors import InputError, NonFiniteError
from minitransformer.models.next_token import LossSums
from minitransformer.parallel import Threads


def training_step(model, optimizer, batch, learning_rate, seed=None, smoothing=0.0, clip=1.0, workers=None) -> LossSums:
    """Update `model` once at `learning_rate`; returns LossSums over the batch's terms in all processes.

    batch: a batch, or a list of batches whose gradients are added up into one update.
    seed: integers that seed the dropout, such as (0, step); None: no dropout.
    clip: the maximum norm of the gradient.
    workers: the threads that share the work, such as Threads(model, 2); None: the calling thread alone.
    Raises NonFiniteError if the gradient is not finite, naming the first block that produced such a value; on a GPU the
    optimizer counts the step instead (Adam.skipped). Raises InputError for an optimizer of another model, and for batches
    without terms.
    """
    if getattr(optimizer, "model", model) is not model:    # a custom optimizer need not have one
        raise InputError("the optimizer was made for another model; make a new Adam(model) for the model that you train")
    if workers is not None and not hasattr(workers, "shard"):
        raise InputError(f"workers is {workers!r}, expected Threads(model, {workers if isinstance(workers, int) else 2})")
    workers = workers or Threads(model)
    batches = batch if isinstance(batch, list) else [batch]
    for one in batches:
        if not hasattr(one, "terms"):
            raise InputError(f"training_step: a batch is a {type(one).__name__}, expected the result of make_batch, "
                             "or a list of such batches")
        check_whole("training_step: the number of a batch's terms", one.terms, 0)
    if not hasattr(optimizer, "step"):
        raise InputError(f"training_step: the optimizer is a {type(optimizer).__name__}, expected Adam(model)")
    if seed is not None and not (isinstance(seed, (list, tuple)) and all(is_whole(number, 0) for number in seed)):
        raise InputError(f"seed is {seed!r}, expected a sequence of whole numbers of at least 0, such as (0, step), or None")
    terms = sum(batch.terms for batch in batches)
    if not terms:
        raise InputError("training_step: the batch has no terms to learn from, expected at least one")
    sums = workers.run(lambda model, share, rng: add_gradients(model, share, terms, rng, smoothing),
                       workers.shard(batches, seed))
    try:
        optimizer.step(learning_rate, clip, workers)
    except NonFiniteError:
        from minitransformer.training.locate_non_finite import locate_non_finite    # here: it repeats `add_gradients`

        block, direction = locate_non_finite(model, workers, batches, seed, smoothing)
        model.zero_grad()
        raise NonFiniteError(f"NaN or infinity in {block}, {direction}") from None
    return _total_of_processes(sums, model, workers)


def add_gradients(model, batches, terms, rng=None, smoothing=0.0) -> LossSums:
    """Add the gradients of the batches' summed losses / `terms` to the model's; returns LossSums."""
    return _total([_add_gradient(model, batch, terms, rng, smoothing) for batch in batches])


def _add_gradient(model, batch, terms, rng, smoothing) -> LossSums:
    sums, cache = model.loss_forward(batch, rng, smoothing)
    model.loss_backward(1 / terms, cache)
    return sums


def _total(sums) -> LossSums:
    losses, log_likelihoods = zip(*sums)
    return LossSums(sum(losses), sum(log_likelihoods))


def _total_of_processes(sums, model, workers) -> LossSums:
    """Like _total, over the sums of all processes; one of several may have had no sentence."""
    total = model.xp.zeros(2, model.flat.data.dtype)
    for loss, negative_log_likelihood in sums:
        total[0] += loss
        total[1] += negative_log_likelihood
    workers.sum(total)
    return LossSums(total[0], total[1])
