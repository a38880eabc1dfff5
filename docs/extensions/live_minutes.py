"""How long the cells of a chapter compute in its page, as it was measured: `python -m
research.benchmarks pages`.
"""

import json
import math
from pathlib import Path

RECORD = Path(__file__).parents[2] / "research" / "benchmarks" / "outputs" / "zen3_pages.jsonl"


def measured() -> list[dict]:
    return [json.loads(line) for line in RECORD.read_text(encoding="utf-8").splitlines()]


def long_cells(chapter: str) -> dict[int, float]:
    """{number on the page of a cell that takes long: its seconds of processor time there}"""
    (found,) = (one["long"] for one in measured() if one["chapter"] == chapter)
    return {int(cell): seconds for cell, seconds in found.items()}


def minutes(seconds: float) -> int:
    return math.ceil(seconds / 60)
