"""The part of a file that is a learner's own solution: functions and the names that they use,
without the rest of the page.
"""

import ast
import symtable
from collections.abc import Collection
from functools import cache
from typing import NamedTuple

from minitransformer_course.judge import cells
from minitransformer_course.judge.cells import lines
from minitransformer_course.judge.course import chapters, exercises
from minitransformer_course.judge.learner_file import page_line

ANYTHING = "*"


class Statement(NamedTuple):
    """A statement outside functions and classes."""

    file: str
    node: ast.stmt
    defined: set[str]  # names that it gives a value, or changes: TABLE in TABLE[0] = 1
    used: set[str]  # names that it needs from outside, at once or when a function of it is called


def own_code(files, names) -> dict[str, str]:
    """From {name: source} of `files`, the same with nothing but the functions `names` and what they
    need.

    The lines keep their numbers: others become empty. Of the chapters' own statements only imports
    are kept.
    """
    kept = {(one.file, number) for one in needed(files, names) for number in numbers_of(one.node)}
    return {
        file: "\n".join(
            line if (file, number) in kept else "" for number, line in enumerate(lines(source), 1)
        )
        + "\n"
        for file, source in files.items()
    }


def needed(files, names, page: Collection[str] | None = None) -> list[Statement]:
    """The statements that own_code keeps, in the order of the file. page: dumps of those that are
    not the reader's (default: of the chapters).
    """
    page = page_statements() if page is None else page
    own = [
        one
        for one in statements(files)
        if is_plain_import(one.node) or ast.dump(one.node) not in page
    ]
    wanted, kept = {ANYTHING, *names}, []
    while more := [one for one in own if one.defined & wanted and one not in kept]:
        kept += more
        wanted = wanted.union(*(one.used for one in more))
    return [one for one in own if one in kept]


@cache
def page_statements() -> dict[str, Statement]:
    """{its dump: Statement} of every chapter, without the exercises."""
    pages = [
        cell.source
        for chapter in chapters()
        for cell in cells.parse(chapter.text)
        if cell.kind == "code"
    ]
    made = statements(
        {str(i): source for i, source in enumerate([*pages, *map(page_line, exercises())])}
    )
    return {ast.dump(one.node): one for one in made}


def statements(files) -> list[Statement]:
    """The statements of {name: source}, in order."""
    return [
        _statement(file, node) for file, source in files.items() for node in ast.parse(source).body
    ]


def _statement(file, node) -> Statement:
    table = symtable.symtable(ast.unparse(node), file, "exec")
    defined = {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_assigned() or symbol.is_imported()
    }
    if isinstance(node, ast.ImportFrom) and (
        node.module == "__future__" or node.names[0].name == "*"
    ):
        defined.add(ANYTHING)
    if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        defined |= {
            _root(inner)
            for inner in ast.walk(node)
            if isinstance(inner, (ast.Attribute, ast.Subscript))
            and isinstance(inner.ctx, ast.Store)
        }
    return Statement(file, node, defined, _used(table))


def _used(table) -> set[str]:
    outside = table.get_type() == "module"
    used = {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_referenced() and (outside or symbol.is_global())
    }
    return used.union(*map(_used, table.get_children()))


def _root(node) -> str:
    """The name before dots and brackets: TABLE for TABLE[0].x; "" if there is none."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def is_plain_import(node) -> bool:
    """Whether it imports what a solution may use: NumPy, the standard library, the reader's own
    my_transformer.
    """
    modules = (
        [alias.name for alias in node.names]
        if isinstance(node, ast.Import)
        else [node.module or ""]
        if isinstance(node, ast.ImportFrom)
        else ["minitransformer"]
    )
    return not any(module.startswith(("minitransformer", "matplotlib")) for module in modules)


def numbers_of(node) -> range:
    """The numbers of a statement's lines, decorators included."""
    return range(
        min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))]),
        node.end_lineno + 1,
    )
