"""The learner's file of a chapter: made from the chapter and its exercises, and read again by the judge."""

import json
import re
from collections.abc import Iterator
from importlib.util import decode_source

from minitransformer.errors import InputError
from minitransformer.learn import cells
from minitransformer.learn.course import exercises
from minitransformer.learn.messages import _
from minitransformer.learn.source import skeleton

MARK = "# ---- `minitransformer learn check` runs this file from here on ----"
CHECK = "check("    # how the cells begin that ask the judge: it runs them itself


def percent_page(chapter) -> str:
    """The chapter with its exercises, empty, as a script in cells."""
    return chapter.text.rstrip() + "\n\n\n" + "".join(cells.markdown(text) if kind == "markdown" else cells.code(text)
                                                      for kind, text in _exercise_cells(chapter))


def notebook_page(chapter) -> str:
    """The same as a notebook, in which a cell after each exercise asks the judge."""
    made = cells.parse(chapter.text)
    for kind, text in _exercise_cells(chapter):
        made.append(cells.Cell(kind, text))
        name = re.match(r"def (\w+)", text) if kind == "code" else None
        if name:
            made.append(cells.Cell("code", f'{CHECK}"{name[1]}", {name[1]})'))
    start = next(i for i, cell in enumerate(made) if cell.source.startswith(MARK))
    made[start] = cells.Cell("code", made[start].source + "\n\nfrom minitransformer.learn import check")
    return cells.notebook(made)


def _exercise_cells(chapter) -> Iterator[tuple[str, str]]:
    yield "code", f"{MARK}\nimport math\n\nimport numpy as np"
    for i, exercise in enumerate(chapter.exercises, 1):
        yield "markdown", f"### {_('Exercise')} {i}: {_(exercise.title)}\n\n{_(exercise.task)}"
        yield "code", skeleton(exercise.source, exercise.name)


def read(path) -> dict[str, str]:
    """The code that the judge runs, {name: source}: of a script with the line numbers of the file, of a notebook cell by cell.

    Raises InputError if the file cannot be read as Python.
    """
    return _above_and_below(path)[1]


def is_above(path, name) -> bool:
    """Whether the file gives the name a value above what the judge runs."""
    return bool(re.search(rf"^(?:def |class |.*import .*)?\b{name}\b", _above_and_below(path)[0], re.MULTILINE))


def _above_and_below(path) -> tuple[str, dict[str, str]]:
    """The code above the mark, and what `read` returns."""
    try:
        data = path.read_bytes()
    except IsADirectoryError:
        raise InputError(_("{path} is a folder, expected a .py or .ipynb file").format(path=path)) from None
    except FileNotFoundError:
        raise InputError(_("{path} does not exist; `minitransformer learn start` writes it").format(path=path)) from None
    if not data.strip():
        raise InputError(_("{path} is empty").format(path=path))
    try:
        if b"\0" in data:
            raise ValueError
        if path.suffix == ".ipynb":
            return _code_of_notebook(data)
        text = decode_source(data)
    except (ValueError, SyntaxError, KeyError, TypeError):    # a wrong coding, no JSON, no cells
        raise InputError(_("{path} is no Python file and no notebook").format(path=path)) from None
    before, mark, after = text.partition(MARK)
    return (before, {cells.FILE: "\n" * before.count("\n") + after}) if mark else ("", {cells.FILE: text})


def names_in(source) -> list[str]:
    """The exercises whose functions the code defines, in the order of the chapters; it need not be right Python."""
    defined = set(re.findall(r"^(?:def +)?(\w+) *(?:\(|=[^=])", source, re.MULTILINE))
    return [name for name in exercises() if name in defined]


def _code_of_notebook(data) -> tuple[str, dict[str, str]]:
    """From the cell with the mark on; without cells that ask the judge, and without what only a notebook understands."""
    sources = ["".join(cell["source"]) for cell in json.loads(data)["cells"] if cell["cell_type"] == "code"]
    first = next((i for i, text in enumerate(sources) if MARK in text), 0)
    return "\n".join(sources[:first]), {
        f"{cells.CELL}{i}>": re.sub(r"^[%!].*", "", text, flags=re.MULTILINE) + "\n" for i, text in enumerate(sources)
        if i >= first and not text.startswith((CHECK, "%%"))}
