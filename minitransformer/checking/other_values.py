"""The same block at other values and at another batch size: what the given ones may hide.

A forgotten gamma does not show while gamma is 1, nor a sum over the batch that is taken twice while
the batch is two. What was given may keep to rules of its own, so the other values keep to them as
well: no number changes its sign or becomes larger, and what adds up to 1 still does.
"""

from collections.abc import Iterator

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.subject import Subject, drawing, flat
from minitransformer.errors import InputError

PARTS = 0.5, 0.05, 1e-3, 1e-5  # how far numbers move; less if forward does not run there
A_LITTLE = 1e-3


def redrawn(subject: Subject, rng: np.random.Generator, part: float, unit: float = 1.0) -> Subject:
    """The block with other inputs and parameters of the same shapes, each of their numbers smaller
    by at most that part. unit: for arrays of zeros.
    """
    values = {}
    for name, array in subject.variables.items():
        values[name] = _near(array, subject.units[name] if array.any() else unit, rng, part)
        if name in subject.inputs:
            values[name] = _as_shares(array, values[name])
    return subject.at(values)


def _near(array: Array, unit: float, rng: np.random.Generator, part: float) -> Array:
    """Each number times a factor below 1. A zero becomes a number of that size, whose sign is one
    of those that the array has.
    """
    noise = part * unit * rng.standard_normal(array.shape)
    if array.any() and (array >= 0).all():
        noise = np.abs(noise)
    if array.any() and (array <= 0).all():
        noise = -np.abs(noise)
    return np.where(array == 0, noise, array * rng.uniform(1 - part, 1, array.shape))


def _as_shares(before: Array, now: Array) -> Array:
    """`now`, adding up to 1 along the axis along which `before` does: probabilities, one-hot
    vectors.
    """
    for axis in reversed(range(before.ndim)):
        totals = before.sum(axis=axis)
        if before.shape[axis] > 1 and (before >= 0).all() and np.allclose(totals, 1):
            return now / now.sum(axis=axis, keepdims=True)
    return now


def at_other_values(subject: Subject) -> Iterator[Subject]:
    """The block redrawn twice; less often if its forward runs at the given values only.

    Arrays of zeros become as small as the smallest array, then normal: either may hide something.
    """
    known = [subject.units[name] for name, array in subject.variables.items() if array.any()]
    for number, unit in enumerate((min([1.0, *known]), 1.0)):
        for part in PARTS:
            other = redrawn(subject, drawing(subject.seed, 7, number), part, unit)
            if _runs(other):
                yield other
                break


def at_another_batch_size(subject: Subject) -> Subject | str:
    """The block with a larger batch, the first axis that all float inputs share (or, if there are
    none, all ids); why there is none, in words.
    """
    arrays = {k: v for k, v in subject.arguments.items() if isinstance(v, np.ndarray) and v.ndim}
    decisive = [v for k, v in arrays.items() if k in subject.inputs] or list(arrays.values())
    if max(map(np.ndim, decisive), default=0) < 2:
        return "no input has a batch and another axis"
    sizes = {len(array) for array in decisive}
    if len(sizes) > 1:
        return "the inputs do not share their first axis"
    (size,) = sizes
    masks = [v for v in arrays.values() if v.dtype == bool and len(v) == size]
    if masks and any(size in array.shape[1:] for array in (*decisive, *masks)):
        return "the first axis of a mask may be another one, which is as long"
    for other_size in (size + 1, 2 * size):
        rows = np.arange(other_size) % size
        larger = {name: array[rows] for name, array in arrays.items() if len(array) == size}
        other = redrawn(subject.at(larger), drawing(subject.seed, 8), PARTS[0])
        if _runs(other):
            return other
    return "forward does not run there"


def _runs(subject: Subject) -> bool:
    """Whether forward returns finite numbers."""
    try:
        with np.errstate(all="ignore"):
            return bool(np.isfinite(flat(subject.forward()[0])).all())
    except InputError:
        return False
