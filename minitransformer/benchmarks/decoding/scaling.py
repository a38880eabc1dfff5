"""The growth of our beam search's time and memory with the sentences in a batch and with the beam."""

from collections.abc import Iterator
from itertools import product
from statistics import median

from minitransformer.benchmarks.measure import measure, succeeded

BATCHES = (32, 64, 128)
BEAMS = (1, 2, 5, 10)


def scale(case, rounds) -> Iterator[dict[str, float]]:
    """One dict for JSON for each batch and beam, as soon as it is measured, on one thread."""
    for batch, beam in product(BATCHES, BEAMS):
        (measured,) = measure(case._replace(beam=beam), [f"minitransformer:{batch}"], 1, rounds).values()
        found = succeeded(measured, f"minitransformer with batch {batch} and beam {beam}")
        seconds = median(found.seconds)
        yield {"batch": batch, "beam": beam, "seconds": seconds, "seconds_per_hypothesis": seconds / batch / beam,
               "peak_memory_bytes": found.peak}
