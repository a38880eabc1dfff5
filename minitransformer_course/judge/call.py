"""Call a learner's function on a list of arguments, and record what it returns, or what it does
that it should not.

The learner's process hands each Outcome over in a file, from which nothing is executed.
"""

import ast
import copy
import json
import linecache
import os
import traceback
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from sys import getprofile, setprofile  # by name: the learner's file may replace those of sys
from typing import Any, NamedTuple

import numpy as np

from minitransformer_course.judge import cells
from minitransformer_course.judge.fixtures import VersionUnderTest, verdict
from minitransformer_course.judge.forbidden import LIBRARIES, Forbidden
from minitransformer_course.limits import TimeUp, limited_output, time_limit
from minitransformer_course.messages import _

NOT_THE_LEARNERS = (
    "<frozen",
    os.path.dirname(os.__file__),
    np.__path__[0],
    __file__.removesuffix("call.py"),
)  # files
# print passes through the second, and what a browser lacks through the last
JUDGE = (
    "minitransformer_course.judge.",
    "minitransformer_course.limits",
    "minitransformer_course.live.stand_ins",
)
PRODUCTS = ("dot", "matmul")
LARGEST = 1_000_000  # the most numbers in an array that is looked at: no right answer comes near


class Outcome(NamedTuple):
    """The result of one call: the arrays that it returned, or why there are none."""

    arrays: Sequence = ()
    error: str = ""  # "ValueError: operands could not be broadcast", or "" if it returned
    line: str = ""  # "line 12: y = x @ w", the place of the error
    raised: bool = False  # the error is an exception, raised by this call
    late: bool = False  # the error is that time ran out
    blank: bool = False  # the error is the skeleton's own
    returned: str = ""  # what it returned, in words, if that is not an array: "None"
    changed: int = -1  # which argument it changed
    forbidden: str = (
        ""  # what it used that is off limits: "it calls minitransformer.functional.softmax_forward"
    )
    printed: str = ""

    @property
    def is_last(self) -> bool:
        """Whether the function is not called again after this."""
        return bool(self.error or self.forbidden)

    def save(self, path) -> None:
        """Its words, then its arrays, one after the other in one file that is complete once it is
        there.
        """
        new = path.with_suffix(".new")
        with open(new, "wb") as file:
            np.save(file, np.array(json.dumps({**self._asdict(), "arrays": len(self.arrays)})))
            for array in self.arrays:
                np.save(file, array)
        new.replace(path)

    @classmethod
    def load(cls, path) -> "Outcome":
        with open(path, "rb") as file:
            fields = json.loads(str(np.load(file, allow_pickle=False)))
            return cls(
                **{
                    **fields,
                    "arrays": [
                        np.load(file, allow_pickle=False) for _array in range(fields["arrays"])
                    ],
                }
            )


def call_on(function, cases, watched=True, limit=None) -> Iterator[Outcome]:
    """The Outcome of `function` on each (name, arguments) of the cases, up to one that gives no
    arrays.

    watched: look for forbidden functions. limit: seconds for each call; None if the process itself
    is stopped.
    """
    for _name, arguments in cases:
        with limited_output() as printed:
            outcome = _call(function, arguments, watched, limit)
        yield outcome._replace(printed=printed.text())
        if outcome.is_last:
            return


def _call(function, arguments, watched, limit) -> Outcome:
    given = copy.deepcopy(arguments)
    forbidden = []
    if isinstance(given[0], VersionUnderTest):
        function = verdict(function)
    try:
        with (
            np.errstate(all="ignore"),
            time_limit(limit) if limit else nullcontext(),
        ):  # the answer mentions NaN and infinity
            returned = _watching(function, given, forbidden) if watched else function(*given)
    except (
        Exception,
        SystemExit,
        TimeUp,
    ) as error:  # the learner's own code: whatever it is becomes a line of the answer
        return failed(error)
    if forbidden:
        return Outcome(forbidden=forbidden[0])
    changed = next(
        (i for i, (now, before) in enumerate(zip(given, arguments)) if not _is_same(now, before)),
        -1,
    )
    values = returned if isinstance(returned, (tuple, list)) else (returned,)
    for one in values:
        if not isinstance(one, (np.ndarray, np.generic, int, float, complex)):
            return Outcome(
                returned="None"
                if one is None
                else ", ".join(type(value).__name__ for value in values[:6])
            )
        if np.size(one) > LARGEST:
            return Outcome(returned=_("array of shape {shape}").format(shape=np.shape(one)))
    arrays = [np.array(one) for one in values]
    if any(one.dtype.kind not in "biufc" for one in arrays):
        return Outcome(returned=_("array of {dtype}").format(dtype=arrays[0].dtype))
    return Outcome(arrays, changed=changed)


