"""The same block at other sizes: a second input, on which two explanations of a gradient differ.

At a batch of two, "a division by the batch is missing" and "added twice" give the same number. So all sizes change,
each consistently everywhere and all by the same amount: equal sizes stay equal, and unequal ones stay unequal.
"""

import copy
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from minitransformer.backend import Array
from minitransformer.diagnosis.case import Case, case_or_none
from minitransformer.checking.checked_block import is_float
from minitransformer.layers import Layer


def other_cases(case, seed=7) -> list[Case]:
    """Cases of the same block at other sizes, as many as it runs at; none if it runs only at the given sizes."""
    inputs = other_inputs(case.block, case.arguments, case.make_rng, seed)
    cases = [case_or_none(*one, seed=number) for number, one in enumerate(inputs, start=1)]    # each with another dy
    return [one for one in cases if one is not None and all(np.isfinite(g).all() for g in one.observed.values())]


def other_inputs(block, arguments, make_rng, seed=7) -> Iterator[tuple[Any, dict, Callable]]:
    """Yield (block, arguments, make_rng) of other sizes: all grown, the batch alone, the length alone."""
    is_pair = not isinstance(block, Layer)
    for number, (grow_width, grow_batch, grow_length) in enumerate(((True, 1, 1), (False, 2, 0), (False, 0, 1))):
        rng = np.random.default_rng([seed, number])
        grown, widths = _widened(block, rng) if grow_width else (block, {})
        others = {name: _resized(value, widths, grow_batch, grow_length, is_pair and grow_width, arguments, rng)
                  for name, value in arguments.items()}
        if widths or any(_shape(one) != _shape(other) for one, other in zip(others.values(), arguments.values())):
            yield grown, others, partial(_generator, make_rng, [seed, 9, number])


def _generator(make_rng, seed) -> np.random.Generator | None:
    return np.random.default_rng(seed) if make_rng() is not None else None    # None: nothing is drawn


def _widened(block, rng) -> tuple[Any, dict[int, int]]:
    """A copy of the layer with other widths, another number of heads and one layer more in each stack; {old width: new}.

    A width is the same everywhere, and what was a multiple of the number of heads stays one.
    """
    if not isinstance(block, Layer):
        return block, {}
    block = block.astype(np.float64)
    for layer in [block, *block.sublayers().values()]:
        if isinstance(getattr(layer, "layers", None), list) and len(layer.layers) > 1:
            layer.layers.append(copy.deepcopy(layer.layers[-1]))
    layers = [block, *block.sublayers().values()]
    heads = math.lcm(*(getattr(layer, "num_heads", 1) for layer in layers))
    parameters = block.parameters().values()
    widths = _other_widths({size for parameter in parameters for size in parameter.shape}, heads)
    for parameter in parameters:
        shape = [widths[size] for size in parameter.shape]
        spread = parameter.data.std() or 1.0
        parameter.data = parameter.data.mean() + spread * rng.standard_normal(shape)
        parameter.grad = np.zeros(shape)
    for layer in layers:
        if getattr(layer, "num_heads", 1) == heads > 1:
            layer.num_heads = heads + 1
        rate = getattr(layer, "dropout", None)    # a reader's own layer may give a sub-layer this name
        if isinstance(rate, float) and 0 < rate < 0.7:
            layer.dropout = 1.3 * rate
    return block, widths


def _shape(value) -> tuple[int, ...]:
    return getattr(value, "shape", ())


def _other_widths(widths, heads) -> dict[int, int]:
    """{width: new width}: H k becomes (H + 1) (k + 1); all others grow by the same number, so that none collide."""
    multiples = {size: (heads + 1) * (size // heads + 1) for size in widths if heads > 1 and size % heads == 0}
    tries = ({size: size + growth for size in widths - multiples.keys()} for growth in range(1, 100))
    return {**multiples, **next(others for others in tries if not set(others.values()) & set(multiples.values()))}


def _resized(value, widths, grow_batch, grow_length, every_axis, arguments, rng) -> Any:
    if isinstance(value, float) and 0 < value < 0.7:
        return 1.3 * value    # a dropout rate, a smoothing
    if not isinstance(value, np.ndarray) or value.ndim == 0:
        return value
    floats = [a for a in arguments.values() if is_float(a)]
    batch = max(floats or [value], key=np.ndim).shape[:1]
    shape = []
    for axis, size in enumerate(value.shape):
        is_batch = axis == 0 and value.shape[:1] == batch
        if is_float(value) and axis == value.ndim - 1 and not every_axis:
            shape.append(widths.get(size, size))
        elif size == 1 and not (is_batch and value.dtype != bool):    # an axis of size 1 in a mask is meant to be broadcast
            shape.append(1)
        else:
            shape.append(size + (grow_batch if is_batch else grow_length))
    if is_float(value):
        some = rng.choice(value.ravel(), shape) * rng.uniform(0.8, 1.2, shape)
        return some + 0.1 * np.abs(value).mean() * rng.standard_normal(shape) if (value < 0).any() else some
    return _filled(value, shape)


def _filled(value, shape) -> Array:
    """Ids or a mask of another shape: the old values, repeated from the start."""
    return np.pad(value, [(0, max(new - old, 0)) for old, new in zip(value.shape, shape)], mode="wrap")
