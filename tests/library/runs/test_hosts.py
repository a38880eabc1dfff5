"""train() in hosts without a standard error that can be used, or without a Python to start."""

import io
import sys

import pytest

from minitransformer import TrainingConfig, train
from minitransformer.runs import interrupt
from minitransformer.speed.local import LocalProcesses
from tests import ROOT
from tests.helpers.runs import Interrupted, start


class Minimal:
    """What some hosts put in the place of standard error: no isatty, no flush, no fileno."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text


def closed():
    stream = io.StringIO()
    stream.close()
    return stream


class Full(io.StringIO):
    """Its reader is gone."""

    def write(self, text):
        raise BrokenPipeError


@pytest.mark.parametrize("make", [lambda: None, Minimal, closed, Full])
def test_standard_error_of_any_kind(tmp_path, monkeypatch, make, capsys):
    """While it trains, is stopped, and resumes; and nothing ends up on standard output instead."""
    monkeypatch.setattr(sys, "stderr", make())
    run, batches, valid = start(tmp_path / "run")
    config = TrainingConfig(steps=12, warmup=2, validate_every=4)
    assert train(run, config, Interrupted(batches, 6), valid) == 6
    run, batches, _ = start(tmp_path / "again")
    run.folder = start(tmp_path / "third")[0].folder
    assert train(run, config, batches, valid) == 12
    assert interrupt.state.received and not capsys.readouterr().out
    if isinstance(sys.stderr, Minimal):
        assert "step 12: valid nll" in sys.stderr.text


def test_all_of_the_library_writes_to_it_this_way():
    """The command has made sure that there is one."""
    for path in (ROOT / "minitransformer").rglob("*.py"):
        if path.parent.name != "cli":
            assert "file=sys.stderr" not in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize("program", [None, ""])
def test_without_a_python_to_start(tmp_path, monkeypatch, program):
    monkeypatch.setattr(sys, "executable", program)
    run, batches, valid = start(tmp_path / "run")
    config = TrainingConfig(steps=2, warmup=1, threads=2)
    assert train(run, config, batches, valid) == 2
    run, batches, valid = start(tmp_path / "helped")
    assert train(run, config, batches, valid, make_workers=LocalProcesses) == 2  # by threads
