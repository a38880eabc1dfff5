"""Elman's recurrent network (Elman 1990, https://doi.org/10.1207/s15516709cog1402_1): one step, and the layer."""

from typing import NamedTuple

from minitransformer.backend import Array, module_of
from minitransformer.dispatch import replaceable
from minitransformer.zoo.recurrent.layer import OneDirection


class RNNStepCache(NamedTuple):
    h: Array        # (B, H) before the step
    weight: Array   # (H, H)
    after: Array    # (B, H) after it


@replaceable
def rnn_step_forward(z: Array, h: Array, weight: Array) -> tuple[Array, RNNStepCache]:
    """h' = tanh(z + h U): z (B, H), what the step reads; h (B, H); weight U (H, H)."""
    after = module_of(z).tanh(z + h @ weight)
    return after, RNNStepCache(h, weight, after)


@replaceable
def rnn_step_backward(dafter: Array, cache: RNNStepCache) -> tuple[Array, Array, Array]:
    """Returns dz, dh, dU. From tanh' = 1 - tanh^2: dz = dh' (1 - h'^2), dh = dz U^T, dU = h^T dz."""
    h, weight, after = cache
    dz = dafter * (1 - after * after)
    return dz, dz @ weight.T, h.T @ dz


class RNN(OneDirection):
    """h_t = tanh(x_t W + b + h_{t-1} U): x (B, T, d_in), W (d_in, H), U (H, H), b (H,); the state is h (B, H).

    U begins orthogonal, which keeps the length of h, and so of its gradient, as far as tanh is the identity; W is Xavier's;
    b begins at 0.
    """

    gates = 1
    stepwise = True
    step = rnn_step_forward, rnn_step_backward
