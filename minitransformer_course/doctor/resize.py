"""The same block at other sizes: a second input, on which two explanations of a gradient differ.

At a batch of two, "a division by the batch is missing" and "added twice" give the same number. So all sizes change, each
consistently everywhere: equal widths stay equal, and multiples stay multiples (of an LSTM's 4 H, or of H heads).
"""

import copy
import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.checked_block import CheckedBlock, is_float
from minitransformer.errors import InputError
from minitransformer.layers import Layer
from minitransformer_course.doctor.case import Case, case_or_none

MANY = 10    # axes of one size: with more of them, it takes too long to try which are tied


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
        if is_pair and grow_width:
            widths = _other_widths([value.shape for value in arguments.values() if is_float(value)], 1)
        others = {name: _resized(value, widths, grow_batch, grow_length, is_pair and grow_width, arguments, rng)
                  for name, value in arguments.items()}
        if widths or any(_shape(one) != _shape(other) for one, other in zip(others.values(), arguments.values())):
            yield grown, others, partial(_generator, make_rng, [seed, 9, number])


def _generator(make_rng, seed) -> np.random.Generator | None:
    return np.random.default_rng(seed) if make_rng() is not None else None    # None: nothing is drawn


def _widened(block, rng) -> tuple[Any, dict[int, int]]:
    """A copy of the layer with other widths, another number of heads and two layers more in each stack; {old width: new}."""
    if not isinstance(block, Layer):
        return block, {}
    state = getattr(block, "state_size", 0)    # of a recurrent layer
    block = block.astype(np.float64)
    for layer in [block, *block.sublayers().values()]:
        if isinstance(getattr(layer, "layers", None), list) and len(layer.layers) > 1 and not state:
            layer.layers += [copy.deepcopy(layer.layers[-1]), copy.deepcopy(layer.layers[-1])]    # heads grow by one
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
        rate = getattr(layer, "dropout", None)    # a reader's own layer may give a sub-layer this name
        if isinstance(rate, float) and 0 < rate < 0.7:
            layer.dropout = 1.3 * rate
    return block, {**widths, state: block.state_size} if state else widths


def _shape(value) -> tuple[int, ...]:
    return getattr(value, "shape", ())


def _other_widths(shapes, heads) -> dict[int, int]:
    """{size: new size}: with heads, H k becomes (H + 1) (k + 1); all others grow by the same number, so that none collide.

    If a shape ends with (n, k n), as that of an LSTM's weight does, k n stays k times n.
    """
    sizes = {size for shape in shapes for size in shape}
    multiples = {size: (heads + 1) * (size // heads + 1) for size in sizes if heads > 1 and size % heads == 0}
    pairs = [shape[-2:] for shape in shapes if len(shape) > 1]
    parts = {whole: part for part, whole in pairs if part > 1 and whole in (2 * part, 3 * part, 4 * part)}
    for growth in range(1, 100):
        widths = {**{size: size + growth for size in sizes}, **multiples}
        for size in sorted(parts.keys() - multiples.keys()):
            widths[size] = size // parts[size] * widths[parts[size]]
        if len(set(widths.values())) == len(widths):
            return widths
    return widths


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
        elif every_axis and size in widths and size > 1:
            shape.append(widths[size])
        elif size == 1 and not (is_batch and value.dtype != bool):    # an axis of size 1 in a mask is meant to be broadcast
            shape.append(1)
        else:
            shape.append(size + (grow_batch if is_batch else grow_length))
    return _filled(value, shape, rng)


def _filled(value, shape, rng) -> Array:
    """An array of another shape: floats like the old ones; ids and masks repeat the old values from the start."""
    if not is_float(value):
        return np.pad(value, [(0, max(new - old, 0)) for old, new in zip(value.shape, shape)], mode="wrap")
    some = rng.choice(value.ravel(), shape) * rng.uniform(0.8, 1.2, shape)
    return some + 0.1 * np.abs(value).mean() * rng.standard_normal(shape) if (value < 0).any() else some


def apart(case, axes) -> tuple[bool, Case | None]:
    """Are these axes, (name of an input or parameter, axis) of one size, always of one size? If not, a Case in which they differ.

    Whether they are is tried out: some axes of that size grow, and forward runs or does not. (False, None) if it cannot be told.
    """
    arrays = {**{name: value for name, value in case.arguments.items() if isinstance(value, np.ndarray)},
              **{name: parameter.data for name, parameter in case.checked.parameters.items()}}
    size = arrays[axes[0][0]].shape[axes[0][1]]
    alike = [(name, axis) for name, array in arrays.items() for axis in range(array.ndim) if array.shape[axis] == size]
    if len(alike) > MANY:
        return False, None
    for count in range(1, len(alike)):
        for some in combinations(alike, count):
            if axes[0] in some and not set(axes) <= set(some):
                block, arguments = _with_longer(case, arrays, some)
                try:
                    CheckedBlock(block, arguments, np.float64, case.make_rng).forward()
                except InputError:
                    continue
                return False, case_or_none(block, arguments, case.make_rng, seed=5)
    return True, None


def _with_longer(case, arrays, axes) -> tuple[Any, dict]:
    """The case's block and arguments with these axes longer by the number of heads, since a width is a multiple of it."""
    rng = np.random.default_rng(11)
    block = case.block.astype(np.float64) if isinstance(case.block, Layer) else case.block
    parameters = block.parameters() if isinstance(block, Layer) else {}
    growth = math.lcm(*(getattr(layer, "num_heads", 1) for layer in [block, *block.sublayers().values()])) if parameters else 1
    arguments = dict(case.arguments)
    for name, array in arrays.items():
        shape = [size + growth * ((name, axis) in axes) for axis, size in enumerate(array.shape)]
        if shape != list(array.shape) and name in parameters:
            parameters[name].data, parameters[name].grad = _filled(array, shape, rng), np.zeros(shape)
        elif shape != list(array.shape):
            arguments[name] = _filled(array, shape, rng)
    return block, arguments
