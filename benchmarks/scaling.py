"""The growth of time and memory: of a training step with the sizes of model and batch, of our beam search with batch and beam."""

from collections.abc import Iterator
from itertools import product
from statistics import median
from typing import Any

from benchmarks.cases import Case
from benchmarks.measure import measure, succeeded

# The sizes that are doubled, one at a time, while the others keep their second value here.
AXES = {"length": (16, 32, 64, 128, 256), "sentences": (8, 16, 32, 64), "d_model": (64, 128, 256, 512),
        "vocabulary": (1000, 2000, 4000, 8000, 16_000)}

BATCHES, BEAMS = (32, 64, 128), (1, 2, 5, 10)    # the search's


def points() -> Iterator[tuple[str, int, Case]]:
    """(axis, its value, Case): two layers in each stack, d_ff = 4 d_model."""
    for axis, values in AXES.items():
        for value in values:
            size = {name: middle for name, (_, middle, *_) in AXES.items()} | {axis: value}
            yield axis, value, Case("toy", size["vocabulary"], size["sentences"], size["length"],
                                    {"d_model": size["d_model"], "d_ff": 4 * size["d_model"]})


def scale(threads, rounds) -> Iterator[dict[str, Any]]:
    """One dict for JSON for each point, as soon as it is measured."""
    for axis, value, case in points():
        (measured,) = measure(case, ["minitransformer"], threads, rounds).values()
        found = succeeded(measured, f"minitransformer with {axis} {value}")
        yield {"axis": axis, "value": value, "step_seconds": median(found.seconds), "peak_memory_bytes": found.peak}


def scale_search(case, rounds) -> Iterator[dict[str, Any]]:
    """One dict for JSON for each batch and beam, as soon as it is measured, on one thread."""
    for batch, beam in product(BATCHES, BEAMS):
        (measured,) = measure(case._replace(beam=beam), [f"minitransformer:{batch}"], 1, rounds).values()
        found = succeeded(measured, f"minitransformer with batch {batch} and beam {beam}")
        seconds = median(found.seconds)
        yield {"batch": batch, "beam": beam, "seconds": seconds, "seconds_per_hypothesis": seconds / batch / beam,
               "peak_memory_bytes": found.peak}
