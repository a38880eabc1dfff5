"""The same block at other sizes, to tell mistakes apart that look alike at the given ones.

At a batch of two, "a division by the batch is missing" and "added twice" give the same number. So
all sizes change, each consistently everywhere: equal widths stay equal, and multiples stay
multiples (of an LSTM's 4 H, or of H heads). A block that keeps a size of its own need not be right
at others: nothing is decided here.
"""

import copy
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.other_values import A_LITTLE, redrawn
from minitransformer.checking.subject import Subject, drawing, is_float
from minitransformer.layers.layer import Layer


def resized(subject: Subject, seed: int = 7) -> Iterator[Subject]:
    """The subject at other sizes: all grown, the batch alone, the length alone."""
    arguments, is_pair = subject.arguments, subject.pair is not None
    for number, (grow_width, grow_batch, grow_length) in enumerate(
        ((True, 1, 1), (False, 2, 0), (False, 0, 1))
    ):
        rng = drawing(seed, number)
        if grow_width:
            grown, widths = _widened(subject.block, rng)
        else:
            grown, widths = redrawn(subject, drawing(8), A_LITTLE).block, {}
        if is_pair and grow_width:
            widths = _other_widths([arguments[name].shape for name in subject.inputs], 1)
        others = {
            name: _resized(
                value, widths, grow_batch, grow_length, is_pair and grow_width, arguments, rng
            )
            for name, value in arguments.items()
        }
        changed = any(_shape(others[name]) != _shape(arguments[name]) for name in arguments)
        if widths or changed:
            make_rng = partial(_generator, subject.make_rng, [seed, 9, number])
            yield Subject(grown, others, make_rng=make_rng)


def _generator(make_rng: Callable[[], Any], seed: list[int]) -> np.random.Generator | None:
    return drawing(*seed) if make_rng() is not None else None  # None: nothing is drawn


def _widened(block: Any, rng: np.random.Generator) -> tuple[Any, dict[int, int]]:
    """A copy of the layer with other widths, another number of heads and two layers more in each
    stack; {old width: new}.
    """
    if not isinstance(block, Layer):
        return block, {}
    state = getattr(block, "state_size", 0)  # of a recurrent layer
    block = block.astype(np.float64)
    for layer in [block, *block.sublayers().values()]:
        if isinstance(getattr(layer, "layers", None), list) and len(layer.layers) > 1 and not state:
            layer.layers += [
                copy.deepcopy(layer.layers[-1]),
                copy.deepcopy(layer.layers[-1]),
            ]  # heads grow by one
    layers = [block, *block.sublayers().values()]
    heads = math.lcm(*(getattr(layer, "num_heads", 1) for layer in layers))
    parameters = block.parameters().values()
    widths = _other_widths([parameter.shape for parameter in parameters], heads)
    for parameter in parameters:
        shape = [widths[size] for size in parameter.shape]
        spread = parameter.data.std() or 1.0
        parameter.data = parameter.data.mean() + spread * rng.standard_normal(shape)
        parameter.grad = np.zeros(shape)
    for layer in layers:
        if getattr(layer, "num_heads", 1) == heads > 1:
            layer.num_heads = heads + 1
        if not type(layer).__module__.startswith("minitransformer."):
            for name, value in vars(layer).items():  # a width that a reader's own layer has kept
                if type(value) is int and value in widths and name != "num_heads":
                    setattr(layer, name, widths[value])
        rate = getattr(
            layer, "dropout", None
        )  # a reader's own layer may give a sub-layer this name
        if isinstance(rate, float) and 0 < rate < 0.7:
            layer.dropout = 1.3 * rate
    return block, {**widths, state: block.state_size} if state else widths


def _shape(value) -> tuple[int, ...]:
    return getattr(value, "shape", ())


def _other_widths(shapes, heads) -> dict[int, int]:
    """{size: new size}: with heads, H k becomes (H + 1) (k + 1); all others grow by the same
    number, so that none collide.

    If a shape ends with (n, k n), as that of an LSTM's weight does, k n stays k times n.
    """
    sizes = {size for shape in shapes for size in shape}
    multiples = {
        size: (heads + 1) * (size // heads + 1) for size in sizes if heads > 1 and size % heads == 0
    }
    pairs = [shape[-2:] for shape in shapes if len(shape) > 1]
    parts = {
        whole: part for part, whole in pairs if part > 1 and whole in (2 * part, 3 * part, 4 * part)
    }
    for growth in range(1, 100):
        widths = {**{size: size + growth for size in sizes}, **multiples}
        for size in sorted(parts.keys() - multiples.keys()):
            widths[size] = size // parts[size] * widths[parts[size]]
        if len(set(widths.values())) == len(widths):
            return widths
    return widths


def _resized(value, widths, grow_batch, grow_length, every_axis, arguments, rng) -> Any:
    if isinstance(value, float) and 0 < value < 0.7:
        return 1.3 * value  # a dropout rate, a smoothing
    if not isinstance(value, np.ndarray) or value.ndim == 0:
        return value
    floats = [a for a in arguments.values() if is_float(a)]
    batch = max(floats or [value], key=np.ndim).shape[:1]
    shape = []
    for axis, size in enumerate(value.shape):
        is_batch = axis == 0 and value.shape[:1] == batch
        if is_float(value) and axis == value.ndim - 1 and not every_axis:
            shape.append(widths.get(size, size))
        elif every_axis and size in widths and size > 1:
            shape.append(widths[size])
        elif size == 1 and not (
            is_batch and value.dtype != bool
        ):  # an axis of size 1 in a mask is meant to be broadcast
            shape.append(1)
        else:
            shape.append(size + (grow_batch if is_batch else grow_length))
    return filled(value, shape, rng)


def filled(value, shape, rng) -> Array:
    """An array of another shape: floats like the old ones, but none is 0; ids and masks repeat the
    old values from the start.
    """
    if not is_float(value):
        return np.pad(
            value, [(0, max(new - old, 0)) for old, new in zip(value.shape, shape)], mode="wrap"
        )
    some = rng.choice(value.ravel(), shape) * rng.uniform(0.8, 1.2, shape)
    noise = 0.1 * (np.abs(value).mean() or 1.0) * rng.standard_normal(shape)
    return (
        some + noise
        if (value < 0).any() or not value.any()
        else np.where(some == 0, np.abs(noise), some)
    )
