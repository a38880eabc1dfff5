"""Portability: text files are opened as UTF-8, and POSIX-only modules are not imported at the top
of a module.
"""

import ast
from functools import cache

import pytest

from minitransformer.shell import quote
from tests import ROOT

INSTALLED, NOT_INSTALLED = (
    [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    for folders in (
        ("minitransformer", "minitransformer_course", "tutorials"),
        ("research/benchmarks", "research/experiments", "research/mistakes"),
    )
)
FILES = [*INSTALLED, *NOT_INSTALLED]
POSIX = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty"}


@cache
def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def opens_text(call):
    """Whether a call opens a text file, or a pipe of text, without saying its encoding."""
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if "encoding" in keywords:
        return False
    if getattr(keywords.get("text"), "value", False) or getattr(
        keywords.get("universal_newlines"), "value", False
    ):
        return True
    name, owner = (
        getattr(call.func, "attr", getattr(call.func, "id", None)),
        getattr(getattr(call.func, "value", None), "id", ""),
    )
    if name in ("read_text", "write_text"):
        return isinstance(
            call.func, ast.Attribute
        )  # data.text_files.read_text is a function, and decodes UTF-8
    if name not in ("open", "fdopen") or (
        name == "open" and (owner in ("os", "cls") or owner[:1].isupper())
    ):
        return False  # os.open and Run.open open no text
    modes = [
        value.value
        for value in (*call.args, keywords.get("mode"))
        if isinstance(getattr(value, "value", None), str)
    ]
    return not any("b" in mode for mode in modes)


def test_text_files_are_opened_as_utf8():
    """Windows's own encoding, such as cp949, would read and write something else."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in FILES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and opens_text(node)
    ]
    assert not found and len(FILES) > 100


@pytest.mark.parametrize(
    "code, expected",
    [
        ("open(p)", True),
        ("open(p, 'w')", True),
        ("p.read_text()", True),
        ("os.fdopen(1, 'w')", True),
        ("run(c, text=True)", True),
        ("p.open('a')", True),
        ("open(p, encoding='utf-8')", False),
        ("p.open('rb')", False),
        ("open(p, mode='xb')", False),
        ("os.open(p, os.O_RDONLY)", False),
        ("Run.open(p)", False),
        ("read_text(p)", False),
        ("print(p)", False),
    ],
)
def test_what_opens_text(code, expected):
    assert opens_text(ast.parse(code).body[0].value) is expected


def imported(node):
    """The packages that a statement imports."""
    names = (
        [alias.name for alias in node.names]
        if isinstance(node, ast.Import)
        else ([node.module] if isinstance(node, ast.ImportFrom) and node.module else [])
    )
    return {name.partition(".")[0] for name in names}


def test_nothing_that_is_installed_imports_what_is_not():
    for path in INSTALLED:
        found = set().union(*map(imported, ast.walk(tree(path))))
        assert not found & {"research", "tests"}, path


def test_modules_of_posix_are_imported_where_they_are_used():
    """Not at the top of our modules, either: Windows lacks them."""
    for path in FILES:
        assert not set().union(*map(imported, tree(path).body)) & POSIX, path


@pytest.mark.parametrize(
    "platform, word, quoted",
    [
        ("linux", "runs/copy", "runs/copy"),
        ("linux", "my runs", "'my runs'"),
        ("linux", "it's", "'it'\"'\"'s'"),
        ("win32", r"runs\copy", r"runs\copy"),
        ("win32", "my runs", '"my runs"'),
        ("win32", 'say "a"', r'"say \"a\""'),
        ("win32", "a&b", '"a&b"'),
        ("win32", "", '""'),
    ],
)
def test_printed_commands_are_quoted_for_the_systems_shell(monkeypatch, platform, word, quoted):
    monkeypatch.setattr("sys.platform", platform)
    assert quote(word) == quoted


def test_nothing_else_quotes_them():
    assert [
        path.name
        for path in (ROOT / "minitransformer").rglob("*.py")
        if "shlex" in path.read_text(encoding="utf-8")
    ] == ["shell.py"]
