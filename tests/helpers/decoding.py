"""Decoding by definition: everything is computed again for each prefix, one sentence at a time."""

import numpy as np

from minitransformer import Transformer, TransformerConfig
from minitransformer.data.special import BOS, EOS, PAD
from tests.helpers.randomised import randomised


def random_model(seed, **changes):
    """Untrained, in float64, with weights large enough that its outputs differ from source to
    source.
    """
    config = TransformerConfig.named(
        "toy", **{"vocab_size": 9, "d_model": 12, "num_heads": 2, "d_ff": 20, **changes}
    )
    return randomised(Transformer(config, seed), 0.5, seed)


def log_probabilities(model, source, tokens):
    """log p of the next token after each prefix of `tokens`: (1 + len(tokens), V)."""
    logits, _ = model.forward(np.array([[*source, EOS]]), np.array([[BOS, *tokens]]))
    return logits[0] - np.logaddexp.reduce(logits[0], axis=-1, keepdims=True)


def rescore(model, source, tokens):
    """The log-probability of `tokens` and EOS by teacher forcing."""
    log_p = log_probabilities(model, source, tokens)
    return sum(log_p[i, token] for i, token in enumerate([*tokens, EOS]))


def length_penalty(length, alpha):
    """Equation 14 of Wu et al. 2016, implemented independently."""
    return (5 + length) ** alpha / 6**alpha


def allowed(length, least, most, vocabulary):
    """The tokens that may follow `length` others."""
    if length >= most:
        return [EOS]
    return [
        token
        for token in range(vocabulary)
        if token not in (PAD, BOS) and (token != EOS or length >= least)
    ]


def greedy(model, source, most):
    tokens = []
    while True:
        log_p = log_probabilities(model, source, tokens)[-1]
        best = max(allowed(len(tokens), 0, most, len(log_p)), key=lambda token: log_p[token])
        if best == EOS:
            return tokens
        tokens.append(best)


def beam_search(model, source, width, alpha, least, most):
    """[(tokens, log-probability, score)], the best first."""
    live, found = [(0.0, [])], []
    while live and (
        len(found) < width
        or max(score for *_, score in found)
        < live[0][0] / length_penalty(len(live[0][1]) + 1, alpha)
    ):
        candidates = []
        for total, tokens in live:
            log_p = log_probabilities(model, source, tokens)[-1]
            candidates += [
                (total + log_p[token], tokens, token)
                for token in allowed(len(tokens), least, most, len(log_p))
            ]
        candidates = sorted(candidates, key=lambda candidate: -candidate[0])[: 2 * width]
        found += [
            (tokens, total, total / length_penalty(len(tokens) + 1, alpha))
            for total, tokens, token in candidates[:width]
            if token == EOS
        ]
        live = [(total, [*tokens, token]) for total, tokens, token in candidates if token != EOS][
            :width
        ]
    return sorted(found, key=lambda hypothesis: -hypothesis[2])[:width]
