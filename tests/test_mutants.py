"""The campaign of mutants picks tests that run, and takes no run without a test for a caught
mutant.
"""

import re
import shutil
import subprocess
import sys

import pytest

mutants = pytest.importorskip("tests.mutants", reason="Windows lacks the module resource")


def test_every_file_exists_once_and_has_tests_that_exist():
    files = mutants.files()
    assert len(set(files)) == len(files) > 100
    for path in files:
        tests = mutants.nearest(path)
        assert (
            (mutants.ROOT / path).exists()
            and tests
            and all((mutants.ROOT / test).exists() for test in tests)
        ), path


def test_a_room_within_a_room_has_its_own_tests():
    assert (
        mutants.nearest("minitransformer/zoo/pretrained/importing.py")
        == mutants.NEAREST["minitransformer/zoo/pretrained"]
    )


@pytest.mark.parametrize("slow, fails", [(True, False), (False, True)])
def test_only_readmes_command_catches_mutants(slow, fails, tmp_path):
    """A slow test does; one of the campaigns does not."""
    shutil.copy(mutants.ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "test_one.py").write_text(
        f"import pytest\n\n@pytest.mark.slow\ndef test_one():\n    assert {slow}\n\n"
        "@pytest.mark.campaign\ndef test_two():\n    assert False\n"
    )
    assert mutants._fails(tmp_path, ["test_one.py"]) is fails


def test_no_test_catches_nothing(tmp_path):
    shutil.copy(mutants.ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "test_one.py").write_text("")
    assert not mutants._fails(tmp_path, ["test_one.py"])


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "tests/mutants.py"])
def test_the_command_that_is_documented_runs(name):
    command = re.search(
        r"^ *python (.*mutants.*)$", (mutants.ROOT / name).read_text(encoding="utf-8"), re.MULTILINE
    )[1]
    few = "--list", "--count", "1", "--files", "minitransformer/backend.py"
    subprocess.run(
        [sys.executable, *command.split(), *few], cwd=mutants.ROOT, check=True, capture_output=True
    )
