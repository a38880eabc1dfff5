"""What recurrent layers have in common: a state that is carried through a sequence, one position after the other."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from minitransformer.backend import Array, Generator, module_of
from minitransformer.checks import check_cache, check_floats, check_fraction, check_integer, check_sequence, check_shape
from minitransformer.errors import InputError
from minitransformer.functional.dropout import DropoutCache, dropout_backward, dropout_forward
from minitransformer.layers.layer import Layer
from minitransformer.layers.linear import Linear, LinearCache
from minitransformer.layers.parameter import Parameter
from minitransformer.zoo import initial
from minitransformer.zoo.recurrent.recurrence import ThroughTimeCache, through_time_backward, through_time_forward


class RecurrentCache(NamedTuple):
    read: Any        # of `read`
    begun: bool      # whether forward was given a state
    size: tuple      # (B, T)


class Recurrent(Layer):
    """y_t = the hidden state after reading x_1 ... x_t: x (B, T, d_in), y (B, T, H).

    A subclass reads: its `read(x, state, mask, rng)` returns ((y, final), cache), and `read_backward(dy, dfinal, cache)` returns
    dx, dstate. It has a `hidden_size` H and a `state_size` S, the size of all that is carried on.
    """

    hidden_size: int
    state_size: int
    read: Callable[..., tuple[tuple[Array, Array], Any]]
    read_backward: Callable[..., tuple[Array, Array]]

    def forward(self, x: Array, state: Array | None = None, mask: Array | None = None,
                rng: Generator | None = None) -> tuple[tuple[Array, Array], RecurrentCache]:
        """Returns ((y, final), cache): y (B, T, H), and the state (B, S) after the last real token.

        state: (B, S), the one before the first position; None: zeros. mask: None or (B, T) bool, True = a real token; the
        state passes padding unchanged, so a sentence of padding alone ends with the state that it began with.
        """
        name, begun = type(self).__name__, state is not None
        check_sequence(f"{name}: x", x, "B", "T", "d_in")
        batch, length, _ = x.shape
        state = state if begun else module_of(x).zeros((batch, self.state_size), x.dtype)
        check_floats(f"{name}: state", state, batch, self.state_size)
        if mask is not None:
            check_shape(f"{name}: mask", mask, batch, length)
            if mask.dtype != bool:
                raise InputError(f"{name}: mask has dtype {mask.dtype}, expected bool (True = a real token)")
        outputs, cache = self.read(x, state, mask, rng)
        return outputs, RecurrentCache(cache, begun, (batch, length))

    def backward(self, dy: tuple[Array, Array],
                 cache: RecurrentCache) -> Array | tuple[Array, Array]:
        """dy: the pair (dy, dfinal). Returns dx, and dstate if forward was given a state."""
        check_cache(self, cache, RecurrentCache)
        name, (batch, length) = type(self).__name__, cache.size
        check_floats(f"{name}: dy", dy[0], batch, length, self.hidden_size)
        check_floats(f"{name}: dfinal", dy[1], batch, self.state_size)
        dx, dstate = self.read_backward(*dy, cache.read)
        return (dx, dstate) if cache.begun else dx


class OneDirectionCache(NamedTuple):
    dropout: DropoutCache
    input: LinearCache    # input.x: (T, B, d_in), time first
    steps: ThroughTimeCache


class OneDirection(Recurrent):
    """A layer that reads from the first position to the last. A subclass has the `step` that makes a state the next one.

    Its state (B, S) is the hidden state, S = H, or that and a cell side by side, S = 2H. The input's share of all positions is
    one product; the state's share has to wait for the position before. `dropout` is on x (Zaremba et al. 2014,
    https://arxiv.org/abs/1409.2329), never on the state.
    """

    gates: ClassVar[int]         # how many (H,) pre-activations a step has
    parts: ClassVar[int] = 1     # how many (H,) vectors a state has
    step: ClassVar[tuple[Callable, Callable]]    # its forward and its backward, as through_time_forward takes them

    def __init__(self, d_in: int, hidden_size: int, rng: Generator | None = None,
                 dropout: float = 0.0):
        check_integer("hidden_size", hidden_size)
        check_fraction("the dropout rate", dropout)
        self.input = Linear(d_in, self.gates * hidden_size, rng)
        self.weight = initial.orthogonal(rng, hidden_size, self.gates)
        self.dropout = dropout

    @property
    def hidden_size(self) -> int:
        return self.weight.shape[0]

    @property
    def state_size(self) -> int:
        return self.parts * self.hidden_size

    def read(self, x: Array, state: Array, mask: Array | None,
             rng: Generator | None) -> tuple[tuple[Array, Array], OneDirectionCache]:
        d_in, width = self.input.weight.shape
        check_shape(f"{type(self).__name__}: x", x, "B", "T", d_in)
        check_shape(f"{type(self).__name__}: weight", self.weight.data, width // self.gates, width)
        x, dropout = dropout_forward(x, self.dropout, rng)
        z, input = self.input.forward(module_of(x).ascontiguousarray(x.swapaxes(0, 1)))     # (T, B, gates H)
        weights = [weight.data for weight in self._weights()]
        states, steps = through_time_forward(self.step, z, state, *weights, mask=None if mask is None else mask.T)
        y = states[:, :, :self.hidden_size].swapaxes(0, 1)
        return (y, states[-1]), OneDirectionCache(dropout, input, steps)

    def read_backward(self, dy: Array, dfinal: Array,
                      cache: OneDirectionCache) -> tuple[Array, Array]:
        check_cache(self, cache, OneDirectionCache)
        dstates = module_of(dy).zeros((dy.shape[1], *dfinal.shape), dfinal.dtype)           # (T, B, S)
        dstates[:, :, :self.hidden_size] = dy.swapaxes(0, 1)
        dstates[-1] += dfinal
        dz, dstate, *dweights = through_time_backward(dstates, cache.steps)
        for weight, dweight in zip(self._weights(), dweights):
            weight.grad += dweight
        dx = self.input.backward(dz, cache.input).swapaxes(0, 1)
        return dropout_backward(dx, cache.dropout), dstate

    def _weights(self) -> tuple[Parameter, ...]:
        """What the function through time takes after the state."""
        return (self.weight,)
