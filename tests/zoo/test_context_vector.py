"""research/experiments/context_vector.md and chapter 0 show what was measured, and the picture can
be drawn again.
"""

import importlib
import json
import re

import pytest

from tests import ROOT

RESULTS = json.loads(
    (ROOT / "research" / "experiments" / "context_vector.json").read_text(encoding="utf-8")
)


def test_the_table_is_of_the_results_and_the_picture_can_be_drawn(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "research" / "experiments"))
    experiment = importlib.import_module("context_vector")
    page = (ROOT / "research" / "experiments" / "context_vector.md").read_text(encoding="utf-8")
    chapter = (ROOT / "tutorials" / "00_before" / "chapter.py").read_text(encoding="utf-8")
    for name, label in experiment.LABELS.items():
        ((gradients, accuracy),) = re.findall(
            rf"^\| {label} \| (.+) \| (.+) \|$", page, re.MULTILINE
        )
        shown = [float(number) for number in gradients.split(", ")]
        assert shown == pytest.approx(
            [RESULTS[name]["untrained"][distance - 1] for distance in (1, 10, 100)], rel=0.05
        )
        measured = dict(zip(experiment.LENGTHS, RESULTS[name]["accuracy"]))
        right = [f"{100 * measured[length]:.0f} %" for length in (10, 20, 50, 100)]
        assert accuracy == ", ".join(right)
        assert re.search(rf"\| {label}(, [^|]+)? \| {right[0]} \| {right[-1]} \|\n", chapter)
    experiment.draw(RESULTS, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 50_000
