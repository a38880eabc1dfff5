"""Ctrl-C and the other signals let the step finish and save, unless they are ignored."""

import signal
import time
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from minitransformer import Run, TrainingConfig, train
from minitransformer.runs import interrupt, trainer, updates
from tests.helpers.runs import Interrupted, start


@pytest.mark.parametrize(
    "number, again",
    [
        (signal.SIGINT, "Ctrl-C again"),
        (signal.SIGTERM, "another SIGTERM"),
        (signal.SIGHUP, "another SIGHUP"),
    ],
)
def test_a_signal_ends_the_step_and_saves(tmp_path, capsys, number, again):
    run, batches, valid = start(tmp_path / "run")
    usual = signal.signal(number, signal.default_int_handler)  # nohup has SIGHUP ignored
    try:
        assert (
            train(run, TrainingConfig(steps=50, warmup=5), Interrupted(batches, 7, number), valid)
            == 7
        )
        assert signal.getsignal(number) == signal.default_int_handler
    finally:
        signal.signal(number, usual)
    assert f"{again} stops at once" in capsys.readouterr().err
    assert not run.finished
    np.testing.assert_array_equal(Run.load(run.path).model.flat.data, run.model.flat.data)


def test_a_second_ctrl_c_interrupts_at_once(tmp_path):
    run, batches, valid = start(tmp_path / "run")
    twice = Interrupted(Interrupted(batches, 3), 3)
    with pytest.raises(KeyboardInterrupt):
        train(run, TrainingConfig(steps=50, warmup=5), twice, valid)


def test_who_started_us_may_want_no_interrupt(tmp_path):
    """A shell's background job, for example, ignores Ctrl-C."""
    run, batches, valid = start(tmp_path / "run")
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert train(run, TrainingConfig(steps=5, warmup=2), Interrupted(batches, 3), valid) == 5
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        run, batches, valid = start(tmp_path / "other")
        assert (
            train(
                run,
                TrainingConfig(steps=5, warmup=2),
                Interrupted(batches, 3, signal.SIGTERM),
                valid,
            )
            == 3
        )
    finally:
        signal.signal(signal.SIGINT, usual)


def test_ctrl_c_in_the_middle_of_a_write(tmp_path, monkeypatch):
    """The reader of standard error has stopped reading: Python forbids a write within the write
    that waits.
    """

    def reentrant(*_, **__):
        raise RuntimeError("reentrant call inside <_io.BufferedWriter name='<stderr>'>")

    run, batches, valid = start(tmp_path / "run")
    monkeypatch.setattr(interrupt, "print", reentrant, raising=False)
    assert train(run, TrainingConfig(steps=50, warmup=5), Interrupted(batches, 7), valid) == 7


@contextmanager
def interrupted(folder, steps):
    """Arguments of a training run to interrupt within it; it is then resumed, and ends as one that
    was not interrupted.
    """
    config = TrainingConfig(steps=steps, warmup=2, validate_every=2, average=3)
    whole, batches, valid = start(folder / "whole")
    train(whole, config, batches, valid)
    run, batches, _ = start(folder / "run")
    yield run, config, batches, valid
    assert not run.finished
    train(run, config, batches, valid, resume=True)
    np.testing.assert_array_equal(run.model.flat.data, whole.model.flat.data)


def test_ctrl_c_after_the_last_step_interrupts_at_once(tmp_path, monkeypatch):
    """While the weights are averaged and saved, no step is running; the lost work is repeated."""
    with interrupted(tmp_path, steps=6) as arguments, monkeypatch.context() as patch:
        patch.setattr(
            trainer.checkpoint, "averaged_weights", lambda *_: signal.raise_signal(signal.SIGINT)
        )
        with pytest.raises(KeyboardInterrupt):
            train(*arguments)


def test_ctrl_c_before_the_first_step(tmp_path, monkeypatch):
    """The weights that no step has changed are not among the last three that are averaged."""
    with interrupted(tmp_path, steps=4) as arguments, monkeypatch.context() as patch:
        clock = SimpleNamespace(
            monotonic=time.monotonic, perf_counter=lambda: signal.raise_signal(signal.SIGINT) or 0
        )
        patch.setattr(updates, "time", clock)  # its alone: locks look at the clock, too
        assert train(*arguments) == 0
