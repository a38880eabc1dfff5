"""The gradient doctor: names the mistake behind a wrong gradient, but only one that it can prove.

It finds the innermost part whose own gradient is wrong (locate.py), runs it at several sizes
(case.py), and asks about each mistake that it can make: is the result the wrong gradient, up to
rounding, at every size? It changes the syntax tree of the library's counterpart of the block
(counterpart.py, changed_backwards.py), the right gradients as a whole (arrays.py), and a reader's
own forward and backward (paths.py and repairs.py in diagnosis/). Few mistakes are listed
(known_mistakes.py). It names a mistake only if that one alone explains everything. Otherwise it
lists evidence (evidence.py).

Whether a check passed has been decided before: `gradcheck` finds this module by its entry point,
and asks it only then.
"""

import inspect
import warnings
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.contract import check_finite, run_by_contract
from minitransformer.checking.report import CONTRACT, EVIDENCE, NAMED, OBSERVED, Finding
from minitransformer.checking.subject import Breach, Subject, drawing, flat
from minitransformer.errors import InputError
from minitransformer_course.diagnosis.paths import Paths
from minitransformer_course.diagnosis.where import how_far
from minitransformer_course.diagnosis import repairs
from minitransformer_course.doctor import arrays, forwards
from minitransformer_course.doctor.case import Case, affordable, case_or_none, other_cases, redrawn
from minitransformer_course.doctor.changed_backwards import changed, of_cache
from minitransformer_course.doctor.counterpart import find_counterpart, name_of
from minitransformer_course.doctor.evidence import observations
from minitransformer_course.diagnosis.fitting import fitting, one_of
from minitransformer_course.doctor.locate import locate
from minitransformer_course.doctor.known_mistakes import mistakes_of
from minitransformer_course.doctor.mistakes import Mistake, of_exercises
from minitransformer_course.diagnosis.operations import library_only
from minitransformer_course.doctor.recorder import Call, Recorder, innermost_first
from minitransformer_course.limits import limited_memory
from minitransformer_course.diagnosis.syntax_tree import RARE

MOST = 2_000  # mistakes that are tried in one block, the most usual first


def diagnose(subject: Subject, dy: Any, more: str = "") -> Finding | None:
    """The Finding for a block whose check failed with this upstream gradient; None if it does not
    run, or if the doctor sees nothing wrong. more: the end of what is said about its gradients.
    """
    case = case_or_none(subject, dy)
    try:
        if case is None or not case.is_wrong:
            return None
    except Breach as breach:
        return Finding(
            EVIDENCE,
            f"the doctor needs the complex step, which this forward does not support: {breach}",
        )
    located = locate(case)
    if located.changed:
        path, changing, sentence = located.changed[0]
        return Finding(CONTRACT, sentence, _place(path, changing))
    if located.path:  # the contract of the block itself was checked before
        sentence = _breach_of(check_by_contract, located.case)
        if sentence:
            return Finding(CONTRACT, sentence, _place(located.path, located.case.block))
    return _finding(located, more)


def check_by_contract(subject: Subject, dy: Any = None) -> None:
    """Raise Breach if a block, run alone, does not keep the contract in float64, or if one of its
    gradients is not finite.
    """
    _, _, gradients = run_by_contract(subject.astype(np.float64), dy)
    check_finite(gradients)


def find_breach(
    subject: Subject, breach: Breach, check: Callable[..., None] = check_by_contract
) -> Finding:
    """The Finding for a block that breaks the contract: the breach, and the innermost part in which
    `check` finds one.
    """
    recorder = Recorder()
    try:
        copy = subject.astype(np.float64)
        with np.errstate(all="ignore"), recorder.recording(copy.layer):
            y, cache = copy.forward()
            copy.gradients(copy.upstream(y, drawing(0)), cache)
    except Breach:
        pass  # what has been found by then is enough
    for call in innermost_first(recorder.forward.parts + recorder.backward.parts):
        if call.dy is None or np.isfinite(flat(call.dy)).all():
            inner = _breach_of(check, call)
            if inner:
                return Finding(CONTRACT, inner, _place(call.path, call.block))
    return Finding(CONTRACT, str(breach))


