"""BPE-dropout: each time the model is trained on a sentence, its words are split in another way."""

import json
from functools import cache
from itertools import pairwise
from random import Random

from minitransformer.data.subwords import UNKNOWN
from minitransformer.data.vocabulary import SPECIAL

SPLITS = 32    # of each word, to draw from: to split every word of an epoch anew takes a tenth of its training


class SubwordDropout:
    """Byte-pair encoding that misses merges at random (Provilkov et al. 2020, https://aclanthology.org/2020.acl-main.170).

    A word begins as its characters. Of the pairs of neighbours that can be merged each is overlooked with probability
    `rate`, of the others the one learned first is merged, and so on until none is left to merge. So subwords that
    usually vanish in longer ones are trained too. `seed` draws the SPLITS splits of each word; a sentence that would
    become longer than `max_length` stays as it is.
    """

    def __init__(self, vocabulary, rate, max_length, seed):
        model = json.loads(vocabulary.to_json())["model"]
        self._ids = model["vocab"]
        self._tokens = {i: token for token, i in self._ids.items()}
        self._merges = {(self._ids[left], self._ids[right]): (rank, self._ids[left + right])
                        for rank, (left, right) in enumerate(model["merges"])}
        self._rate, self._max_length, self._seed = rate, max_length, seed
        self._splits = cache(self._draw_splits)

    def __call__(self, ids, rng):
        """The list `ids`, a sentence, as new ids of the same text; `rng` chooses among the splits of each word."""
        words = list(self._words(ids))
        choices = rng.integers(SPLITS, size=len(words))
        new = [i for word, choice in zip(words, choices) for i in self._splits(word)[choice]]
        return new if len(new) <= self._max_length else ids

    def _words(self, ids):
        """The ids of each word, a tuple; a word begins with "▁"."""
        word = []
        for i in ids:
            if word and self._tokens[i].startswith("▁"):
                yield tuple(word)
                word = []
            word.append(i)
        yield tuple(word)

    def _draw_splits(self, word):
        random = Random(f"{self._seed} {word}")
        return [self._split(word, random) for _ in range(SPLITS)]

    def _split(self, word, random):
        ids = [part for i in word for part in self._characters(i)]
        while True:
            seen = [(*self._merges[pair], place) for place, pair in enumerate(pairwise(ids))
                    if pair in self._merges and random.random() >= self._rate]
            if not seen:
                return tuple(ids)
            _, merged, place = min(seen)
            ids[place:place + 2] = [merged]

    def _characters(self, i):
        token = self._tokens[i]
        return [i] if token in (*SPECIAL, UNKNOWN) else [self._ids[character] for character in token]
