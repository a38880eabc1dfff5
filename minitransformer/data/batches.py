"""Batches of source and target: from pairs of id lists to arrays."""

from typing import Any, NamedTuple

import numpy as np

from minitransformer.errors import InputError
from minitransformer.special import BOS, EOS, PAD


class Batch(NamedTuple):
    """What a model trains on at once. Token ids stay NumPy arrays, wherever the model is: a layer moves what it makes of them.

    Every kind of batch has `terms`, by which its summed loss is divided; `num_tokens`, by which speed is measured; and
    `split(n)`, at most n batches that hold its sentences in their order.
    """

    source: Any        # (B, T_k) ids, ending with EOS, then padding
    target: Any        # (B, T_q) ids, beginning with BOS: what the decoder sees
    next_target: Any   # (B, T_q) ids, ending with EOS: what it has to predict
    terms: int         # real target tokens

    @property
    def inputs(self):
        return self.source, self.target

    @property
    def num_tokens(self):
        return self.terms

    def split(self, n):
        """Each part is as long as its longest sentence."""
        return [Batch(*(trim(ids[rows]) for ids in self[:3]), int((self.next_target[rows] != PAD).sum()))
                for rows in split_rows(len(self.source), n)]


def make_batch(pairs):
    """The Batch of a list of (source ids, target ids)."""
    if not pairs:
        raise InputError("make_batch: no pairs, expected at least one")
    return Batch(pad([[*source, EOS] for source, _ in pairs]),
                 pad([[BOS, *target] for _, target in pairs]),
                 pad([[*target, EOS] for _, target in pairs]),
                 sum(len(target) + 1 for _, target in pairs))


def split_rows(rows, n):
    """At most n slices of equal size, or one row less, that are all the rows."""
    ends = [part[-1] + 1 for part in np.array_split(np.arange(rows), min(n, rows))]
    return list(map(slice, [0, *ends], ends))


def trim(ids):
    """Without the columns behind the last that holds a token."""
    return ids[:, : np.flatnonzero((ids != PAD).any(axis=0)).max(initial=0) + 1]


def pad(sequences):
    """(B, T) ids of `sequences`, the shorter ones filled up with PAD."""
    batch = np.full((len(sequences), max(map(len, sequences))), PAD)
    for row, ids in zip(batch, sequences):
        row[: len(ids)] = ids
    return batch


def pair_lengths(pair):
    """By what pairs are sorted: the target's length, then the source's."""
    source, target = pair
    return len(target), len(source)


def by_length(examples, max_tokens, rng=None, lengths=pair_lengths):
    """All `examples` once, in lists of similar length: each at most `max_tokens` with its padding.

    lengths(example): the lengths of its sides, of which the longest counts; an example that is longer alone is a
    list of its own. `rng` shuffles the examples among equal lengths and the order of the lists; without it the
    order is that of the lengths.
    """
    order = np.arange(len(examples)) if rng is None else rng.permutation(len(examples))
    order = sorted(order, key=lambda i: lengths(examples[i]))
    batches, batch, longest = [], [], 0
    for i in order:
        longest = max(longest, *lengths(examples[i]))
        if batch and (longest + 1) * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch, longest = [], max(lengths(examples[i]))
        batch.append(examples[i])
    batches.append(batch)
    return batches if rng is None else [batches[i] for i in rng.permutation(len(batches))]
