"""The cells of a chapter's page, run one by one in one namespace, and its exercises, judged in
place.
"""

import base64
import io
import logging
import sys
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from minitransformer_course import messages
from minitransformer_course.judge import hints
from minitransformer_course.judge.course import find_exercise
from minitransformer_course.live import judged
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


def begin(language: str, exercises: list[str]) -> None:
    """Forget everything. Each of the exercises is its reference, until the reader's passes."""
    judged.begin()
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it says that it looks for fonts
    messages.choose(language)
    namespace.clear()
    namespace.update(__name__="__main__", np=np)
    namespace.update({name: find_exercise(name).reference for name in exercises})


def take_up(kept: dict[str, str]) -> dict:
    """Use functions that passed before, on this page or another one, if they pass again; the
    others are named.
    """
    gone = judged.take_up(kept)
    namespace.update({name: one for name, one in vars(judged.own).items() if name in namespace})
    return {"gone": gone}


def run(name: str, source: str) -> dict:
    """What Ran: a cell, whose functions and values the next ones see."""
    with shown_output() as output:
        judged.write_own()
        try:
            judged.execute(name, source, namespace)
        except BaseException as error:  # whatever it is: the page shows it
            shown = Shown(error, judged.is_a_cell)
            printed = together(output.text(), shown.text)
            return asdict(Ran(printed, _pictures(), shown.line, shown.stopped))
        return asdict(Ran(output.text(), _pictures()))


def judge(name: str, source: str) -> dict:
    """The judge's answer for the reader's function. The page uses it from then on, if it passes."""
    answer = judged.judge(name, source)
    namespace[name] = vars(judged.own)[name] if answer.passed else find_exercise(name).reference
    return asdict(answer)


def hint(name: str, number: int) -> dict:
    """One of the hints of an exercise, each of which says more than the one before."""
    return {"hint": hints.hint(find_exercise(name), number % hints.STEPS + 1)}


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
