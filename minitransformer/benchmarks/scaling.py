"""The growth of a training step's time and memory with the sizes of the model and the batch."""

from collections.abc import Iterator
from statistics import median
from typing import Any

from minitransformer.benchmarks.cases import Case
from minitransformer.benchmarks.measure import measure
from minitransformer.errors import InputError

# The sizes that are doubled, one at a time, while the others keep their second value here.
AXES = {"length": (16, 32, 64, 128, 256), "sentences": (8, 16, 32, 64), "d_model": (64, 128, 256, 512),
        "vocabulary": (1000, 2000, 4000, 8000, 16_000)}


def points() -> Iterator[tuple[str, int, Case]]:
    """(axis, its value, Case): two layers in each stack, d_ff = 4 d_model."""
    for axis, values in AXES.items():
        for value in values:
            sizes = {name: middle for name, (_, middle, *_) in AXES.items()} | {axis: value}
            d_model = sizes.pop("d_model")
            yield axis, value, Case("toy", **sizes, changes={"d_model": d_model, "d_ff": 4 * d_model})


def scale(threads, rounds) -> Iterator[dict[str, Any]]:
    """One dict for JSON for each point, as soon as it is measured."""
    for axis, value, case in points():
        ours = measure(case, ["minitransformer"], threads, rounds)["minitransformer"]
        if ours.failed:
            raise InputError(f"minitransformer failed with {axis} {value}: {ours.failed}")
        yield {"axis": axis, "value": value, "step_seconds": median(ours.seconds), "peak_memory_bytes": ours.peak}
