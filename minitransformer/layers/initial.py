"""Initial weights, drawn from NumPy's generator, so that a seed gives the same model on every device."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from minitransformer.checks import check_rng, check_whole
from minitransformer.layers.parameter import Parameter

ONE_OF_THREE = 1 / math.sqrt(2)    # gain of query, key and value: MultiHeadAttention says why
ENDS_SUBLAYER = 1 / 2              # gain of attention's output and of the feed-forward's outer weight
_drawing = ContextVar("drawing", default=True)


def xavier(rng, d_in, d_out, gain=1.0) -> Parameter:
    """A (d_in, d_out) weight, uniform in +-gain sqrt(6 / (d_in + d_out)).

    A gain of 1 keeps the variance of activations and of gradients about equal across layers (Glorot and
    Bengio 2010, https://proceedings.mlr.press/v9/glorot10a.html, equation 16).
    """
    check_rng(rng)
    check_sizes(d_in, d_out)
    limit = gain * math.sqrt(6 / (d_in + d_out))
    return _drawn(lambda shape: rng.uniform(-limit, limit, shape), (d_in, d_out))


def normal(rng, rows, d_model) -> Parameter:
    """A (rows, d_model) table, normal with standard deviation 1 / sqrt(d_model).

    After the multiplication by sqrt(d_model) in the embedding, its variance is 1; as the pre-softmax weight,
    it gives logits of variance 1.
    """
    check_rng(rng)
    check_sizes(rows, d_model)
    return _drawn(lambda shape: rng.standard_normal(shape) / math.sqrt(d_model), (rows, d_model))


def _drawn(draw, shape) -> Parameter:
    return Parameter(draw(shape).astype(np.float32) if _drawing.get() else np.zeros(shape, np.float32))


@contextmanager
def undrawn() -> Iterator[None]:
    """Within it, weights are zeros instead, for a large model whose weights come from a file: they need neither time nor memory."""
    before = _drawing.set(False)
    try:
        yield
    finally:
        _drawing.reset(before)


def zeros(size) -> Parameter:
    """A (size,) vector of zeros."""
    check_sizes(size)
    return Parameter(np.zeros(size, np.float32))


def ones(size) -> Parameter:
    """A (size,) vector of ones."""
    check_sizes(size)
    return Parameter(np.ones(size, np.float32))


def check_sizes(*sizes) -> None:
    """Raise InputError unless all are whole numbers of at least 1."""
    for size in sizes:
        check_whole("a size of the layer", size)
