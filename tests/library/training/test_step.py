"""One training step: the gradient that reaches the optimiser, and the sums that are returned."""

import numpy as np
import pytest

from minitransformer import Adam, InputError, training_step
from minitransformer.speed.threads import Threads
from tests.helpers.models import KINDS, make_batch_for, make_model


class Noting:
    """An optimiser that keeps what it was given."""

    def __init__(self, model):
        self.model = model

    def step(self, learning_rate, clip, square, each_piece):
        self.given, self.square = (learning_rate, clip), square
        self.gradient = self.model.flat.grad.copy()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [None, 1, 2, 9])
def test_the_gradient_is_the_mean_over_all_terms(kind, count):
    """For one batch and for several, in threads without a sentence, too; nothing is left in the
    replicas.

    With Adam, which ignores a gradient's scale, a mistake would not show.
    """
    some = [make_batch_for(kind, seed, sentences) for seed, sentences in ((0, 5), (1, 2), (2, 3))]
    for batches, smoothing in ((some[0], 0.1), (some[:1], 0.0), (some, 0.1)):
        model = make_model(kind)
        optimizer, expected = Noting(model), make_model(kind)
        workers = count and Threads(model, count)
        sums = training_step(model, optimizer, batches, 0.25, smoothing=smoothing, workers=workers)
        listed = batches if isinstance(batches, list) else [batches]
        terms, loss, likelihood = sum(batch.terms for batch in listed), 0.0, 0.0
        for batch in listed:
            part, cache = expected.loss_forward(batch, smoothing=smoothing)
            expected.loss_backward(1.0, cache)
            loss, likelihood = loss + part.loss, likelihood + part.negative_log_likelihood
        np.testing.assert_allclose(
            optimizer.gradient, expected.flat.grad / terms, rtol=0, atol=1e-13
        )
        assert (sums.loss, sums.negative_log_likelihood) == pytest.approx(
            (loss, likelihood), rel=1e-12
        )
        assert optimizer.given == (0.25, 1.0)
        assert optimizer.square == pytest.approx(optimizer.gradient @ optimizer.gradient, rel=1e-12)
        assert not any(replica.flat.grad.any() for replica in (workers.models[1:] if count else ()))


@pytest.mark.parametrize("count", [None, 2])
def test_a_step_that_fails_leaves_no_gradients(count):
    """Its second batch has a token that the model lacks; the first has added its gradients by then."""
    model, good, bad = (
        make_model("transformer"),
        *(make_batch_for("transformer", seed, 2) for seed in (0, 1)),
    )
    bad.source[...] = 10**6
    with pytest.raises(InputError, match="token id 1000000"):
        training_step(model, Adam(model), [good, bad], 0.1, workers=count and Threads(model, count))
    assert not model.flat.grad.any()


def test_the_gradient_is_clipped_as_asked():
    """Adam's first mean is (1 - beta1) times the gradient that it used."""
    norms = []
    for clip in (None, 1e-3):
        model = make_model("classifier")
        adam = Adam(model, beta1=0.5)
        training_step(model, adam, make_batch_for("classifier"), 0.01, clip=clip)
        norms.append(2 * np.linalg.norm(adam.m))
    assert norms[0] > 0.01 and norms[1] == pytest.approx(1e-3)


@pytest.mark.parametrize("count", [None, 2])
def test_the_gradients_can_be_read_after_a_step(count):
    """Until the next one, which does not add to them: the same batch gives the same ones."""
    model, batch = make_model("transformer"), make_batch_for("transformer")
    workers, adam, found = count and Threads(model, count), Adam(model), []
    for _ in range(2):
        training_step(model, adam, batch, 0.0, workers=workers)
        found.append(model.flat.grad.copy())
    assert found[0].any()
    np.testing.assert_array_equal(*found)
    expected = make_model("transformer")
    _, cache = expected.loss_forward(batch)
    expected.loss_backward(1 / batch.terms, cache)
    np.testing.assert_allclose(found[0], expected.flat.grad, rtol=0, atol=1e-13)
