"""The decoding task: a text, a run's model and a beam width."""

from typing import NamedTuple

from minitransformer.data.parallel import read_pairs
from minitransformer.decoding import encode
from minitransformer.decoding.state import EXTRA_LENGTH
from minitransformer.data.special import BOS, EOS, PAD
from minitransformer.runs.run import Run

ALPHA = 0.6  # the length penalty's


class Sentences(NamedTuple):
    """The sources in `files` (in read_pairs's format), for the model in the folder `run`, `batch`
    at a time (None: any number).
    """

    run: str
    files: list
    beam: int = 5
    batch: int | None = None

    def report(self, outputs) -> dict[str, list[list[int]]]:
        """What a worker reports besides time and memory: the ids of each sentence's output."""
        return {"outputs": outputs[-1]}

    def load(self) -> tuple[Run, list[list[int]]]:
        """The run, and the sources as lists of ids, without EOS."""
        run = Run.load(self.run)
        texts = [source for source, _ in read_pairs(self.files, "--test")]
        return run, encode(run.vocabulary, texts, run.task.max_length)


def limit(ids) -> int:
    """The maximum number of tokens in an output, without EOS, for ids (B, T_k) of sources with EOS."""
    return ids.shape[1] - 1 + EXTRA_LENGTH


def power(sources) -> float:
    """The power of an output's length n that is closest to our length penalty ((5 + n) / 6)^0.6.

    Other libraries divide a log-probability by n^power. Both grow at the same rate if the slopes of
    their logarithms are equal, power / n = 0.6 / (5 + n); n is the mean length of the sources with
    EOS.
    """
    lengths = [len(source) + 1 for source in sources if source]
    mean = sum(lengths) / len(lengths)
    return ALPHA * mean / (5 + mean)


def strip(ids) -> list[int]:
    """An output's ids up to EOS, without padding and BOS."""
    ids = list(ids)
    return [i for i in ids[: ids.index(EOS) if EOS in ids else None] if i not in (PAD, BOS)]
