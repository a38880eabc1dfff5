"""The results of a search, and the limits of their length."""

from typing import NamedTuple

import numpy as np

from minitransformer.backend import Array
from minitransformer.checks import check_integer
from minitransformer.errors import InputError
from minitransformer.data.special import SPECIAL
from minitransformer.decoding.state import DecodingState


class Hypothesis(NamedTuple):
    """One output that a search has found, or that was drawn."""

    ids: list  # its token ids, without EOS
    # of the tokens and EOS, given the source: the same as with teacher forcing
    log_probability: float
    score: float  # for comparing hypotheses


def check_numbers(usable: Array) -> None:
    """Raise InputError unless all are true: weights that are finite but huge can give logits that
    are not finite.
    """
    if not usable.all():
        raise InputError("the model's logits are not finite numbers; its weights are unusable")


def length_penalty(length: int, alpha: float) -> float:
    """((5 + length) / 6)^alpha, the divisor of a log-probability (Wu et al. 2016,
    https://arxiv.org/abs/1609.08144).

    `length` includes EOS. Without the penalty (alpha = 0), each additional token makes a hypothesis
    worse.
    """
    return ((5 + length) / 6) ** alpha


def length_limits(
    state: DecodingState, min_length: int, max_length: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """(least, most) tokens before EOS, each (B,), from the limits of the state and the caller.

    Raises InputError for limits that contradict each other.
    """
    check_integer("min_length", min_length, 0)
    if max_length is not None:
        check_integer("max_length", max_length, max(min_length, 1))
    most = state.limit if max_length is None else np.minimum(state.limit, max_length)
    return np.minimum(min_length, most), most


def check_words(words: int, least: Array) -> None:
    """Raise InputError unless the model has tokens to write: `words` are those that are not special,
    least (B,) how many an output must have.
    """
    if words < 0 or (words == 0 and least.any()):
        raise InputError(
            f"the model has {words + len(SPECIAL)} target tokens, expected at least {len(SPECIAL)} (padding, "
            "beginning and end), and more for an output that is not empty"
        )


def compact_rows(done: Array) -> np.ndarray:
    """The rows to keep, for a state's `keep`; done: (B,) bool.

    A finished row is replaced by one from the end, so that few rows move: done 0 1 0 0 1 0 1 0
    gives 0 5 2 3 7.
    """
    left = np.flatnonzero(~done)
    rows = np.arange(len(left))
    rows[done[: len(left)]] = left[left >= len(left)]
    return rows
