"""Call a learner's function on a list of arguments: what it returns, or what it does that it should not."""

import copy
import os
import sys
import traceback
from typing import NamedTuple

import numpy as np

from minitransformer.learn.bounded import Bounded, bounded_output
from minitransformer.learn.messages import _

BORROWED_FROM = {"minitransformer", "tutorials", "torch", "jax", "tensorflow", "scipy"}
NOT_THE_LEARNERS = ("<frozen", os.path.dirname(os.__file__), np.__path__[0], __file__.removesuffix("call.py"))    # files


class Outcome(NamedTuple):
    """Of one call: the arrays that it returned, or why there are none."""

    arrays: list = ()
    error: str = ""       # "ValueError: operands could not be broadcast", or "" if it returned
    line: str = ""        # "line 12: y = x @ w", the place of the error
    blank: bool = False   # the error is the skeleton's own
    returned: str = ""    # what it returned, in words, if that is no array: "None"
    changed: int = -1     # which argument it changed
    borrowed: str = ""    # whose function it called: "minitransformer.functional.softmax_forward"


def call_on(function, cases, watched=True):
    """(outcomes of `function` on each (name, arguments) of the cases, what it printed). watched: look for borrowed functions."""
    outcomes = []
    with bounded_output() as printed:
        for _name, arguments in cases:
            outcomes.append(_call(function, arguments, watched))
            if outcomes[-1].error or outcomes[-1].borrowed:
                break
    return outcomes, printed.text()


def _call(function, arguments, watched):
    given = copy.deepcopy(arguments)
    borrowed = []
    try:
        with np.errstate(all="ignore"):    # NaN and infinity are said in the answer
            returned = _watching(function, given, borrowed) if watched else function(*given)
    except (Exception, SystemExit) as error:    # the learner's own code: whatever it is becomes a line of the answer
        return Outcome((), *describe(error), blank=isinstance(error, NotImplementedError))
    if borrowed:
        return Outcome(borrowed=borrowed[0])
    changed = next((i for i, (now, before) in enumerate(zip(given, arguments)) if not _same(now, before)), -1)
    arrays = returned if isinstance(returned, tuple) else (returned,)
    strange = [one for one in arrays if not isinstance(one, (np.ndarray, np.generic, int, float, complex))]
    if strange:
        return Outcome(returned="None" if strange[0] is None else f"{type(strange[0]).__name__}")
    arrays = [np.array(one) for one in arrays]
    if any(one.dtype.kind not in "biufc" for one in arrays):
        return Outcome(returned=f"array of {arrays[0].dtype}")
    return Outcome(arrays, changed=changed)


def _watching(function, given, borrowed):
    """Call it; `borrowed` gets the names of functions of a library that it calls."""
    def watch(frame, event, argument):
        if event == "call":
            home, name = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        elif event == "c_call":
            home = getattr(argument, "__module__", None) or type(getattr(argument, "__self__", None)).__module__
            name = argument.__name__
        else:
            return
        if str(home).partition(".")[0] in BORROWED_FROM and home != Bounded.__module__:    # print comes by there
            borrowed.append(f"{home}.{name}")

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        return function(*given)
    finally:
        sys.setprofile(before)


def describe(error):
    """("ValueError: what it says", "line 12: the innermost line of the learner's own code") of an error it raised."""
    said = f"{type(error).__name__}: {error}".rstrip(": ").partition("\n")[0][:200]
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(NOT_THE_LEARNERS)]
    place = f"line {own[-1].lineno}" + (f": {own[-1].line}" if own[-1].line else "") if own else ""
    return _("it calls exit: remove that") if isinstance(error, SystemExit) else said, place


def _same(now, before):
    if isinstance(before, np.ndarray):
        return isinstance(now, np.ndarray) and now.shape == before.shape and np.array_equal(now, before, equal_nan=before.dtype.kind in "fc")
    return True
