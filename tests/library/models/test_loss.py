"""The path that training takes: the loss of a batch and its gradients, for every kind of model."""

from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from minitransformer.functional import cross_entropy_backward, cross_entropy_forward
from minitransformer.models import MODELS
from minitransformer.models.model import LossSums
from minitransformer.speed.kernels import kernels_run
from minitransformer.data.special import PAD
from tests.helpers.models import KINDS, make_batch_for, make_model


def targets_of(kind, batch):
    return (batch.labels, None) if kind == "classifier" else (batch.next_target, PAD)


def test_every_registered_model_is_tested():
    assert set(MODELS) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
@given(
    seed=st.integers(0, 99),
    smoothing=st.sampled_from([0.0, 0.1]),
    pre_norm=st.booleans(),
    dropout=st.sampled_from([0.0, 0.3]),
)
@settings(max_examples=4)
def test_the_loss_is_forward_and_cross_entropy(kind, seed, smoothing, pre_norm, dropout):
    """The same sums and the same gradients as logits, then the loss, then both backwards."""
    model, batch = (
        make_model(kind, seed, pre_norm=pre_norm, dropout=dropout),
        make_batch_for(kind, seed),
    )
    targets, padding = targets_of(kind, batch)

    sums, cache = model.loss_forward(batch, np.random.default_rng(seed), smoothing)
    model.loss_backward(0.7, cache)
    gradient = model.flat.grad.copy()

    model.zero_grad()
    logits, cache = model.forward(*batch.inputs, rng=np.random.default_rng(seed))
    loss, loss_cache = cross_entropy_forward(logits, targets, smoothing, padding=padding)
    model.backward(cross_entropy_backward(0.7, loss_cache), cache)

    assert isinstance(sums, LossSums)
    assert sums.loss == pytest.approx(loss, rel=1e-12)
    assert sums.negative_log_likelihood == pytest.approx(
        -loss_cache.log_likelihood.sum(), rel=1e-12
    )
    assert loss_cache.count == batch.terms
    np.testing.assert_allclose(gradient, model.flat.grad, rtol=0, atol=1e-11)
    assert gradient.any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("parts", [3, 9])
def test_the_parts_of_a_batch_add_up(kind, parts):
    """Of their losses and gradients: tests/library/training/test_step.py."""
    batch = make_batch_for(kind)
    shares = batch.split(parts)
    assert len(shares) == min(parts, 5)
    assert sum(share.terms for share in shares) == batch.terms
    assert sum(share.num_tokens for share in shares) == batch.num_tokens


@pytest.mark.parametrize("kind", KINDS)
def test_the_kernels_change_nothing(kind):
    model, batch = make_model(kind, dropout=0.2), make_batch_for(kind)
    found = []
    for use in (False, True):
        model.zero_grad()
        with kernels_run() if use else nullcontext():
            sums, cache = model.loss_forward(batch, np.random.default_rng(0), 0.1)
            model.loss_backward(1.0, cache)
        found.append((sums.loss, sums.negative_log_likelihood, model.flat.grad.copy()))
    for one, other in zip(*found):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    "kind, rate",
    [
        *((kind, "dropout") for kind in KINDS),
        *(
            (kind, rate)
            for kind in ("transformer", "language-model", "classifier")
            for rate in ("attention_dropout", "feed_forward_dropout")
        ),
    ],
)
def test_every_part_of_every_model_drops_out(kind, rate, monkeypatch):
    """With a single dropout rate above 0, each place that uses it draws from the generator."""
    model, batch, drawn = make_model(kind, **{"dropout": 0.0, rate: 0.5}), make_batch_for(kind), []
    places = [path for path, layer in model.sublayers().items() if getattr(layer, "dropout", 0)]

    def mask(shape, dropout_rate, rng, dtype):
        drawn.append(dropout_rate)
        return np.ones(shape, dtype)

    monkeypatch.setattr("minitransformer.functional.dropout.dropout_mask", mask)
    model.loss_forward(batch, np.random.default_rng(0))
    assert drawn == [0.5] * len(places) and places


@pytest.mark.parametrize("kind", KINDS)
def test_float32_stays_float32(kind):
    model = make_model(kind, dropout=0.2).astype(np.float32)
    sums, cache = model.loss_forward(make_batch_for(kind), np.random.default_rng(0), 0.1)
    model.loss_backward(1 / 7, cache)
    assert {sums.loss.dtype, sums.negative_log_likelihood.dtype, model.flat.grad.dtype} == {
        np.dtype("float32")
    }
