"""Batches of real sentences, padding included, in place of random tokens."""

from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from minitransformer.benchmarks.cases import MODULES, Case, check_losses
from minitransformer.data.batches import Batch
from minitransformer.data.epochs import EpochBatches
from minitransformer.data.parallel import encode_pairs, read_pairs
from minitransformer.data.vocabularies.subwords import SubwordVocabulary
from minitransformer.models import TransformerConfig
from minitransformer.functional.special import PAD
from minitransformer.tasks.translate import Translate

BATCHES = 16    # in a step of the benchmark; each is an update


class Text(NamedTuple):
    """The batches that `save` wrote to `file`, for a model of a named size."""

    size: str
    vocabulary: int
    file: str

    def config(self) -> TransformerConfig:
        return Case(self.size, self.vocabulary, 0, 0).config()

    def batches(self) -> list[Batch]:
        with np.load(self.file) as arrays:
            ids = [arrays[f"arr_{i}"] for i in range(len(arrays.files))]
        return [Batch(*three, terms=int((three[2] != PAD).sum())) for three in zip(ids[::3], ids[1::3], ids[2::3])]

    def modules(self) -> dict[str, str]:
        return MODULES

    def report(self, losses) -> dict:
        return check_losses(losses)


def read(files) -> tuple[int, list[Batch]]:
    """The number of subwords learned from parallel text, and some batches of it, as `minitransformer train translate` makes them.

    files: as for read_pairs. Raises InputError for files that cannot be used.
    """
    pairs = read_pairs(files, "--batches")
    vocabulary = SubwordVocabulary.learn(chain.from_iterable(pairs), Translate.vocab_size)
    encoded = encode_pairs(vocabulary, pairs, Translate.max_length, " / ".join(files))
    return vocabulary.size, list(islice(EpochBatches(encoded, Translate.batch, seed=0), BATCHES))


def save(batches, file) -> None:
    np.savez(file, *chain.from_iterable(batch[:3] for batch in batches))


def padding(arrays) -> float:
    """The share of padding in arrays of token ids."""
    return 1 - sum(np.count_nonzero(ids != PAD) for ids in arrays) / sum(ids.size for ids in arrays)
