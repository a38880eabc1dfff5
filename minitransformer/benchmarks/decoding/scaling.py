"""The growth of our beam search's time and memory with the sentences in a batch and with the beam."""

from collections.abc import Iterator
from statistics import median

from minitransformer.benchmarks.measure import measure
from minitransformer.errors import InputError

BATCHES = (32, 64, 128)
BEAMS = (1, 2, 5, 10)


def scale(case, rounds) -> Iterator[dict[str, float]]:
    """One dict for JSON for each batch and beam, as soon as it is measured, on one thread."""
    for batch in BATCHES:
        for beam in BEAMS:
            contestant = f"one batch:{batch}"
            found = measure(case._replace(beam=beam), [contestant], 1, rounds)[contestant]
            if found.failed:
                raise InputError(f"minitransformer failed with batch {batch} and beam {beam}: {found.failed}")
            seconds = median(found.seconds)
            yield {"batch": batch, "beam": beam, "seconds": seconds, "seconds_per_hypothesis": seconds / batch / beam,
                   "peak_memory_bytes": found.peak}
