"""What a search finds, and how long it may become."""

from typing import NamedTuple

import numpy as np

from minitransformer.checks import check_shape
from minitransformer.errors import InputError
from minitransformer.special import PAD

EXTRA_LENGTH = 50   # an output is at most this much longer than its source (section 6.1 of the paper)


class Hypothesis(NamedTuple):
    tokens: list              # ids, without EOS
    log_probability: float    # of the tokens and EOS, given the source: what teacher forcing gives
    score: float              # by which hypotheses are compared


def check_numbers(usable):
    """Raise InputError unless all are true: weights that are finite but huge make logits that are not."""
    if not usable.all():
        raise InputError("the model's logits are not finite numbers; its weights are of no use")


def length_penalty(length, alpha):
    """((5 + length) / 6)^alpha, by which a log-probability is divided (Wu et al. 2016, https://arxiv.org/abs/1609.08144).

    `length` counts EOS. Without it (alpha = 0) each more token makes a hypothesis worse.
    """
    return ((5 + length) / 6) ** alpha


def length_limits(model, source, min_length=0, max_length=None):
    """(least, most) tokens before EOS, each (B,), for source ids (B, T_k).

    At most the source's tokens before EOS + 50, `max_length`, and one less than the learned
    positions, since EOS needs the last. Raises InputError for ids of another shape and limits that contradict each other.
    """
    check_shape("source", source, "B", "T_k")
    if min_length < 0:
        raise InputError(f"min_length is {min_length}, expected at least 0")
    if max_length is not None and max_length < max(min_length, 1):
        raise InputError(f"max_length is {max_length}, expected at least {max(min_length, 1)}")
    most = (source != PAD).sum(axis=1) - 1 + EXTRA_LENGTH
    if max_length is not None:
        most = np.minimum(most, max_length)
    if model.config.positions == "learned":
        most = np.minimum(most, model.config.max_length - 1)
    return np.minimum(min_length, most), most
