"""Show how time and memory of a training step grow with length, sentences, d_model and vocabulary."""

from collections.abc import Iterator
from functools import partial
from statistics import median
from typing import Any

from research.benchmarks.cases import Case
from research.benchmarks.measure import measure, succeeded
from research.benchmarks.report import add_common, memory, report

# The sizes that are doubled, one at a time, while the others keep their second value here.
AXES = {
    "length": (16, 32, 64, 128, 256),
    "sentences": (8, 16, 32, 64),
    "d_model": (64, 128, 256, 512),
    "vocabulary": (1000, 2000, 4000, 8000, 16_000),
}

add_arguments = partial(add_common, threads=True)


def execute(args) -> None:
    report(args, scale(args.threads, args.rounds), _print_table, args.threads)


def points() -> Iterator[tuple[str, int, Case]]:
    """(axis, its value, Case): two layers in each stack, d_ff = 4 d_model."""
    for axis, values in AXES.items():
        for value in values:
            size = {name: middle for name, (_, middle, *_) in AXES.items()} | {axis: value}
            yield (
                axis,
                value,
                Case(
                    "toy",
                    size["vocabulary"],
                    size["sentences"],
                    size["length"],
                    {"d_model": size["d_model"], "d_ff": 4 * size["d_model"]},
                ),
            )


def scale(threads, rounds) -> Iterator[dict[str, Any]]:
    """One dict for JSON for each point, as soon as it is measured."""
    for axis, value, case in points():
        (measured,) = measure(case, ["minitransformer"], threads, rounds).values()
        found = succeeded(measured, f"minitransformer with {axis} {value}")
        yield {
            "axis": axis,
            "value": value,
            "step_seconds": median(found.seconds),
            "peak_memory_bytes": found.peak,
        }


def _print_table(results) -> None:
    """Print each row with its growth over the previous row."""
    before = {"axis": None}
    for row in results:
        growth = ["", ""]
        if row["axis"] != before["axis"]:
            print(
                f"\n{row['axis']:>10} {'step':>9} {'growth':>7} {'peak memory':>12} {'growth':>7}"
            )
        else:
            growth = [
                f"x {row[name] / before[name]:.1f}"
                for name in ("step_seconds", "peak_memory_bytes")
            ]
        line = f"{row['value']:10,} {1000 * row['step_seconds']:6,.0f} ms {growth[0]:>7} {memory(row)} {growth[1]:>7}"
        print(line.rstrip(), flush=True)
        before = row
