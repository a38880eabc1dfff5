"""Batches of windows: passages of one long text, for a language model."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from minitransformer.checks import check_integer
from minitransformer.backend import Array
from minitransformer.data.batches import pad, split_rows
from minitransformer.errors import InputError, counted
from minitransformer.data.special import PAD


class WindowBatch(NamedTuple):
    """Like Batch, for windows of a text."""

    ids: Array  # (B, T)
    next_target: Array  # (B, T) the id after each; PAD after the end of the text
    terms: int  # real targets

    @property
    def inputs(self) -> tuple[np.ndarray]:
        return (self.ids,)

    @property
    def num_tokens(self) -> int:
        return self.terms

    def split(self, n: int) -> list["WindowBatch"]:
        return [
            WindowBatch(
                self.ids[rows], self.next_target[rows], int((self.next_target[rows] != PAD).sum())
            )
            for rows in split_rows(self[:-1], n)
        ]


class WindowBatches(Iterator[WindowBatch]):
    """An endless iterator of WindowBatches: `size` windows from random places in a text, ids (N,).

    `position`: the number of batches drawn so far; set it to continue from there.
    """

    def __init__(self, ids: Sequence[int] | Array, window: int, size: int, seed: int):
        check_integer("window", window)
        check_integer("size", size)
        check_integer("seed", seed, 0)
        check_length(ids, window, "the text")
        self.ids, self.window, self.size, self.seed = np.asarray(ids), window, size, seed
        self.position = 0

    def __next__(self) -> WindowBatch:
        self.position += 1
        starts = np.random.default_rng([self.seed, self.position]).integers(
            len(self.ids) - self.window, size=self.size
        )
        stretches = self.ids[starts[:, None] + np.arange(self.window + 1)]
        return WindowBatch(stretches[:, :-1], stretches[:, 1:], self.size * self.window)


def consecutive_windows(ids: Sequence[int] | Array, window: int, size: int) -> list[WindowBatch]:
    """WindowBatches that predict every token of a text except the first exactly once, in windows
    that do not overlap.
    """
    ids = np.asarray(ids)
    inputs, targets = (
        [side[start : start + window] for start in range(0, len(side), window)]
        for side in (ids[:-1], ids[1:])
    )
    return [
        WindowBatch(
            pad(inputs[i : i + size]),
            pad(targets[i : i + size]),
            sum(map(len, targets[i : i + size])),
        )
        for i in range(0, len(inputs), size)
    ]


def check_length(
    ids: Sequence[int] | Array, window: int, name: str, help: str = "give more text"
) -> None:
    """Raise InputError for a text that is shorter than one window and the token after it."""
    if len(ids) < window + 1:
        raise InputError(
            f"{name} has {counted(len(ids), 'token')}, expected at least {window + 1:,}: one window of {window:,} and the "
            f"token after it; {help}"
        )
