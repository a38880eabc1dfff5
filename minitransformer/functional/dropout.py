"""Inverted dropout: what is kept is scaled in training, not at evaluation (section 5.4 of the paper)."""

from typing import Any, NamedTuple

from minitransformer.replaceable import replaceable


class DropoutCache(NamedTuple):
    mask: Any   # (...) 0 where dropped, 1 / (1 - dropout_rate) elsewhere; None where nothing is dropped


@replaceable
def dropout_mask(shape, dropout_rate, rng, dtype):
    """An array of `shape`: 0 with probability `dropout_rate`, else the scale 1 / (1 - dropout_rate).

    One random byte decides each element (the cheapest random number there is), so the dropout_rate is
    rounded to k / 256 and the scale is 256 / (256 - k): the expectation stays exactly 1.
    (A dropout_rate below 1/512 drops nothing, and none drops more than 255 of 256.)
    """
    dropped = min(round(256 * dropout_rate), 255)
    keep = rng.integers(0, 256, size=shape, dtype="uint8") >= dropped
    return keep.astype(dtype) * (256 / (256 - dropped))


@replaceable
def dropout_forward(x, dropout_rate, rng=None):
    """y = x * mask, with a fresh mask; y = x where rng is None (evaluation) or dropout_rate is 0."""
    if rng is None or dropout_rate == 0:
        return x, DropoutCache(None)
    mask = dropout_mask(x.shape, dropout_rate, rng, x.real.dtype)
    return x * mask, DropoutCache(mask)


@replaceable
def dropout_backward(dy, cache):
    """dx = dy * mask: the very mask of the forward pass, scale included."""
    return dy if cache.mask is None else dy * cache.mask
