"""Judge a solution, stage by stage: the answer says what passed, where it is wrong, why, what is
likely, and what is next.
"""

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np

from minitransformer.checking.compare import relative_error
from minitransformer_course.diagnosis.fitting import tuple_of
from minitransformer_course.judge.call import call_on
from minitransformer_course.judge.explanation import EXACT
from minitransformer_course.judge.fitting import fitting_mistakes
from minitransformer_course.limits import LimitedOutput
from minitransformer_course.messages import _
from minitransformer_course.judge.stages import EXTRA, Judged, stages


@dataclass
class Answer:
    """What a check found. `print` it; a notebook shows it."""

    exercise: str
    stage: str  # the stage that failed (stages.py); "passed" if none did
    stages: list[str]  # what is said of those that passed, in order
    where: str = ""  # the worst element, yours and expected; or the line
    why: str = ""  # what is violated, with the number
    likely: str = ""  # the diagnosis, or why there is none
    diagnosis: str = ""  # the mistake, if it alone explains the difference
    next: str = ""
    printed: str = ""  # what the learner's code printed
    blank: bool = False  # it is not written yet

    @property
    def passed(self) -> bool:
        return self.stage == "passed"

    @property
    def title(self) -> str:
        return (_("{name}: passed") if self.passed else _("{name}: not yet")).format(
            name=self.exercise
        )

    @property
    def lines(self) -> list[tuple[str, str]]:
        """[(label, text)] of what there is to say; a text may have several lines."""
        lines = (
            ("PASSED", "; ".join(self.stages)),
            ("WHERE", self.where),
            ("WHY", self.why),
            ("LIKELY", self.likely),
            ("NEXT", self.next),
        )
        return [(label, text) for label, text in lines if text]

    def __str__(self) -> str:
        indent = "\n" + 10 * " "
        return "\n".join(
            [
                self.title,
                *(f"  {label:7} {text}".replace("\n", indent) for label, text in self.lines),
            ]
        )

    __repr__ = __str__  # a notebook shows it

    def as_dict(self) -> dict[str, Any]:
        return {
            "exercise": self.exercise,
            "passed": self.passed,
            "stage": self.stage,
            "blank": self.blank,
            "where": self.where or None,
            "why": self.why or None,
            "diagnosis": self.diagnosis or None,
        }


def check_function(exercise, function, seed=0, watched=True, limit=None) -> Answer:
    """The Answer for a function, called in this process. watched, limit: as in `call_on`."""
    cases = cases_of(exercise, seed)
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):  # it is not known
        source = ""
    return check_outcomes(exercise, cases, list(call_on(function, cases, watched, limit)), source)


def cases_of(exercise, seed=0) -> list[tuple[str, tuple]]:
    """[(name, arguments)] to call a solution with: the exercise's cases, and EXTRA ones
    (stages.py).
    """
    cases = exercise.cases(seed)
    first = cases[0][1]
    tells_less = any(
        one.dtype.kind != "f" for one in tuple_of(exercise.reference(*first))
    )  # masks and ids, not numbers
    if tells_less and not exercise.versions:
        cases += [case for more in (1, 2) for case in exercise.cases(seed + 100 * more)[:2]]
    single = tuple(
        one.astype(np.float32) if isinstance(one, np.ndarray) and one.dtype == float else one
        for one in first
    )
    return [
        *cases,
        (_("other numbers of the same shapes"), exercise.other_numbers(seed)),
        (_("the same numbers again"), first),
        ("float32", single),
    ]


def check_outcomes(exercise, cases, outcomes, source="", explained=True) -> Answer:
    """The Answer for the outcomes of a solution, one for each of the cases. source: its code, if
    that is known. explained: look for a mistake that explains a failure, which takes seconds.
    """
    judged, passed = Judged(exercise, cases, outcomes, source), []
    printed = LimitedOutput()
    printed.write("".join(one.printed for one in outcomes))
    with np.errstate(all="ignore"):
        for stage in stages(exercise):
            failure = stage.fails(judged)
            if failure:
                answer = Answer(
                    exercise.name,
                    stage.name,
                    passed,
                    *failure,
                    "",
                    "",
                    _next(exercise, stage.name),
                    printed.text(),
                    outcomes[-1].blank,
                )
                if explained and stage.unexplained is not None:
                    _diagnose(judged, answer, stage.unexplained)
                return answer
            passed += [stage.passed] * bool(stage.passed)
    return Answer(
        exercise.name, "passed", passed, next=_next(exercise, "passed"), printed=printed.text()
    )


