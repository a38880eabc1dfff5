"""Beam search (section 6.1 of the paper), batched over sentences; greedy search is a beam of one."""

import numpy as np

from minitransformer.backend import module_of, to_device, to_host
from minitransformer.special import BOS, EOS, SPECIAL
from minitransformer.decoding.cached import those_left
from minitransformer.decoding.ensemble import cached_decoder
from minitransformer.decoding.hypothesis import Hypothesis, check_numbers, length_limits, length_penalty
from minitransformer.decoding.likeliest import grouped_logits, likeliest, log_normaliser
from minitransformer.errors import InputError

FIRST_WORD = len(SPECIAL)    # the tokens before it are PAD, BOS and EOS


def greedy(model, source):
    """The likeliest next token, again and again: source (B, T_k) ids -> B lists of ids up to EOS."""
    return [best.tokens for best, *_ in beam_search(model, source, 1)]


def beam_search(model, source, width, alpha=0.6, min_length=0, max_length=None):
    """For each sentence of source (B, T_k) ids its Hypotheses, the best first, at most `width` of them.

    At each position all continuations of the `width` live hypotheses compete. Of the 2 `width`
    likeliest, those that end with EOS and stand among the first `width` are found; the `width`
    likeliest others live on. A sentence is done when `width` are found. Those found are ordered by
    log-probability / length_penalty(length, alpha).

    Raises InputError for a width below 1, limits that contradict each other, and a model whose logits are not finite.
    """
    if width < 1:
        raise InputError(f"the beam is {width} wide, expected at least 1")
    least, most = length_limits(model, source, min_length, max_length)
    decoder = cached_decoder(model, source)
    found = [[] for _ in source]
    alive = np.arange(len(source))                   # the sentences not done, by their places in `source`
    tokens = np.full((len(source), 1, 1), BOS)       # (B, width, 1 + position); at first there is one hypothesis
    sums = np.zeros((len(source), 1))
    parents = None
    while len(alive):
        length = decoder.position
        x = decoder.advance(tokens[:, :, -1], parents)
        ends, sums, parents, words = _continuations(model.output.weight.data, x, sums, width)
        ends[length < least[alive]] = -np.inf
        sums[length >= most[alive]] = -np.inf
        order = np.argsort(-np.concatenate([ends, sums], axis=1), axis=1, kind="stable")[:, :width]
        for i, rank in zip(*np.nonzero(order < ends.shape[1])):
            if (total := float(ends[i, order[i, rank]])) > -np.inf:
                found[alive[i]].append(Hypothesis(tokens[i, order[i, rank], 1:].tolist(), total,
                                                  total / length_penalty(length + 1, alpha)))
        tokens = np.concatenate([np.take_along_axis(tokens, parents[:, :, None], axis=1), words[:, :, None]], axis=2)
        done = np.array([len(found[i]) >= width for i in alive]) | (sums == -np.inf).all(axis=1)
        if done.any():
            left = those_left(done)
            decoder.keep(left)
            alive, tokens, parents, sums = alive[left], tokens[left], parents[left], sums[left]
    check_numbers(np.array([bool(hypotheses) for hypotheses in found]))    # one that may never end is not found
    return [sorted(hypotheses, key=lambda h: -h.score)[:width] for hypotheses in found]


def _continuations(weight, x, sums, count):
    """What may follow x (B, width, d_model), of hypotheses with the log-probabilities sums (B, width).

    Returns the log-probabilities with EOS, (B, width), and those of the `count` likeliest continuations of each
    sentence, their parents and words, each (B, count), the likeliest first.
    """
    xp, rows = module_of(x), x.reshape(-1, x.shape[-1])
    special = rows @ weight[:FIRST_WORD].T
    blocks, maxima = grouped_logits(rows, weight[FIRST_WORD:])
    peak = xp.maximum(special.max(axis=1), maxima.max(axis=1))
    all_logits = [special, *(blocks[i] for i in range(len(blocks)))]
    before = to_device(sums, xp) - log_normaliser(all_logits, peak).reshape(sums.shape)
    ends = before + special[:, EOS].reshape(sums.shape)
    totals, parents, words = likeliest(blocks, maxima, before, count)
    found = to_host(xp.concatenate([ends, totals, parents, words], axis=1))    # at once: a GPU is waited for once
    check_numbers(~np.isnan(found))
    ends, totals, parents, words = np.split(found, np.cumsum([sums.shape[1], count, count]), axis=1)
    return ends, totals, parents.astype(int), words.astype(int) + FIRST_WORD
