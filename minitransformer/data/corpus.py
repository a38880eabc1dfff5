"""Parallel text as training data: pairs of subword ids, and batches of them without end."""

import numpy as np

from minitransformer.data.batches import by_length, make_batch
from minitransformer.errors import InputError


def encode_pairs(vocabulary, texts, max_length, name):
    """Pairs of id lists for pairs of texts; pairs with an empty side are left out.

    Raises InputError for a sentence of more than `max_length` tokens, and where no pair is left;
    `name` says in the message where the texts come from.
    """
    sources, targets = (vocabulary.encode_all([text[side] for text in texts]) for side in (0, 1))
    for line, pair in enumerate(zip(sources, targets), 1):
        longest = max(map(len, pair))
        if longest > max_length:
            raise InputError(f"{name}, line {line}: a sentence of {longest} tokens, at most {max_length} are allowed; "
                             "shorten it, leave it out, or train with a larger --max-length")
    pairs = [(source, target) for source, target in zip(sources, targets) if source and target]
    if not pairs:
        raise InputError(f"{name}: no line with text on both sides")
    return pairs


class CorpusBatches:
    """An endless iterator of Batches: each epoch all pairs once, in an order of its own made from `seed`.

    `pairs`: a list of pairs of id lists. `position`: [epoch, how many of its batches were given]; set it to go on
    from there.
    """

    def __init__(self, pairs, max_tokens, seed):
        self.pairs, self.max_tokens, self.seed = pairs, max_tokens, seed
        self._start_epoch(0)

    @property
    def position(self):
        return [self._epoch, self._given]

    @position.setter
    def position(self, position):
        epoch, given = position
        self._start_epoch(epoch)
        self._given = given

    def __iter__(self):
        return self

    def __next__(self):
        if self._given == len(self._chunks):
            self._start_epoch(self._epoch + 1)
        self._given += 1
        return make_batch(self._chunks[self._given - 1])

    def _start_epoch(self, epoch):
        rng = np.random.default_rng([self.seed, epoch])
        self._epoch, self._given = epoch, 0
        self._chunks = by_length(self.pairs, self.max_tokens, rng)
