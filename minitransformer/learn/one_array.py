"""Mistakes that nobody listed: the reference's outputs times a factor, or one of them with two axes swapped."""

from itertools import combinations

import numpy as np

from minitransformer.learn.messages import _

NUMBERS = {"-1": -1, "2": 2, "1/2": 0.5}


def rescaled(exercise, cases):
    """[(sentence, function)]. cases: [(name, arguments)], of which two factors that are equal in all count as one."""
    expected = _tuple(exercise.reference(*cases[0][1]))
    outputs = list(enumerate(exercise.returns))
    which = [([k], name) for k, name in outputs] + ([(range(len(outputs)), _("every output"))] if len(outputs) > 1 else [])
    found = []
    for text, factor in _factors(exercise, cases):
        for ks, name in which:
            if all(expected[k].dtype.kind == "f" for k in ks):
                found.append((_("{name} is {factor} times what is expected").format(name=name, factor=text),
                              _with(exercise, ks, lambda array, given, factor=factor: array * factor(given))))
    for k, name in outputs:
        found.append((_("{name} is 0 everywhere").format(name=name), _with(exercise, [k], lambda array, given: 0 * array)))
        for a, b in combinations(range(expected[k].ndim), 2):
            found.append((_("{name} has its axes {a} and {b} swapped").format(name=name, a=a, b=b),
                          _with(exercise, [k], lambda array, given, a=a, b=b: array.swapaxes(a, b))))
    return found


def _factors(exercise, cases):
    """[(text, function of the arguments)]: numbers, and sizes or numbers of the inputs, with their roots."""
    named = [(text, lambda given, value=value: value) for text, value in NUMBERS.items()]
    for i, (name, value) in enumerate(zip(exercise.parameters, cases[0][1])):
        if np.ndim(value) == 0 and not callable(value):
            named += _powers(name, lambda given, i=i: given[i])[:2]    # it may be negative: no roots
        least = min(np.ndim(given[i]) for _case, given in cases)
        for axis in range(-least, 0):
            text = f"{name}.shape[{axis + least if least == np.ndim(value) else axis}]"
            named += _powers(text, lambda given, i=i, axis=axis: given[i].shape[axis])
        if np.ndim(value):
            rows = f"({name}.size / {name}.shape[-1])"
            named += _powers(rows, lambda given, i=i: given[i].size // given[i].shape[-1])
    found = {}
    for text, factor in named:
        try:
            key = tuple(round(float(factor(given)), 12) for _case, given in cases)
        except ZeroDivisionError:    # of a number that is 0
            continue
        found.setdefault(key, (text, factor))
    return [one for key, one in found.items() if set(key) != {1.0}]


def _powers(text, number):
    return [(text, number), (f"1/{text}", lambda given: 1 / number(given)),
            (f"sqrt({text})", lambda given: np.sqrt(number(given))), (f"1/sqrt({text})", lambda given: 1 / np.sqrt(number(given)))]


def _with(exercise, ks, change):
    """The reference, its outputs `ks` changed."""
    def function(*given):
        arrays = [change(array, given) if k in ks else array for k, array in enumerate(_tuple(exercise.reference(*given)))]
        return tuple(arrays)
    return function


def _tuple(returned):
    return tuple(map(np.asarray, returned if isinstance(returned, tuple) else (returned,)))
