"""Run a convolutional decoder one position at a time."""

from minitransformer.backend import Array, module_of, to_device
from minitransformer.decoding.state import DecodingState, first_and_limit
from minitransformer.functional import padding_mask


class ConvolutionalState(DecodingState):
    """The past of each hypothesis that the decoder's convolutions still need, and the memory of each source."""

    def __init__(self, model, source, extra_length):
        self.output = model.output
        self.first, self.limit = first_and_limit(source, extra_length)
        self._model, self._position = model, 0
        self._memory, _ = model.encode(source)
        xp, (batch, _, d_model) = module_of(self._memory), self._memory.shape
        self._mask = to_device(padding_mask(source), xp)
        seen = model.config.kernel_size - 1
        self._seen = [xp.zeros((batch, 1, seen, d_model), self._memory.dtype)    # (B, width, K - 1, d_model)
                      for _ in model.decoder]

    def advance(self, ids, parents=None) -> Array:
        model, xp = self._model, module_of(self._memory)
        if parents is not None:
            rows, parents = xp.arange(len(ids))[:, None], to_device(parents, xp)
            self._seen = [seen[rows, parents] for seen in self._seen]
        x, _ = model.target_input.embedding.forward(ids)
        x = model.target_input.positions.at(x, self._position)
        for i, layer in enumerate(model.decoder):
            x, _ = layer.convolution_residual.forward(x, self._convolve(i, x))
            h, _ = layer.attention.forward(x, self._memory, self._mask)
            x, _ = layer.attention_residual.forward(x, h)
        self._position += 1
        return x

    def _convolve(self, i, h) -> Array:
        """The output of the decoder's i-th convolution for h (B, width, d_model) and the positions before it."""
        windows = module_of(h).concatenate([self._seen[i], h[:, :, None]], axis=2)      # (B, width, K, d_model)
        self._seen[i] = windows[:, :, 1:]
        batch, width, size, d_model = windows.shape
        y, _ = self._model.decoder[i].convolution.forward(windows.reshape(batch * width, size, d_model))
        return y[:, -1].reshape(batch, width, d_model)

    def keep(self, rows) -> None:
        rows = to_device(rows, module_of(self._memory))
        self._seen = [seen[rows] for seen in self._seen]
        self._memory, self._mask = self._memory[rows], self._mask[rows]
