"""Outputs drawn at random: from all of the model's distribution, or from its likelier part."""

import numpy as np

from minitransformer.backend import module_of, to_device, to_host
from minitransformer.data.vocabulary import BOS, EOS
from minitransformer.decoding.cached import CachedDecoder, those_left
from minitransformer.decoding.hypothesis import Hypothesis, check_numbers, length_limits
from minitransformer.decoding.likeliest import log_normaliser
from minitransformer.errors import InputError
from minitransformer.functional import PAD


def sample(model, source, rngs, count=1, temperature=1.0, top_k=0, top_p=1.0, min_length=0, max_length=None):
    """For each sentence of source (B, T_k) ids `count` Hypotheses, drawn token by token, the likeliest first.

    Each token is drawn from softmax(logits / temperature), cut to the `top_k` likeliest tokens (0: all)
    and to the fewest whose probability reaches `top_p` (Holtzman et al. 2020,
    https://arxiv.org/abs/1904.09751). `rngs`: a NumPy generator for each sentence, so that what is
    drawn does not depend on the batch. The reported log-probabilities are the model's own.
    """
    if count < 1:
        raise InputError(f"the number of samples is {count}, expected at least 1")
    check_sampling(temperature, top_k, top_p)
    least, most = length_limits(model, source, min_length, max_length)
    decoder = CachedDecoder(model, source)
    tokens = np.full((len(source), count, 1), BOS)
    sums = np.zeros((len(source), count))
    found = [[] for _ in source]
    alive, ended = np.arange(len(source)), np.zeros((len(source), count), bool)
    while len(alive):
        logits = decoder.step(tokens[:, :, -1])                                   # (B, count, V)
        rows = logits.reshape(-1, logits.shape[-1])
        normaliser = log_normaliser([rows], rows.max(axis=-1))
        _forbid(logits, decoder.position - 1, least[alive], most[alive])
        draws = np.stack([rngs[i].random(count) for i in alive])
        words, values = _draw(rows, draws.reshape(-1), temperature, top_k, top_p)
        words, values = (to_host(a).reshape(draws.shape) for a in (words, values - normaliser[:, None]))
        check_numbers(values)
        sums = np.where(ended, sums, sums + values)
        words = np.where(ended, EOS, words)
        for i, k in zip(*np.nonzero((words == EOS) & ~ended)):
            found[alive[i]].append(Hypothesis(tokens[i, k, 1:].tolist(), float(sums[i, k]), float(sums[i, k])))
        ended |= words == EOS
        tokens = np.concatenate([tokens, words[:, :, None]], axis=2)
        if (done := ended.all(axis=1)).any():
            left = those_left(done)
            decoder.keep(left)
            alive, tokens, sums, ended = alive[left], tokens[left], sums[left], ended[left]
    return [sorted(hypotheses, key=lambda h: -h.score) for hypotheses in found]


def check_sampling(temperature, top_k, top_p, called=str):
    """Raise InputError for settings that mean nothing; `called(name)` is what the message calls one."""
    if not 1e-3 <= temperature <= 1e3:
        raise InputError(f"{called('temperature')} is {temperature}, expected a number from 0.001 to 1000")
    if top_k < 0:
        raise InputError(f"{called('top_k')} is {top_k}, expected at least 0")
    if not 0 < top_p <= 1:
        raise InputError(f"{called('top_p')} is {top_p}, expected a number above 0, at most 1")


def _draw(logits, draws, temperature, top_k, top_p):
    """(tokens, their logits), each (R,): logits (R, V), draws (R,) uniform in [0, 1)."""
    xp = module_of(logits)
    words = xp.argsort(-logits, axis=1)[:, :top_k or None]
    values = xp.take_along_axis(logits, words, axis=1)
    p = xp.exp((values - values[:, :1]) / temperature)
    p = p / p.sum(axis=1, keepdims=True)
    before = xp.cumsum(p, axis=1) - p                  # the probability of all likelier tokens
    p = p * (before < top_p)
    reached = xp.cumsum(p, axis=1)
    drawn = (reached <= to_device(draws, xp)[:, None] * reached[:, -1:]).sum(axis=1, keepdims=True)
    return xp.take_along_axis(words, drawn, axis=1), xp.take_along_axis(values, drawn, axis=1)


def _forbid(logits, position, least, most):
    """Logits of -inf for what may not come next: padding, BOS, EOS before `least` tokens, all but EOS after `most`.

    logits: (B, width, V), changed; `position`: how many tokens there are; least, most: (B,).
    """
    logits[:, :, PAD] = logits[:, :, BOS] = -np.inf
    xp = module_of(logits)
    logits[to_device(np.flatnonzero(position < least), xp), :, EOS] = -np.inf
    full = to_device(np.flatnonzero(position >= most), xp)
    if full.size:
        end = logits[full, :, EOS]
        logits[full] = -np.inf
        logits[full, :, EOS] = end
