"""python -m research.benchmarks layers, without the measuring."""

import json

import pytest

from research.benchmarks import layers

pytestmark = pytest.mark.slow

COSTS = [
    {"n": 64, "d": 32, "seconds": 0.001, "bytes": 1000},
    {"n": 128, "d": 64, "seconds": 0.004, "bytes": 2000},
]
ROWS = [
    {
        "layer": name,
        "slope_n": 1.94,
        "slope_d": 1.5,
        "memory_slope_n": 1.85,
        "memory_slope_d": 0.84,
        "operations": 805306368,
        "operations_measured_over_formula": 1.0,
        "sequential_steps": 4,
        "path_length": 1,
        "over_n": COSTS,
        "over_d": COSTS,
    }
    for name in layers.KINDS
]


@pytest.fixture
def measured(monkeypatch):
    monkeypatch.setattr(layers, "measure", lambda rounds: iter(ROWS))


def test_json(run_benchmark, measured, tmp_path):
    code, out, error = run_benchmark("layers --json --output", tmp_path / "a.svg")
    found = json.loads(out)
    assert code == 0 and error.endswith("a.svg\n") and (tmp_path / "a.svg").exists()
    assert found["results"] == ROWS and found["threads"] == 1 and "numpy" in found["versions"]


def test_the_table_and_the_picture(run_benchmark, measured, tmp_path):
    code, out, _ = run_benchmark("layers --output", tmp_path / "table1")
    assert code == 0 and (tmp_path / "table1.png").stat().st_size > 5000
    rows = [line.split() for line in out.splitlines()]
    assert [
        "self-attention",
        "805,306,368",
        "1.000",
        "4",
        "1",
        "1.94",
        "1.50",
        "1.85",
        "0.84",
    ] in rows
    assert (
        sum(row[:1] == ["separable"] for row in rows) == 2 and ["recurrent", "1.00", "4.00"] in rows
    )
