"""The toy tasks: copy, reverse and sort letters, and translate number words. Nothing to download.

One example in ten is held out, chosen by a checksum of its source text, so no seed can ever put a
test example into training.
"""

import string
from zlib import crc32

import numpy as np

from minitransformer.data import numbers
from minitransformer.data.batches import make_batch
from minitransformer.data.vocabulary import SymbolVocabulary
from minitransformer.errors import InputError

MAX_LETTERS = 12
SEQUENCE_TASKS = {"copy": list, "reverse": lambda letters: letters[::-1], "sort": sorted}
TASKS = (*SEQUENCE_TASKS, "numbers")


class SequenceTask:
    """From letters "c a b" to their copy, reversal or sorted order: 1 to 12 letters."""

    def __init__(self, name):
        self.transform = SEQUENCE_TASKS[name]
        self.vocabulary = SymbolVocabulary(string.ascii_lowercase)

    def draw(self, rng):
        """One random (source, target), each a list of symbols."""
        letters = rng.integers(26, size=rng.integers(1, MAX_LETTERS + 1))
        source = [string.ascii_lowercase[i] for i in letters]
        return source, self.transform(source)

    def held_out(self, source):
        return crc32(" ".join(source).encode()) % 10 == 0


class NumberTask:
    """From English number words to German or Korean ones, for 0 to 999,999.

    Numbers below 100 are never held out: their words are irregular and can't be inferred.
    """

    def __init__(self, language):
        self.translate = numbers.LANGUAGES[language]
        symbols = {symbol for n in [*range(100), 100, 1000, 10_000, 100_000, 110_000, 999_999]
                   for words in (numbers.english(n), self.translate(n)) for symbol in words}
        self.vocabulary = SymbolVocabulary(sorted(symbols), joint="")

    def draw(self, rng):
        digits = rng.integers(1, 7)    # as many short numbers as long ones
        n = int(rng.integers(10 ** digits))
        return numbers.english(n), self.translate(n)

    def held_out(self, source):
        return len(source) > 2 and crc32(" ".join(source).encode()) % 10 == 0


def make_task(name, language=None):
    """The toy task called `name`; numbers is translated to `language`."""
    if name not in TASKS or (name == "numbers" and language not in list(numbers.LANGUAGES)):
        raise InputError(f"unknown toy task {name!r} in language {language!r}; choose from {', '.join(TASKS)}, "
                         f"numbers with {' or '.join(numbers.LANGUAGES)}")
    return NumberTask(language) if name == "numbers" else SequenceTask(name)


class ToyBatches:
    """An endless iterator of Batches of `size` fresh examples; the same seed gives the same ones.

    `position`: how many it has given; set it to go on from there.
    """

    def __init__(self, task, size, seed):
        self.task, self.size, self.seed = task, size, seed
        self.position = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.position += 1
        return make_batch(examples(self.task, [self.seed, self.position], self.size))


def held_out(task, size, seed=0):
    """`size` different pairs of id lists that no training batch can hold."""
    return examples(task, seed, size, held_out=True)


def examples(task, seed, size, held_out=False):
    """`size` random pairs of id lists: training examples, or different held-out ones."""
    rng = np.random.default_rng(seed)
    encode = task.vocabulary.encode_symbols
    pairs, seen = [], set()
    while len(pairs) < size:
        source, target = task.draw(rng)
        if task.held_out(source) != held_out or (held_out and tuple(source) in seen):
            continue
        seen.add(tuple(source))
        pairs.append((encode(source), encode(target)))
    return pairs
