"""Today's code computes what was recorded (tests/fixtures/record.py): losses, parameters, and what
run folders give.
"""

import re
import shutil
import numpy as np
import pytest
from safetensors.numpy import load_file

from minitransformer import Run
from minitransformer.models import MODELS
from minitransformer.tasks import TASKS
from tests.fixtures import record

FRACTION = r"-?\d+\.\d+"
RECORDED_MODELS, OUTPUTS = record.read(record.MODELS), record.read(record.OUTPUTS)


@pytest.mark.parametrize("case", record.CASES)
def test_five_steps(case):
    expected, found = RECORDED_MODELS[case], record.model_case(case)
    assert found["parameters"] == expected["parameters"]
    np.testing.assert_allclose(found["losses"], expected["losses"], rtol=1e-10, atol=0)


def test_every_model_and_task_is_recorded():
    assert {kind for kind, _ in record.CASES.values()} == set(MODELS)
    assert RECORDED_MODELS.keys() == record.CASES.keys()
    assert set(OUTPUTS) == set(record.TRAIN) == set(record.USE) == set(TASKS)


@pytest.mark.parametrize("task", record.TRAIN)
def test_a_run_folder_opens_and_gives_what_it_gave(task, monkeypatch):
    monkeypatch.chdir(record.RUNS)
    run = Run.load(task)
    assert run.finished and run.task.name == task
    assert [*run.model.parameters()] == [*Run.open(task).model.parameters()]
    found, expected = record.use(task), OUTPUTS[task]
    assert found["scores"] == pytest.approx(expected["scores"], rel=1e-4)
    assert re.sub(FRACTION, "", found["writes"]) == re.sub(FRACTION, "", expected["writes"])
    assert fractions(found["writes"]) == pytest.approx(fractions(expected["writes"]), abs=2e-4)


def fractions(text):
    return [float(number) for number in re.findall(FRACTION, text)]


def test_a_run_resumes_to_what_it_reached(tmp_path, monkeypatch):
    """To the bit on a machine that trains the run to the same bits; elsewhere to 1e-5.

    There, the bias of the keys is left out: its gradient is 0 up to rounding, from which Adam makes
    steps.
    """
    monkeypatch.chdir(tmp_path)
    record.train(record.RESUMED)
    before = "checkpoints/step-00000024/weights.safetensors"
    same_bits = equal(
        load_file(tmp_path / record.RESUMED / before),
        load_file(record.RUNS / record.RESUMED / before),
    )
    shutil.rmtree(record.RESUMED)
    shutil.copytree(record.RUNS / record.RESUMED, record.RESUMED)
    record.resume(record.RESUMED)
    found, expected = (
        load_file(f"{record.RESUMED}/weights.safetensors"),
        load_file(record.FOLDER / "resumed.safetensors"),
    )
    assert [*found] == [*expected]
    if same_bits:
        assert equal(found, expected)
    for name, array in expected.items():
        if not name.endswith("key.bias"):
            np.testing.assert_allclose(found[name], array, rtol=0, atol=1e-5, err_msg=name)


def equal(some, others):
    return some.keys() == others.keys() and all((some[name] == others[name]).all() for name in some)
