"""Endless batches of a corpus: every epoch has its own order."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from minitransformer.data.batches import by_length, make_batch, pair_lengths


class EpochBatches(Iterator[Any]):
    """An endless iterator of batches: each epoch has every example once, in an order drawn from `seed` and the epoch.

    `examples`: pairs of id lists, or whatever `make` and `lengths` accept (see by_length). `position`: [epoch, the number
    of its batches given so far]; set it to continue from there.
    """

    def __init__(self, examples, max_tokens, seed, make=make_batch, lengths=pair_lengths):
        self.examples, self.max_tokens, self.seed = examples, max_tokens, seed
        self._make, self._lengths = make, lengths
        self._start_epoch(0)

    @property
    def position(self) -> list[int]:
        return [self._epoch, self._given]

    @position.setter
    def position(self, position) -> None:
        epoch, given = position
        self._start_epoch(epoch)
        self._given = given

    def __next__(self) -> Any:
        if self._given == len(self._chunks):
            self._start_epoch(self._epoch + 1)
        self._given += 1
        return self._make(self._chunks[self._given - 1])

    def _start_epoch(self, epoch) -> None:
        rng = np.random.default_rng([self.seed, epoch])
        self._epoch, self._given = epoch, 0
        self._chunks = by_length(self.examples, self.max_tokens, rng, self._lengths)
