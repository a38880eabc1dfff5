"""A library that is broken costs no training run its end."""

import os
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_a_report_without_matplotlib(tmp_path):
    """Training is done: that is what counts."""
    (tmp_path / "matplotlib.py").write_text("raise AttributeError('no such thing')")
    run = tmp_path / "run"
    words = f"train copy --steps 1 --batch 2 --config toy --d-model 8 --num-heads 2 --run {run}"
    done = subprocess.run(
        [sys.executable, "-m", "minitransformer", *words.split()],
        capture_output=True,
        text=True,
        env={**os.environ, "MINITRANSFORMER_FAST": "0", "PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode == 0 and f"saved in {run}" in done.stdout
    assert "report.html was not written: no such thing" in done.stderr
