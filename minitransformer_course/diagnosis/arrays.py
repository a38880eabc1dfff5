"""What may be wrong with an array as a whole: its sign, its order, a shift, a sum too many, a part
that is missing.

The doctor looks for it in a gradient, in dy and in a cache, the judge in what an exercise returns
and in what it was given.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations

import numpy as np

from minitransformer.backend import Array
from minitransformer_course.messages import _

Named = Iterator[tuple[str, Callable]]  # a sentence with {name}, and a function of an array


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


def combined(array, combine, axis) -> Array:
    """The sum or the mean over the axis, repeated at all of its places."""
    return np.broadcast_to(combine(array, axis=axis, keepdims=True), array.shape).copy()


LATE, EARLY = (
    f"is shifted{{at}} by one place: each of its numbers stands one place too {when} (off by one)"
    for when in ("late", "early")
)
ALONG: list[
    tuple[str, Callable]
] = [  # (sentence, function(array, axis=axis)); {at} says along which axis
    ("is reversed{at}", np.flip),
    (LATE, partial(shifted, step=1)),
    (LATE, partial(np.roll, shift=1)),
    (EARLY, partial(shifted, step=-1)),
    (EARLY, partial(np.roll, shift=-1)),
    ("is averaged{at}: every place holds the mean of all", partial(combined, combine=np.mean)),
    ("is summed{at}: every place holds the sum of all", partial(combined, combine=np.sum)),
    ("is summed up{at}: every place also holds all before it", np.cumsum),
    ("repeats the first{at} in every place", partial(repeated, place=0)),
    ("repeats the last{at} in every place", partial(repeated, place=-1)),
    ("is missing (zero) at the first place{at}", partial(without, place=0)),
    ("is missing (zero) at the last place{at}", partial(without, place=-1)),
    (
        "is there only at the first place{at}, and zero elsewhere: is `return` inside the loop?",
        partial(only, place=0),
    ),
    ("is there only at the last place{at}, and zero elsewhere", partial(only, place=-1)),
]


def rearranged(ndim, dtype, counted=()) -> Named:
    """Swapped axes, a shift, one sum too many and so on. counted: what the first axes count."""
    if dtype.kind == "b":
        yield _("{name} is the wrong way round: True and False are swapped"), np.logical_not
        yield _("{name} is True everywhere"), np.ones_like
        yield _("{name} is False everywhere"), np.zeros_like
    if dtype.kind == "f":
        yield (
            _("{name} is cut to whole numbers: is it written into an array of integers?"),
            np.trunc,
        )
    for a, b in combinations(range(ndim), 2):
        yield (
            _("{name} has its axes {a} and {b} swapped (transposed)").format(
                name="{name}", a=a, b=b
            ),
            partial(np.swapaxes, axis1=a, axis2=b),
        )
    if ndim == 2:
        yield (
            _("{name} has the right numbers in the wrong places: the transpose, reshaped to fit"),
            lambda array: array.T.reshape(array.shape),
        )
    for axis in range(ndim):
        at = _(" along axis {axis}").format(axis=axis) if ndim > 1 else ""
        at += f" ({counted[axis]})" if axis < len(counted) else ""
        for sentence, change in ALONG:
            yield "{name} " + _(sentence).format(at=at), partial(change, axis=axis)
        for place, word in ((0, _("first")), (-1, _("last"))):
            said = _("{name} lacks the {word}{at}").format(name="{name}", word=word, at=at)
            yield said, partial(np.delete, obj=place, axis=axis)
    yield _("{name} has an axis of length 1 too many"), lambda array: array[None]
    yield _("{name} lacks its axes of length 1"), np.squeeze


def wrong_numbers(dtype) -> Named:
    """Wrong numbers in place of right ones of the dtype."""
    if dtype.kind == "b":
        yield _("{name} is the wrong way round"), np.logical_not
        yield _("{name} is ignored, as if it were True everywhere"), np.ones_like
        return
    yield _("1 is added to {name}"), lambda array: array + 1
    yield _("1 is subtracted from {name}"), lambda array: array - 1
    if dtype.kind == "f":
        yield _("{name} has the wrong sign"), np.negative
        yield _("{name} is ignored, as if it were 1 everywhere"), np.ones_like
        yield _("{name} is ignored, as if it were 0"), np.zeros_like
        yield _("{name} is halved"), lambda array: array / 2
        yield _("{name} is doubled"), lambda array: 2 * array
        yield _("{name} is squared"), np.square
        yield _("the root of {name} is used where {name} belongs"), np.sqrt
