"""What every decoding state is: hypotheses that are written token by token, all at the same position."""

from typing import Any

import numpy as np

from minitransformer.backend import Array
from minitransformer.checks import check_whole
from minitransformer.functional.special import BOS, PAD

EXTRA_LENGTH = 50   # an output is at most this much longer than its source (section 6.1 of the paper)


class DecodingState:
    """One or more hypotheses of each of B sentences, as a search moves them on.

    first:  (B, 1), the ids of the first position
    limit:  (B,), the maximum number of tokens that may follow, without EOS
    output: the OutputProjection from hidden states to logits
    """

    first: np.ndarray
    limit: np.ndarray
    output: Any

    def advance(self, ids, parents=None) -> Array:
        """The hidden states (B, width, d_model) for the token `ids` (B, width) at the current position.

        parents: (B, width), the hypothesis at the previous position that each one continues; None: its own.
        """
        raise NotImplementedError

    def keep(self, rows) -> None:
        """Keep only some sentences: the new row i is the old row rows[i] (decoding.hypothesis.compact_rows)."""
        raise NotImplementedError


def first_and_limit(source, extra_length) -> tuple[np.ndarray, np.ndarray]:
    """`first` and `limit` of outputs that begin with BOS and have at most `extra_length` tokens more than source (B, T_k)."""
    check_whole("extra_length", extra_length, 0)
    return np.full((len(source), 1), BOS), (source != PAD).sum(axis=1) - 1 + extra_length
