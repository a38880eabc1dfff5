"""A reader's file, run beside the page that shows it: what it printed, what the gradient checks
said, and which line to look at.
"""

import inspect
import linecache
import re
import runpy
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import minitransformer
from minitransformer import checking
from minitransformer.checking import Report
from minitransformer_course.limits import limited_output

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


def check(path: str) -> dict:
    """Run the file as a program, and return what is Seen of it."""
    linecache.clearcache()  # the file may have been another one a second ago
    with limited_output() as output, recorded() as checks:
        try:
            runpy.run_path(path, run_name="__main__")
        except BaseException as error:  # whatever it is: a page shows it
            seen = _failed(error, path)
        else:
            seen = _checked(checks, path)
    seen.printed = "\n".join(filter(None, [output.text().rstrip("\n"), seen.printed]))
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


def _failed(error: BaseException, path: str) -> Seen:
    """What is shown of an error: the frames from the reader's file on, and its last line there."""
    shown = traceback.TracebackException.from_exception(error)
    ours = [number for number, frame in enumerate(shown.stack) if frame.filename == path]
    del shown.stack[: ours[0] if ours else None]
    line = shown.stack[ours[-1] - ours[0]].lineno if ours else getattr(shown, "lineno", 0)
    *_, last = shown.format_exception_only()
    stopped = isinstance(error, KeyboardInterrupt)
    return Seen(None, [last.strip()], "".join(shown.format()), int(line or 0), stopped)


def _checked(checks: list[Checked], path: str) -> Seen:
    for block, report in checks:
        if not report.passed:
            return Seen(False, report.conclusions, "", _line(block, report, path))
    if not checks:
        return Seen(None, [], "", 0)
    return Seen(True, checks[-1][1].conclusions, "", 0)


def _line(block: Any, report: Report, path: str) -> int:
    """The line that the finding quotes, or else the one where the block's backward begins."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    for sentence in report.diagnoses.values():
        for quoted in re.findall("`([^`]+)`", sentence):
            for number, line in enumerate(lines, 1):
                if line.strip() == quoted:
                    return number
    backward = block[1] if isinstance(block, tuple) else block.backward
    code = getattr(inspect.unwrap(backward), "__code__", None)
    return code.co_firstlineno if code and code.co_filename == path else 0
