"""Endless batches of a corpus: every epoch has its own order."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minitransformer.checks import check_integer
from minitransformer.data.batches import by_length, make_batch, pair_lengths


class EpochBatches(Iterator[Any]):
    """An endless iterator of batches: each epoch has every example once, in an order drawn from
    `seed` and the epoch.

    `examples`: pairs of id lists, or whatever `make` and `lengths` accept (see by_length).
    `position`: [epoch, the number of its batches given so far]; set it to continue from there.
    """

    def __init__(
        self,
        examples: Sequence[Any],
        max_tokens: int,
        seed: int,
        make: Callable[[list], Any] = make_batch,
        lengths: Callable[[Any], tuple[int, ...]] = pair_lengths,
    ):
        check_integer("max_tokens", max_tokens)
        check_integer("seed", seed, 0)
        self.examples, self.max_tokens, self.seed = examples, max_tokens, seed
        self._make, self._lengths = make, lengths
        self.position = [0, 0]
        self._epoch: int | None = None  # that of _chunks

    def __next__(self) -> Any:
        epoch, given = self.position
        if given == len(self._chunks_of(epoch)):
            epoch, given = epoch + 1, 0
        self.position = [epoch, given + 1]
        return self._make(self._chunks_of(epoch)[given])

    def _chunks_of(self, epoch: int) -> list[list]:
        """The examples of each batch, which are kept until another epoch is asked for."""
        if epoch != self._epoch:
            rng = np.random.default_rng([self.seed, epoch])
            self._epoch, self._chunks = (
                epoch,
                by_length(self.examples, self.max_tokens, rng, self._lengths),
            )
        return self._chunks
