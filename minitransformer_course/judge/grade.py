"""A folder of submissions: each in a process of its own, with other shapes and numbers than the learner saw."""

from collections import Counter
from pathlib import Path
from typing import Any

from minitransformer.errors import InputError, one_line
from minitransformer_course.judge.course import exercises
from minitransformer_course.judge.judge_file import check_file
from minitransformer_course.judge.messages import _
from minitransformer_course.judge.run_file import LIMIT
from minitransformer_course.judge.stages import stages


def grade(folder, seed=1, limit=LIMIT) -> list[dict[str, Any]]:
    """[{"student", "exercises": [Answer.as_dict()], "errors": [sentences]}], a student for each file or folder in `folder`.

    Raises InputError if the folder holds none.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(_("{folder} is not a folder; expected one with a file or a folder for each student").format(folder=folder))
    entries = [(entry, _files(entry)) for entry in sorted(folder.iterdir()) if not entry.name.startswith((".", "__"))]
    students = [_student(entry, files, seed, limit) for entry, files in entries if files]
    if not students:
        raise InputError(_("{folder} holds no .py or .ipynb file").format(folder=folder))
    return students


def mistakes(students) -> list[tuple[str, int]]:
    """[(sentence, how many students)], the most frequent first."""
    counted = Counter(one["diagnosis"] for student in students for one in student["exercises"] if one["diagnosis"])
    return counted.most_common()


def table(students) -> list[list[str]]:
    """Rows of cells: a line for each student, a column for each exercise that a student handed in: passed, or what fails first."""
    attempted = {one["exercise"] for student in students for one in student["exercises"]}
    names = [name for name in exercises() if name in attempted]
    rows = [[_("student"), *names, _("passed")]]
    words = {stage.name: stage.failed for stage in stages()}
    for student in students:
        states = {one["exercise"]: _("passed") if one["passed"] else words[one["stage"]] for one in student["exercises"]}
        count = sum(one["passed"] for one in student["exercises"])
        rows.append([student["student"], *(states.get(name, "") for name in names), str(count)])
    return rows


def _student(entry, files, seed, limit) -> dict[str, Any]:
    answers, errors = {}, []
    for path in files:
        try:
            for answer in check_file(path, seed=seed, limit=limit, graded=True).answers:
                if answer.passed or answer.exercise not in answers:
                    answers[answer.exercise] = answer.as_dict()
        except (InputError, OSError) as error:
            errors.append(one_line(error))
    name = one_line(entry.stem if entry.is_file() else entry.name)
    return {"student": name, "exercises": list(answers.values()), "errors": errors}


def _files(entry) -> list[Path]:
    paths = [entry] if entry.is_file() else sorted(entry.rglob("*"))
    return [path for path in paths if path.suffix in (".py", ".ipynb") and path.is_file()
            and not any(part.startswith((".", "__")) for part in path.relative_to(entry.parent).parts)]
