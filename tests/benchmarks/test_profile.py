"""The profile accounts for all products and all of the time."""

import pytest

from research.benchmarks import profile
from research.benchmarks.cases import Case
from research.benchmarks.contestants import matmul
from research.benchmarks.contestants.matmul import necessary_operations

pytestmark = pytest.mark.slow

CASE = Case("toy", 50, 6, 9)


def test_its_products_are_the_necessary_operations(monkeypatch):
    monkeypatch.setattr(
        profile, "repeat", lambda *_, **__: [matmul.OPERATIONS]
    )  # a machine of one operation a second
    blocks = profile.profile(CASE, 2)
    assert sum(row["products"] for row in blocks) == pytest.approx(
        necessary_operations(CASE.config(), 6, 9, 9)
    )
    assert {"Linear", "SelfAttention", "LayerNorm", "LinearCrossEntropy", "clipping, Adam"} <= {
        row["block"] for row in blocks
    }


def test_time_counts_once_and_where_it_is_spent(monkeypatch):
    """An inner call's time is not counted for its caller."""
    now = 0
    monkeypatch.setattr(profile.time, "perf_counter", lambda: now)
    clock = profile.Clock(profile.Transformer(CASE.config()))

    def inner():
        nonlocal now
        now += 20

    def outer():
        nonlocal now
        clock.measure("inner", "forward", inner)
        now += 1
        clock.measure("inner", "forward", inner)

    clock.measure("outer", "forward", outer)
    assert clock.seconds["inner", "forward"] == 40
    assert clock.seconds["outer", "forward"] == 1


def test_the_model_is_left_as_it_was():
    model = profile.Transformer(CASE.config())
    before = dict(vars(model.encoder))
    with profile.hooked(model, profile.Clock(model).around):
        assert "forward" in vars(model.encoder)
    assert vars(model.encoder) == before


def test_the_table(run_benchmark, monkeypatch):
    monkeypatch.setattr(
        profile, "repeat", lambda *_, **__: [1.0]
    )  # large products take longer than the step
    code, out, _ = run_benchmark("profile --config copy --rounds 1")
    assert code == 0 and "Linear" in out and out.splitlines()[-1].startswith("all ")
