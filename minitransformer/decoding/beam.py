"""Beam search (section 6.1 of the paper), batched over sentences; greedy search is a beam of one."""

import numpy as np

from minitransformer.backend import module_of, to_device, to_host
from minitransformer.data.vocabulary import BOS, EOS
from minitransformer.decoding.cached import CachedDecoder
from minitransformer.decoding.hypothesis import Hypothesis, length_limits, length_penalty
from minitransformer.decoding.likeliest import group_maxima, likeliest, log_normaliser
from minitransformer.errors import InputError
from minitransformer.functional import PAD


def greedy(model, source):
    """The likeliest next token, again and again: source (B, T_k) ids -> B lists of ids up to EOS."""
    return [best.tokens for best, *_ in beam_search(model, source, 1)]


def beam_search(model, source, width, alpha=0.6, min_length=0, max_length=None):
    """For each sentence of source (B, T_k) ids its Hypotheses, the best first, at most `width` of them.

    At each position all continuations of the `width` live hypotheses compete. Of the 2 `width`
    likeliest, those that end with EOS and stand among the first `width` are found; the `width`
    likeliest others live on. A sentence is done when `width` are found. Those found are ordered by
    log-probability / length_penalty(length, alpha).
    """
    if width < 1:
        raise InputError(f"the beam is {width} wide, expected at least 1")
    least, most = length_limits(model, source, min_length, max_length)
    decoder = CachedDecoder(model, source, width)
    found = [[] for _ in source]
    alive = np.arange(len(source))                        # the sentences not done, by their places in `source`
    tokens = np.full((len(source), width, 1), BOS)        # (B, width, 1 + position)
    sums = np.where(np.arange(width) == 0, 0.0, -np.inf)  # at first all hypotheses are one
    sums = np.broadcast_to(sums, (len(source), width))
    parents = None
    while len(alive):
        length = decoder.position
        totals, origins, words = _candidates(decoder, tokens[:, :, -1], parents, sums, least[alive], most[alive])
        ends = words == EOS
        for i, place in zip(*np.nonzero(ends[:, :width] & (totals[:, :width] > -np.inf))):
            total = float(totals[i, place])
            found[alive[i]].append(Hypothesis(tokens[i, origins[i, place], 1:].tolist(), total,
                                              total / length_penalty(length + 1, alpha)))
        lives = np.argsort(ends, axis=1, kind="stable")[:, :width]    # the likeliest that do not end
        parents, following, sums, ends = (np.take_along_axis(a, lives, axis=1) for a in (origins, words, totals, ends))
        sums = np.where(ends, -np.inf, sums)
        tokens = np.concatenate([np.take_along_axis(tokens, parents[:, :, None], axis=1), following[:, :, None]], axis=2)
        done = np.array([len(found[i]) >= width for i in alive]) | (sums == -np.inf).all(axis=1)
        if done.any():
            left = np.flatnonzero(~done)
            decoder.keep(left)
            alive, tokens, parents, sums = alive[left], tokens[left], parents[left], sums[left]
    return [sorted(hypotheses, key=lambda h: -h.score)[:width] for hypotheses in found]


def _candidates(decoder, tokens, parents, sums, least, most):
    """The 2 `width` likeliest continuations of each sentence, in order: (sums, parents, words), each (B, n)."""
    width, length = tokens.shape[1], decoder.position
    logits = decoder.step(tokens, parents)                                        # (B, width, V)
    maxima = group_maxima(logits)
    before = to_device(sums, module_of(logits)) - log_normaliser(logits, maxima.max(axis=2))
    totals, parents, words = likeliest(logits, maxima, before, 5 * width)    # 3 of each hypothesis may be forbidden:
    forbidden = (words == PAD) | (words == BOS) | ((words == EOS) & (length < least)[:, None])
    totals = np.where(forbidden, -np.inf, totals)
    if (full := length >= most).any():
        totals[full], words[full] = -np.inf, EOS
        totals[full, :width], parents[full, :width] = to_host(before + logits[:, :, EOS])[full], np.arange(width)
    order = np.lexsort((words, -totals))[:, :2 * width]                           # equal sums: the smaller id first
    return tuple(np.take_along_axis(a, order, axis=1) for a in (totals, parents, words))