def _breach_of(check: Callable[..., None], part: Call | Case) -> str:
    """How a part breaks the contract when it runs alone, or ""."""
    try:
        with np.errstate(all="ignore"):
            check(part.subject, part.dy)
    except Breach as breach:
        return str(breach)
    except InputError:  # a part that cannot run alone with its inputs tells us nothing
        pass
    return ""


def examine(case, parts, facts) -> tuple[str, float | None, str]:
    """(sentence, error once the mistake is undone, kind of Finding) for a wrong block whose `parts`
    are right.
    """
    others = other_cases(case)
    same = (
        []
        if others
        else [
            "the block runs only at the given sizes, where other parameters and inputs were tried"
        ]
    )
    others = others or redrawn(case)
    cases = [case, *others]
    for other in others:
        other.counterpart = find_counterpart(other)
    own = repairs.is_own(case.block)
    explanations = _of_own(cases) if own else []
    if not explanations:
        explanations = _explanations(cases, parts)
        if explanations:  # without one, the right gradients need not be known: they take time
            before = max(one.error(one.right) if one.is_known else np.inf for one in cases)
            explanations = [(said, error) for said, error in explanations if error < before]
    if not any(other.is_wrong for other in others):
        found_text = [
            f"a candidate, not proven at other sizes: {sentence}"
            for sentence, _ in explanations[:3]
        ]
        return (
            "; ".join([_size_note(others, same), *facts, *found_text, *observations(case)]),
            None,
            EVIDENCE,
        )
    calls = [fact for fact in facts if ".backward` " in fact]
    if len(explanations) == 1:
        ((sentence, error),) = explanations
        return "; ".join([sentence, *same, *calls]), error, NAMED
    several = [
        f"several mistakes explain it equally well: {' | '.join(sentence for sentence, _ in explanations[:4])}"
    ]
    said = [*facts, *(several if explanations else []), *same]
    if own:
        with np.errstate(all="ignore"):
            far = how_far(cases, repairs.own_backward_of(case.block))
        said += [far] if far else []
    return (
        ("; ".join(said), None, OBSERVED)
        if facts
        else ("; ".join([*said, *observations(case)]), None, EVIDENCE)
    )


def _of_own(cases) -> list[tuple[str, float]]:
    """[(sentence, error)] for a block whose source is the reader's: what can be read off it."""
    whole = arrays.as_a_whole(cases)
    if len(whole) == 1:
        return whole
    with np.errstate(all="ignore"):
        paths = Paths(cases)
        return (
            [(said, 0.0) for said in islice(paths.statistics(), 1)]
            or repairs.explanations(cases)
            or [(said, 0.0) for said in islice(paths.explanations(), 1)]
        )


def _size_note(others, same) -> str:
    if others and same:
        return "it shows only at the given inputs; with other parameters and inputs of these sizes, the gradients are right"
    if others:
        return (
            "it shows only at the given inputs; at the other sizes tried, the gradients are right"
        )
    return "the block runs only at the given sizes (one batch size, one length), so nothing can be proven at others"


def _explanations(cases, parts) -> list[tuple[str, float]]:
    """[(sentence, error)] of the mistakes that explain the wrong gradients in all cases, of the
    most specific kind that does.
    """
    explanations = forwards.explanations(cases)
    if explanations:
        return explanations
    if not all(case.counterpart for case in cases):
        return arrays.explanations(cases)
    own, *inner = cases[0].counterpart.operations()
    inner = [name for name in inner if name not in parts]
    return (
        _formulas(cases, mistakes_of([own]))
        or _formulas(cases, mistakes_of(inner))
        or _formulas(cases, _of_exercises(cases, (own, *inner)))
        or _changed(cases, own, inner)
    )


