"""Unlisted mistakes in an array as a whole: an output or an input in another order, or replaced by
another one.
"""

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np

from minitransformer_course.diagnosis.factors import FORMS
from minitransformer_course.diagnosis.fitting import tuple_of
from minitransformer_course.diagnosis.rearranged import MOVED, PARTS
from minitransformer_course.judge.lines import scaled
from minitransformer_course.messages import _
from minitransformer_course.judge.search import Changed
from minitransformer_course.diagnosis.syntax_tree import NAME, RARE, WHOLE

NUMBERS = {"-1": -1, "2": 2, "1/2": 0.5, "0": 0}
FIXED: dict[type, tuple] = {
    float: (1e-5, 1e-6, 1e-8, 1e-9, 1e-12, 0.1, 0.5, 0.9, 1),
    int: (1, 2, 8, 10, 64, 100, 512, 1000, 4000, 8000, 10_000),
    bool: (),
}
TRUE, FALSE = _("{name} is True everywhere"), _("{name} is False everywhere")
Named = Iterator[tuple[str, Callable]]  # a sentence with {name}, and a function of an array


def other_outputs(exercise, cases, factors, ks) -> Iterator[Changed]:
    """The reference with one of its outputs `ks` changed, or with all of them. factors: {text:
    function of the arguments}.
    """

    def changed(sentence, rank, change) -> Changed:
        """change(outputs, arguments) -> outputs."""
        return Changed(
            sentence,
            lambda *given: tuple(
                map(np.asarray, change(tuple_of(exercise.reference(*given)), given))
            ),
            rank,
        )

    expected, names = tuple_of(exercise.reference(*cases[0][1])), exercise.returns
    for text, factor in factors.items():
        rank = WHOLE if text in ("0", "-1") else NAME
        if len(ks) > 1:
            yield changed(
                scaled(_("every output"), text),
                rank,
                lambda outputs, given, factor=factor: [array * factor(given) for array in outputs],
            )
        for k in [
            k
            for k in ks
            if expected[k].dtype.kind == "f" or (text == "0" and expected[k].dtype.kind in "iu")
        ]:
            yield changed(
                scaled(names[k], text),
                rank,
                lambda outputs, given, k=k, factor=factor: _put(
                    outputs, k, outputs[k] * factor(given)
                ),
            )
    for k in ks:
        for text, change in rearranged(expected[k].ndim, expected[k].dtype, MOVED + PARTS):
            yield changed(
                text.format(name=names[k]),
                WHOLE,
                lambda outputs, given, k=k, change=change: _put(outputs, k, change(outputs[k])),
            )
        for i, other in enumerate(exercise.parameters):
            if isinstance(cases[0][1][i], np.ndarray):
                yield changed(
                    _("{name} is {other}, unchanged").format(name=names[k], other=other),
                    WHOLE,
                    lambda outputs, given, k=k, i=i: _put(outputs, k, given[i]),
                )
                yield changed(
                    _("{name} is the beginning of {other}, unchanged").format(
                        name=names[k], other=other
                    ),
                    WHOLE,
                    lambda outputs, given, k=k, i=i: _put(outputs, k, given[i][: len(outputs[k])]),
                )
        for i in [i for i in range(len(names)) if i != k]:
            yield changed(
                _("{name} is the same as {other}").format(name=names[k], other=names[i]),
                WHOLE,
                lambda outputs, given, k=k, i=i: _put(outputs, k, outputs[i]),
            )
    for k, i in combinations(range(len(names)), 2):
        said = _("{name} and {other} are swapped: they are returned in the wrong order").format(
            name=names[k], other=names[i]
        )
        yield changed(said, WHOLE, lambda outputs, given, k=k, i=i: _exchanged(k, i, outputs))


def other_inputs(exercise, cases) -> Iterator[Changed]:
    """The reference, called with a different input from the one it was given."""
    for i, (name, value) in enumerate(zip(exercise.parameters, cases[0][1])):
        if callable(value):
            continue
        of_number = [
            (
                _("{name} is not read: it is {fixed} all the time").replace("{fixed}", str(fixed)),
                lambda value, fixed=fixed: fixed,
            )
            for fixed in FIXED.get(type(value), ())  # what people write in its place
        ]
        for said, change in (*wrong_numbers(np.asarray(value).dtype), *of_number):
            yield Changed(
                said.format(name=name),
                lambda *given, i=i, change=change: exercise.reference(
                    *_put(given, i, change(given[i]))
                ),
                RARE,
            )


