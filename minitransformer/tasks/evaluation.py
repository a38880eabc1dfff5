"""Measure a model: perplexity, accuracy, exact match, BLEU, chrF. Outputs are the model's own,
never teacher-forced.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitransformer.data.batches import Pair, by_length, make_batch, pair_lengths
from minitransformer.decoding import GREEDY, decode_all
from minitransformer.errors import InputError, counted
from minitransformer.extras import require
from minitransformer.cores import available_cores, in_threads
from minitransformer.decoding.state import Decodable
from minitransformer.decoding.translation import Search
from minitransformer.models.model import AnyBatch, Model

BATCH_TOKENS = 4096


def mean_loss(model: Model, batches: Sequence[AnyBatch], threads: int | None = None) -> float:
    """The mean negative log-likelihood per term (a target token, EOS included, or a label) over
    batches, in nats.

    The batches are shared by `threads` (default: one for each available core).
    """

    def work(batch: AnyBatch) -> float:
        sums, _ = model.loss_forward(batch)
        return float(sums.negative_log_likelihood)

    batches = list(batches)
    terms = count_terms("mean_loss: the list of batches", batches)
    threads = (threads or available_cores()) if model.xp is np else 1
    return sum(in_threads(work, [(batch,) for batch in batches], threads)) / terms


def count_terms(name: str, batches: Sequence[AnyBatch]) -> int:
    """The number of terms in all batches. Raises InputError, which calls them `name`, if there are
    none.
    """
    terms = sum(batch.terms for batch in batches)
    if not terms:
        found = f"has {counted(len(batches), 'batch')} without any terms" if batches else "is empty"
        raise InputError(f"{name} {found}, expected at least one batch with something to predict")
    return terms


def pair_batches(
    pairs: Sequence[Any],
    make: Callable[[list], Any] = make_batch,
    lengths: Callable[[Any], tuple[int, ...]] = pair_lengths,
) -> list:
    """Batches in which each of `pairs` of id lists (or whatever `make` and `lengths` accept) occurs
    once, for `mean_loss`.
    """
    return [make(chunk) for chunk in by_length(pairs, BATCH_TOKENS, lengths=lengths)]


def perplexity(loss: float) -> float:
    """exp(mean loss): the model is as uncertain as if it chose among this many equally likely
    tokens.
    """
    return math.exp(min(loss, 700.0))  # a larger value overflows


def exact_match(
    model: Decodable, pairs: Sequence[Pair], search: Search = GREEDY, threads: int | None = None
) -> float:
    """The fraction of pairs of id lists whose source the model decodes to exactly the target."""
    if not pairs:
        raise InputError("exact_match: no pairs, expected at least one")
    outputs = decode_all(model, [source for source, _ in pairs], search, threads)
    return sum(best.ids == target for (best, *_), (_, target) in zip(outputs, pairs)) / len(pairs)


def bleu_metric(tokenize: str = "13a") -> Any:
    """sacrebleu's BLEU. Raises InputError if what it tokenises with is not installed."""
    try:
        return require("sacrebleu").metrics.BLEU(tokenize=tokenize, force=True)
    except (RuntimeError, AssertionError):
        # of its tokenizers for Korean: no analyser, or another dictionary
        raise InputError(
            f"tokenize {tokenize} needs an analyser of words and its dictionary: "
            f'pip install "sacrebleu[{tokenize[:2]}]"'
        ) from None


def bleu(
    outputs: Sequence[str], references: Sequence[str], tokenize: str = "13a"
) -> tuple[float, str]:
    """(BLEU, signature) of output texts by sacrebleu; `tokenize`: "13a", "none" for tokenised text,
    "ko-mecab" for Korean.
    """
    metric = bleu_metric(tokenize)
    score = metric.corpus_score(outputs, [references]).score
    return score, str(metric.get_signature())


def chrf(outputs: Sequence[str], references: Sequence[str]) -> float:
    """chrF2 of output texts by sacrebleu: an F-score of character n-grams, suited to Korean, where
    words are long.
    """
    return require("sacrebleu").metrics.CHRF().corpus_score(outputs, [references]).score
