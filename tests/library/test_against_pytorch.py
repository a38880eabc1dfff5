"""Logits, every gradient and ten losses with Adam against PyTorch in float64: frozen, and live if
it is installed.
"""

import re

import numpy as np
import pytest
from safetensors.numpy import load_file

from minitransformer import (
    Adam,
    cross_entropy_backward,
    cross_entropy_forward,
    schedule,
    training_step,
)
from minitransformer.data.batches import Batch
from minitransformer.data.windows import WindowBatch
from minitransformer.data.special import PAD
from minitransformer.layers import MultiHeadAttention
from minitransformer.models import LanguageModel, Transformer
from minitransformer_course.judge.course import find_exercise
from tests.fixtures.cases import (
    CASES,
    FROZEN,
    FROZEN_LANGUAGE,
    LANGUAGE_CASES,
    SMOOTHING,
    STEPS,
    WARMUP,
)
from tests.helpers.pytorch import BOUND, error


@pytest.fixture(params=["frozen", "live"])
def expected(request):
    """expected(kind, case) -> {name: array} by PyTorch; kind: "transformer" or "language_model"."""
    if request.param == "frozen":

        def frozen(kind, case):
            arrays = load_file(FROZEN if kind == "transformer" else FROZEN_LANGUAGE)
            return {
                name.removeprefix(f"{case}/"): array
                for name, array in arrays.items()
                if name.startswith(f"{case}/")
            }

        return frozen
    pytest.importorskip("torch", reason="torch is not installed: the frozen fixtures stand for it")
    from tests.fixtures.pytorch_reference import KINDS

    def live(kind, case):
        _, cases, compute = KINDS[kind]
        return compute(cases[case])

    return live


@pytest.mark.parametrize("case", CASES)
def test_transformer(case, expected):
    batches = compare(
        Transformer(CASES[case]),
        expected("transformer", case),
        ("source", "target", "following"),
        Batch,
    )
    assert any((batch.next_target == PAD).any() for batch in batches)


@pytest.mark.parametrize("case", LANGUAGE_CASES)
def test_language_model(case, expected):
    compare(
        LanguageModel(LANGUAGE_CASES[case]),
        expected("language_model", case),
        ("ids", "following"),
        WindowBatch,
    )


def compare(model, theirs, names, kind):
    """All that PyTorch computed, `theirs`, with the model; returns the batches, of `kind`, of which
    `names` are the arrays.
    """
    config = model.config
    model = model.astype(np.float64)
    assert model.parameters().keys() == {
        name.removeprefix("weight/") for name in theirs if name.startswith("weight/")
    }
    for name, parameter in model.parameters().items():
        parameter.data[...] = theirs[f"weight/{name}"]

    batches = []
    for step in range(1, STEPS + 1):
        arrays = [theirs[f"batch/{step}/{name}"] for name in names]
        batches.append(kind(*arrays, int((arrays[-1] != PAD).sum())))
    first = batches[0]
    logits, cache = model.forward(*first.inputs)
    assert error(logits, theirs["logits"]) < BOUND

    def check_gradients():
        gradients = {name: parameter.grad for name, parameter in model.parameters().items()}
        assert {f"gradient/{name}" for name in gradients} == {
            name for name in theirs if name.startswith("gradient/")
        }
        largest = max(np.abs(gradient).max() for gradient in gradients.values())
        for name, gradient in gradients.items():
            assert error(gradient, theirs[f"gradient/{name}"], largest) < BOUND, name
        model.zero_grad()

    loss, loss_cache = cross_entropy_forward(logits, first.next_target, SMOOTHING, padding=PAD)
    model.backward(cross_entropy_backward(1 / first.terms, loss_cache), cache)
    assert error(np.array(loss / first.terms), theirs["losses"][0]) < BOUND
    check_gradients()

    sums, cache = model.loss_forward(first, smoothing=SMOOTHING)  # the path that training takes
    model.loss_backward(1 / first.terms, cache)
    assert error(np.array(sums.loss / first.terms), theirs["losses"][0]) < BOUND
    check_gradients()

    adam, losses = Adam(model), []
    for step, batch in enumerate(batches, 1):
        sums = training_step(
            model,
            adam,
            batch,
            schedule(step, config.d_model, WARMUP),
            smoothing=SMOOTHING,
            clip=None,
        )
        losses.append(sums.loss / batch.terms)
    assert error(np.array(losses), theirs["losses"]) < BOUND
    return batches


def test_what_chapter_9_says_of_pytorchs_axes(capsys):
    """The cell in its fold: other axes, the other mask, the same numbers; and a query with nothing
    to attend to is NaN there.
    """
    torch = pytest.importorskip(
        "torch", reason="torch is not installed: the page says that nothing is compared"
    )
    exercise = find_exercise("decoder_layer")
    names = {"np": np, "rng": np.random.default_rng(0), "MultiHeadAttention": MultiHeadAttention}
    for cell in exercise.chapter.derivation(exercise):
        if cell.name == "code":
            exec(cell.source, names)
    differences = re.findall(r"by (\S+?)[,\s]", capsys.readouterr().out)
    assert len(differences) == 2 and all(float(one) < 1e-12 for one in differences)
    y, _weights = names["theirs"](
        *3 * [torch.zeros(1, 2, 8, dtype=torch.float64)],
        attn_mask=torch.ones(2, 2, dtype=torch.bool),
    )
    assert y.isnan().all()
