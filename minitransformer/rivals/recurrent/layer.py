"""What recurrent layers have in common: a state that is carried through a sequence, one position after the other."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from minitransformer.backend import Array, module_of
from minitransformer.checks import check_cache, check_floats, check_positions, check_shape, check_share, check_whole
from minitransformer.errors import InputError
from minitransformer.functional import dropout_backward, dropout_forward
from minitransformer.functional.dropout import DropoutCache
from minitransformer.layers.layer import Layer
from minitransformer.layers.linear import Linear, LinearCache
from minitransformer.rivals import initial


class RecurrentCache(NamedTuple):
    dropout: DropoutCache
    input: LinearCache    # input.x: (T, B, d_in), time first
    steps: Any            # of the function that carries the state
    begun: bool           # whether forward was given a state


class Recurrent(Layer):
    """y_t = the hidden state after reading x_1 ... x_t: x (B, T, d_in), y (B, T, H).

    A subclass says how a state becomes the next one. Its state (B, S) is the hidden state, S = H, or that and a cell side
    by side, S = 2H: S is `state_size`. What the input adds at every position is one product; what the state adds has to
    wait for the position before. `dropout` is on x (Zaremba et al. 2014, https://arxiv.org/abs/1409.2329), never on the state.
    """

    gates: ClassVar[int]         # how many (H,) pre-activations a step has
    parts: ClassVar[int] = 1     # how many (H,) vectors a state has
    through_time: ClassVar[tuple[Callable, Callable]]    # forward and backward of the state's way through a sequence

    def __init__(self, d_in, hidden_size, rng=None, dropout=0.0):
        check_whole("hidden_size", hidden_size)
        check_share("the dropout rate", dropout)
        self.input = Linear(d_in, self.gates * hidden_size, rng)
        self.weight = initial.orthogonal(rng, hidden_size, self.gates)
        self.dropout = dropout

    @property
    def hidden_size(self) -> int:
        return self.weight.shape[0]

    @property
    def state_size(self) -> int:
        return self.parts * self.hidden_size

    def forward(self, x, state=None, mask=None, rng=None) -> tuple[tuple[Array, Array], RecurrentCache]:
        """Returns ((y, final), cache): y (B, T, H), and the state (B, S) after the last real token.

        state: (B, S), the one before the first position; None: zeros. mask: None or (B, T) bool, True = a real token; the
        state passes padding unchanged, so a sentence of padding alone ends with the state that it began with.
        """
        self._check(x, state, mask)
        xp, forward = module_of(x), self.through_time[0]
        x, dropout = dropout_forward(x, self.dropout, rng)
        z, input = self.input.forward(xp.ascontiguousarray(x.swapaxes(0, 1)))     # (T, B, gates H)
        begun = state is not None
        if not begun:
            state = xp.zeros((len(x), self.state_size), z.dtype)
        states, steps = forward(z, state, *self._weights(), None if mask is None else mask.T)
        y = states[:, :, :self.hidden_size].swapaxes(0, 1)
        return (y, states[-1]), RecurrentCache(dropout, input, steps, begun)

    def backward(self, dy, cache) -> Array | tuple[Array, Array]:
        """dy: the pair (dy, dfinal). Returns dx, and dstate if forward was given a state."""
        check_cache(self, cache, RecurrentCache)
        length, batch, _ = cache.input.x.shape
        dy, dfinal = check_pair(self, dy, batch, length)
        xp, backward = module_of(dy), self.through_time[1]
        dstates = xp.zeros((dy.shape[1], *dfinal.shape), dfinal.dtype)            # (T, B, S)
        dstates[:, :, :self.hidden_size] = dy.swapaxes(0, 1)
        dstates[-1] += dfinal
        dz, dstate, *dweights = backward(dstates, cache.steps)
        self._add_gradients(*dweights)
        dx = self.input.backward(dz, cache.input).swapaxes(0, 1)
        dx = dropout_backward(dx, cache.dropout)
        return (dx, dstate) if cache.begun else dx

    def _weights(self) -> tuple[Array, ...]:
        """What the function through time takes after the state."""
        return (self.weight.data,)

    def _add_gradients(self, dweight) -> None:
        """Of what `_weights` returns."""
        self.weight.grad += dweight

    def _check(self, x, state, mask) -> None:
        name, (d_in, width) = type(self).__name__, self.input.weight.shape
        check_shape(f"{name}: weight", self.weight.data, width // self.gates, width)
        check_floats(f"{name}: x", x, "B", "T", d_in)
        batch, length, _ = x.shape
        check_positions(f"{name}: x", x)
        if state is not None:
            check_floats(f"{name}: state", state, batch, self.state_size)
        check_real(name, mask, batch, length)


def check_real(name, mask, batch, length) -> None:
    """Raise InputError unless `mask` is None or says of each of (B, T) tokens whether it is real."""
    if mask is None:
        return
    check_shape(f"{name}: mask", mask, batch, length)
    if mask.dtype != bool:
        raise InputError(f"{name}: mask has dtype {mask.dtype}, expected bool (True = a real token)")


def check_pair(layer, dy, batch, length) -> tuple[Array, Array]:
    """The two gradients that a recurrent layer's backward takes. Raises InputError unless they are those of its outputs."""
    name = type(layer).__name__
    if not isinstance(dy, tuple) or len(dy) != 2:
        raise InputError(f"{name}.backward: dy is a {type(dy).__name__}, expected the pair (dy, dfinal), the gradients of both "
                         "outputs: (y, final), cache = layer.forward(...)")
    check_floats(f"{name}: dy", dy[0], batch, length, layer.hidden_size)
    check_floats(f"{name}: dfinal", dy[1], batch, layer.state_size)
    return dy
