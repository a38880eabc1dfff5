"""Parallel text as training data: pairs of subword ids, and batches of them without end."""

from itertools import count

import numpy as np

from minitransformer.data.batches import by_length, make_batch
from minitransformer.errors import InputError


def encode_pairs(vocabulary, texts, max_length, name):
    """Pairs of id lists for pairs of texts; pairs with an empty side are left out.

    Raises InputError for a sentence of more than `max_length` tokens, and where no pair is left;
    `name` says in the message where the texts come from.
    """
    sources, targets = (vocabulary.encode_all(list(side)) for side in zip(*texts))
    for line, pair in enumerate(zip(sources, targets), 1):
        longest = max(map(len, pair))
        if longest > max_length:
            raise InputError(f"{name}, line {line}: a sentence of {longest} tokens, at most {max_length} are allowed; "
                             "shorten it, leave it out, or train with a larger --max-length")
    pairs = [(source, target) for source, target in zip(sources, targets) if source and target]
    if not pairs:
        raise InputError(f"{name}: no line with text on both sides")
    return pairs


def training_batches(pairs, max_tokens, seed):
    """An endless iterator of Batches: each epoch all pairs once, in an order of its own made from `seed`."""
    for epoch in count():
        for chunk in by_length(pairs, max_tokens, np.random.default_rng([seed, epoch])):
            yield make_batch(chunk)
