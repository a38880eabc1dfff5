"""Batches of real sentences, padding included, in place of random tokens."""

from itertools import chain, islice
from pathlib import Path

import numpy as np

from research.benchmarks.cases import Case
from minitransformer.data.epochs import EpochBatches
from minitransformer.data.parallel import encode_pairs, read_pairs
from minitransformer.data.vocabularies.subwords import SubwordVocabulary
from minitransformer.tasks.translate import Translate

BATCHES = 16  # in a step of the benchmark; each is an update


def text_cases(cases, files, folder) -> dict[str, Case]:
    """The `cases` with the first batches of parallel text, made as `minitransformer train
    translate` makes them.

    files: as for read_pairs; folder: for the file of the batches. Raises InputError for files that
    cannot be used.
    """
    pairs = read_pairs(files, "--batches")
    vocabulary = SubwordVocabulary.learn(chain.from_iterable(pairs), Translate.vocab_size)
    encoded = encode_pairs(vocabulary, pairs, Translate.max_length, " / ".join(files))
    file = str(Path(folder, "batches.npz"))
    save(islice(EpochBatches(encoded, Translate.batch, seed=0), BATCHES), file)
    return {name: Case(case.size, vocabulary.size, text=file) for name, case in cases.items()}


def save(batches, file) -> None:
    np.savez(file, *chain.from_iterable(batch[:3] for batch in batches))