def _is_same(now, before) -> bool:
    """Whether an array has the shape and the values that it had, NaN included; True for anything
    but an array.
    """
    return not isinstance(before, np.ndarray) or np.array_equal(
        now, before, equal_nan=before.dtype.kind in "fc"
    )


def _watching(function, given, forbidden) -> Any:
    """Call it; `forbidden` gets the names of the library functions that it calls."""

    def watch(frame, event, argument) -> None:
        if event == "call":
            home, name = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        elif event == "c_call":
            home = (
                getattr(argument, "__module__", None)
                or type(getattr(argument, "__self__", None)).__module__
            )
            name = argument.__name__
        else:
            return
        if str(home).partition(".")[0] in LIBRARIES and not str(home).startswith(JUDGE):
            forbidden.append(_("it calls {name}").format(name=f"{home}.{name}"))

    before = getprofile()
    setprofile(watch)
    try:
        return function(*given)
    finally:
        setprofile(before)


def failed(error) -> Outcome:
    """The Outcome of a call, or of a file, that raised this."""
    said, line = describe(error)
    if isinstance(error, Forbidden):
        return Outcome(forbidden=str(error), line=line)
    return Outcome(
        error=said,
        line=line,
        raised=isinstance(error, Exception),
        late=isinstance(error, TimeUp),
        blank=isinstance(error, NotImplementedError),
    )


def describe(error) -> tuple[str, str]:
    """("ValueError: what it says", "line 12: the innermost line of the learner's own code") of an
    error it raised.
    """
    try:
        said = str(error).partition("\n")[0][:200]
    except Exception:  # its own __str__ fails
        said = ""
    frames = list(traceback.walk_tb(error.__traceback__))
    own = [one for one in frames if not one[0].f_code.co_filename.startswith(NOT_THE_LEARNERS)]
    place = ""
    if own:
        frame, number = own[-1]
        text = linecache.getline(frame.f_code.co_filename, number).strip()
        place = place_of(frame.f_code.co_filename, number) + (f": {text}" if text else "")
        if isinstance(error, ValueError) and own[-1] == frames[-1]:
            said = _unlike_shapes(text, {**frame.f_globals, **frame.f_locals}) or said
    if isinstance(error, SystemExit):
        return _("it calls exit: remove that"), place
    return said if isinstance(
        error, TimeUp
    ) else f"{type(error).__name__.lstrip('_')}: {said}".rstrip(": "), place


def _unlike_shapes(line, names) -> str:
    """ "dy (4, 7) @ W (6, 7): 7 and 6 differ", for the first operation in the line whose arrays do
    not fit; "" if all do.
    """
    try:
        nodes = list(ast.walk(ast.parse(line)))
    except SyntaxError:  # a line of several
        return ""
    for node in reversed(nodes):  # the innermost first
        operator, sides = "", []
        if isinstance(node, ast.BinOp):
            operator, sides = (
                ast.unparse(ast.BinOp(ast.Name(""), node.op, ast.Name(""))).strip(),
                [node.left, node.right],
            )
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in PRODUCTS
        ):
            operator, sides = "@", [node.func.value, *node.args][-2:]
        try:
            one, other = (
                np.shape(eval(compile(ast.Expression(side), "", "eval"), names)) for side in sides
            )
        except Exception:  # not two sides, or not arrays
            continue
        pairs = (
            [(one[-1], other[-2:][0])]
            if operator == "@" and one and other
            else [(a, b) for a, b in zip(one[::-1], other[::-1]) if 1 not in (a, b)]
        )
        differing = next((pair for pair in pairs if pair[0] != pair[1]), None)
        if differing:
            loses = [
                side
                for side in sides
                if "axis=" in ast.unparse(side) and "keepdims" not in ast.unparse(side)
            ]
            return _("{left} {one} {operator} {right} {other}: {a} and {b} differ").format(
                left=ast.unparse(sides[0]),
                one=one,
                operator=operator,
                right=ast.unparse(sides[1]),
                other=other,
                a=differing[0],
                b=differing[1],
            ) + (_(": is keepdims=True missing?") if loses and len(one) != len(other) else "")
    return ""


def remember(sources) -> None:
    """Let tracebacks and messages show the lines of {name: source}, which are not files."""
    for name, source in sources.items():
        linecache.cache[name] = (
            len(source),
            None,
            [f"{line}\n" for line in cells.lines(source)],
            name,
        )


def place_of(name, number) -> str:
    """ "line 3"; of a notebook "line 3 of the cell `def softmax(x):`"; of a module beside the
    learner's file "own.py, line 3".
    """
    line = _("line {number}").format(number=number)
    if name.startswith(cells.CELL):
        return _("{line} of the cell `{title}`").format(
            line=line, title=cells.title(linecache.getlines(name))
        )
    return f"{os.path.basename(name)}, {line}" if os.path.exists(name) else line
