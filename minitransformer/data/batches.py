"""From pairs of id lists to batches of arrays."""

from typing import Any, NamedTuple

import numpy as np

from minitransformer.special import BOS, EOS
from minitransformer.errors import InputError
from minitransformer.special import PAD


class Batch(NamedTuple):
    """Token ids stay NumPy arrays, wherever the model is: a layer moves what it makes of them."""

    source: Any       # (B, T_k) ids, ending with EOS, then padding
    target: Any       # (B, T_q) ids, beginning with BOS: what the decoder sees
    next_target: Any  # (B, T_q) ids, ending with EOS: what it is to say
    tokens: int       # real target tokens


def make_batch(pairs):
    """The Batch of a list of (source ids, target ids)."""
    if not pairs:
        raise InputError("make_batch: no pairs, expected at least one")
    return Batch(pad([[*source, EOS] for source, _ in pairs]),
                 pad([[BOS, *target] for _, target in pairs]),
                 pad([[*target, EOS] for _, target in pairs]),
                 sum(len(target) + 1 for _, target in pairs))


def split(batch, parts):
    """At most `parts` Batches that hold the sentences of `batch` in their order, each as long as its longest one."""
    places = np.array_split(np.arange(len(batch.source)), min(parts, len(batch.source)))
    return [Batch(*(_trim(ids[place]) for ids in batch[:3]), int((batch.next_target[place] != PAD).sum()))
            for place in places]


def _trim(ids):
    """Without the columns behind the last that holds a token."""
    return ids[:, : np.flatnonzero((ids != PAD).any(axis=0)).max(initial=0) + 1]


def pad(sequences):
    """(B, T) ids of `sequences`, the shorter ones filled up with PAD."""
    batch = np.full((len(sequences), max(map(len, sequences))), PAD)
    for row, ids in zip(batch, sequences):
        row[: len(ids)] = ids
    return batch


def by_length(pairs, max_tokens, rng=None):
    """All `pairs` once, in lists of similar length: each at most `max_tokens` with its padding.

    The longer side counts; a pair that is longer alone is a list of its own. `rng` shuffles the
    pairs among equal lengths and the order of the lists; without it the order is that of the lengths.
    """
    order = np.arange(len(pairs)) if rng is None else rng.permutation(len(pairs))
    order = sorted(order, key=lambda i: (len(pairs[i][1]), len(pairs[i][0])))
    batches, batch, longest = [], [], 0
    for i in order:
        longest = max(longest, *map(len, pairs[i]))
        if batch and (longest + 1) * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch, longest = [], max(map(len, pairs[i]))
        batch.append(pairs[i])
    batches.append(batch)
    return batches if rng is None else [batches[i] for i in rng.permutation(len(batches))]
