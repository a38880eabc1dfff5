"""What is wrong with the validation is noticed before the first step, or costs no step."""

import numpy as np
import pytest

from minitransformer import InputError, Run, TrainingConfig, train
from minitransformer.runs import checkpoint
from tests.helpers.runs import losses, start

CONFIG = TrainingConfig(steps=8, warmup=2, validate_every=4, average=2)


@pytest.mark.parametrize(
    "valid, measure, words",
    [
        ([], None, "valid is empty, expected at least one batch"),
        ((batch for batch in []), None, "valid is a generator, expected a list of batches"),
        (None, None, "valid is a NoneType, expected a list of batches"),
        ([([3], [4])], None, "valid: a batch is a tuple, expected a batch of make_batch"),
        ("usual", 3, "measure is a int, expected a function of the model"),
    ],
)
def test_before_the_first_step(tmp_path, valid, measure, words):
    run, batches, usual = start(tmp_path / "run")
    with pytest.raises(InputError, match=words):
        train(run, CONFIG, batches, usual if valid == "usual" else valid, measure)
    assert not (run.path / "metrics.jsonl").exists()


def fail(model):
    raise ZeroDivisionError


@pytest.mark.parametrize(
    "returned, words",
    [
        ({"score": np.nan}, "score is nan, expected a finite number"),
        ({"step": 3}, "names other than"),
        ({"valid_nll": 3}, "names other than"),
        ({"seconds": 3}, "names other than"),  # a clock of the log
        ({"loss": 3}, "names other than"),
        ({1: 3}, "names other than"),
    ],
)
def test_what_a_measure_must_not_return(tmp_path, returned, words):
    run, batches, valid = start(tmp_path)
    words += ".*; the checkpoint of step 4 is kept"
    with pytest.raises(InputError, match=words):
        train(run, CONFIG, batches, valid, lambda model: returned)
    assert checkpoint.steps(run.path) == [4]


@pytest.mark.parametrize(
    "measure, error, words",
    [
        (fail, ZeroDivisionError, None),
        (
            lambda model: None,
            InputError,
            r"measure\(model\) returned None, expected {name: number}",
        ),
        (lambda model: {"score": "x"}, InputError, "score is 'x', expected a finite number"),
    ],
)
def test_a_measure_that_fails_costs_no_step(tmp_path, measure, error, words):
    """A checkpoint is saved before; the run resumes with the validation, and ends with the same
    bits and the same log.
    """
    whole, batches, valid = start(tmp_path / "whole")
    right = lambda model: {"score": float(np.abs(model.flat.data).sum())}
    train(whole, CONFIG, batches, valid, right)
    run, batches, _ = start(tmp_path / "run")
    for resume in (False, True):
        with pytest.raises(error, match=words and f"{words}.*; the checkpoint of step 4 is kept"):
            train(run, CONFIG, batches, valid, measure, resume)
        assert checkpoint.steps(run.path) == [4]
    run, batches, _ = start(tmp_path / "again")
    run = Run.open(tmp_path / "run")
    assert train(run, CONFIG, batches, valid, right, resume=True) == 8
    np.testing.assert_array_equal(run.model.flat.data, whole.model.flat.data)
    assert losses(run) == losses(whole)
