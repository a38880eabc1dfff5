"""Batches of source and target: from pairs of id lists to arrays."""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np

from minitransformer.backend import Array, Generator
from minitransformer.checks import check_shape
from minitransformer.errors import InputError
from minitransformer.data.special import BOS, EOS, PAD


Pair = tuple[Sequence[int], Sequence[int]]  # source ids, target ids
Example = TypeVar("Example")


class Batch(NamedTuple):
    """A batch of sentence pairs. Token ids are NumPy arrays on every device: a layer moves what it
    computes from them.

    Every kind of batch has `terms`, the divisor of its summed loss; `num_tokens`, for measuring
    speed; and `split(n)`, which returns at most n batches with its sentences in order.
    """

    source: Array  # (B, T_k) ids, ending with EOS, then padding
    target: Array  # (B, T_q) ids, beginning with BOS: the decoder's input
    next_target: Array  # (B, T_q) ids, ending with EOS: the ids to predict
    terms: int  # real target tokens

    @property
    def inputs(self) -> tuple[np.ndarray, np.ndarray]:
        return self.source, self.target

    @property
    def num_tokens(self) -> int:
        return self.terms

    def split(self, n: int) -> list["Batch"]:
        """Each part is as wide as its longest sentence."""
        return [
            Batch(
                trim(self.source[rows]),
                trim(self.target[rows]),
                trim(self.next_target[rows]),
                int((self.next_target[rows] != PAD).sum()),
            )
            for rows in split_rows(self[:-1], n)
        ]


def make_batch(pairs: Iterable[Pair]) -> Batch:
    """The Batch of a list of (source ids, target ids).

    Raises InputError if there are none, or if an id is not a whole number or is PAD, which only
    make_batch adds.
    """
    pairs = [(source, target) for source, target in pairs]
    if not pairs:
        raise InputError("make_batch: no pairs, expected at least one")
    check_sentences("make_batch", [ids for pair in pairs for ids in pair])
    return Batch(
        pad([[*source, EOS] for source, _ in pairs]),
        pad([[BOS, *target] for _, target in pairs]),
        pad([[*target, EOS] for _, target in pairs]),
        sum(len(target) + 1 for _, target in pairs),
    )


def check_sentences(name: str, sentences: Iterable[Sequence[int]]) -> None:
    """Raise InputError unless each sentence is a sequence of ids allowed in one: whole numbers
    above PAD.
    """
    array = np.array(list(chain.from_iterable(sentences)) or [BOS])
    if array.dtype.kind not in "iu":
        raise InputError(f"{name}: the token ids are {array.dtype}, expected whole numbers")
    if array.min() <= PAD:
        raise InputError(
            f"{name}: a sentence contains the id {array.min()}, expected ids above {PAD}, the id of padding "
            f"({BOS} and {EOS} mark the beginning and the end)"
        )


def split_rows(arrays: Sequence[Array], n: int) -> list[slice]:
    """At most n slices that cover all rows of a batch's arrays; their sizes differ by at most one
    row.

    Raises InputError unless all arrays have as many rows.
    """
    shapes = [getattr(array, "shape", ()) for array in arrays]
    if len({shape[:1] for shape in shapes}) > 1 or not shapes[0]:
        raise InputError(
            f"the arrays of a batch have the shapes {', '.join(map(str, shapes))}, expected equal numbers of rows"
        )
    rows = len(arrays[0])
    ends = [part[-1] + 1 for part in np.array_split(np.arange(rows), min(n, rows))]
    return list(map(slice, [0, *ends], ends))


def trim(ids: Array) -> np.ndarray:
    """`ids` (B, T) without the last columns that hold only padding."""
    check_shape("a batch's array", ids, "B", "T")
    return ids[:, : np.flatnonzero((ids != PAD).any(axis=0)).max(initial=0) + 1]


def pad(sequences: Sequence[Sequence[int] | Array]) -> np.ndarray:
    """(B, T) ids of `sequences`, the shorter ones padded with PAD."""
    batch = np.full((len(sequences), max(map(len, sequences))), PAD)
    for row, ids in zip(batch, sequences):
        row[: len(ids)] = ids
    return batch


def pair_lengths(pair: Pair) -> tuple[int, int]:
    """The sort key of a pair: the target's length, then the source's."""
    source, target = pair
    return len(target), len(source)


def by_length(
    examples: Sequence[Example],
    max_tokens: int,
    rng: Generator | None = None,
    lengths: Callable[[Any], tuple[int, ...]] = pair_lengths,
) -> list[list[Example]]:
    """Each of `examples` once, in lists of examples of similar length: at most `max_tokens` per
    list, padding included.

    lengths(example): the lengths of its sides; the longest counts. An example longer than
    `max_tokens` gets its own list. `rng` shuffles examples of equal length and the order of the
    lists; without it, lists are ordered by length.
    """
    shuffled = np.arange(len(examples)) if rng is None else rng.permutation(len(examples))
    order = sorted(shuffled, key=lambda i: lengths(examples[i]))
    batches, batch, longest = [], [], 0
    for i in order:
        longest = max(longest, *lengths(examples[i]))
        if batch and (longest + 1) * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch, longest = [], max(lengths(examples[i]))
        batch.append(examples[i])
    batches.append(batch)
    return batches if rng is None else [batches[i] for i in rng.permutation(len(batches))]
