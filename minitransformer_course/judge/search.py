"""Which change of the reference gives the learner's numbers? Its lines are run with one or two of
them changed.
"""

import ast
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice, product
from typing import Any, NamedTuple

import numpy as np

from minitransformer.backend import Array
from minitransformer_course.limits import limited_memory
from minitransformer_course.judge.lines import FACTOR, RETURNED, lines_of
from minitransformer_course.diagnosis.syntax_tree import RARE, Change

# programs that are tried: only a layer of the decoder has more, and those in its last lines come
# first
MOST = 30_000
NEAR = 1e-9  # relative error of arrays that are alike


class Changed(NamedTuple):
    """The reference with an unlisted change."""

    sentence: str
    wrong: Callable
    rank: int  # as in syntax_tree.py
    outputs: frozenset[int] = (
        frozenset()
    )  # the learner's outputs that it gives, on the arguments that it was tried on
    lines: int = 1  # in how many it is; a change of all lines of one form counts as one


def programs(exercise, arguments, given, wrong, factors, number, source) -> list[Changed]:
    """Each reference with `number` changes of its lines, 1 or 2, that gives one of the outputs
    `wrong` of the learner's.

    given: the learner's arrays on these arguments; whether a program gives them on others, too, is
    yet to be judged. factors: {text: function of the arguments}. source: the learner's code.
    """
    lines = lines_of(exercise, tuple(factors), source)

    def start(arguments) -> dict[str, Any]:
        """The names that the first line finds."""
        return {
            "np": np,
            "math": math,
            FACTOR: {text: factor(arguments) for text, factor in factors.items()},
            **dict(zip(exercise.parameters, arguments)),
        }

    fitting = []
    runs = _runs(lines, 0, start(arguments), number, {}, _that_reach(lines, wrong))
    with (
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        limited_memory(),
    ):  # a change may make an id the size of an array
        warnings.simplefilter("ignore")
        for alike, returned in islice(runs, MOST):
            outputs = frozenset(k for k, one in enumerate(returned) if _near(one, given[k]))
            for made in product(*alike.values()) if outputs & wrong else ():
                said = {one.sentence: one.rank for one in made}
                function = _function(lines, dict(zip(alike, made)), start)
                fitting.append(
                    Changed("; ".join(said), function, sum(said.values()), outputs, len(said))
                )
    return fitting


def _that_reach(lines, outputs) -> set[int]:
    """The numbers of the lines on which one of these outputs depends: a change of another line
    cannot be what is wrong with it.
    """
    reach: set[int] = set()
    needed = {f"{RETURNED}{k}" for k in outputs}
    for i in reversed(range(len(lines))):
        names = [node for node in ast.walk(lines[i].tree) if isinstance(node, ast.Name)]
        if needed & {
            node.id for node in names if lines[i].in_place or isinstance(node.ctx, ast.Store)
        }:
            reach.add(i)
            needed |= {node.id for node in names}
    return reach


def _runs(lines, i, names, left, alike, reach) -> Iterator[tuple[dict[int, list[Change]], Any]]:
    """({line's number: Changes}, what is returned) for each way to run the lines from the i-th on
    with `left` changes.

    Changes of a line after which all names have the same values are run on together: `alike` has
    them as one list. Of two changes, each must leave what a line makes in its shape. reach: the
    numbers of the lines that may be changed.
    """
    if not left:
        with suppress(Exception):  # a changed line need not fit the shapes of the others
            yield alike, _returned(_run(lines[i:], {}, names))
    elif i < len(lines):
        line, groups, two = lines[i], {}, left == 2 or bool(alike)
        try:
            right = _run([line], {}, names)
        except Exception:  # after a change that it does not fit
            return
        groups[left, ()] = right, []
        shapes = [one[:3] for one in _values(right, names)]
        for change, still in (
            ()
            if i not in reach
            else (
                *((pair, 0) for pair in (line.pairs if left == 2 else ())),
                *((one, left - 1) for one in line.variants if one.rank < RARE or not two),
            )
        ):  # two are usual ones
            with suppress(Exception):
                made = _run([line], {0: change}, names)
                values = _values(made, names)
                if not two or line.is_returned or [one[:3] for one in values] == shapes:
                    groups.setdefault((still, values), (made, []))[1].append(change)
        for (still, _values_made), (made, changes) in groups.items():
            yield from _runs(
                lines, i + 1, made, still, {**alike, i: changes} if changes else alike, reach
            )


def _run(lines, chosen, names) -> dict[str, Any]:
    """The names after these lines, with the Changes that were chosen. It works on a copy: other
    programs begin with the same.
    """
    in_place = any(line.in_place for line in lines)
    copied = {
        name: value.copy() if in_place and isinstance(value, np.ndarray) else value
        for name, value in names.items()
    }
    for i, line in enumerate(lines):
        exec(chosen[i].node if i in chosen else line.code, copied)
    return copied


def _values(names, before) -> tuple:
    """What is new in the names, to be compared: (name, shape, dtype, content)."""
    return tuple(
        (
            name,
            np.shape(value),
            value.dtype.char if isinstance(value, np.ndarray) else "",
            value.tobytes() if isinstance(value, np.ndarray) else repr(value),
        )
        for name, value in names.items()
        if before.get(name) is not value and name != "__builtins__"
    )


def _near(one, other) -> bool:
    if one.shape != other.shape:
        return False
    if one.dtype.kind not in "iufc" or other.dtype.kind not in "iufc":
        return bool((one == other).all())
    error, scale = np.abs(one - other).max(initial=0), np.abs(other).max(initial=0)
    return (
        bool(error <= NEAR * scale)
        if np.isfinite(error)
        else np.allclose(one, other, NEAR, 0, equal_nan=True)
    )


def _function(lines, chosen, start) -> Callable:
    """The reference, with the changes that were chosen."""

    def function(*arguments) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _returned(_run(lines, chosen, start(arguments)))

    return function


def _returned(names) -> tuple[Array, ...]:
    return tuple(np.asarray(value) for name, value in names.items() if name.startswith(RETURNED))
