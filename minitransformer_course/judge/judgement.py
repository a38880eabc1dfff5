"""Judge a solution, step by step: from whether it runs and is the reader's own to its numbers in float64 and in float32."""

import inspect
from typing import Any, NamedTuple

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.compare import relative_error
from minitransformer.checking.numeric import central, complex_step, of_each
from minitransformer_course.doctor.fitting import tuple_of
from minitransformer_course.judge.answer import Answer
from minitransformer_course.judge.bounded import Bounded
from minitransformer_course.judge.call import call_on
from minitransformer_course.judge.explanation import EXACT, explain, number, term_factors, worst_element
from minitransformer_course.judge.fitting import fitting_mistakes
from minitransformer_course.judge.messages import _

CENTRAL = 1e-6    # the error allowed against central differences
# What the last arguments are called: numbers of the first shapes, the first numbers again, the first ones in float32.
OTHER, AGAIN, SINGLE = "other numbers of the same shapes", "the same numbers again", "float32"
NOT_SINGLE = {    # what turns float32 into float64, and what to write instead
    "np.zeros(": "np.zeros(shape, x.dtype)", "np.ones(": "np.ones(shape, x.dtype)", "np.empty(": "np.empty(shape, x.dtype)",
    "np.eye(": "np.eye(n, dtype=x.dtype)", "np.tri(": "np.tri(n, dtype=x.dtype)", "np.arange(": "np.arange(n, dtype=x.dtype)",
    "np.sqrt(": "math.sqrt(number)", "np.float64(": "float(number)"}


class Failure(NamedTuple):
    """Why a solution does not pass: the fields of an Answer."""

    stage: str
    where: str
    why: str


def check_function(exercise, function, seed=0, watched=True, limit=None) -> Answer:
    """The Answer for a function, called in this process. watched, limit: as in `call_on`."""
    cases = cases_of(exercise, seed)
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):    # it is not known
        source = ""
    return check_outcomes(exercise, cases, list(call_on(function, cases, watched, limit)), source)


def cases_of(exercise, seed=0) -> list[tuple[str, tuple]]:
    """[(name, arguments)] to call a solution with: the exercise's cases, then OTHER, AGAIN and SINGLE."""
    cases = exercise.cases(seed)
    first = cases[0][1]
    tells_less = any(one.dtype.kind != "f" for one in tuple_of(exercise.reference(*first)))    # masks and ids, not numbers
    if tells_less and not exercise.versions:
        cases += [case for more in (1, 2) for case in exercise.cases(seed + 100 * more)[:2]]
    return [*cases, (OTHER, exercise.other_numbers(seed)), (AGAIN, first), (SINGLE, tuple(_single(value) for value in first))]


def check_outcomes(exercise, cases, outcomes, source="") -> Answer:
    """The Answer for the outcomes of a solution, one for each of the cases. source: its code, if that is known."""
    last = "gradients" if exercise.loss else "values"
    stages = ["runs", "own", "shape", "inputs", "repeats", *(["invariants"] if exercise.invariants else []), last,
              *([] if exercise.float64_only else ["float32"])]
    answer = Answer(exercise.name, False, "passed", stages, printed=Bounded("".join(one.printed for one in outcomes)).text())
    judged = cases[:-2]
    with np.errstate(all="ignore"):
        failure = (_runs(exercise, cases, outcomes) or _own(outcomes) or _shape(exercise, judged, outcomes, source)
                   or _inputs(exercise, outcomes) or _repeats(exercise, cases, outcomes) or _numbers(exercise, judged, outcomes)
                   or (_float32(exercise, cases, outcomes, source) if "float32" in stages else None))
        if failure:
            answer.stage, answer.where, answer.why = failure
            if failure.stage in ("shape", "inputs", "invariants", last):
                _diagnose(exercise, judged, outcomes, answer, source)
            elif failure.stage == "runs" and _wrong(exercise, cases, outcomes[:-1]):    # it gave numbers before it raised
                _diagnose(exercise, judged[:len(outcomes) - 1], outcomes[:-1], answer, source)
    answer.passed = failure is None
    answer.next = _next(exercise, answer)
    return answer


def _runs(exercise, cases, outcomes) -> Failure | None:
    outcome, (_case, arguments) = outcomes[-1], cases[len(outcomes) - 1]
    if outcome.blank:
        return Failure("runs", outcome.line, _("it is not written yet: an unsolved exercise fails, and that is where you begin"))
    if outcome.late and len(outcomes) > 1 and not _wrong(exercise, cases, outcomes[:-1]):
        return Failure("runs", outcome.line, _("it is right so far, but slow: {n} of {all} calls returned in time").format(
            n=len(outcomes) - 1, all=len(cases)))
    if outcome.error:
        return Failure("runs", outcome.line,
                       f"{outcome.error}\n{_called_with(exercise, arguments)}" if outcome.raised else outcome.error)
    return None


