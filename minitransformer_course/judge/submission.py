"""A learner's file as the judge reads it: the reader's own functions, without the page around them."""

import ast
import json
import re
import warnings
from functools import cache
from importlib.util import decode_source

from minitransformer.errors import InputError
from minitransformer_course.judge import cells
from minitransformer_course.judge.call import place_of, remember
from minitransformer_course.judge.course import chapters, exercises
from minitransformer_course.judge.learner_file import page_line
from minitransformer_course.judge.messages import _
from minitransformer_course.judge.own_code import Statement, own_code, statements


def read(path) -> dict[str, str]:
    """The code of the file, {name: source}: of a script with the line numbers of the file, of a notebook cell by cell.

    Raises InputError if it is not Python.
    """
    sources = _sources(path)
    remember(sources)
    for name, source in sources.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(source, name, "exec")
        except SyntaxError as error:
            where = f"{place_of(name, error.lineno or 1)}: {(error.text or '').strip()}"
            raise InputError(_("{path}, {where}: {error}").format(path=path.name, where=where, error=error.msg)) from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise InputError(_("{path}: {error}").format(path=path.name, error=error)) from None
    return sources


def solutions_in(sources, names) -> dict[str, str]:
    """The part of what `read` returned that has the functions `names` and what they need of the reader's own."""
    return own_code(sources, names, page_statements())


def names_in(sources) -> list[str]:
    """The exercises whose functions the reader's own code defines, in the order of the chapters."""
    page = page_statements()
    own = {name for one in statements(sources) if _is_function(one.node) and ast.dump(one.node) not in page for name in one.defined}
    return [name for name in exercises() if name in own]


def is_of_the_page(name) -> bool:
    """Whether a chapter gives `name` a value in a cell of its own."""
    return any(name in one.defined for one in page_statements().values())


def _is_function(node) -> bool:
    return isinstance(node, ast.FunctionDef) or (isinstance(node, ast.Assign) and not isinstance(node.value, ast.Constant))


@cache
def page_statements() -> dict[str, Statement]:
    """{its dump: Statement} of every chapter, without the exercises."""
    pages = [cell.source for chapter in chapters() for cell in cells.parse(chapter.text) if cell.kind == "code"]
    made = statements({str(i): source for i, source in enumerate([*pages, *map(page_line, exercises())])})
    return {ast.dump(one.node): one for one in made}


def _sources(path) -> dict[str, str]:
    if path.exists() and not (path.is_file() or path.is_dir()):    # a pipe would wait, and /dev/zero never ends
        raise InputError(_("{path} is neither a Python file nor a notebook").format(path=path))
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
            return _cells_of(data)
        text = decode_source(data)
    except (ValueError, SyntaxError, KeyError, TypeError):    # a wrong coding, no JSON, no cells
        raise InputError(_("{path} is neither a Python file nor a notebook").format(path=path)) from None
    return {cells.FILE: text}


def _cells_of(notebook) -> dict[str, str]:
    """The code without the parts that only a notebook understands."""
    sources = ["".join(cell["source"]) for cell in json.loads(notebook)["cells"] if cell["cell_type"] == "code"]
    return {f"{cells.CELL}{i}>": re.sub(r"^[%!].*", "", text, flags=re.MULTILINE) + "\n" for i, text in enumerate(sources)
            if not text.startswith("%%")}
