"""Which change of the reference gives the learner's numbers? Its lines are run with one of them changed, or two."""

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from minitransformer.backend import Array
from minitransformer.learn.lines import FACTOR, RETURNED, lines_of
from minitransformer.learn.syntax_tree import RARE, Change

NEAR = 1e-9    # relative error of arrays that are alike


class Changed(NamedTuple):
    """The reference with an unlisted change."""

    sentence: str
    wrong: Callable
    rank: int    # as in syntax_tree.py
    outputs: frozenset[int] = frozenset()    # the learner's outputs that it gives, on the arguments that it was tried on
    hint: int = 2    # the one to begin with, as of a listed mistake


def programs(exercise, arguments, given, wrong, factors, number, source) -> list[Changed]:
    """Each reference with `number` changes of its lines, 1 or 2, that gives one of the outputs `wrong` of the learner's.

    given: the learner's arrays on these arguments; whether a program gives them on others, too, is yet to be judged.
    factors: {text: function of the arguments}. source: the learner's code.
    """
    lines = lines_of(exercise, tuple(factors), source)

    def start(arguments) -> dict[str, Any]:
        """The names that the first line finds."""
        return {"np": np, "math": math, FACTOR: {text: factor(arguments) for text, factor in factors.items()},
                **dict(zip(exercise.parameters, arguments))}

    fitting = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for chosen, returned in _runs(lines, 0, start(arguments), number, {}):
            outputs = frozenset(k for k, one in enumerate(returned) if _near(one, given[k]))
            if outputs & wrong:
                fitting.append(Changed("; ".join(one.sentence for one in chosen.values()), _function(lines, chosen, start),
                                       sum(one.rank for one in chosen.values()), outputs))
    return fitting


def _runs(lines, i, names, left, chosen) -> Iterator[tuple[dict[int, Change], Any]]:
    """({line's number: Change}, what is returned) for each way to run the lines from the i-th on with `left` changes."""
    if i == len(lines):
        if not left:
            yield chosen, _returned(names)
        return
    line = lines[i]
    yield from _run(lines, i, names, line.code, left, chosen)
    if left == 2:
        for pair in line.pairs:
            yield from _run(lines, i, names, pair.node, 0, {**chosen, i: pair})
    for variant in line.variants if left else ():
        if variant.rank < RARE or (left == 1 and not chosen):    # two changes at once are usual ones
            yield from _run(lines, i, names, variant.node, left - 1, {**chosen, i: variant})


def _run(lines, i, names, code, left, chosen) -> Iterator[tuple[dict[int, Change], Any]]:
    """Like `_runs`, with `code` for the i-th line. It gets a copy of the names, since other programs begin with the same ones."""
    copied = {name: value.copy() if lines[i].in_place and isinstance(value, np.ndarray) else value for name, value in names.items()}
    try:
        exec(code, copied)
    except Exception:    # a changed line need not fit its shapes
        return
    yield from _runs(lines, i + 1, copied, left, chosen)


def _near(one, other) -> bool:
    if one.shape != other.shape:
        return False
    if one.dtype.kind not in "iufc" or other.dtype.kind not in "iufc":
        return bool((one == other).all())
    error, scale = np.abs(one - other).max(initial=0), np.abs(other).max(initial=0)
    return bool(error <= NEAR * scale) if np.isfinite(error) else np.allclose(one, other, NEAR, 0, equal_nan=True)


def _function(lines, chosen, start) -> Callable:
    """The reference, with the variants that were chosen."""
    def function(*arguments) -> Any:
        names = start(arguments)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for i, line in enumerate(lines):
                exec(chosen[i].node if i in chosen else line.code, names)
        return _returned(names)
    return function


def _returned(names) -> tuple[Array, ...]:
    return tuple(np.asarray(value) for name, value in names.items() if name.startswith(RETURNED))
