"""A learner's file as the judge reads it: the reader's own functions, without the page around them."""

import ast
import json
import re
import unicodedata
import warnings
from importlib.util import decode_source

from minitransformer.errors import InputError
from minitransformer_course.judge import cells
from minitransformer_course.judge.call import place_of, remember
from minitransformer_course.judge.course import exercises
from minitransformer_course.messages import _, another
from minitransformer_course.judge.own_code import page_statements, statements

# In a notebook: %timeit f(), !ls and np.exp? as lines; files = !ls; %%time above a cell that is
# Python all the same.
MAGIC = re.compile(r"^([ \t]*)(?:[%!?].*|(?:pip|conda) .*|\S*\?)[ \t]*$", re.MULTILINE)
ASSIGNED = re.compile(r"^([ \t]*[\w, ]+=) *[%!].*$", re.MULTILINE)
OF_PYTHON = ("time", "capture", "prun")
SAID = (  # by Python, of code that it cannot read
    "invalid syntax",
    "invalid syntax. Perhaps you forgot a comma?",
    "invalid syntax. Maybe you meant '==' or ':=' instead of '='?",
    "'{sign}' was never closed",
    "unmatched '{sign}'",
    "closing parenthesis '{closing}' does not match opening parenthesis '{opening}'",
    "expected ':'",
    "expected an indented block after '{word}' statement on line {line}",
    "expected an indented block after function definition on line {line}",
    "unexpected indent",
    "unindent does not match any outer indentation level",
    "inconsistent use of tabs and spaces in indentation",
    "unterminated string literal (detected at line {line})",
)
OF_ANOTHER_KEYBOARD = re.compile(
    r"invalid (?:non-printable )?character .*U\+(?P<code>[0-9A-F]{4,6})\)?"
)
QUOTES = {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'}  # an editor's for prose


def read(path) -> dict[str, str]:
    """The code of the file, {name: source}: of a script with the line numbers of the file, of a
    notebook cell by cell.

    Raises InputError if it is not Python.
    """
    sources = _sources(path)
    remember(sources)
    for name, source in sources.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(
                    source,
                    name,
                    "exec",
                    ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if name.startswith(cells.CELL) else 0,
                )
        except SyntaxError as error:
            where = f"{place_of(name, error.lineno or 1)}: {(error.text or '').strip()}"
            raise InputError(
                _("{path}, {where}: {error}").format(
                    path=path.name, where=where, error=_said(error.msg)
                )
            ) from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise InputError(_("{path}: {error}").format(path=path.name, error=error)) from None
    return sources


def _said(message) -> str:
    """What Python says; of a character that a keyboard for Korean or an editor for prose writes,
    the one that was meant.
    """
    found = OF_ANOTHER_KEYBOARD.fullmatch(message)
    if not found:
        return another(message, SAID)
    character = chr(int(found["code"], 16))
    meant = QUOTES.get(character) or unicodedata.normalize("NFKC", character)
    text = _("Python does not know the character {character} (U+{code}) here")
    if meant != character:
        text = _("Python does not know the character {character} (U+{code}): type {meant} instead")
    return text.format(character=f"'{character}'", code=found["code"], meant=f'"{meant}"')


def names_in(sources) -> list[str]:
    """The exercises whose functions the reader's own code defines, in the order of the chapters."""
    page = page_statements()
    own = {
        name
        for one in statements(sources)
        if _is_function(one.node) and ast.dump(one.node) not in page
        for name in one.defined
    }
    return [name for name in exercises() if name in own]


def is_of_the_page(name) -> bool:
    """Whether a chapter gives `name` a value in a cell of its own."""
    return any(name in one.defined for one in page_statements().values())


def _is_function(node) -> bool:
    return isinstance(node, ast.FunctionDef) or (
        isinstance(node, ast.Assign) and not isinstance(node.value, ast.Constant)
    )


def _sources(path) -> dict[str, str]:
    if path.exists() and not (
        path.is_file() or path.is_dir()
    ):  # a pipe would wait, and /dev/zero never ends
        raise InputError(_("{path} is neither a Python file nor a notebook").format(path=path))
    try:
        data = path.read_bytes()
    except IsADirectoryError:
        raise InputError(
            _("{path} is a folder, expected a .py or .ipynb file").format(path=path)
        ) from None
    except FileNotFoundError:
        raise InputError(
            _("{path} does not exist; `minitransformer learn start` writes it").format(path=path)
        ) from None
    if not data.strip():
        raise InputError(_("{path} is empty").format(path=path))
    kind = (
        _("a notebook: save it in Jupyter again")
        if path.suffix == ".ipynb"
        else _("Python in UTF-8: save it as UTF-8")
    )
    try:
        if b"\0" in data:
            raise ValueError
        return _cells_of(data) if path.suffix == ".ipynb" else {cells.FILE: decode_source(data)}
    except (
        ValueError,
        SyntaxError,
        KeyError,
        TypeError,
        RecursionError,
    ):  # a wrong coding, no JSON, no cells
        raise InputError(_("{path} is not {kind}").format(path=path, kind=kind)) from None


def _cells_of(notebook) -> dict[str, str]:
    sources = [
        "".join(cell["source"])
        for cell in json.loads(notebook)["cells"]
        if cell["cell_type"] == "code"
    ]
    return {
        f"{cells.CELL}{i}>": _python_of(re.sub("\r\n?", "\n", text)) + "\n"
        for i, text in enumerate(sources)
    }


def _python_of(cell) -> str:
    """The cell without what only a notebook understands, line by line; "" if it is in another
    language.
    """
    head = re.match(r"\s*%%(\w*).*", cell)
    if head:
        cell = cell.replace(head[0], "\n" * head[0].count("\n"), 1) if head[1] in OF_PYTHON else ""
    try:
        ast.parse(cell)
        return cell
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ASSIGNED.sub(r"\1 None", MAGIC.sub(lambda line: line[1] and line[1] + "pass", cell))
