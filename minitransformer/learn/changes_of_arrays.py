"""Mistakes that nobody listed, in an array as a whole: an output or an input in another order, or another one in its place."""

import ast
import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from minitransformer.backend import Array
from minitransformer.diagnosis.arrays import shifted
from minitransformer.diagnosis.judge import tuple_of
from minitransformer.learn.lines import scaled
from minitransformer.learn.messages import _
from minitransformer.learn.search import Changed
from minitransformer.learn.syntax_tree import NAME, RARE, USUAL, WHOLE

NUMBERS = {"-1": -1, "2": 2, "1/2": 0.5, "0": 0}


def other_outputs(exercise, cases, factors, ks) -> list[Changed]:
    """The reference with one of its outputs `ks` changed, or with all of them. factors: {text: function of the arguments}."""
    changes: list[tuple[str, int, Callable]] = []    # (sentence, rank, change(outputs, arguments))
    expected = tuple_of(exercise.reference(*cases[0][1]))
    outputs = list(enumerate(exercise.returns))
    for text, factor in factors.items():
        rank = WHOLE if text in ("0", "-1") else NAME
        if len(ks) > 1:
            changes.append((scaled(_("every output"), text), rank,
                            lambda outputs, given, factor=factor: [array * factor(given) for array in outputs]))
        for k in ks:
            if expected[k].dtype.kind == "f":
                changes.append((scaled(exercise.returns[k], text), rank, lambda outputs, given, k=k, factor=factor: _put(
                    outputs, k, outputs[k] * factor(given))))
    for k, name in [outputs[k] for k in ks]:
        for text, change in (*_rearranged(expected[k].ndim, expected[k].dtype), *_partly_written(expected[k])):
            changes.append((text.format(name=name), WHOLE,
                            lambda outputs, given, k=k, change=change: _put(outputs, k, change(outputs[k]))))
        for i, other in enumerate(exercise.parameters):
            if isinstance(cases[0][1][i], np.ndarray):
                said = _("{name} is {other}, unchanged").format(name=name, other=other)
                changes.append((said, WHOLE, lambda outputs, given, k=k, i=i: _put(outputs, k, given[i])))
        for i, other in outputs:
            if i != k:
                said = _("{name} is the same as {other}").format(name=name, other=other)
                changes.append((said, WHOLE, lambda outputs, given, k=k, i=i: _put(outputs, k, outputs[i])))
    for (k, name), (i, other) in combinations(outputs, 2):
        said = _("{name} and {other} are exchanged: they are returned in the wrong order").format(name=name, other=other)
        changes.append((said, WHOLE, lambda outputs, given, k=k, i=i: _exchanged(k, i, outputs)))
    return [Changed(sentence, _returning(exercise, change), rank) for sentence, rank, change in changes]


def other_inputs(exercise, cases) -> list[Changed]:
    """The reference, called with another input than it was given."""
    changes: list[tuple[str, Callable]] = []    # (sentence, change(arguments))
    inputs = list(enumerate(zip(exercise.parameters, cases[0][1])))
    for i, (name, value) in inputs:
        if callable(value):
            continue
        array = np.asarray(value)
        wrong = [(text.format(name=name), change) for text, change in _wrong_numbers(array.dtype)]
        wrong += [(_("everywhere, {what}").format(what=text.format(name=name)), change)
                  for text, change in _rearranged(array.ndim, array.dtype) if array.dtype.kind != "b" or "everywhere" not in text]
        changes += [(said, lambda given, i=i, change=change: _put(given, i, change(given[i]))) for said, change in wrong]
        for j, (other, another) in inputs:
            if j != i and np.ndim(value) == np.ndim(another):
                said = _("{other} is used in place of {name}").format(name=name, other=other)
                changes.append((said, lambda given, i=i, j=j: _put(given, i, given[j])))
            if j > i and np.ndim(value) == np.ndim(another):
                said = _("{name} and {other} have changed places").format(name=name, other=other)
                changes.append((said, partial(_exchanged, i, j)))
    first = next((i for i, (_name, value) in inputs if np.ndim(value)), None)
    for kept, said in ((slice(1), _("only the first row of {name} counts: is `return` inside the loop?")),
                       (slice(-1, None), _("only the last row of {name} counts: is = written in place of +=?")),
                       (slice(1, None), _("the first row of {name} is left out")),
                       (slice(None, -1), _("the last row of {name} is left out"))) if first is not None else ():
        changes.append((said.format(name=exercise.parameters[first]), partial(_of_rows, first, kept)))
    return [Changed(sentence, partial(_on_other_input, exercise, change), RARE) for sentence, change in changes]


