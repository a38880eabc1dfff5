"""Logits, every gradient and ten losses with Adam against PyTorch in float64: frozen, and live where it is installed."""

import numpy as np
import pytest
from safetensors.numpy import load_file

from minitransformer import (
    Adam, Transformer, cross_entropy_backward, cross_entropy_forward, schedule, training_step)
from minitransformer.data.batches import Batch
from minitransformer.functional import PAD
from tests.fixtures.cases import CASES, FROZEN, SMOOTHING, STEPS, WARMUP

BOUND = 1e-10


@pytest.fixture(params=["frozen", "live"])
def expected(request):
    """expected(case) -> {name: array} by PyTorch."""
    if request.param == "frozen":
        arrays = load_file(FROZEN)
        return lambda case: {name.removeprefix(f"{case}/"): array for name, array in arrays.items()
                             if name.startswith(f"{case}/")}
    pytest.importorskip("torch", reason="torch is not installed: the frozen fixtures stand for it")
    from tests.fixtures.pytorch_reference import reference
    return lambda case: reference(CASES[case])


def error(ours, theirs, largest=0.0):
    """max|a - n| / max(max|a|, max|n|, G / 10), as the gradient check."""
    assert ours.shape == theirs.shape
    return np.abs(ours - theirs).max() / max(np.abs(ours).max(), np.abs(theirs).max(), largest / 10)


@pytest.mark.parametrize("case", CASES)
def test_against_pytorch(case, expected):
    theirs = expected(case)
    config = CASES[case]
    model = Transformer(config).astype(np.float64)
    for name, parameter in model.parameters().items():
        parameter.data[...] = theirs[f"weight/{name}"]

    batches = [[theirs[f"batch/{step}/{name}"] for name in ("source", "target", "following")]
               for step in range(1, STEPS + 1)]
    source, target, following = batches[0]
    logits, cache = model.forward(source, target)
    assert error(logits, theirs["logits"]) < BOUND

    _, loss_cache = cross_entropy_forward(logits, following, SMOOTHING)
    model.backward(cross_entropy_backward(1 / (following != PAD).sum(), loss_cache), cache)
    gradients = {name: parameter.grad for name, parameter in model.parameters().items()}
    assert {f"gradient/{name}" for name in gradients} == {name for name in theirs if name.startswith("gradient/")}
    largest = max(np.abs(gradient).max() for gradient in gradients.values())
    for name, gradient in gradients.items():
        assert error(gradient, theirs[f"gradient/{name}"], largest) < BOUND, name
    model.zero_grad()

    adam, losses = Adam(model), []
    for step, (source, target, following) in enumerate(batches, 1):
        tokens = int((following != PAD).sum())
        sums = training_step(model, adam, Batch(source, target, following, tokens),
                             schedule(step, config.d_model, WARMUP), smoothing=SMOOTHING, clip=1e9)
        losses.append(sums.loss / tokens)
    assert error(np.array(losses), theirs["losses"]) < BOUND
