"""The English sentences of gradient checks, as they stand in the source: what reports.py looks for
in a finished report.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from minitransformer_course.doctor.changed_backwards import FIELD
from minitransformer_course.reports import BETWEEN, CODE, OWN_WORD, PLACE, split

WORDS = re.compile(r"[A-Za-z]{2,}[,:]? [a-z]{2,}")
REFUSALS = "InputError", "ValueError"  # which no report says


def texts(path: Path) -> Iterator[str]:
    """The sentences that a module says: its texts in words, without those that are code, that a
    reader of a report never sees, or that stand in `_(...)`.
    """
    tree = _written_out(ast.parse(path.read_text(encoding="utf-8")))
    skipped = {id(part) for node in ast.walk(tree) for part in _not_said(node)}
    for node in ast.walk(tree):
        text = "" if id(node) in skipped else _text(node)
        for one in split(text, BETWEEN):
            one = re.sub(r"^(; |\{\w+\}: (?=.*[a-z]{2} ))", "", one)
            if _is_said(one):
                yield one


def of_caches(path: Path) -> Iterator[str]:
    """What the caches of a module say about their fields, which the doctor quotes."""
    code = path.read_text(encoding="utf-8")
    for cached in re.findall(
        r"^class \w+Cache\(NamedTuple\):\n(?:(?:    .*)?\n)+", code, re.MULTILINE
    ):
        for _name, _shape, words in FIELD.findall(cached):
            yield from (one for one in split(words, BETWEEN)[::2] if " " in one)


def _written_out(tree) -> ast.Module:
    """With each constant of the module in the texts that it is a part of."""
    constants = {
        ast.unparse(node.targets[0]): node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            node.values = [
                constants.get(ast.unparse(part.value), part)
                if isinstance(part, ast.FormattedValue)
                else part
                for part in node.values
            ]
    return tree


def _not_said(node) -> Iterator[ast.AST]:
    """Of a node, what is a docstring, a part of a text, or asked for in another one."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
        if isinstance(node.body[0], ast.Expr):
            yield node.body[0].value
    elif isinstance(node, ast.JoinedStr):
        yield from node.values
    elif isinstance(node, ast.Compare):
        yield node.left
    elif isinstance(node, (ast.Raise, ast.Call)):
        code = ast.unparse(node)
        if code.startswith(("_(", *(f"raise {name}(" for name in REFUSALS))):
            yield from ast.walk(node)


def _text(node) -> str:
    """A constant text, or a formatted one with a {name} for each value."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return ""
    names: dict[str, str] = {}
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            code, name = ast.unparse(part), _name(part.value)
            while code not in names and name in names.values():
                name += "_"
            names.setdefault(code, name)
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else f"{{{names[ast.unparse(part)]}}}"
        for part in node.values
    )


def _name(node) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        return _name(node.value)
    return _name(node.args[-1]) if isinstance(node, ast.Call) and node.args else "it"


def _is_said(text) -> bool:
    bare = re.sub(CODE, "it", text)
    if "\n" in text or "\\" in text or not OWN_WORD.search(PLACE.sub("", re.sub(CODE, "", text))):
        return False
    if not WORDS.search(PLACE.sub("it", bare)):
        return False
    return not any(map(_is_code, (text, f"{text} it")))


def _is_code(text) -> bool:
    try:
        ast.parse(PLACE.sub("it", text).strip())
    except SyntaxError:
        return False
    return True
