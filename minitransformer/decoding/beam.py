"""Beam search (section 6.1 of the paper), batched over sentences; greedy search is a beam of one."""

import math
from numbers import Real
from operator import attrgetter

import numpy as np

from minitransformer.backend import Array
from minitransformer.checks import check_integer
from minitransformer.decoding.continuations import FIRST_WORD, continuations, weight_of
from minitransformer.decoding.hypothesis import (
    Hypothesis,
    check_numbers,
    check_words,
    compact_rows,
    length_limits,
    length_penalty,
)
from minitransformer.decoding.state import Decodable
from minitransformer.errors import InputError

MAX_WIDTH = 1000  # far beyond what improves a translation: a larger one is a mistake


def greedy(model: Decodable, source: Array) -> list[list[int]]:
    """The most likely next token at each position: source (B, T_k) ids -> B lists of ids up to EOS."""
    return [best.ids for best, *_ in beam_search(model, source, 1)]


def beam_search(
    model: Decodable,
    source: Array,
    width: int,
    alpha: float = 0.6,
    min_length: int = 0,
    max_length: int | None = None,
) -> list[list[Hypothesis]]:
    """The Hypotheses for each sentence of source (B, T_k) ids: at most `width`, the best first.

    At each position, all continuations of the `width` live hypotheses compete. Of the 2 `width`
    most likely ones, those that end with EOS and rank among the first `width` are finished; the
    `width` most likely others stay live. The finished hypotheses are ordered by their score,
    log-probability / length_penalty(length, alpha). A sentence is done once `width` hypotheses are
    finished and no live one would have a higher score than the best of them if it ended at the next
    position: otherwise, five short outputs of 0.1 % each could end the search for one of 99 %.

    Raises InputError for a width below 1, limits that contradict each other, and a model whose
    logits are not finite.
    """
    check_integer("the beam width", width, 1, MAX_WIDTH)
    if not isinstance(alpha, Real) or not math.isfinite(alpha):
        raise InputError(f"alpha is {alpha!r}, expected a finite number")
    state = model.start(source)
    weight = weight_of(state.output)
    least, most = length_limits(state, min_length, max_length)
    found = [[] for _ in source]
    alive = np.arange(len(source))  # the indices in `source` of the unfinished sentences
    ids = state.first[:, :, None]  # (B, width, 1 + length); at first there is one hypothesis
    sums = np.zeros((len(source), 1))
    parents = None
    while len(alive):
        length = ids.shape[2] - 1
        x = state.advance(ids[:, :, -1], parents)
        words = weight.tokens(x) - FIRST_WORD
        check_words(words, least[alive])
        ends, sums, parents, next_ids = continuations(
            x, weight, sums, max(1, min(width, sums.shape[1] * words))
        )
        check_numbers(~np.isnan(ends))
        ends[length < least[alive]] = -np.inf
        sums[length >= most[alive]] = -np.inf
        order = np.argsort(-np.concatenate([ends, sums], axis=1), axis=1, kind="stable")[:, :width]
        for i, rank in zip(*np.nonzero(order < ends.shape[1])):
            if (total := float(ends[i, order[i, rank]])) > -np.inf:
                found[alive[i]].append(
                    Hypothesis(
                        ids[i, order[i, rank], 1:].tolist(),
                        total,
                        total / length_penalty(length + 1, alpha),
                    )
                )
        ids = np.concatenate(
            [np.take_along_axis(ids, parents[:, :, None], axis=1), next_ids[:, :, None]], axis=2
        )
        # the best live one's score, if it ended at the next position
        ahead = sums[:, 0] / length_penalty(length + 2, alpha)
        done = np.array(
            [
                len(found[i]) >= width and max(found[i], key=_score).score >= live
                for i, live in zip(alive, ahead)
            ]
        )
        done |= (sums == -np.inf).all(axis=1)
        if done.any():
            rows = compact_rows(done)
            state.keep(rows)
            alive, ids, parents, sums = alive[rows], ids[rows], parents[rows], sums[rows]
    # nothing is found if no hypothesis can end
    check_numbers(np.array([bool(hypotheses) for hypotheses in found]))
    return [sorted(hypotheses, key=_score, reverse=True)[:width] for hypotheses in found]


_score = attrgetter("score")
