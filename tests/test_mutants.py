"""The campaign of mutants picks tests that run, and takes no run without a test for a caught mutant."""

import shutil

import pytest

mutants = pytest.importorskip("tests.mutants", reason="Windows lacks the module resource")


@pytest.mark.parametrize("path", mutants.files())
def test_every_file_has_tests_that_exist(path):
    tests = mutants.nearest(path)
    assert tests and all((mutants.ROOT / test).exists() for test in tests)


def test_rooms_that_people_change_are_mutated():
    found = {path.partition("/")[0] for path in mutants.files()}
    assert {"functional", "layers", "models", "zoo", "kernels", "workers", "decoding", "interchange", "explore",
            "training"} <= found


@pytest.mark.parametrize("line, fails", [("assert True", False), ("assert False", True)])
def test_campaigns_catch_mutants_too(line, fails, tmp_path):
    shutil.copy(mutants.ROOT / "setup.cfg", tmp_path)
    (tmp_path / "test_one.py").write_text(f"import pytest\n\n@pytest.mark.campaign\ndef test_one():\n    {line}\n")
    assert mutants._fails(tmp_path, ["test_one.py"]) is fails


def test_no_test_catches_nothing(tmp_path):
    shutil.copy(mutants.ROOT / "setup.cfg", tmp_path)
    (tmp_path / "test_one.py").write_text("")
    assert not mutants._fails(tmp_path, ["test_one.py"])