def _wrong(exercise, cases, outcomes) -> bool:
    """Whether one of these outcomes differs from the reference's numbers, or has none."""
    return any(relative_error(outcome.arrays, tuple_of(exercise.reference(*arguments))) > EXACT
               for (_case, arguments), outcome in zip(cases, outcomes))


def _called_with(exercise, arguments) -> str:
    """The call, in words: the shapes and the numbers; a function among the arguments is left out."""
    return _("it was called with {given}").format(given=", ".join(
        f"{name} {value.shape}" if isinstance(value, np.ndarray) else f"{name} = {value}"
        for name, value in zip(exercise.parameters, arguments) if not callable(value)))


def _own(outcomes) -> Failure | None:
    last = outcomes[-1]
    return Failure("own", f"{last.line}: {last.borrowed}" if last.line else last.borrowed,
                   _("this answer is borrowed: write it with NumPy alone")) if last.borrowed else None


def _repeats(exercise, cases, outcomes) -> Failure | None:
    """Whether an answer depends on the calls before: OTHER came after the first arguments, and AGAIN after OTHER."""
    first, other, again = (outcomes[i].arrays for i in (0, -3, -2))
    if relative_error(first, other) <= EXACT and _wrong(exercise, cases[-3:-2], outcomes[-3:-2]) and not _wrong(
            exercise, cases[:-3], outcomes):
        return Failure("repeats", _("called with other numbers of the same shapes, it returns the answer to the first ones"),
                       _("it keeps its answer for these shapes: compute it anew in each call"))
    if relative_error(first, again) <= EXACT:
        return None
    place = worst_element(exercise.returns, again, first, _("{place}: first {b}, then {a}"))
    sums = [relative_error([now - before], [one]) <= EXACT for one, before, now in zip(first, other, again)]
    return Failure("repeats", place, _("it adds up over the calls: begin with zeros in each call") if any(sums) else _(
        "the same numbers give another answer: is something random, kept from the call before, or np.empty never filled?"))


def _shape(exercise, cases, outcomes, source) -> Failure | None:
    """The first case with another number of outputs than the reference's, or with an output of another shape or dtype."""
    for (_case, arguments), outcome in zip(cases, outcomes):
        expected = tuple_of(exercise.reference(*arguments))
        if outcome.returned or len(outcome.arrays) != len(expected):
            n = len(outcome.arrays)
            got = outcome.returned or (_("one array") if n == 1 else _("{n} arrays").format(n=n))
            shapes = ", ".join(f"{name} {right.shape}" for name, right in zip(exercise.returns, expected))
            where = _("it returns {got}, expected {names}").format(got=got, names=", ".join(exercise.returns))
            if outcome.returned == "None":
                in_place = ".at(" in source or ".sort(" in source
                return Failure("shape", where, _("is `return` missing? What works in place, such as np.add.at, returns None, too")
                               if in_place else _("is `return` missing?"))
            return Failure("shape", where, _("expected NumPy arrays: {names}").format(names=shapes))
        for name, array, right in zip(exercise.returns, outcome.arrays, expected):
            if array.shape != right.shape:
                where = _("{name} has the shape {got}, expected {right}").format(name=name, got=array.shape, right=right.shape)
                return Failure("shape", where, _not_summed(array, right) or _called_with(exercise, arguments))
            if array.dtype != right.dtype:
                where = _("{name} has the dtype {got}, expected {right}").format(name=name, got=array.dtype, right=right.dtype)
                return Failure("shape", where, _dtype_rule(array.dtype, right.dtype))
    return None


def _not_summed(array, right) -> str:
    """The sentence if the array is right except for a sum over one axis; "" if it is not."""
    for axis in range(array.ndim):
        if relative_error([array.sum(axis=axis)], [right]) <= EXACT:
            return _("summed over axis {axis}, it is right: what is used several times gets the sum of its gradients").format(
                axis=axis)
    return ""


def _dtype_rule(got, right) -> str:
    """The likely reason for the wrong dtype."""
    if right.kind == "b":
        return _("it has to hold True and False, as a comparison gives them: is it multiplied, added, or made of numbers?")
    return _("which line turns it into {got}?").format(got=got)


