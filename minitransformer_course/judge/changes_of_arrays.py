"""Unlisted mistakes in an array as a whole: an output or an input in another order, or replaced by
another one.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations

import numpy as np

from minitransformer.backend import Array
from minitransformer_course.diagnosis.arrays import rearranged, wrong_numbers
from minitransformer_course.diagnosis.factors import FORMS
from minitransformer_course.diagnosis.fitting import tuple_of
from minitransformer_course.judge.lines import scaled
from minitransformer_course.messages import _
from minitransformer_course.judge.search import Changed
from minitransformer_course.diagnosis.syntax_tree import NAME, RARE, WHOLE

NUMBERS = {"-1": -1, "2": 2, "1/2": 0.5, "0": 0}
SIMPLE = "-1", "0"
FIXED: dict[type, tuple] = {
    float: (1e-5, 1e-6, 1e-8, 1e-9, 1e-12, 0.1, 0.5, 0.9, 1),
    int: (1, 2, 8, 10, 64, 100, 512, 1000, 4000, 8000, 10_000),
    bool: (),
}


def other_outputs(exercise, cases, factors, ks) -> Iterator[Changed]:
    """The reference with one of its outputs `ks` changed, or with all of them. factors: {text:
    function of the arguments}.
    """

    def changed(sentence, change, rank=WHOLE) -> Changed:
        """change(outputs, arguments): what comes in the place of the outputs."""

        def wrong(*given) -> tuple[Array, ...]:
            outputs = tuple_of(exercise.reference(*given))
            return tuple(map(np.asarray, change(outputs, given)))

        return Changed(sentence, wrong, rank)

    if len(ks) > 1:
        for text, factor in factors.items():
            rank = WHOLE if text in SIMPLE else NAME
            said = scaled(_("every output"), text)
            yield changed(said, partial(_scaled, factor), rank)
    names = exercise.returns
    for k in ks:
        for sentence, change, rank in _of_output(exercise, cases, factors, k):
            yield changed(sentence.format(name=names[k]), partial(_with_other, k, change), rank)
    for k, i in combinations(range(len(names)), 2):
        said = _("{name} and {other} are swapped: they are returned in the wrong order")
        yield changed(said.format(name=names[k], other=names[i]), partial(_exchanged, k, i))


def _of_output(exercise, cases, factors, k) -> Iterator[tuple[str, Callable, int]]:
    """(sentence with {name}, function of outputs and arguments, rank) of the k-th output."""
    expected = tuple_of(exercise.reference(*cases[0][1]))[k]
    for text, factor in factors.items():
        if expected.dtype.kind == "f" or (text == "0" and expected.dtype.kind in "iu"):
            rank = WHOLE if text in SIMPLE else NAME
            said = scaled("{name}", text)
            yield said, lambda outputs, given, factor=factor: outputs[k] * factor(given), rank
    for said, change in rearranged(expected.ndim, expected.dtype):
        yield said, lambda outputs, given, change=change: change(outputs[k]), WHOLE
    for i, other in enumerate(exercise.parameters):
        if isinstance(cases[0][1][i], np.ndarray):
            said = _("{name} is {other}, unchanged").replace("{other}", other)
            yield said, lambda outputs, given, i=i: given[i], WHOLE
            said = _("{name} is the beginning of {other}, unchanged").replace("{other}", other)
            yield said, lambda outputs, given, i=i: given[i][: len(outputs[k])], WHOLE
    for i, other in enumerate(exercise.returns):
        if i != k:
            said = _("{name} is the same as {other}").replace("{other}", other)
            yield said, lambda outputs, given, i=i: outputs[i], WHOLE


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
        _("{name} is True everywhere").format(name=name),
        _("{name} is False everywhere").format(name=name),
    ]


def factors(exercise, cases) -> dict[str, Callable]:
    """{text: function of the arguments}: factors that an array could be wrong by: 2, -1, sizes of
    inputs, roots, ...

    Of two that are equal in all cases, the first is kept.
    """
    named = [(text, lambda given, value=value: value) for text, value in NUMBERS.items()]
    for i, name in enumerate(exercise.parameters):
        value = cases[0][1][i]
        if np.ndim(value) == 0 and not callable(value):
            named += _powers(name, lambda given, i=i: given[i])
        least = min(np.ndim(given[i]) for _case, given in cases)
        for axis in range(-least, 0):
            text = f"{name}.shape[{axis + least if least == np.ndim(value) else axis}]"
            named += _powers(text, lambda given, i=i, axis=axis: given[i].shape[axis])
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


def _scaled(factor, outputs, given) -> list:
    return [array * factor(given) for array in outputs]


def _with_other(k, change, outputs, given) -> tuple:
    return _put(outputs, k, change(outputs, given))


def _exchanged(k, i, outputs, given) -> tuple:
    return _put(_put(outputs, k, outputs[i]), i, outputs[k])
