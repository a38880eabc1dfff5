"""Run a recurrent decoder one position at a time."""

from minitransformer.backend import Array, module_of, to_device
from minitransformer.decoding.state import DecodingState, first_and_limit


class RecurrentState(DecodingState):
    """The decoder's state for each hypothesis and, for attention, the memory for each source."""

    def __init__(self, model, source, extra_length):
        self.output = model.output
        self.first, self.limit = first_and_limit(source, extra_length)
        self._model = model
        self._memory, context, _ = model.encode(source)
        self._mask = model.memory_mask(source, self._memory)
        self._states = context[:, None]     # (B, width, S)

    def advance(self, ids, parents=None) -> Array:
        model, (batch, width), xp = self._model, ids.shape, module_of(self._states)
        if parents is not None:
            self._states = self._states[xp.arange(batch)[:, None], to_device(parents, xp)]
        x, _ = model.target_embedding.forward(ids.reshape(-1, 1))
        (y, states), _ = model.decoder.forward(x, self._states.reshape(batch * width, -1))
        self._states, y = states.reshape(batch, width, -1), y.reshape(batch, width, -1)
        return model.readout.forward(y, self._memory, self._mask)[0] if model.readout else y

    def keep(self, rows) -> None:
        rows = to_device(rows, module_of(self._states))
        self._states, self._memory, self._mask = self._states[rows], self._memory[rows], self._mask[rows]
