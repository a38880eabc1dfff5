"""A library that is broken, or a setting of it, is named: one line, not a bug of ours."""

import os
import subprocess
import sys

import pytest

from tests.helpers.trained_runs import one_line

pytestmark = pytest.mark.slow

BROKEN = {
    "tqdm": "raise RuntimeError('of another version')",
    "safetensors": "",
    "threadpoolctl": "import a_library_that_is_not_there",
    "filelock": "def f(:",
    "matplotlib": "raise AttributeError('no such thing')",
}


def command(arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "minitransformer", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "MINITRANSFORMER_FAST": "0", **environment},
    )


@pytest.mark.parametrize("name", BROKEN)
def test_it_is_named(name, tmp_path, trained):
    (tmp_path / f"{name}.py").write_text(BROKEN[name])
    train = [
        "train",
        "copy",
        "--steps",
        1,
        "--batch",
        2,
        "--config",
        "toy",
        "--run",
        tmp_path / "run",
    ]
    arguments = ["plot", "architecture"] if name == "matplotlib" else train
    done = command(arguments, PYTHONPATH=str(tmp_path))
    assert done.returncode == 2 and not done.stdout
    last = done.stderr.splitlines()[-1]
    culprit = "a_library_that_is_not_there" if name == "threadpoolctl" else name
    assert last.startswith(f"minitransformer: {culprit} cannot be imported ("), done.stderr
    assert last.endswith(f"pip install --force-reinstall {culprit}")
    assert "report it" not in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", ["plot architecture", "attention {} a"])
def test_a_backend_that_does_not_exist(arguments, trained):
    done = command(arguments.format(trained).split(), MPLBACKEND="nonsense")
    assert done.returncode == 2 and one_line(done.stderr) and "'nonsense'" in done.stderr
    assert done.stderr.startswith("minitransformer: matplotlib cannot be imported (ValueError: ")


def test_a_report_without_matplotlib(tmp_path):
    """Training is done: that is what counts."""
    (tmp_path / "matplotlib.py").write_text(BROKEN["matplotlib"])
    run = tmp_path / "run"
    words = f"train copy --steps 1 --batch 2 --config toy --d-model 8 --num-heads 2 --run {run}"
    done = command(words.split(), PYTHONPATH=str(tmp_path))
    assert done.returncode == 0 and f"saved in {run}" in done.stdout
    assert "report.html was not written: matplotlib cannot be imported (Attribute" in done.stderr
