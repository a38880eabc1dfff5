"""Two recurrent layers, one from each end of a sentence (Schuster and Paliwal 1997, https://doi.org/10.1109/78.650093)."""

from typing import NamedTuple

from minitransformer.backend import Array, Generator, module_of
from minitransformer.checks import check_cache
from minitransformer.errors import InputError
from minitransformer.layers.layer import Layer
from minitransformer.zoo.recurrent.layer import OneDirection, Recurrent, RecurrentCache


class BidirectionalCache(NamedTuple):
    left_to_right: RecurrentCache
    right_to_left: RecurrentCache   # for the sentence read backwards


class Bidirectional(Recurrent):
    """y_t = [the left-to-right layer's y_t, the right-to-left layer's y_t]: x (B, T, d_in), y (B, T, 2H).

    The states are side by side too, part by part, so that both layers' state (B, 2S) is one of a layer with 2H hidden
    units: of two LSTMs h, h, c, c. For the right-to-left layer `state` comes before the last position, and `final` is at the first.
    """

    def __init__(self, left_to_right: OneDirection, right_to_left: OneDirection):
        if _kind(left_to_right) != _kind(right_to_left) or not isinstance(left_to_right, OneDirection):
            raise InputError("Bidirectional: expected two recurrent layers of one kind and of the same sizes, such as "
                             "LSTM(8, 16, rng) and LSTM(8, 16, rng)")
        self.left_to_right = left_to_right
        self.right_to_left = right_to_left

    @property
    def hidden_size(self) -> int:
        return 2 * self.left_to_right.hidden_size

    @property
    def state_size(self) -> int:
        return 2 * self.left_to_right.state_size

    def read(self, x: Array, state: Array, mask: Array | None,
             rng: Generator | None) -> tuple[tuple[Array, Array], BidirectionalCache]:
        ahead, back = self._split(state)
        (y, final), left_to_right = self.left_to_right.forward(x, ahead, mask, rng)
        (y_back, final_back), right_to_left = self.right_to_left.forward(
            x[:, ::-1], back, None if mask is None else mask[:, ::-1], rng)
        y = module_of(x).concatenate([y, y_back[:, ::-1]], axis=-1)
        return (y, self._join(final, final_back)), BidirectionalCache(left_to_right, right_to_left)

    def read_backward(self, dy: Array, dfinal: Array,
                      cache: BidirectionalCache) -> tuple[Array, Array]:
        check_cache(self, cache, BidirectionalCache)
        size = self.left_to_right.hidden_size
        dfinal, dfinal_back = self._split(dfinal)
        dx_back, dback = self.right_to_left.backward((dy[:, ::-1, size:], dfinal_back), cache.right_to_left)
        dx, dahead = self.left_to_right.backward((dy[:, :, :size], dfinal), cache.left_to_right)
        return dx + dx_back[:, ::-1], self._join(dahead, dback)

    def _split(self, state: Array) -> tuple[Array, Array]:
        """(B, 2S) -> two of (B, S). Its inverse, and so its backward, is _join."""
        batch, one = len(state), self.left_to_right
        parts = state.reshape(batch, one.parts, 2, one.hidden_size)
        return parts[:, :, 0].reshape(batch, one.state_size), parts[:, :, 1].reshape(batch, one.state_size)

    def _join(self, one: Array, other: Array) -> Array:
        shape = len(one), self.left_to_right.parts, self.left_to_right.hidden_size
        halves = [state.reshape(shape) for state in (one, other)]
        return module_of(one).concatenate(halves, axis=-1).reshape(len(one), self.state_size)


def _kind(layer: Layer) -> tuple:
    return type(layer), [parameter.shape for parameter in layer.parameters().values()] if isinstance(layer, Layer) else None
