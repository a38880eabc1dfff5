"""research/benchmarks/gpu.py: one line without a GPU; its table, made on the CPU."""

import pytest

from research.benchmarks import gpu, measure
from research.benchmarks.cases import Case
from minitransformer import InputError
from minitransformer.backend import get_module

pytestmark = pytest.mark.slow

SMALL = Case("toy", 40, 4, 6)


def test_without_a_gpu_it_is_one_line(run_benchmark, tmp_path, monkeypatch):
    try:
        get_module("cupy")
    except InputError:
        monkeypatch.chdir(tmp_path)
        code, out, error = run_benchmark("gpu")
        assert code == 2 and not out and not list(tmp_path.iterdir())
        (line,) = error.splitlines()
        assert (
            line.startswith("research.benchmarks: no GPU to measure on. CuPy ")
            and "--backend" not in line
        )
    else:
        pytest.skip("there is a GPU")


def test_its_table(monkeypatch):
    """Of contestants that take turns on a device; one that fails leaves the others theirs."""
    monkeypatch.setattr(measure, "TURN", 0.01)
    peers = ["minitransformer:nowhere", "minitransformer"]
    head, ours, broken, other = gpu.table({"copy": SMALL}, "minitransformer:numpy", peers, 1)
    assert head.split() == ["config", "tokens/s", "ratio"]
    assert (
        ours.split()[:2] == ["copy", "minitransformer:numpy"]
        and float(ours.split()[2].replace(",", "")) > 0
    )
    assert "minitransformer:nowhere failed: InputError: unknown array module 'nowhere'" in broken
    assert other.split()[1] == "minitransformer" and float(other.split()[3]) > 0
