"""The cells of a chapter's page, run one by one in one namespace, and its exercises, judged in
place.
"""

import ast
import base64
import io
import logging
import math
import sys
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from minitransformer_course import messages
from minitransformer_course.judge import cells, hints
from minitransformer_course.judge.call import call_on, remember
from minitransformer_course.judge.course import find_exercise
from minitransformer_course.judge.judgement import cases_of, check_outcomes
from minitransformer_course.messages import _
from minitransformer_course.live import stand_ins
from minitransformer_course.live.shown import Shown, shown_output, together

DOTS = 200  # in an inch of a picture, as on the site
namespace: dict[str, Any] = {}  # of the page


@dataclass
class Ran:
    """What a cell printed and drew, and the line where it failed, or 0."""

    printed: str
    pictures: list[str]
    line: int = 0
    stopped: bool = False  # by the page's limits


@dataclass
class Judged:
    """What the judge says: its title, its lines with their labels, and the line to mark, or 0."""

    passed: bool
    title: str
    said: list[tuple[str, str]]
    printed: str
    line: int = 0
    stopped: bool = False


def begin(language: str, exercises: list[str]) -> None:
    """Forget everything. Each of the exercises is its reference, until the reader's passes."""
    stand_ins.install()
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it says that it looks for fonts
    messages.choose(language)
    namespace.clear()
    namespace.update(__name__="__main__", math=math, np=np)  # as the exercises' files have them
    namespace.update({name: find_exercise(name).reference for name in exercises})


def run(name: str, source: str) -> dict:
    """What Ran: a cell, whose functions and values the next ones see."""
    with shown_output() as output:
        try:
            _execute(name, source, namespace)
        except BaseException as error:  # whatever it is: the page shows it
            shown = Shown(error, _is_a_cell)
            printed = together(output.text(), shown.text)
            return asdict(Ran(printed, _pictures(), shown.line, shown.stopped))
        return asdict(Ran(output.text(), _pictures()))


def judge(name: str, source: str) -> dict:
    """The judge's answer for the reader's function. The page uses it from then on, if it passes."""
    exercise = find_exercise(name)
    namespace[name] = exercise.reference
    mine, cases = {**namespace, name: None}, cases_of(exercise)
    with shown_output() as output:
        try:
            _execute(name, source, mine)
            if mine[name] is None:
                raise NameError(_("{name} is not defined in this cell").format(name=name))
            outcomes = list(call_on(mine[name], cases))
        except BaseException as error:
            shown = Shown(error, _is_a_cell)
            return asdict(Judged(False, shown.said, [], shown.text, shown.line, shown.stopped))
    answer = check_outcomes(exercise, cases, outcomes, source)
    if answer.passed:
        namespace[name] = mine[name]
    line = next((_line_of(one.line, source) for one in outcomes if one.line), 0)
    printed = together(output.text(), answer.printed)
    return asdict(Judged(answer.passed, answer.title, answer.lines, printed, line))


def hint(name: str, number: int) -> dict:
    """One of the hints of an exercise, each of which says more than the one before."""
    return {"hint": hints.hint(find_exercise(name), number % hints.STEPS + 1)}


def _execute(name: str, source: str, names: dict[str, Any]) -> None:
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


def _is_a_cell(name: str) -> bool:
    return name.startswith(cells.CELL)


def _line_of(place: str, source: str) -> int:
    """The number of the line that ends a place of the judge: "line 12: y = x @ w"."""
    lines = [line.strip() for line in source.splitlines()]
    return next((i for i, line in enumerate(lines, 1) if line and place.endswith(f": {line}")), 0)


def _pictures() -> list[str]:
    """The figures that the cell left open, as PNG in base64."""
    plt = sys.modules.get("matplotlib.pyplot")
    if plt is None:  # no cell has drawn
        return []
    found = []
    for number in plt.get_fignums():
        file = io.BytesIO()
        plt.figure(number).savefig(file, format="png", dpi=DOTS, bbox_inches="tight")
        found.append(base64.b64encode(file.getvalue()).decode())
    plt.close("all")
    return found
