"""The reader's functions, each judged by its text alone. Those that passed, on whichever page, are
in my_transformer.py and in the record of what passed, as `learn check` keeps them.
"""

import ast
import sys
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from minitransformer.errors import InputError
from minitransformer_course.judge import cells, my_transformer
from minitransformer_course.judge.call import call_on, remember
from minitransformer_course.judge.course import Chapter, exercises, find_exercise
from minitransformer_course.judge.exercise import skeleton
from minitransformer_course.judge.judgement import cases_of, check_outcomes
from minitransformer_course.judge.learner_progress import PASSED, Progress
from minitransformer_course.judge.own_code import is_plain_import, needed
from minitransformer_course.live.shown import Shown, shown_output, together
from minitransformer_course.messages import _

own = ModuleType("my_transformer")  # the functions that passed
unwritten: dict[str, str] = {}  # the texts of those that are not in my_transformer.py yet


@dataclass
class Judged:
    """What the judge says: its title, its lines with their labels, and the line to mark, or 0."""

    passed: bool
    title: str
    said: list[tuple[str, str]]
    printed: str
    line: int = 0
    stopped: bool = False  # by the page's limits


def begin() -> None:
    """Forget which functions passed."""
    vars(own).clear()
    unwritten.clear()
    sys.modules["my_transformer"] = own


def judge(name: str, source: str) -> Judged:
    """The judge's answer for a function. If it passes, `own` has it from then on."""
    exercise = find_exercise(name)
    imports = _imports(exercise.chapter)
    cases = cases_of(exercise)
    with shown_output() as output:
        try:
            names = _names_around(exercise.chapter, imports)
            names.pop(name)
            execute(name, source, names)
            if name not in names:
                raise NameError(_("{name} is not defined in this cell").format(name=name))
            outcomes = list(call_on(names[name], cases))
        except BaseException as error:
            shown = Shown(error, is_a_cell)
            return Judged(False, shown.said, [], shown.text, shown.line, shown.stopped)
    try:
        answer = check_outcomes(exercise, cases, outcomes, source)
    except KeyboardInterrupt:  # the search for a known mistake took too long for the page
        answer = check_outcomes(exercise, cases, outcomes, source, explained=False)
    if answer.passed:
        setattr(own, name, names[name])
        files = {"": imports, name: source}
        unwritten[name] = my_transformer.text_of(files, needed(files, [name], page=()))
    line = next((_line_of(one.line, source) for one in outcomes if one.line), 0)
    printed = together(output.text(), answer.printed)
    return Judged(answer.passed, answer.title, answer.lines, printed, line)


def take_up(kept: dict[str, str]) -> list[str]:
    """Judge functions that passed before, {name: text}, perhaps by another version of the judge.
    Those that do not pass any more are returned.
    """
    known = [name for name in exercises() if name in kept]
    return [name for name in known if not judge(name, kept[name]).passed]


def write_own() -> None:
    """Put what passed since the last call into the current folder: `lab` reads it there."""
    if unwritten:
        _put(dict(unwritten))
        progress = Progress(".")
        for name in unwritten:
            progress.update(name, state=PASSED)
        progress.save()
        unwritten.clear()


def _put(texts: dict[str, str]) -> None:
    """All at once, which is quick; if that fails, one by one, and what fails then is printed."""
    try:
        my_transformer.put(".", texts)
    except InputError as error:
        if len(texts) == 1:
            print(error)
        else:
            for name, text in texts.items():
                _put({name: text})


def execute(name: str, source: str, names: dict[str, Any]) -> None:
    """Run a cell; what its last line is worth is printed, as in a notebook."""
    name = f"{cells.CELL}{name}>"
    remember({name: source})
    body = ast.parse(source, name).body
    shows = body and isinstance(body[-1], ast.Expr) and not source.rstrip().endswith(";")
    last = body.pop() if shows else None
    exec(compile(ast.Module(body, []), name, "exec"), names)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), name, "eval"), names)
        if value is not None:
            print(repr(value))


def is_a_cell(name: str) -> bool:
    return name.startswith(cells.CELL)


@cache
def _imports(chapter: Chapter) -> str:
    """What a solution may use: what all of them may, and the imports of the chapter's own cells."""
    codes = [cell.source for cell in cells.parse(chapter.text) if cell.kind == "code"]
    codes.insert(0, "import math\nimport numpy as np")
    imports = [node for code in codes for node in ast.parse(code).body if is_plain_import(node)]
    return "\n".join(dict.fromkeys(map(ast.unparse, imports)))


def _names_around(chapter: Chapter, imports: str) -> dict[str, Any]:
    """What a solution of the chapter may use: its imports, and its other functions, blank until
    they pass.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(imports, names)
    for one in chapter.exercises:
        exec(skeleton(one.source, one.name), names)
        names[one.name] = getattr(own, one.name, names[one.name])
    return names


def _line_of(place: str, source: str) -> int:
    """The number of the line that ends a place of the judge: "line 12: y = x @ w"."""
    lines = [line.strip() for line in source.splitlines()]
    return next((i for i, line in enumerate(lines, 1) if line and place.endswith(f": {line}")), 0)