def _wrong_numbers(dtype) -> list[tuple[str, Callable]]:
    """[(text, function of an input)]: wrong numbers for a right input of the dtype."""
    if dtype.kind == "b":
        return [(_("{name} is the wrong way round"), np.logical_not),
                (_("{name} is ignored, as if it were True everywhere"), np.ones_like)]
    changes: list[tuple[str, Callable]] = [
        (_("1 is added to {name}"), lambda array: array + 1), (_("1 is subtracted from {name}"), lambda array: array - 1)]
    if dtype.kind == "f":
        changes += [(_("{name} has the wrong sign"), np.negative),
                    (_("{name} is ignored, as if it were 1 everywhere"), np.ones_like),
                    (_("{name} is ignored, as if it were 0"), np.zeros_like),
                    (_("{name} is halved"), lambda array: array / 2), (_("{name} is doubled"), lambda array: 2 * array)]
    return changes


def _of_rows(i, kept, given) -> tuple:
    """The inputs with only those rows kept, of the i-th and of all that have as many."""
    return tuple(one[kept] if np.ndim(one) and len(one) == len(given[i]) else one for one in given)


def _on_other_input(exercise, change, *given) -> Array | tuple[Array, ...]:
    return exercise.reference(*change(given))


def everywhere(exercise) -> list[Changed]:
    """The reference with all of its sums, means and maxima changed in the same way."""
    def changed(change) -> Callable:
        """The reference, with every node of its tree passed through `change`."""
        tree = ast.parse(exercise.source)
        for node in ast.walk(tree):
            change(node)
        namespace: dict[str, Any] = {"np": np, "math": math}
        exec(compile(ast.fix_missing_locations(tree), "reference", "exec"), namespace)
        return namespace[exercise.name]

    def over(axis) -> Callable:
        def change(node) -> None:
            if isinstance(node, ast.keyword) and node.arg == "axis":
                node.value = ast.Constant(axis)
        return change

    def another(name, other) -> Callable:
        def change(node) -> None:
            if isinstance(node, ast.Attribute) and node.attr == name:
                node.attr = other
        return change

    changes = [(_("all sums, means and maxima run over the wrong axis"), changed(over(axis))) for axis in (0, -2, 1, None)]
    changes.append((_("all means are sums"), changed(another("mean", "sum"))))
    changes.append((_("all sums are means"), changed(another("sum", "mean"))))
    return [Changed(sentence, function, USUAL) for sentence, function in changes]


def _rearranged(ndim, dtype) -> Iterator[tuple[str, Callable]]:
    """(text, function of an array): swapped axes, a shift, a sum too many and so on."""
    def said(text, **parts) -> str:
        return text.replace("{at}", _(" along axis {axis}") if ndim > 1 else "").format(name="{name}", **parts)

    if dtype.kind == "b":
        yield _("{name} is the wrong way round: True and False are exchanged"), np.logical_not
        yield _("{name} is True everywhere"), np.ones_like
        yield _("{name} is False everywhere"), np.zeros_like
    for a, b in combinations(range(ndim), 2):
        yield said(_("{name} has its axes {a} and {b} swapped"), a=a, b=b), lambda array, a=a, b=b: array.swapaxes(a, b)
    for axis in range(ndim):
        yield said(_("{name} is reversed{at}"), axis=axis), lambda array, axis=axis: np.flip(array, axis)
        for place, word in ((0, _("first")), (-1, _("last"))):
            yield (said(_("{name} repeats the {word} of all{at}"), axis=axis, word=word),
                   lambda array, axis=axis, place=place: np.broadcast_to(np.take(array, [place], axis), array.shape))
            yield (said(_("{name} lacks the {word}{at}"), axis=axis, word=word),
                   lambda array, axis=axis, place=place: np.delete(array, place, axis))
        for step, way in ((1, _("late")), (-1, _("early"))):
            yield (said(_("{name} is shifted{at}: everything stands one place too {way}"), axis=axis, way=way),
                   lambda array, axis=axis, step=step: np.roll(array, step, axis))
            yield (said(_("{name} is shifted{at}: everything stands one place too {way}"), axis=axis, way=way),
                   lambda array, axis=axis, step=step: shifted(array, step, axis))
        yield (said(_("{name} is the sum of all{at}"), axis=axis),
               lambda array, axis=axis: np.broadcast_to(array.sum(axis=axis, keepdims=True), array.shape))
        yield (said(_("{name} is the mean of all{at}"), axis=axis),
               lambda array, axis=axis: np.broadcast_to(array.mean(axis=axis, keepdims=True), array.shape))
        yield said(_("{name} is summed up{at}"), axis=axis), lambda array, axis=axis: np.cumsum(array, axis)
    yield said(_("{name} has an axis of length 1 too many")), lambda array: array[None]
    yield said(_("{name} has two axes of length 1 too many")), lambda array: array[None, None]
    yield said(_("{name} lacks its axes of length 1")), np.squeeze


