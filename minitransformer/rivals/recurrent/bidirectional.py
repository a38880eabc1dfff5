"""Two recurrent layers, one from each end of a sentence (Schuster and Paliwal 1997, https://doi.org/10.1109/78.650093)."""

from typing import NamedTuple

from minitransformer.backend import Array, module_of
from minitransformer.checks import check_cache, check_floats
from minitransformer.errors import InputError
from minitransformer.layers.layer import Layer
from minitransformer.rivals.recurrent.layer import Recurrent, RecurrentCache, check_pair, check_real


class BidirectionalCache(NamedTuple):
    left_to_right: RecurrentCache
    right_to_left: RecurrentCache   # of the sentence read backwards


class Bidirectional(Layer):
    """y_t = [the left-to-right layer's y_t, the right-to-left layer's y_t]: x (B, T, d_in), y (B, T, 2H).

    The states are side by side too, part by part, so that both layers' state (B, 2S) is one of a layer with 2H hidden
    units: of two LSTMs h, h, c, c.
    """

    def __init__(self, left_to_right, right_to_left):
        if _kind(left_to_right) != _kind(right_to_left) or not isinstance(left_to_right, Recurrent):
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

    def forward(self, x, state=None, mask=None, rng=None) -> tuple[tuple[Array, Array], BidirectionalCache]:
        """As Recurrent.forward; for the right-to-left layer `state` stands before the last position, and `final` at the first."""
        check_floats("Bidirectional: x", x, "B", "T", self.left_to_right.input.weight.shape[0])
        if state is not None:
            check_floats("Bidirectional: state", state, len(x), self.state_size)
        check_real("Bidirectional", mask, *x.shape[:2])
        one, other = (None, None) if state is None else self._split(state)
        (y, final), left_to_right = self.left_to_right.forward(x, one, mask, rng)
        (y_back, final_back), right_to_left = self.right_to_left.forward(
            x[:, ::-1], other, None if mask is None else mask[:, ::-1], rng)
        y = module_of(x).concatenate([y, y_back[:, ::-1]], axis=-1)
        return (y, self._join(final, final_back)), BidirectionalCache(left_to_right, right_to_left)

    def backward(self, dy, cache) -> Array | tuple[Array, Array]:
        """dy: the pair (dy, dfinal). Returns dx, and dstate if forward was given a state."""
        check_cache(self, cache, BidirectionalCache)
        length, batch, _ = cache.left_to_right.input.x.shape
        dy, dfinal = check_pair(self, dy, batch, length)
        size = self.left_to_right.hidden_size
        dfinal, dfinal_back = self._split(dfinal)
        back = self.right_to_left.backward((dy[:, ::-1, size:], dfinal_back), cache.right_to_left)
        ahead = self.left_to_right.backward((dy[:, :, :size], dfinal), cache.left_to_right)
        if not cache.left_to_right.begun:
            return ahead + back[:, ::-1]
        (dx, dstate), (dx_back, dstate_back) = ahead, back
        return dx + dx_back[:, ::-1], self._join(dstate, dstate_back)

    def _split(self, state) -> tuple[Array, Array]:
        """(B, 2S) -> two of (B, S). Its inverse, and so its backward, is _join."""
        batch, one = len(state), self.left_to_right
        parts = state.reshape(batch, one.parts, 2, one.hidden_size)
        return parts[:, :, 0].reshape(batch, one.state_size), parts[:, :, 1].reshape(batch, one.state_size)

    def _join(self, one, other) -> Array:
        shape = len(one), self.left_to_right.parts, self.left_to_right.hidden_size
        halves = [state.reshape(shape) for state in (one, other)]
        return module_of(one).concatenate(halves, axis=-1).reshape(len(one), self.state_size)


def _kind(layer) -> tuple:
    return type(layer), [parameter.shape for parameter in layer.parameters().values()] if isinstance(layer, Layer) else None
