"""benchmarks/gpu.py: one line without a GPU; its table, made on the CPU."""

import importlib.util
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.cases import Case
from minitransformer import InputError
from minitransformer.backend import get_module

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "gpu.py"
SMALL = Case("toy", 40, 4, 6)


def test_without_a_gpu_it_is_one_line(tmp_path):
    try:
        get_module("cupy")
    except InputError:
        done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 2 and not done.stdout and not list(tmp_path.iterdir())
        line, = done.stderr.splitlines()
        assert line.startswith("gpu.py: no GPU to measure on. CuPy ") and "--backend" not in line
    else:
        pytest.skip("there is a GPU")


def test_its_table():
    """Of contestants that take turns on a device; one that fails leaves the others theirs."""
    peers = ["minitransformer:nowhere"]
    if importlib.util.find_spec("torch"):
        peers.append("torch:cpu")
    head, ours, broken, *others = runpy.run_path(str(SCRIPT))["table"]({"copy": SMALL}, "minitransformer:numpy", peers, 1)
    assert head.split() == ["config", "tokens/s", "ratio"]
    assert ours.split()[:2] == ["copy", "minitransformer:numpy"] and float(ours.split()[2].replace(",", "")) > 0
    assert "minitransformer:nowhere failed: InputError: unknown array module 'nowhere'" in broken
    for line in others:
        assert line.split()[1] == "torch:cpu" and float(line.split()[3]) > 0
