"""Arrays in which, along one axis, the right numbers are in the wrong places, or only some of them
are there.

The doctor looks for it in a gradient and in dy, the judge in what an exercise returns and in what
it was given.
"""

from collections.abc import Callable

import numpy as np

from minitransformer.backend import Array


def shifted(array, step, axis) -> Array:
    """Like np.roll by 1 or -1 along the axis, but with 0 in the gap."""
    return without(np.roll(array, step, axis), 0 if step > 0 else -1, axis)


def without(array, place, axis) -> Array:
    """The array with 0 at one place of the axis."""
    kept = np.array(array)
    np.moveaxis(kept, axis, 0)[place] = 0
    return kept


def only(array, place, axis) -> Array:
    """The array with 0 at all places of the axis but one."""
    kept = np.zeros_like(array)
    np.moveaxis(kept, axis, 0)[place] = np.take(array, place, axis)
    return kept


def repeated(array, place, axis) -> Array:
    """The numbers at one place of the axis, repeated at all of its places."""
    return np.broadcast_to(np.take(array, [place], axis), array.shape).copy()


def combined(combine) -> Callable[[Array, int], Array]:
    """The sum or the mean over the axis, repeated at all of its places."""
    return lambda array, axis: np.broadcast_to(
        combine(array, axis=axis, keepdims=True), array.shape
    ).copy()


# (sentence on the array, function(array, axis)); {at} says along which axis.
LATE, EARLY = (
    f"is shifted{{at}} by one place: each of its numbers stands one place too {when} (off by one)"
    for when in ("late", "early")
)
ADDED = [  # these make other numbers, which mean nothing if they are ids
    ("is averaged{at}: every place holds the mean of all", combined(np.mean)),
    ("is summed{at}: every place holds the sum of all", combined(np.sum)),
    ("is summed up{at}: every place also holds all before it", np.cumsum),
]
MOVED = [
    ("is reversed{at}", np.flip),
    (LATE, lambda array, axis: shifted(array, 1, axis)),
    (LATE, lambda array, axis: np.roll(array, 1, axis)),
    (EARLY, lambda array, axis: shifted(array, -1, axis)),
    (EARLY, lambda array, axis: np.roll(array, -1, axis)),
    *ADDED,
    ("repeats the first{at} in every place", lambda array, axis: repeated(array, 0, axis)),
    ("repeats the last{at} in every place", lambda array, axis: repeated(array, -1, axis)),
]
PARTS = [
    ("is missing (zero) at the first place{at}", lambda array, axis: without(array, 0, axis)),
    ("is missing (zero) at the last place{at}", lambda array, axis: without(array, -1, axis)),
    (
        "is there only at the first place{at}, and zero elsewhere: is `return` inside the loop?",
        lambda array, axis: only(array, 0, axis),
    ),
    (
        "is there only at the last place{at}, and zero elsewhere",
        lambda array, axis: only(array, -1, axis),
    ),
]
