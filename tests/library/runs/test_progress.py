"""Training progress: in a terminal, in a log file, in a notebook."""

import io
import itertools
import sys
import types

import pytest

from minitransformer import TrainingConfig, train
from minitransformer.runs import progress_bar
from tests.helpers.runs import start


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_gets_a_bar(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    run, batches, valid = start(tmp_path / "run")
    train(run, TrainingConfig(steps=12, warmup=5), batches, valid)
    assert "| 12/12 [" in sys.stderr.getvalue() and "\r" in sys.stderr.getvalue()


def lines(monkeypatch, capsys, seconds, total, first):
    """What a log file gets if each look at the clock finds it `seconds` later."""
    clock = itertools.count(0, seconds)
    monkeypatch.setattr(progress_bar.time, "monotonic", lambda: next(clock))
    with progress_bar.make_progress(total, first) as shown:
        for step in range(first + 1, total + 1):
            shown.update()
            if step % 10 == 0:
                shown.show(f"loss {step}")
        shown.write("the end")
    return capsys.readouterr().err.splitlines()


def test_a_log_file_gets_a_line_for_each_tenth_with_the_time_left(monkeypatch, capsys):
    """The first at once. A resumed run counts its own steps' time."""
    assert lines(monkeypatch, capsys, 3, 400, 0) == [
        "step 10 of 400: loss 10, 01:57 left",
        *(
            f"step {step} of 400: loss {step}, {left} left"
            for step, left in zip(
                range(40, 400, 40),
                ("01:48", "01:36", "01:24", "01:12", "01:00", "00:48", "00:36", "00:24", "00:12"),
            )
        ),
        "the end",
    ]
    assert lines(monkeypatch, capsys, 3, 100, 70) == [
        "step 80 of 100: loss 80, 00:06 left",
        "step 90 of 100: loss 90, 00:03 left",
        "the end",
    ]


def test_a_slow_run_has_a_line_every_minute(monkeypatch, capsys):
    found = lines(monkeypatch, capsys, 25, 10_000, 0)
    assert found[:3] == [
        "step 10 of 10000: loss 10, 6:56:15 left",
        "step 40 of 10000: loss 40, 6:55:00 left",
        "step 70 of 10000: loss 70, 6:53:45 left",
    ]


def test_a_training_run_leaves_lines_in_a_log_file(tmp_path, capsys):
    run, batches, valid = start(tmp_path / "run")
    train(run, TrainingConfig(steps=30, warmup=5), batches, valid)
    first, second, last = capsys.readouterr().err.splitlines()
    assert (
        first.startswith("step 10 of 30: loss ")
        and second.startswith("step 20 of 30: loss ")
        and " left" in second
    )
    assert (
        last.startswith("step 30: valid nll ")
        and "\r" not in first + last
        and "seconds" not in last
    )


@pytest.mark.parametrize("widgets", [True, False])
def test_a_notebook_gets_a_bar_on_standard_output(monkeypatch, capsys, recwarn, widgets):
    """tqdm.auto chooses the widget, and warns if ipywidgets is missing; standard error would be
    red.
    """
    import warnings

    from tqdm import std

    class Auto(types.ModuleType):
        def __getattr__(self, name):
            if not widgets:
                warnings.warn(
                    "IProgress not found. Please update jupyter and ipywidgets.", stacklevel=2
                )
            return std.tqdm

    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", Auto("tqdm.auto"))
    with progress_bar.make_progress(2, 0) as shown:
        shown.update()
        shown.write("valid")
        shown.update()
    out, error = capsys.readouterr()
    assert "2/2" in out and "valid" in out and not error and not recwarn.list
