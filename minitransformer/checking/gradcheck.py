"""The gradient check: compare every gradient that a backward returns or adds with a numeric
derivative.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from minitransformer.checking.contract import (
    TooLarge,
    check_finite,
    check_single_precision,
    in_complex,
    run_by_contract,
)
from minitransformer.checking.numeric import central, contradict
from minitransformer.checking.other_values import (
    A_LITTLE,
    at_another_batch_size,
    at_other_values,
    redrawn,
)
from minitransformer.checking.plugins import entries, module_of
from minitransformer.checking.report import CONTRACT, OBSERVED, Finding, Report, Result
from minitransformer.checking.results import METHODS, Along, Comparison, Run
from minitransformer.checking.subject import Block, Breach, Subject, drawing, each, flat
from minitransformer.checks import check_kind
from minitransformer.errors import InputError

FULL_CHECK = 2000  # up to this many numbers, each one is checked; above, one projection per array
LARGER = 1000.0  # is another upstream gradient: a backward that clips it shows
UNNAMED = "minitransformer_course, which names mistakes, is not installed: pip install -e ."


def gradcheck(
    block: Block,
    inputs: Any,
    *,
    name: str = "",
    methods: Sequence[str] = ("central", "complex"),
    projection: bool | None = None,
    seed: int = 0,
) -> Report:
    """Check every gradient of `block` at `inputs`; returns a Report (`.passed`, `print(report)`).

    block: a Layer, or a pair of functions (forward, backward) that keep the same contract. If
    forward returns a tuple of arrays as y (a recurrent layer's outputs and its last state),
    backward takes a tuple dy of the same shapes.
    inputs: forward's arguments, a sequence, {name: value}, or one array. Float arrays are
    differentiated, those in a tuple too; everything else (ids, masks, None) is passed on. If
    forward takes `rng`, each evaluation gets an equal, fresh generator, so dropout is checked, too.
    methods: "central" differences in float64 and the "complex" step.
    projection: False checks element by element, True along one random direction per array (for
    whole models); None decides by size.
    seed: for the random upstream gradients, the directions, the other values and the dropout.

    What decides, each time in float64 and for another upstream gradient: the given inputs; other
    values of all inputs and parameters, of the same shapes (other_values.py); and another batch
    size, if all float inputs share their first axis. Shapes are otherwise left alone, so a layer
    may keep its widths and lengths, but not the batch size.

    If a block breaks the contract of a layer, the report says how in one sentence. Exactly at a
    kink (of ReLU, max, abs, a tie) no gradient is defined: the report says where, and the gradients
    must be right at inputs moved a little. What only float32 cannot do is a remark (in a block of
    the library, it fails). Only if a check failed is the gradient doctor asked what it can prove
    about the mistake. Raises InputError if the inputs are not forward's, and if there is nothing to
    check.
    """
    if (
        not isinstance(methods, (list, tuple))
        or not methods
        or any(method not in METHODS for method in methods)
    ):
        raise InputError(
            f"gradcheck: methods is {methods!r}, expected one or more of {', '.join(METHODS)}"
        )
    check_kind(
        projection is None or isinstance(projection, bool),
        "gradcheck: projection",
        projection,
        "True, False or None",
    )
    subject = Subject(block, inputs, name, seed)
    _check_numbers(subject)
    with np.errstate(all="ignore"):  # a NaN is reported, without a warning
        return _checked(subject, methods, projection)


def _check_numbers(subject: Subject) -> None:
    """Raise InputError if there is nothing to check."""
    if not subject.variables:
        raise InputError(
            f"gradcheck: {subject.name} has nothing to check: no parameter, and no input is a float "
            "array"
        )
    empty = [name for name in subject.inputs if not subject.variables[name].size]
    if not any(array.size for array in subject.variables.values()):
        empty = list(subject.variables)
    if empty:
        raise InputError(
            f"gradcheck: {empty[0]} of {subject.name} has shape {subject.variables[empty[0]].shape}: "
            "no numbers to check; give it some"
        )


def _checked(
    subject: Subject, methods: Sequence[str], projection: bool | None, moved: bool = False
) -> Report:
    """gradcheck; moved: whether the inputs have been moved away from a kink, so that there is no
    excuse any more.
    """
    name, results = subject.name, []
    try:
        y, dy, gradients = run_by_contract(subject)
        run = Run(subject, in_complex(subject) if "complex" in methods else None, dy, gradients)
        if projection is None:
            projection = sum(gradient.size for gradient in gradients.values()) > FULL_CHECK
        comparison, rng = Comparison(run, at_kinks=not moved), drawing(subject.seed, 2)
        for method in methods:
            results += (
                comparison.projections(method, rng) if projection else comparison.elements(method)
            )
        passed = all(result.passed for result in results)
        if run.moving and not (passed and "central" in methods):
            _check_same_function(run)
        if not passed:
            check_finite(gradients)
    except Breach as breach:
        found = Finding(CONTRACT, str(breach))
        return Report(results, {name: _named(found, "find_breach", subject, breach)})
    if not passed:
        return Report(results, {name: _named(_which(results), "diagnose", subject, dy)})
    places = dict.fromkeys(result.at_kink for result in results if result.at_kink)
    if places:
        beside = redrawn(subject, drawing(subject.seed, 8), A_LITTLE)
        again = _checked(beside, methods, projection, moved=True)
        said = (
            f"{name}: at a kink at this input: {', '.join(places)}; no gradient is defined there, "
            "and at inputs moved a little "
            f"{'all gradients are right' if again.passed else 'the gradients are wrong'}"
        )
        return replace(
            again,
            results=results if again.passed else again.results,
            remarks=(said, *again.remarks),
        )
    return _elsewhere(Report(results), subject, methods, projection, dy)


def _elsewhere(
    report: Report, subject: Subject, methods: Sequence[str], together: bool, dy: Any
) -> Report:
    """The report on a block that is right at the given inputs, with what is wrong in float32, at
    other values, or at another batch size. together: whether all arrays move at once.
    """
    remarks, name = list(report.remarks), subject.name
    try:
        check_single_precision(subject)
    except InputError as error:
        function = subject.pair[0] if subject.pair else type(subject.layer)
        own = not str(function.__module__).startswith("minitransformer.")
        if not own and not isinstance(error, TooLarge):
            found = Finding(CONTRACT, str(error))
            named = _named(found, "find_breach", subject, error, check_single_precision)
            return replace(report, findings={name: named})
        remarks.append(f"{name}: a remark: {error}")
    others = [(other, "at other values of the same shapes") for other in at_other_values(subject)]
    if not others:
        remarks.append(f"{name}: not tried at other values: forward does not run there")
    larger = at_another_batch_size(subject)
    if isinstance(larger, str):
        remarks.append(f"{name}: not tried with another batch size: {larger}")
    else:
        shapes = [
            f"{argument} of shape {value.shape}"
            for argument, value in larger.arguments.items()
            if isinstance(value, np.ndarray)
        ]
        others.append((larger, f"with {', '.join(shapes)}"))
    for number, (other, where) in enumerate(others):
        wrong = _wrong_at(other, where, methods, together, dy, number)
        if wrong:
            return replace(report, findings={name: wrong}, remarks=tuple(remarks))
    return replace(report, remarks=tuple(remarks))


def _wrong_at(
    other: Subject, where: str, methods: Sequence[str], together: bool, dy: Any, number: int
) -> Finding | None:
    """What is wrong with a block at other values or sizes, for another upstream gradient than dy."""
    moving = other.astype(np.complex128) if "complex" in methods else None
    try:
        drawn = other.upstream(other.forward()[0], drawing(other.seed, 1, number))
        upstream = _unlike(dy, drawn, number)
        run = Run(other, moving, *run_by_contract(other, upstream)[1:])
        check_finite(run.gradients)
        comparison, method = Comparison(run), "complex" if moving else "central"
        found = list(comparison.projections(method, drawing(other.seed, 2), together))
        if together and not found[0].passed:
            found += comparison.projections(method, drawing(other.seed, 2))
    except Breach as breach:
        return Finding(CONTRACT, f"right at the given inputs only: {where}, {breach}")
    wrong = [result.wrt for result in found if not result.passed]
    if not wrong:
        return None
    more = f"; it does not show at the given inputs, but {where}"
    if len(wrong) > 1 and together:
        del wrong[0]
    finding = Finding(OBSERVED, f"wrong: {', '.join(wrong)}{more}")
    return _named(finding, "diagnose", other, upstream, more)


def _unlike(dy: Any, other: Any, number: int) -> Any:
    """The other upstream gradient, so that it differs from dy in size, and in sign if it is one
    number.
    """
    if flat(dy).size == flat(other).size == 1:
        sign = -np.sign(flat(dy)[0])
        return each(lambda d: sign * np.abs(d), other)
    return each(lambda d: LARGER * d, other) if number == 0 else other


def _named(finding: Finding, question: str, *arguments: Any) -> Finding:
    """What the doctor answers to the question; without a doctor, `finding`, which says what is
    wrong but not why.
    """
    doctor = find_doctor()
    if doctor is None:
        return replace(finding, sentence=f"{finding.sentence}; {UNNAMED}")
    return getattr(doctor, question)(*arguments) or finding


def find_doctor() -> Any:
    """The module that names mistakes, or None; asked for only once a check failed."""
    return next((module_of(found) for found in entries("doctor")), None)


def _check_same_function(run: Run) -> None:
    """Raise Breach unless both numeric derivatives agree along a random direction of all variables.

    If a forward drops the imaginary part, the complex step misses part of the derivative, and would
    agree with a backward that misses the same part.
    """
    rng, dy = drawing(9), flat(run.dy)
    units = run.subject.units
    place = Along(
        {
            name: units[name] * rng.standard_normal(array.shape)
            for name, array in run.subject.variables.items()
        },
        unit=1.0,
    )
    line, slope = place.line(run.subject), run.slope(place, "complex")
    if contradict(line, dy, slope, place.unit):
        raise Breach(
            f"the complex step ({slope:.6g}) and central differences ({central(line, dy):.6g}) "
            "disagree along one direction: either the forward drops the imaginary part (no abs, "
            "var, std or norm in a forward; write squares as x * x), or it rounds"
        )


def _which(results: list[Result]) -> Finding:
    """Which gradients are wrong, and the worst number."""
    wrong = dict.fromkeys(result.wrt for result in results if not result.passed)
    right = dict.fromkeys(result.wrt for result in results if result.wrt not in wrong)
    worst = max((r for r in results if not r.passed), key=lambda r: r.max_relative_error)
    exact = [r for r in results if r.method.startswith("complex")]
    sentence = f"wrong: {', '.join(wrong)}" + (f"; right: {', '.join(right)}" if right else "")
    if exact and all(result.passed for result in exact):
        sentence = (
            f"{sentence}; the gradients agree with the complex step: look for a kink near the "
            "inputs, or for a forward that rounds"
        )
    return Finding(
        OBSERVED,
        sentence,
        array=worst.wrt,
        index=worst.index,
        analytic=worst.analytic,
        numeric=worst.numeric,
    )
