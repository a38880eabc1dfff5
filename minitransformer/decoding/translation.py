"""From texts to texts: sentences of any length, decoded in batches and threads, returned in the
original order.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from minitransformer.backend import Array
from minitransformer.checks import check_integer, check_kind
from minitransformer.data.batches import pad
from minitransformer.data.unknown import warn_of_unknown
from minitransformer.decoding.beam import beam_search
from minitransformer.decoding.hypothesis import Hypothesis
from minitransformer.errors import InputError, one_line, counted
from minitransformer.cores import available_cores, in_threads
from minitransformer.data.special import EOS
from minitransformer.data.vocabularies.vocabulary import Vocabulary
from minitransformer.decoding.state import Decodable
from minitransformer.stderr import stderr

ROWS = 960  # hypotheses decoded together; with fewer, the products are slower; more are no faster


@dataclass(frozen=True)
class Search:
    """How beam search finds outputs."""

    beam: int = 1  # 1: greedy
    alpha: float = 0.6  # exponent of the length penalty; 0: none
    min_length: int = 0  # tokens
    max_length: int | None = None  # tokens, at most the source's length + 50

    def __call__(self, model: Decodable, source: Array) -> list[list[Hypothesis]]:
        """Lists of Hypotheses for source (B, T_k) ids."""
        return beam_search(model, source, self.beam, self.alpha, self.min_length, self.max_length)


GREEDY = Search()


def decode_all(
    model: Decodable,
    sources: Sequence[Sequence[int]],
    search: Search = GREEDY,
    threads: int | None = None,
) -> list[list[Hypothesis]]:
    """Lists of Hypotheses, the best first, for id lists of any lengths; an empty source has an
    empty output.

    `threads` (default: one for each available core) decode batches of similar lengths, with one
    BLAS thread each.
    """
    found = [[Hypothesis([], 0.0, 0.0)] for _ in sources]
    size = max(1, ROWS // max(search.beam, 1))
    threads = (threads or available_cores()) if model.xp is np else 1

    batches = list(longest_first(sources, size))
    decoded = in_threads(lambda places, source: search(model, source), batches, threads)
    for (places, _), outputs in zip(batches, decoded):
        for i, hypotheses in zip(places, outputs):
            found[i] = hypotheses
    return found


def longest_first(
    sources: Sequence[Sequence[int]], size: int
) -> Iterator[tuple[list[int], np.ndarray]]:
    """(places, ids) of `size` sentences each: ids (B, T_k) that end with EOS, then padding; empty
    sentences are omitted.
    """
    order = sorted(
        (i for i, source in enumerate(sources) if source), key=lambda i: -len(sources[i])
    )
    for start in range(0, len(order), size):
        places = order[start : start + size]
        yield places, pad([[*sources[i], EOS] for i in places])


def encode(
    vocabulary: Vocabulary, texts: Iterable[str], max_length: int, line: str = "line"
) -> list[list[int]]:
    """Id lists of source texts, [] for an empty text, each of at most `max_length` tokens.

    Truncated texts and characters that the vocabulary lacks are reported on stderr, as those of
    `line` 1, 2, ... Raises InputError, with the line, for a text that cannot be read.
    """
    texts = check_texts(texts)
    check_integer("max_length", max_length)
    sources = []
    for number, text in enumerate(texts, 1):
        try:
            sources.append(vocabulary.encode(text.strip()))
        except InputError as error:
            raise InputError(f"{line} {number}: {error}") from None
    for number, (text, source) in enumerate(zip(texts, sources), 1):
        warn_of_unknown(vocabulary, text.strip(), source, f"{line} {number}")
        if len(source) > max_length:
            print(
                f"{line} {number} has {counted(len(source), 'token')}: what follows the first "
                f"{max_length:,} is not read (max_length in training)",
                file=stderr,
            )
    return [source[:max_length] for source in sources]


def check_texts(texts: Iterable[str]) -> list[str]:
    """`texts` as a list. Raises InputError unless they are strings; for a single string, too, whose
    letters would be taken for texts.
    """
    if isinstance(texts, str):
        raise InputError(
            f"texts is a single text, expected a list of texts: [{one_line(texts[:40])!r}]"
        )
    check_kind(isinstance(texts, Iterable), "texts", texts, "a list of texts")
    texts = list(texts)
    for text in texts:
        check_kind(isinstance(text, str), "one of the texts", text, "a str")
    return texts


def translate(
    model: Decodable,
    vocabulary: Vocabulary,
    texts: Iterable[str],
    max_length: int,
    search: Search = GREEDY,
    threads: int | None = None,
    line: str = "line",
) -> list[str]:
    """The output text for each of `texts`; at most `max_length` tokens of each are read."""
    found = decode_all(model, encode(vocabulary, texts, max_length, line), search, threads)
    return [vocabulary.decode(best.ids) for best, *_ in found]
