"""Decoding by definition: at each position, the entire prefix is computed again."""

import numpy as np

from minitransformer.backend import Array
from minitransformer.decoding.state import DecodingState


class RecomputedState(DecodingState):
    """The decoding state that calls the model as training does.

    decode(rows, ids): the hidden states (N, T, d_model) of ids (N, T), outputs for the sentences `rows` (N,).
    """

    def __init__(self, decode, output, first, limit, prefix):
        """prefix: (B, 1, T), the ids before `first`."""
        self.output, self.first, self.limit = output, first, limit
        self._decode, self._prefix, self._rows = decode, prefix, np.arange(len(first))

    def advance(self, ids, parents=None) -> Array:
        batch, width = ids.shape
        if parents is None:
            parents = np.broadcast_to(np.arange(width), (batch, width))
        before = np.take_along_axis(self._prefix, parents[:, :, None], axis=1)
        self._prefix = np.concatenate([before, ids[:, :, None]], axis=2)
        y = self._decode(np.repeat(self._rows, width), self._prefix.reshape(batch * width, -1))
        return y[:, -1].reshape(batch, width, -1)

    def keep(self, rows) -> None:
        self._rows, self._prefix = self._rows[rows], self._prefix[rows]