def same_everywhere(name) -> list[str]:
    """The sentences about an output that is one number everywhere."""
    return [
        scaled(name, "0"),
        scaled(_("every output"), "0"),
        TRUE.format(name=name),
        FALSE.format(name=name),
    ]


def wrong_numbers(dtype) -> Named:
    """Wrong numbers in place of a right input of the dtype."""
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


def rearranged(ndim, dtype, along_an_axis) -> Named:
    """Swapped axes, a shift, one sum too many and so on."""

    def said(text, **parts) -> str:
        return text.replace("{at}", _(" along axis {axis}") if ndim > 1 else "").format(
            name="{name}", **parts
        )

    if dtype.kind == "b":
        yield _("{name} is the wrong way round: True and False are swapped"), np.logical_not
        yield TRUE, np.ones_like
        yield FALSE, np.zeros_like
    if dtype.kind == "f":
        yield (
            _("{name} is cut to whole numbers: is it written into an array of integers?"),
            np.trunc,
        )
    for a, b in combinations(range(ndim), 2):
        yield (
            said(_("{name} has its axes {a} and {b} swapped"), a=a, b=b),
            lambda array, a=a, b=b: array.swapaxes(a, b),
        )
    for axis in range(ndim):
        for sentence, change in along_an_axis:
            yield (
                said("{name} " + _(sentence), axis=axis),
                lambda array, axis=axis, change=change: change(array, axis),
            )
        for place, word in ((0, _("first")), (-1, _("last"))):
            yield (
                said(_("{name} lacks the {word}{at}"), axis=axis, word=word),
                lambda array, axis=axis, place=place: np.delete(array, place, axis),
            )
    yield said(_("{name} has an axis of length 1 too many")), lambda array: array[None]
    yield said(_("{name} lacks its axes of length 1")), np.squeeze


def factors(exercise, cases) -> dict[str, Callable]:
    """{text: function of the arguments}: factors that an array could be wrong by: 2, -1, sizes of
    inputs and outputs, roots, ...

    Of two that are equal in all cases, the first is kept.
    """
    named = [(text, lambda given, value=value: value) for text, value in NUMBERS.items()]
    returned = {
        id(arguments): tuple_of(exercise.reference(*arguments)) for _case, arguments in cases
    }
    of_input = [(name, lambda given, i=i: given[i]) for i, name in enumerate(exercise.parameters)]
    of_output = [
        (
            name,
            lambda given, k=k: (returned.get(id(given)) or tuple_of(exercise.reference(*given)))[k],
        )
        for k, name in enumerate(exercise.returns)
    ]
    for name, one in of_input + of_output:
        value = one(cases[0][1])
        if np.ndim(value) == 0 and not callable(value) and (name, one) in of_input:
            named += _powers(name, one)
        least = min(np.ndim(one(given)) for _case, given in cases)
        for axis in range(-least, 0):
            text = f"{name}.shape[{axis + least if least == np.ndim(value) else axis}]"
            named += _powers(text, lambda given, one=one, axis=axis: one(given).shape[axis])
        if np.ndim(value):
            named += _powers(
                f"({name}.size / {name}.shape[-1])",
                lambda given, one=one: one(given).size // one(given).shape[-1],
            )
    distinct = {}
    for text, factor in named:
        with np.errstate(all="ignore"):  # a number may be 0, or have no root
            key = tuple(round(float(factor(given)), 12) for _case, given in cases)
        if np.isfinite(key).all():
            distinct.setdefault(key, (text, factor))
    return {text: factor for key, (text, factor) in distinct.items() if set(key) != {1.0}}


def _powers(text, number) -> list[tuple[str, Callable]]:
    """[(text, function of the arguments)]: the number, its root, its square, and 1 over them."""
    return [
        (form.format(n=text), lambda given, value=value: value(np.float64(number(given))))
        for form, (value, _said) in FORMS.items()
    ]


def _put(arrays, k, array) -> tuple:
    """The arrays with another one as the k-th."""
    return (*arrays[:k], array, *arrays[k + 1 :])


def _exchanged(i, j, arrays) -> tuple:
    return _put(_put(arrays, i, arrays[j]), j, arrays[i])
