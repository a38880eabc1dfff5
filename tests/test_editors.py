"""What editors and type checkers see: every public name, and that the package has types."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import minitransformer

STUB = Path(minitransformer.__file__).with_name("__init__.pyi")


def test_the_stub_has_the_public_names_from_where_they_are():
    """Each once, and the same object."""
    imports = [node for node in ast.parse(STUB.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)]
    names = {alias.asname: (node.module, alias.name) for node in imports for alias in node.names}
    assert len(names) == sum(len(node.names) for node in imports)
    modules = {name for name, (module, _) in names.items() if module == "minitransformer"}
    assert set(names) - modules == set(minitransformer.__all__)
    for name, (module, original) in names.items():
        assert name == original
        found = getattr(minitransformer, name)
        assert found is (import_module(f"{module}.{name}") if name in modules else getattr(import_module(module), name))


def test_all_packages_are_in_the_stub():
    folder = STUB.parent
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    assert all(f"    {name} as {name}," in STUB.read_text() for name in packages)


def test_the_marker_the_stub_and_every_module_are_installed(tmp_path):
    """By setuptools, from setup.cfg: what it copies into a wheel."""
    pytest.importorskip("setuptools")
    root = STUB.parent.parent
    subprocess.run([sys.executable, "-c", "from setuptools import setup; setup()", "-q", "build", "--build-base", tmp_path / "base",
                    "--build-lib", tmp_path / "lib"], cwd=root, check=True, capture_output=True)
    installed = tmp_path / "lib" / "minitransformer"
    assert (installed / "py.typed").exists() and (installed / "__init__.pyi").read_text() == STUB.read_text()
    modules = {path.relative_to(STUB.parent) for path in STUB.parent.rglob("*.py")}
    assert modules <= {path.relative_to(installed) for path in installed.rglob("*.py")}
