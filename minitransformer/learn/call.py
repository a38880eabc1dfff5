"""Call a learner's function on a list of arguments: what it returns, or what it does that it should not."""

import copy
import linecache
import os
import traceback
from collections.abc import Sequence
from contextlib import nullcontext
from sys import getprofile, setprofile    # by name: the learner's file may replace those of sys
from typing import Any, NamedTuple

import numpy as np

from minitransformer.checking.compare import is_same
from minitransformer.learn import cells
from minitransformer.learn.bounded import Bounded, bounded_output
from minitransformer.learn.messages import _
from minitransformer.learn.time_limit import TimeUp, time_limit

BORROWED_FROM = {"minitransformer", "tutorials", "torch", "jax", "tensorflow", "scipy"}
NOT_THE_LEARNERS = ("<frozen", os.path.dirname(os.__file__), np.__path__[0], __file__.removesuffix("call.py"))    # files


class Outcome(NamedTuple):
    """Of one call: the arrays that it returned, or why there are none."""

    arrays: Sequence = ()
    error: str = ""       # "ValueError: operands could not be broadcast", or "" if it returned
    line: str = ""        # "line 12: y = x @ w", the place of the error
    raised: bool = False  # the error is an exception, raised by this call
    blank: bool = False   # the error is the skeleton's own
    returned: str = ""    # what it returned, in words, if that is no array: "None"
    changed: int = -1     # which argument it changed
    borrowed: str = ""    # whose function it called: "minitransformer.functional.softmax_forward"


def call_on(function, cases, watched=True, limit=None) -> tuple[list[Outcome], str]:
    """(outcomes of `function` on each (name, arguments) of the cases, what it printed).

    watched: look for borrowed functions. limit: seconds for each call; None where the process itself is stopped.
    """
    outcomes = []
    with bounded_output() as printed:
        for _name, arguments in cases:
            outcomes.append(_call(function, arguments, watched, limit))
            if outcomes[-1].error or outcomes[-1].borrowed:
                break
    return outcomes, printed.text()


def _call(function, arguments, watched, limit) -> Outcome:
    given = copy.deepcopy(arguments)
    borrowed = []
    try:
        with np.errstate(all="ignore"), time_limit(limit) if limit else nullcontext():    # NaN and infinity are said in the answer
            returned = _watching(function, given, borrowed) if watched else function(*given)
    except (Exception, SystemExit, TimeUp) as error:    # the learner's own code: whatever it is becomes a line of the answer
        said, line = describe(error)
        return Outcome(error=said, line=line, raised=isinstance(error, Exception), blank=isinstance(error, NotImplementedError))
    if borrowed:
        return Outcome(borrowed=borrowed[0])
    changed = next((i for i, (now, before) in enumerate(zip(given, arguments)) if not is_same(now, before)), -1)
    values = returned if isinstance(returned, tuple) else (returned,)
    strange = [one for one in values if not isinstance(one, (np.ndarray, np.generic, int, float, complex))]
    if strange:
        return Outcome(returned="None" if strange[0] is None else f"{type(strange[0]).__name__}")
    arrays = [np.array(one) for one in values]
    if any(one.dtype.kind not in "biufc" for one in arrays):
        return Outcome(returned=f"array of {arrays[0].dtype}")
    return Outcome(arrays, changed=changed)


def _watching(function, given, borrowed) -> Any:
    """Call it; `borrowed` gets the names of functions of a library that it calls."""
    def watch(frame, event, argument) -> None:
        if event == "call":
            home, name = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        elif event == "c_call":
            home = getattr(argument, "__module__", None) or type(getattr(argument, "__self__", None)).__module__
            name = argument.__name__
        else:
            return
        if str(home).partition(".")[0] in BORROWED_FROM and home != Bounded.__module__:    # print comes by there
            borrowed.append(f"{home}.{name}")

    before = getprofile()
    setprofile(watch)
    try:
        returned = function(*given)
        if getprofile() is not watch:
            borrowed.append("sys.setprofile")
        return returned
    finally:
        setprofile(before)


def describe(error) -> tuple[str, str]:
    """("ValueError: what it says", "line 12: the innermost line of the learner's own code") of an error it raised."""
    try:
        said = f"{type(error).__name__}: {error}".rstrip(": ").partition("\n")[0][:200]
    except Exception:    # it cannot say what it is
        said = type(error).__name__
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(NOT_THE_LEARNERS)]
    place = place_of(own[-1].filename, own[-1].lineno) + (f": {own[-1].line}" if own[-1].line else "") if own else ""
    if isinstance(error, SystemExit):
        return _("it calls exit: remove that"), place
    return str(error) if isinstance(error, TimeUp) else said, place


def remember(sources) -> None:
    """Let tracebacks and messages show the lines of {name: source}, which are not files."""
    for name, source in sources.items():
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)


def place_of(name, number) -> str:
    """"line 3"; of a notebook "line 3 of the cell `def softmax(x):`"; of a module beside the learner's file "own.py, line 3"."""
    line = _("line {number}").format(number=number)
    if name.startswith(cells.CELL):
        return _("{line} of the cell `{title}`").format(line=line, title=cells.title(linecache.getlines(name)))
    return f"{os.path.basename(name)}, {line}" if os.path.exists(name) else line
