"""Initial weights, drawn from NumPy's generator, so that a seed gives the same model on every device."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from minitransformer.backend import Array, Generator
from minitransformer.checks import MOST, check_integer, check_rng
from minitransformer.layers.layer import Layer
from minitransformer.layers.parameter import Parameter

ENDS = "output.weight", "outer.weight"    # of a sub-layer: of attention, and of a feed-forward network
_drawing = ContextVar("drawing", default=True)


def xavier(rng: Generator | None, d_in: int, d_out: int) -> Parameter:
    """A (d_in, d_out) weight, uniform in +-sqrt(6 / (d_in + d_out)).

    This keeps the variance of activations and of gradients about equal across layers (Glorot and
    Bengio 2010, https://proceedings.mlr.press/v9/glorot10a.html, equation 16).
    """
    uniform = check_rng(rng).uniform
    check_sizes(d_in, d_out)
    limit = math.sqrt(6 / (d_in + d_out))
    return _drawn(lambda shape: uniform(-limit, limit, shape), (d_in, d_out))


def normal(rng: Generator | None, rows: int, d_model: int) -> Parameter:
    """A (rows, d_model) table, normal with standard deviation 1 / sqrt(d_model).

    After the multiplication by sqrt(d_model) in the embedding, its variance is 1; as the pre-softmax weight,
    it gives logits of variance 1.
    """
    standard_normal = check_rng(rng).standard_normal
    check_sizes(rows, d_model)
    return _drawn(lambda shape: standard_normal(shape) / math.sqrt(d_model), (rows, d_model))


def shrink_ends(num_layers: int, *sublayers: Layer) -> None:
    """Divide the weights that end each sub-layer by sqrt(2 num_layers), as GPT-2 does in its stack of 2 num_layers sub-layers.

    Otherwise the positions in a deep post-norm stack become alike, and almost no gradient reaches query and key;
    research/experiments/initial_weights.md has the measurements. GPT-2: Radford et al. 2019, section 2.3,
    https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf.
    """
    for sublayer in sublayers:
        for name, parameter in sublayer.parameters().items():
            if name in ENDS:
                parameter.data /= math.sqrt(2 * num_layers)


def _drawn(draw: Callable[[tuple[int, ...]], Array], shape: tuple[int, ...]) -> Parameter:
    return Parameter(draw(shape).astype(np.float32) if _drawing.get() else np.zeros(shape, np.float32))


@contextmanager
def undrawn() -> Iterator[None]:
    """Within the block, weights are zeros, which need neither time nor memory, for a large model whose weights come from a file."""
    before = _drawing.set(False)
    try:
        yield
    finally:
        _drawing.reset(before)


def zeros(size: int) -> Parameter:
    """A (size,) vector of zeros."""
    check_sizes(size)
    return Parameter(np.zeros(size, np.float32))


def ones(size: int) -> Parameter:
    """A (size,) vector of ones."""
    check_sizes(size)
    return Parameter(np.ones(size, np.float32))


def check_sizes(*sizes: int) -> None:
    """Raise InputError unless all are whole numbers from 1 to MOST."""
    for size in sizes:
        check_integer("a size of the layer", size, 1, MOST)
