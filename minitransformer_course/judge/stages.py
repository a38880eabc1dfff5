"""The stages of a check: each asks one question, from whether a solution runs to its numbers in
float64 and in float32.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.compare import relative_error
from minitransformer_course.diagnosis.fitting import tuple_of
from minitransformer_course.judge.explanation import (
    EXACT,
    explain,
    number,
    term_factors,
    worst_element,
)
from minitransformer_course.messages import _

# the last cases: numbers of the first shapes, the first numbers again, the first ones in float32
EXTRA = 3


@dataclass
class Judged:
    """What a solution gave: an outcome for each of the cases, up to one that gave no arrays."""

    exercise: Any
    cases: list  # [(name, arguments)]
    outcomes: list
    source: str  # the solution's code, "" if that is not known

    def __post_init__(self):
        if (
            self.exercise.versions
        ):  # a test says True or False; what else it is asked for is lost if an assert fails
            rest = next((one.arrays[1:] for one in self.outcomes if len(one.arrays) > 1), [])
            self.outcomes = [
                one._replace(arrays=[*one.arrays, *rest]) if len(one.arrays) == 1 else one
                for one in self.outcomes
            ]

    @cached_property
    def expected(self) -> list[tuple[Array, ...]]:
        """The reference's answers."""
        return [tuple_of(self.exercise.reference(*arguments)) for _case, arguments in self.cases]

    def is_wrong(self, i) -> bool:
        """Whether the i-th outcome differs from the reference's numbers, or has none."""
        return relative_error(self.outcomes[i].arrays, self.expected[i]) > EXACT

    def misjudges(self, i) -> bool:
        """Whether the reader's test passes a wrong version or fails a right one, as the i-th."""
        return bool(self.outcomes[i].arrays[0] != self.expected[i][0])

    def called_with(self, i) -> str:
        """The call, in words: the shapes and the numbers, and its case; a function among the
        arguments is left out.
        """
        named = [
            (name, value)
            for name, value in zip(self.exercise.parameters, self.cases[i][1])
            if not callable(value)
        ]
        return _("it was called with {given}").format(
            given=", ".join(
                f"{name} {value.shape}"
                if isinstance(value, np.ndarray)
                else f"{name} = {value}"
                if isinstance(value, int)
                else f"{name} = {value:.4g}"
                for name, value in named
            )
        ) + self.case(i)

    def case(self, i) -> str:
        """ " (a gradient of 0)", the name of the i-th case if it has one."""
        return f" ({self.cases[i][0]})" if self.cases[i][0] else ""


Failure = tuple[str, str]  # where, and why


class Stage(NamedTuple):
    name: str
    fails: Callable[[Judged], Failure | None]  # the question
    passed: str  # what is said of a solution that passed it,
    failed: str  # and of one that failed it
    unexplained: str | None = (
        None  # what is said if no mistake explains its failure; None if none is looked for
    )


def stages(exercise=None) -> list[Stage]:
    """All stages, or those that an exercise has, in the order of a check."""
    unknown = _("no known pattern: none of the usual mistakes gives this answer")
    made = [
        Stage("runs", _stops, _("it runs"), _("does not run"), ""),
        Stage("own", _borrows, _("NumPy alone"), _("borrowed")),
        Stage("shape", _other_shape, _("right shapes"), _("wrong shape or type"), ""),
        Stage("inputs", _changes_inputs, _("inputs unchanged"), _("changes its inputs"), ""),
        Stage("finite", _not_finite, "", _("NaN or infinity"), ""),
        Stage(
            "repeats",
            _depends_on_calls,
            _("same inputs, same answer"),
            _("same inputs, another answer"),
        ),
        Stage("invariants", _breaks_a_rule, _("rules kept"), _("breaks a rule"), unknown),
        Stage("values", _wrong_numbers, _("right numbers"), _("wrong numbers"), unknown),
        Stage("float32", _not_single, _("float32 stays float32"), _("not in float32")),
    ]
    has = {
        "invariants": not exercise or exercise.invariants,
        "float32": not exercise or not exercise.float64_only,
    }
    return [stage for stage in made if has.get(stage.name, True)]


