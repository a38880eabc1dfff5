"""What every decoding state is: hypotheses that are written token by token, all at the same
position; and the simplest one.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Protocol

import numpy as np

from minitransformer.backend import Array
from minitransformer.data.special import BOS, PAD
from minitransformer.layers.layer import Layer

# an output is at most this much longer than its source (section 6.1 of the paper)
EXTRA_LENGTH = 50


class DecodingState:
    """One or more hypotheses of each of B sentences, as a search moves them on.

    first:  (B, 1), the ids of the first position
    limit:  (B,), the maximum number of tokens that may follow, without EOS
    output: the layer from hidden states to logits, such as an OutputProjection
    """

    first: np.ndarray
    limit: np.ndarray
    output: Layer

    def advance(self, ids: Array, parents: Array | None = None) -> Array:
        """The hidden states (B, width, d_model) for the token `ids` (B, width) at the current
        position.

        parents: (B, width), the hypothesis at the previous position that each one continues; None:
        its own.
        """
        raise NotImplementedError

    def keep(self, rows: Array) -> None:
        """Keep only some sentences: the new row i is the old row rows[i]
        (decoding.hypothesis.compact_rows).
        """
        raise NotImplementedError


class Decodable(Protocol):
    """What a search knows of a model that writes."""

    @property
    def xp(self) -> ModuleType: ...

    def start(self, source: Array, /) -> DecodingState: ...


class RecomputedState(DecodingState):
    """The decoding state that calls the model as training does: at each position, the entire prefix
    is computed again.

    decode(rows, ids): the hidden states (N, T, d_model) of ids (N, T), outputs for the sentences
    `rows` (N,).
    """

    def __init__(
        self,
        decode: Callable[[Array, Array], Array],
        output: Layer,
        first: Array,
        limit: Array,
        prefix: Array,
    ):
        """prefix: (B, 1, T), the ids before `first`."""
        self.output, self.first, self.limit = output, first, limit
        self._decode, self._prefix, self._rows = decode, prefix, np.arange(len(first))

    def advance(self, ids: Array, parents: Array | None = None) -> Array:
        batch, width = ids.shape
        if parents is None:
            parents = np.broadcast_to(np.arange(width), (batch, width))
        before = np.take_along_axis(self._prefix, parents[:, :, None], axis=1)
        self._prefix = np.concatenate([before, ids[:, :, None]], axis=2)
        y = self._decode(np.repeat(self._rows, width), self._prefix.reshape(batch * width, -1))
        return y[:, -1].reshape(batch, width, -1)

    def keep(self, rows: Array) -> None:
        self._rows, self._prefix = self._rows[rows], self._prefix[rows]


def first_and_limit(source: Array) -> tuple[np.ndarray, np.ndarray]:
    """`first` and `limit` of outputs that begin with BOS and have at most EXTRA_LENGTH tokens more
    than source (B, T_k).
    """
    return np.full((len(source), 1), BOS), (source != PAD).sum(axis=1) - 1 + EXTRA_LENGTH
