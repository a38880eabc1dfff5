"""What is decoded: a text, with a run's model and a beam of some width."""

from typing import NamedTuple

from minitransformer.data.batches import pad
from minitransformer.data.parallel import read_pairs
from minitransformer.data.vocabulary import BOS, EOS
from minitransformer.decoding import encode
from minitransformer.decoding.hypothesis import EXTRA_LENGTH
from minitransformer.functional import PAD
from minitransformer.training.run import Run

ALPHA = 0.6    # of the length penalty


class Sentences(NamedTuple):
    """The sources in `files` (as read_pairs takes them), for the model of the folder `run`."""

    run: str
    files: list
    beam: int = 5

    def modules(self):
        """{contestant: the module in minitransformer.benchmarking whose make_step(case, threads, ...) decodes all}."""
        return {"minitransformer": "decoding.ours", "marianmt": "decoding.marian",
                "ctranslate2": "decoding.ctranslate2_float32", "one batch": "decoding.one_batch"}

    def report(self, outputs):
        """What a worker answers beside time and memory: the ids of each sentence's output."""
        return {"outputs": outputs[-1]}

    def load(self):
        """The run, and the sources as lists of ids, without EOS."""
        run = Run.load(self.run)
        texts = [source for source, _ in read_pairs(self.files)]
        return run, encode(run.vocabulary, texts, run.settings["max_length"])


class Batch(NamedTuple):
    places: list    # of the sentences, among all
    ids: object     # (B, T_k), ending with EOS, then padding
    limit: int      # tokens of an output, without EOS


def batches(sources, size):
    """Batches of `size` sentences, the longest first, as decode_all has them; empty ones are left out."""
    order = sorted((i for i, source in enumerate(sources) if source), key=lambda i: -len(sources[i]))
    for start in range(0, len(order), size):
        places = order[start:start + size]
        ids = pad([[*sources[i], EOS] for i in places])
        yield Batch(places, ids, ids.shape[1] - 1 + EXTRA_LENGTH)


def power(sources):
    """The power of an output's length n that is most like our length penalty ((5 + n) / 6)^0.6.

    Others divide a log-probability by n^power. Both grow alike where the slopes of their logarithms are
    equal, power / n = 0.6 / (5 + n): at the mean length of the sources with EOS.
    """
    lengths = [len(source) + 1 for source in sources if source]
    mean = sum(lengths) / len(lengths)
    return ALPHA * mean / (5 + mean)


def strip(ids):
    """An output's ids up to EOS, without padding and BOS."""
    ids = list(ids)
    return [i for i in ids[:ids.index(EOS) if EOS in ids else None] if i not in (PAD, BOS)]