def _partly_written(array) -> Iterator[tuple[str, Callable]]:
    """(text, function of an output): rows that stayed 0, numbers cut by an array of whole numbers."""
    if array.ndim:
        yield _("the first row of {name} is left out: it is 0"), lambda array: _rows(array, slice(1, None))
        yield _("the last row of {name} is left out: it is 0"), lambda array: _rows(array, slice(None, -1))
        yield _("only the first row of {name} is filled: is `return` inside the loop?"), lambda array: _rows(array, slice(1))
        yield _("only the last row of {name} is filled"), lambda array: _rows(array, slice(-1, None))
    if array.dtype.kind == "f":
        yield _("{name} is cut to whole numbers: is it written into an array of integers?"), np.trunc


def _rows(array, kept) -> Array:
    """The array with 0 in all rows but those kept."""
    only = np.zeros_like(array)
    only[kept] = array[kept]
    return only


def factors(exercise, cases) -> dict[str, Callable]:
    """{text: function of the arguments}: by what an array could be wrong. 2, -1, the sizes of inputs and outputs, their roots, ...

    Of two that are equal in all cases, the first is kept.
    """
    named = [(text, lambda given, value=value: value) for text, value in NUMBERS.items()]
    returned = {id(arguments): tuple_of(exercise.reference(*arguments)) for _case, arguments in cases}
    of_input = [(name, lambda given, i=i: given[i]) for i, name in enumerate(exercise.parameters)]
    of_output = [(name, lambda given, k=k: (returned.get(id(given)) or tuple_of(exercise.reference(*given)))[k])
                 for k, name in enumerate(exercise.returns)]
    for name, one in of_input + of_output:
        value = one(cases[0][1])
        if np.ndim(value) == 0 and not callable(value) and (name, one) in of_input:
            named += _powers(name, lambda given, one=one: float(one(given)))
        least = min(np.ndim(one(given)) for _case, given in cases)
        for axis in range(-least, 0):
            text = f"{name}.shape[{axis + least if least == np.ndim(value) else axis}]"
            named += _powers(text, lambda given, one=one, axis=axis: one(given).shape[axis])
        if np.ndim(value):
            named += _powers(f"({name}.size / {name}.shape[-1])", lambda given, one=one: one(given).size // one(given).shape[-1])
    distinct = {}
    for text, factor in named:
        try:
            with np.errstate(all="ignore"):    # a number may have no root
                key = tuple(round(float(factor(given)), 12) for _case, given in cases)
        except ZeroDivisionError:    # of a number that is 0
            continue
        if np.isfinite(key).all():
            distinct.setdefault(key, (text, factor))
    return {text: factor for key, (text, factor) in distinct.items() if set(key) != {1.0}}


def _powers(text, number) -> list[tuple[str, Callable]]:
    """[(text, function of the arguments)]: the number, its root, and 1 over both."""
    return [(text, number), (f"1/{text}", lambda given: 1 / number(given)),
            (f"sqrt({text})", lambda given: np.sqrt(number(given))), (f"1/sqrt({text})", lambda given: 1 / np.sqrt(number(given)))]


def _returning(exercise, change) -> Callable:
    """The reference with its outputs changed: change(outputs, arguments)."""
    return lambda *given: tuple(map(np.asarray, change(tuple_of(exercise.reference(*given)), given)))


def _put(arrays, k, array) -> tuple:
    """The arrays with another one as the k-th."""
    return (*arrays[:k], array, *arrays[k + 1:])


def _exchanged(i, j, arrays) -> tuple:
    return _put(_put(arrays, i, arrays[j]), j, arrays[i])
