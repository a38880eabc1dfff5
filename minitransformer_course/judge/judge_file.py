"""The answers for the functions in a learner's file, and in the files of a folder of submissions,
for a teacher.
"""

import ast
import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from minitransformer.errors import InputError, nearest_of, one_line
from minitransformer_course.judge.course import exercises, find_exercise
from minitransformer_course.judge.judgement import Answer, cases_of, check_outcomes
from minitransformer_course.messages import _
from minitransformer_course.judge.run_file import LIMIT, run_file
from minitransformer_course.judge.stages import stages
from minitransformer_course.judge.submission import names_in, read


KINDS = ".py", ".ipynb"


class Checked(NamedTuple):
    """A learner's file, as it was when it was read."""

    answers: list[Answer]
    printed: str
    sources: dict[
        str, str
    ]  # what `submission.read` gave: the code that was judged, whatever is saved meanwhile


def check_file(path, names=None, seed=0, limit=LIMIT, graded=False) -> Checked:
    """The answers on the exercises named, or on all of which the file has the function, and what
    the file printed.

    graded: as in `run_file`. Raises InputError if the file cannot be judged.
    """
    sources = read(path)
    source = "\n".join(sources.values())
    names = names or names_in(sources)
    if not names:
        defined = re.findall(r"^def +(\w+)", source, re.MULTILINE)
        mine, nearest = next(
            ((name, near) for name in defined if (near := nearest_of(name, exercises()))), ("", "")
        )
        raise InputError(
            (
                _("{path} has none of the exercises' functions; is {mine} your {nearest}?")
                if nearest
                else _("{path} has none of the exercises' functions, such as {name}")
            ).format(path=path.name, mine=mine, nearest=nearest, name=next(iter(exercises())))
        )
    cases = {name: cases_of(find_exercise(name), seed) for name in names}
    outcomes, printed = run_file(path, sources, cases, limit, graded)
    try:
        answers = [
            check_outcomes(find_exercise(name), cases[name], outcomes[name], code_of(name, source))
            for name in names
        ]
    except Exception as error:  # no submission ends `grade`
        raise InputError(
            _("{path}: the judge itself failed ({error})").format(
                path=path.name, error=f"{type(error).__name__}: {error}"
            )
        ) from error
    return Checked(answers, printed, sources)


def code_of(name, source) -> str:
    """The code of the function, or all of the code if it is not a plain function."""
    own = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name == name
    ]
    return ast.get_source_segment(source, own[-1]) or "" if own else source


def grade(folder, seed=1, limit=LIMIT) -> list[dict[str, Any]]:
    """[{"student", "exercises": [Answer.as_dict()], "errors": [sentences]}], a student for each
    file or folder in `folder`.

    Each file runs in a process of its own, with other shapes and numbers than the learner saw.
    Raises InputError if there is none.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(
            _(
                "{folder} is not a folder; expected one with a file or a folder for each student"
            ).format(folder=folder)
        )
    entries = [
        entry for entry in sorted(folder.iterdir()) if not entry.name.startswith((".", "__"))
    ]
    students = [
        _student(entry, _files(entry), seed, limit)
        for entry in entries
        if not entry.is_file() or entry.is_symlink() or entry.suffix in KINDS
    ]
    if not any(student["exercises"] or student["handed in"] for student in students):
        raise InputError(_("{folder} holds no .py or .ipynb file").format(folder=folder))
    return students


def mistakes(students) -> list[tuple[str, int]]:
    """[(sentence, how many students)], the most frequent first."""
    return Counter(
        one["diagnosis"] for student in students for one in student["exercises"] if one["diagnosis"]
    ).most_common()


def table(students) -> list[list[str]]:
    """Rows of cells: a line for each student, a column for each exercise that a student handed in:
    passed, or what fails first.
    """
    attempted = {one["exercise"] for student in students for one in student["exercises"]}
    names = [name for name in exercises() if name in attempted]
    rows = [[_("student"), *names, _("passed")]]
    words = {stage.name: stage.failed for stage in stages()}
    for student in students:
        states = {
            one["exercise"]: _("passed")
            if one["passed"]
            else _("not written")
            if one["blank"]
            else words[one["stage"]]
            for one in student["exercises"]
        }
        count = sum(one["passed"] for one in student["exercises"])
        rows.append([student["student"], *(states.get(name, "") for name in names), str(count)])
    return rows


def _student(entry, found, seed, limit) -> dict[str, Any]:
    """What a student handed in; `errors` says what could not be judged, and why."""
    answers, errors, files = {}, [], []
    for path in found:
        place = path.relative_to(entry.parent)
        if path.is_symlink():
            errors.append(_("{name} is a link, which is not followed").format(name=place))
        elif not path.is_file():
            errors.append(_("{name} is neither a file nor a folder").format(name=place))
        else:
            files.append(path)
    if not found:
        errors.append(_("{name} holds no .py or .ipynb file").format(name=entry.name))
    for path in files:
        try:
            for answer in check_file(path, seed=seed, limit=limit, graded=True).answers:
                if answer.passed or answer.exercise not in answers:
                    answers[answer.exercise] = answer.as_dict()
        except (InputError, OSError) as error:
            errors.append(one_line(error))
    name = one_line(entry.stem if entry.suffix in KINDS else entry.name)
    return {
        "student": name,
        "handed in": len(files),
        "exercises": list(answers.values()),
        "errors": errors,
    }


def _files(entry) -> list[Path]:
    """The files of a student, and the links and pipes among them, which are not read."""
    if entry.is_dir() and not entry.is_symlink():
        inside = [one for one in sorted(entry.iterdir()) if not one.name.startswith((".", "__"))]
        return [file for one in inside for file in _files(one)]
    odd = entry.is_symlink() or not entry.is_file()
    return [entry] if odd or entry.suffix in KINDS else []
