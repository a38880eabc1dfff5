"""What training and evaluation know of a model and of a batch."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from minitransformer.backend import Array
from minitransformer.layers.layer import Layer


class LossSums(NamedTuple):
    """Sums over a batch's real terms: arrays with no dimensions, still on their device."""

    loss: Any                     # with label smoothing: the quantity that is minimised
    negative_log_likelihood: Any  # without: the exponential of its mean is the perplexity


class AnyBatch(Protocol):
    """What training knows of a batch."""

    @property
    def terms(self) -> int: ...         # the divisor of its summed loss

    @property
    def num_tokens(self) -> int: ...    # for measuring speed

    def split(self, n: int) -> Sequence["AnyBatch"]: ...    # at most n parts of it


class Model(Layer):
    """A layer that turns a batch into a loss: what training and evaluation know of a model."""

    config: Any
    loss_forward: Callable[..., tuple[LossSums, Any]]        # (batch, rng=None, smoothing=0.0)
    loss_backward: Callable[[float | Array, Any], None]      # (dloss, cache)