def _stops(judged) -> Failure | None:
    last, n = judged.outcomes[-1], len(judged.outcomes)
    if last.blank:
        return last.line, _(
            "it is not written yet: an unsolved exercise fails, and that is where you begin"
        )
    if last.late and n > 1 and not any(map(judged.is_wrong, range(n - 1))):
        return last.line, _(
            "it is right so far, but slow: {n} of {all} calls returned in time"
        ).format(n=n - 1, all=len(judged.cases))
    if last.error:
        return (
            last.line,
            f"{last.error}\n{judged.called_with(n - 1)}" if last.raised else last.error,
        )
    return None


def _borrows(judged) -> Failure | None:
    last = judged.outcomes[-1]
    return (
        (
            f"{last.line}: {last.forbidden}" if last.line else last.forbidden,
            _("this answer is borrowed: write it with NumPy alone"),
        )
        if last.forbidden
        else None
    )


def _other_shape(judged, cases=slice(1 - EXTRA)) -> Failure | None:
    """The first case with another number of outputs than the reference's, or with an output of
    another shape or dtype.
    """
    for i in range(len(judged.cases))[cases]:
        outcome, expected, names = judged.outcomes[i], judged.expected[i], judged.exercise.returns
        if outcome.returned or len(outcome.arrays) != len(expected):
            n = len(outcome.arrays)
            got = outcome.returned or (_("one array") if n == 1 else _("{n} arrays").format(n=n))
            where = _("it returns {got}, expected {names}").format(got=got, names=", ".join(names))
            if judged.exercise.versions:
                return where, _("end with `return {names}`: True or False, and a number").format(
                    names=", ".join(names)
                )
            if outcome.returned == "None":
                in_place = ".at(" in judged.source or ".sort(" in judged.source
                return where, (
                    _(
                        "is `return` missing? What works in place, such as np.add.at, returns None, too"
                    )
                    if in_place
                    else _("is `return` missing?")
                )
            shapes = ", ".join(f"{name} {right.shape}" for name, right in zip(names, expected))
            return where, _("expected NumPy arrays: {names}").format(names=shapes)
        for name, array, right in zip(names, outcome.arrays, expected):
            if array.shape != right.shape and (
                name not in judged.exercise.varies or array.ndim != right.ndim
            ):
                where = _("{name} has the shape {got}, expected {right}").format(
                    name=name, got=array.shape, right=right.shape
                )
                return where, _not_summed(array, right) or judged.called_with(i)
            got, wanted = _dtype(array), _dtype(right)
            if got != wanted and not (array.ndim == 0 and got.kind == wanted.kind):  # a measure may
                where = _("{name} has the dtype {got}, expected {right}").format(
                    name=name, got=got, right=wanted
                )
                return where, _("which line turns it into {got}?").format(
                    got=got
                ) if right.dtype.kind != "b" else _(
                    "it has to hold True and False, as a comparison gives them: is it multiplied, added, or made of numbers?"
                )
    return None


def _dtype(array) -> np.dtype:
    """Its dtype; int64 for NumPy's own choice of whole numbers, which have 32 bits in a browser."""
    return np.dtype(np.int64) if array.dtype == int else array.dtype


def _not_summed(array, right) -> str:
    """The sentence if the array is right except for a sum over one axis; "" if it is not."""
    for axis in range(array.ndim):
        if relative_error([array.sum(axis=axis)], [right]) <= EXACT:
            return _(
                "summed over axis {axis}, it is right: what is used several times gets the sum of its gradients"
            ).format(axis=axis)
    return ""


def _changes_inputs(judged) -> Failure | None:
    for outcome in judged.outcomes:
        if outcome.changed >= 0:
            return (
                _("after the call, {name} is not what it was").format(
                    name=judged.exercise.parameters[outcome.changed]
                ),
                _(
                    "its owner still needs it: write x = x - 1 in place of x -= 1, or work on a copy"
                ),
            )
    return None


def _not_finite(judged) -> Failure | None:
    """The first place where NaN or infinity is, and a number belongs; None if a case before has
    wrong numbers, which tell more.
    """
    for i, outcome in enumerate(judged.outcomes[: 1 - EXTRA]):
        for name, array, right in zip(judged.exercise.returns, outcome.arrays, judged.expected[i]):
            bad = np.argwhere(
                ~np.isfinite(array) & (np.isfinite(right) if array.shape == right.shape else True)
            )
            if len(bad):
                where, value = bad[0].tolist(), array[tuple(bad[0])]
                place = _("{place}: {value}; NaN or infinity: {n} of {all} numbers").format(
                    place=name + (str(where) if where else ""),
                    value=value,
                    n=len(bad),
                    all=array.size,
                )
                return place + judged.case(i), (
                    _(
                        "NaN comes from 0 / 0, from infinity minus infinity, or from the root or logarithm of a negative number"
                    )
                    if np.isnan(value)
                    else _(
                        "infinity comes from a division by 0, from log(0), or from exp of more than 709"
                    )
                )
        if judged.is_wrong(i):
            return None
    return None


