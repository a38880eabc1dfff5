"""What editors and type checkers see: every public name, and that the package has types."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import minitransformer

PACKAGE = Path(minitransformer.__file__).parent


def test_type_checkers_see_the_public_names_where_they_are():
    """Each once, and the same object."""
    package = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    (block,) = [node for node in package.body if isinstance(node, ast.If)]
    names = {alias.name: node.module for node in block.body for alias in node.names}
    assert len(names) == sum(len(node.names) for node in block.body) and set(names) == set(minitransformer.__all__)
    for name, module in names.items():
        assert getattr(minitransformer, name) is getattr(import_module(module), name)


def test_the_marker_and_every_module_are_installed(tmp_path):
    """By setuptools, from setup.py and setup.cfg: what it copies into a wheel."""
    pytest.importorskip("setuptools")
    root = PACKAGE.parent
    subprocess.run([sys.executable, "setup.py", "-q", "build", "--build-base", tmp_path / "base", "--build-lib", tmp_path / "lib"],
                   cwd=root, check=True, capture_output=True)
    for package in "minitransformer", "minitransformer_course":
        modules = {path.relative_to(root) for path in (root / package).rglob("*.py")}
        assert modules <= {path.relative_to(tmp_path / "lib") for path in (tmp_path / "lib" / package).rglob("*.py")}
    assert (tmp_path / "lib" / "minitransformer" / "py.typed").exists()