def _float32(exercise, cases, outcomes, source) -> Failure | None:
    failure = _shape(exercise, cases[-1:], outcomes[-1:], source)
    if not failure:
        return None
    single = [name for name, value in zip(exercise.parameters, cases[-1][1]) if getattr(value, "dtype", None) == np.float32]
    why = _("the numbers are right, but a model trains in float32: which line turns it into float64?")
    used = [_("{one}...) may: write {other}").format(one=one, other=other.replace("x.", f"{[*single, 'x'][0]}."))
            for one, other in NOT_SINGLE.items() if one in source]
    return Failure("float32", _("called with float32: {what}").format(what=failure.where), "\n".join([why, *used[:2]]))


def _inputs(exercise, outcomes) -> Failure | None:
    for outcome in outcomes:
        if outcome.changed >= 0:
            name = exercise.parameters[outcome.changed]
            return Failure("inputs", _("after the call, {name} is not what it was").format(name=name),
                           _("its owner still needs it: write x = x - 1 in place of x -= 1, or work on a copy"))
    return None


def _numbers(exercise, cases, outcomes) -> Failure | None:
    """A case with wrong numbers, if possible one that breaks an invariant; its worst element."""
    broken = [_broken_invariant(exercise, arguments, outcome) for (_case, arguments), outcome in zip(cases, outcomes)]
    for (case, arguments), outcome, sentence in sorted(zip(cases, outcomes, broken), key=lambda one: not one[2]):
        expected = tuple_of(exercise.reference(*arguments))
        wrong = relative_error(outcome.arrays, expected) > EXACT
        if exercise.loss and not case:
            exact, near = (differentiate(exercise, arguments, method) for method in (complex_step, central))
            wrong = not (relative_error(outcome.arrays, exact) <= EXACT and relative_error(outcome.arrays, near) <= CENTRAL)
        if wrong:
            place = worst_element(exercise.returns, outcome.arrays, expected)
            first = relative_error(outcome.arrays[:1], expected[:1]) > EXACT
            terms = term_factors(exercise, arguments, outcome.arrays) if first else ""
            finite = all(np.isfinite(array).all() for array in outcome.arrays)
            why = "\n".join(filter(None, [sentence if finite else "", terms])) or explain(exercise, outcome.arrays, expected)
            return Failure("invariants" if sentence else "gradients" if exercise.loss else "values",
                           place + (f" ({case})" if case else ""), why)
    return None


def differentiate(exercise, arguments, method) -> list[Array]:
    """The gradients of the exercise's loss, each element by `method`: central or complex_step of checking.numeric."""
    loss, arrays = exercise.loss(*arguments)
    moved = [np.array(array, dtype=complex if method is complex_step else float) for array in arrays]
    return [of_each(method, lambda: loss(*moved), 1, array) for array in moved]


def _broken_invariant(exercise, arguments, outcome) -> str:
    """The sentence of the first invariant that does not hold, with the number; "" if all hold."""
    answer = outcome.arrays[0] if len(outcome.arrays) == 1 else tuple(outcome.arrays)
    scale = max((np.max(np.abs(array), initial=0) for array in outcome.arrays), default=0)
    for mark in exercise.invariants:
        excess = np.max(np.abs(mark.excess(answer, *arguments)), initial=0)
        if not excess <= EXACT * max(scale, 1):
            return _("{sentence}; yours is off by {number}").format(sentence=_(mark.sentence), number=number(excess))
    return ""


def _diagnose(exercise, cases, outcomes, answer, source) -> None:
    """Name the mistake in the answer, or one for each wrong output, if nothing else gives what the learner's function gives."""
    if any(outcome.returned or len(outcome.arrays) != len(exercise.returns) for outcome in outcomes):
        return
    given = [tuple(outcome.arrays) for outcome in outcomes[:len(cases)]]
    explanations = fitting_mistakes(exercise, cases, given, source)
    if explanations and all(len({mark.sentence for mark in marks}) == 1 for marks in explanations):
        marks = {marks[0].sentence: marks[0] for marks in explanations}.values()
        answer.diagnosis, answer.hint = "; ".join(_(mark.sentence) for mark in marks), next(iter(marks)).hint
    elif len(explanations) == 1:
        answer.candidates = len({mark.sentence for mark in explanations[0]})


def _next(exercise, answer) -> str:
    """The command to type next."""
    if answer.passed:
        return (f"minitransformer learn plug {exercise.name}" if exercise.plug else "minitransformer learn")
    if answer.stage == "float32":
        return f"minitransformer learn check {exercise.name}"
    return _('minitransformer learn hint {name}; read again: "{section}"').format(
        name=exercise.name, section=exercise.module.section)


def _single(value) -> Any:
    """The argument in float32, if it is an array of float64."""
    return value.astype(np.float32) if isinstance(value, np.ndarray) and value.dtype == float else value
