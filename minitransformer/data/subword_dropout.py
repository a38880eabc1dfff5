"""BPE-dropout (Provilkov et al. 2020, https://aclanthology.org/2020.acl-main.170): words cut at random in training."""

import random

VARIANTS = 16    # ways to cut a word that are drawn once, for all epochs


class SubwordDropout:
    """Pairs of id lists for pairs of texts, cut anew for each epoch: `dropout(epoch)`.

    Byte-pair encoding merges the two neighbours that were learned to belong together first, then the
    next. Here each possible merge is overlooked with probability `rate` each time, so that a model
    sees a word whole and in parts, and learns more from little text. The library's own dropout takes
    no seed; this one gives the same pairs for the same `seed` and epoch.
    """

    def __init__(self, vocabulary, texts, rate, seed):
        self._seed = seed
        self._texts = [tuple(map(vocabulary.words, pair)) for pair in texts]
        draw = random.Random(f"{seed} variants").random
        ranks, ids = vocabulary.merges(), vocabulary.ids
        words = dict.fromkeys(word for pair in self._texts for side in pair for word in side)
        self._variants = {word: [ids(cut(word, ranks, rate, draw)) for _ in range(VARIANTS)] for word in words}

    def __call__(self, epoch):
        draw = random.Random(f"{self._seed} epoch {epoch}").random
        return [tuple([i for word in side for i in self._variants[word][int(VARIANTS * draw())]] for side in pair)
                for pair in self._texts]


def cut(word, ranks, rate=0.0, draw=None):
    """The subwords of `word` by the merges {(left, right): rank}, each overlooked with probability `rate`."""
    parts = list(word)
    while True:
        possible = [(ranks[pair], i) for i, pair in enumerate(zip(parts, parts[1:]))
                    if pair in ranks and not (rate and draw() < rate)]
        if not possible:
            return parts
        _, i = min(possible)
        parts[i:i + 2] = [parts[i] + parts[i + 1]]
