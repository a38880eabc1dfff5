"""A reader's file, run beside the page that shows it: what it printed, what the gradient checks
said, and which line to look at.
"""

import inspect
import linecache
import re
import runpy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import minitransformer
from minitransformer import checking
from minitransformer.checking import Report
from minitransformer_course import messages
from minitransformer_course.live.shown import Shown, shown_output, together

FILE = "layer.py"  # where the text is, in the current folder
Checked = tuple[Any, Report]  # a block, and what the check of its gradients says


@dataclass
class Seen:
    """What the page shows of a run.

    passed: whether each gradient check passed; None if there was none, or the file did not reach
    its end. said: the sentences of the verdict. line: the one to mark, or 0.
    """

    passed: bool | None
    said: list[str]
    printed: str
    line: int
    stopped: bool = False  # by the page's limits


def begin(language: str) -> None:
    messages.choose(language)


def check(source: str) -> dict:
    """Run the text as a program, and return what is Seen of it."""
    Path(FILE).write_text(source, encoding="utf-8")
    linecache.clearcache()  # the file may have been another one a second ago
    with shown_output() as output, recorded() as checks:
        try:
            runpy.run_path(FILE, run_name="__main__")
        except BaseException as error:  # whatever it is: a page shows it
            shown = Shown(error, FILE.__eq__)
            seen = Seen(None, [shown.said], shown.text, shown.line, shown.stopped)
        else:
            seen = _checked(checks, source)
    seen.printed = together(output.text(), seen.printed)
    return asdict(seen)


@contextmanager
def recorded() -> Iterator[list[Checked]]:
    """The checks that code within the block makes with the library's public `gradcheck`."""
    checks: list[Checked] = []
    original = checking.gradcheck

    @wraps(original)
    def recording(block: Any, *given: Any, **named: Any) -> Report:
        report = original(block, *given, **named)
        checks.append((block, report))
        return report

    _expose(recording)
    try:
        yield checks
    finally:
        _expose(original)


def _expose(function: Callable[..., Report]) -> None:
    minitransformer.gradcheck = function
    checking.gradcheck = function


def _checked(checks: list[Checked], source: str) -> Seen:
    for block, report in checks:
        if not report.passed:
            return Seen(False, report.conclusions, "", _line(block, report, source))
    if not checks:
        return Seen(None, [], "", 0)
    return Seen(True, checks[-1][1].conclusions, "", 0)


def _line(block: Any, report: Report, source: str) -> int:
    """The line that the finding quotes, or else the one where the block's backward begins."""
    for sentence in report.diagnoses.values():
        for quoted in re.findall("`([^`]+)`", sentence):
            for number, line in enumerate(source.splitlines(), 1):
                if line.strip() == quoted:
                    return number
    backward = block[1] if isinstance(block, tuple) else block.backward
    code = getattr(inspect.unwrap(backward), "__code__", None)
    return code.co_firstlineno if code and code.co_filename == FILE else 0
