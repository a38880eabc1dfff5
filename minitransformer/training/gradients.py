"""The gradients of a step: forward, loss and backward of each batch, added up."""

from minitransformer.models.next_token import LossSums


def add_gradients(model, batches, rng=None, *, terms, smoothing=0.0) -> LossSums:
    """Add the gradients of the batches' summed losses / `terms` to the model's; returns LossSums."""
    loss = negative_log_likelihood = 0
    for batch in batches:
        sums, cache = model.loss_forward(batch, rng, smoothing)
        model.loss_backward(1 / terms, cache)
        loss, negative_log_likelihood = loss + sums.loss, negative_log_likelihood + sums.negative_log_likelihood
    return LossSums(loss, negative_log_likelihood)