def _diagnose(judged, answer, unexplained) -> None:
    """Name the mistake in the answer, or one for each wrong output, if nothing else gives what the
    learner's function gives.
    """
    exercise, outcomes = judged.exercise, judged.outcomes[: 1 - EXTRA]
    if len(judged.outcomes) < len(judged.cases):  # it stopped: it may have given numbers before
        outcomes = judged.outcomes[:-1]
        if not any(map(judged.is_wrong, range(len(outcomes)))):
            return
    given = [tuple(outcome.arrays) for outcome in outcomes]
    answer.likely = unexplained
    if any(
        len(arrays) != len(exercise.returns) for arrays in given
    ):  # none, if it returned something else
        return
    if exercise.versions:  # its verdicts are explained, and nothing else
        if not any(map(judged.misjudges, range(len(given)))):
            answer.likely = ""
            return
        given = [(arrays[0], *expected[1:]) for arrays, expected in zip(given, judged.expected)]
    numbers = answer.stage != "finite" or any(
        np.isfinite(mine).all() and relative_error([mine], [right]) > EXACT
        for arrays, expected in zip(given, judged.expected)
        for mine, right in zip(arrays, expected)
    )
    explanations = fitting_mistakes(
        exercise, judged.cases[: len(given)], given, judged.source, only_listed=not numbers
    )
    if explanations and all(
        len({candidate.sentence for candidate in candidates}) == 1 for candidates in explanations
    ):
        answer.diagnosis = "; ".join(
            dict.fromkeys(_(candidates[0].sentence) for candidates in explanations)
        )
        if answer.stage == "finite":  # one of the usual causes, in the words of the exercise
            answer.why += f"\n{answer.diagnosis}"
        else:
            answer.likely = answer.diagnosis
    elif len(explanations) == 1:
        answer.likely = _("one of {n} known mistakes: all of them give these numbers").format(
            n=len({candidate.sentence for candidate in explanations[0]})
        )
    elif exercise.versions:
        answer.diagnosis = _unseen(judged)
        answer.likely = answer.diagnosis or unexplained
    elif exercise.rest:
        answer.likely = _first_wrong_part(judged)


def _unseen(judged) -> str:
    """What a test does not look at: what shows that the wrong versions that it passes are wrong."""
    passed = [
        one
        for i, one in enumerate(judged.exercise.versions)
        if not one.right and judged.misjudges(i)
    ]
    for said, several in (
        (_("what your test does not look at: {what}"), [one.shows for one in passed if one.shows]),
        (_("your test passes these wrong versions: {what}"), [one.sentence for one in passed]),
    ):
        if several:
            return said.format(what="; ".join(map(_, dict.fromkeys(several))))
    return ""


def _first_wrong_part(judged) -> str:
    """Which part of the function to look at: the first one whose own case is wrong, or the rest."""
    parts = {_(one.name): _(one.part) for one in judged.exercise.edges if one.part}
    called = enumerate(case for (case, _given), _outcome in zip(judged.cases, judged.outcomes))
    wrong = next((case for i, case in called if case in parts and judged.is_wrong(i)), "")
    return (
        _("no known pattern; wrong already with {case}: look at {part}")
        if wrong
        else _("no known pattern; right with {case}: look at {part}")
    ).format(
        case=wrong or _(" and with ").join(parts), part=parts.get(wrong, _(judged.exercise.rest))
    )


def _next(exercise, stage) -> str:
    """The command to type next."""
    if stage == "passed":
        return "minitransformer learn"
    if stage == "float32":
        return f"minitransformer learn check {exercise.name}"
    return _('minitransformer learn hint {name}; read again: "{section}"').format(
        name=exercise.name, section=_(exercise.module.section)
    )
