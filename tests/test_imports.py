"""What two tests share is in tests/helpers or tests/fixtures: no test imports from another one."""

import ast

from tests import ROOT


def imported(text):
    """Every module of the tests, and every name that is imported from one."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.startswith("tests.")}


def is_shared(name, folder):
    """In the helpers or fixtures, at the top of the tests, or beside the importing file and no
    test itself.
    """
    *modules, last = name.split(".")
    path = ROOT.joinpath(*modules)
    if path.is_dir() and path.joinpath(last).with_suffix(".py").exists():
        modules.append(last)
    beside = ROOT.joinpath(*modules).parent == folder and not modules[-1].startswith("test_")
    return beside or len(modules) < 3 or modules[1] in ("helpers", "fixtures")


def test_no_test_imports_from_another_one():
    for path in (ROOT / "tests").rglob("*.py"):
        if path.name.startswith(("test_", "conftest")):
            for name in imported(path.read_text(encoding="utf-8")):
                assert is_shared(name, path.parent), (path, name)