def _depends_on_calls(judged) -> Failure | None:
    """Whether an answer depends on the calls before: other numbers came after the first ones, and
    these again after them.
    """
    first, other, again = (judged.outcomes[i].arrays for i in (0, -3, -2))
    usual = range(len(judged.cases) - EXTRA)
    if (
        relative_error(first, other) <= EXACT
        and judged.is_wrong(-3)
        and not any(map(judged.is_wrong, usual))
    ):
        return (
            _(
                "called with other numbers of the same shapes, it returns the answer to the first ones"
            ),
            _("it keeps its answer for these shapes: compute it anew in each call"),
        )
    if relative_error(first, again) <= EXACT:
        return None
    place = worst_element(judged.exercise.returns, again, first, _("{place}: first {b}, then {a}"))
    sums = [
        relative_error([1 * now - before], [one]) <= EXACT
        for one, before, now in zip(first, other, again)
    ]
    return place, _("it adds up over the calls: begin with zeros in each call") if any(sums) else _(
        "the same numbers give another answer: is something random, kept from the call before, or np.empty never filled?"
    )


def _breaks_a_rule(judged) -> Failure | None:
    return next(
        (
            _worst_of(judged, i, rule)
            for i in _wrong_cases(judged)
            if (rule := _broken_invariant(judged, i))
        ),
        None,
    )


def _wrong_numbers(judged) -> Failure | None:
    wrong = sorted(
        _wrong_cases(judged),
        key=lambda i: bool(judged.exercise.versions) and not judged.misjudges(i),
    )
    return next((_worst_of(judged, i) for i in wrong), None)


def _wrong_cases(judged) -> Iterator[int]:
    return filter(judged.is_wrong, range(len(judged.cases[: 1 - EXTRA])))


def _worst_of(judged, i, rule="") -> Failure:
    """The worst element of a case, and why it is wrong: the rule that is broken, or what is known
    about the numbers.
    """
    exercise, arrays, expected = judged.exercise, judged.outcomes[i].arrays, judged.expected[i]
    if exercise.versions:  # the right answer to what else it asks for is not told
        if not judged.misjudges(i):
            said = _("{name}: {number} is not the one").format(
                name=exercise.returns[1], number=number(arrays[1])
            )
            return said, _(
                "right: your test passes every correct version, and fails every wrong one"
            )
        arrays, expected = arrays[:1], expected[:1]
    place = worst_element(exercise.returns, arrays, expected)
    first = relative_error(arrays[:1], expected[:1]) > EXACT
    terms = term_factors(exercise, judged.cases[i][1], arrays) if first else ""
    return place + judged.case(i), "\n".join(filter(None, [rule, terms])) or explain(
        exercise, arrays, expected
    )


def _broken_invariant(judged, i) -> str:
    """The sentence of the first invariant that does not hold, with the number; "" if all hold."""
    arrays = judged.outcomes[i].arrays
    if not all(np.isfinite(array).all() for array in arrays):  # a case before it is wrong
        return ""
    answer = arrays[0] if len(arrays) == 1 else tuple(arrays)
    scale = max((np.max(np.abs(array), initial=0) for array in arrays), default=0)
    for invariant in judged.exercise.invariants:
        excess = np.max(np.abs(invariant.excess(answer, *judged.cases[i][1])), initial=0)
        if not excess <= EXACT * max(scale, 1):
            return _("{sentence}; yours is off by {number}").format(
                sentence=_(invariant.sentence), number=number(excess)
            )
    return ""


def _not_single(judged) -> Failure | None:
    failure = _other_shape(judged, slice(-1, None))
    if not failure:
        return None
    return _("called with float32: {what}").format(what=failure[0]), _(
        "the numbers are right, but a model trains in float32: which line turns it into float64?\n"
        "np.zeros, np.eye and np.arange do without dtype=x.dtype; np.sqrt(number) does, math.sqrt(number) does not"
    )