def _changed(cases, own, inner) -> list[tuple[str, float]]:
    """As `_explanations`: what a gradient as a whole shows, and the change of the library's
    backward that gives the same.
    """
    whole = arrays.as_a_whole(cases)
    if any("times" not in sentence and "divided" not in sentence for sentence, _ in whole):
        return whole
    made = [*changed(own), *of_cache(own, cases[0].counterpart.cache())]
    found = _formulas(cases, [one for one in made if one.rank < RARE]) or _formulas(
        cases,
        [
            one._replace(sentence=f"in {name}, {one.sentence}")
            for name in inner
            for one in changed(name)
        ],
    )
    if len(found) == len(whole) == 1:
        return [(f"{found[0][0]}; {whole[0][0]}", found[0][1])]
    return (
        whole
        or found
        or arrays.explanations(cases)
        or _formulas(cases, [one for one in made if one.rank == RARE])
    )


def _of_exercises(cases, operations) -> list[Mistake]:
    """The exercises' mistakes in these operations. A gradient of zeros fits too many formulas; it
    says more that it is zero.
    """
    zero = not any(case.observed[name].any() for case in cases for name in case.wrong)
    return [] if zero else [one for one in of_exercises() if one.of in operations]


def _formulas(cases, mistakes) -> list[tuple[str, float]]:
    """The mistakes that fit; several that also give the same at further sizes count as one."""

    def made(mistake, case) -> list[Array]:
        gradients = case.counterpart.gradients_with(mistake)
        return [gradients[name] for name in case.observed]

    def further() -> list[Case]:
        others = other_cases(cases[0], seed=8)
        for case in others:
            case.counterpart = find_counterpart(case)
        return [case for case in others if case.counterpart]

    with library_only(), limited_memory(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 1[None] makes no sense, but does no harm
        usual = sorted(mistakes, key=lambda one: one.rank)[:MOST]
        found = fitting(usual, made, cases, [list(case.observed.values()) for case in cases])
        return [(mistake.sentence, error) for mistake, error in one_of(found, made, further)]


def _finding(located, more) -> Finding:
    case = affordable(located.case, repairs.is_own(located.case.block))
    if case is not located.case:
        case.counterpart = find_counterpart(case)
    sentence, error, kind = examine(case, located.parts, located.facts)
    if case is not located.case:
        tried = [
            f"{name} of shape {array.shape}"
            for name, array in case.arguments.items()
            if isinstance(array, np.ndarray)
        ]
        sentence += f" (seen at smaller sizes: {', '.join(tried)})"
    right, where = case.right, {}
    if located.case.is_known:
        observed, true = located.case.observed, located.case.right
        distance = {name: np.abs(observed[name] - true[name]) for name in located.case.wrong}
        name = max(distance, key=lambda name: distance[name].max(initial=0))
        index = np.unravel_index(distance[name].argmax(), distance[name].shape)
        where = dict(
            array=name,
            index=tuple(map(int, index)),
            analytic=float(observed[name][index]),
            numeric=float(true[name][index]),
        )
    place = _place(located.path, case.block) if located.path else ""
    return Finding(
        kind,
        sentence + more,
        place,
        before=case.error(right) if case.is_known else None,
        after=error,
        read=_read(case),
        also=_also(located),
        **where,
    )


def _also(located) -> tuple[str, ...]:
    """The other innermost wrong parts: those of a different kind by their places, those of the same
    kind by their number.
    """
    kind = name_of(located.case.block)
    same = sum(name_of(call.block) == kind for call in located.others)
    others = {
        _place(call.path, call.block): None
        for call in located.others
        if name_of(call.block) != kind
    }
    return (
        *([f"{kind} in {same} other {'place' if same == 1 else 'places'}"] if same else []),
        *others,
    )


def _place(path, block) -> str:
    """A part in words: its path, and its kind if the path does not say it."""
    kind = name_of(block)
    return path if path.endswith(kind) else f"{path} ({kind})".strip()


def _read(case) -> str:
    """The library's backward of this block, which derives the gradient in its docstring or calls
    functions that do.
    """
    if case.counterpart is None:
        return ""
    backward = inspect.unwrap(case.counterpart.operation.backward)
    return f"{backward.__module__}.{backward.__qualname__}"
