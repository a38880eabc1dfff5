"""Training progress: in a terminal, in a log file, in a notebook."""

import io
import sys
import types

import pytest

from minitransformer import TrainingConfig, train
from minitransformer.training import progress
from tests.training.test_training import start


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_gets_a_bar(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    run, batches, valid = start(tmp_path / "run")
    train(run, TrainingConfig(steps=12, warmup=5), batches, valid)
    assert "| 12/12 [" in sys.stderr.getvalue() and "\r" in sys.stderr.getvalue()


def test_a_log_file_gets_a_line_now_and_then(tmp_path, capsys, monkeypatch):
    """The first at once and the next after a minute; here 25 seconds pass between two looks at the clock."""
    clock = iter(range(0, 10_000, 25))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with progress.make_progress(80, 10) as shown:
        for step in range(10, 80, 10):
            shown.show(f"loss {step}")
            for _ in range(10):
                shown.update()
        shown.write("the end")
    assert capsys.readouterr().err.splitlines() == [
        "step 10 of 80: loss 10", "step 40 of 80: loss 40", "step 70 of 80: loss 70", "the end"]


def test_a_training_run_leaves_lines_in_a_log_file(tmp_path, capsys):
    run, batches, valid = start(tmp_path / "run")
    train(run, TrainingConfig(steps=30, warmup=5), batches, valid)
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith("step 10 of 30: loss ") and last.startswith("step 30: valid nll ")
    assert "\r" not in first + last and "seconds" not in last


@pytest.mark.parametrize("widgets", [True, False])
def test_a_notebook_gets_a_bar_on_standard_output(monkeypatch, capsys, recwarn, widgets):
    """tqdm.auto chooses the widget, and warns if ipywidgets is missing; standard error would be red."""
    import warnings

    from tqdm import std

    class Auto(types.ModuleType):
        def __getattr__(self, name):
            if not widgets:
                warnings.warn("IProgress not found. Please update jupyter and ipywidgets.", stacklevel=2)
            return std.tqdm

    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", Auto("tqdm.auto"))
    with progress.make_progress(2, 0) as shown:
        shown.update()
        shown.write("valid")
        shown.update()
    out, error = capsys.readouterr()
    assert "2/2" in out and "valid" in out and not error and not recwarn.list
