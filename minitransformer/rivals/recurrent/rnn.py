"""Elman's recurrent network (Elman 1990, https://doi.org/10.1207/s15516709cog1402_1): one step, and a sequence."""

from typing import NamedTuple

from minitransformer.backend import Array, module_of
from minitransformer.replaceable import replaceable
from minitransformer.rivals.recurrent.layer import Recurrent
from minitransformer.rivals.recurrent.recurrence import ThroughTimeCache, through_time_backward, through_time_forward


class RNNStepCache(NamedTuple):
    h: Array        # (B, H) before the step
    weight: Array   # (H, H)
    after: Array    # (B, H) after it


@replaceable
def rnn_step_forward(z, h, weight) -> tuple[Array, RNNStepCache]:
    """h' = tanh(z + h U): z (B, H), what the step reads; h (B, H); weight U (H, H)."""
    after = module_of(z).tanh(z + h @ weight)
    return after, RNNStepCache(h, weight, after)


@replaceable
def rnn_step_backward(dafter, cache) -> tuple[Array, Array, Array]:
    """Returns dz, dh, dU. From tanh' = 1 - tanh^2: dz = dh' (1 - h'^2), dh = dz U^T, dU = h^T dz."""
    h, weight, after = cache
    dz = dafter * (1 - after * after)
    return dz, dz @ weight.T, h.T @ dz


@replaceable
def rnn_forward(z, state, weight, mask=None) -> tuple[Array, ThroughTimeCache]:
    """All states (T, B, H) after rnn_step_forward at each position: z (T, B, H), state (B, H), weight (H, H).

    mask: None or (T, B) bool; where it is False the state stays as it was.
    """
    return through_time_forward((rnn_step_forward, rnn_step_backward), z, state, mask, weight)


@replaceable
def rnn_backward(dstates, cache) -> tuple[Array, Array, Array]:
    """Returns dz (T, B, H), dstate (B, H), dweight (H, H)."""
    dz, dstate, dweight = through_time_backward(dstates, cache)
    return dz, dstate, dweight


class RNN(Recurrent):
    """h_t = tanh(x_t W + b + h_{t-1} U): x (B, T, d_in), W (d_in, H), U (H, H), b (H,); the state is h (B, H).

    U begins orthogonal, which keeps the length of h, and so of its gradient, as far as tanh is the identity; W is Xavier's;
    b begins at 0.
    """

    gates = 1
    through_time = rnn_forward, rnn_backward
