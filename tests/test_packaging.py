"""An sdist has what the clone has, and the wheel that is made of it has the library and the course."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tests import ROOT

pytestmark = pytest.mark.slow
NO_CLONE = "no clone: git does not say which files are its own"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """(the sdist, the wheel that is made of it)"""
    folder = tmp_path_factory.mktemp("built")

    def build(target, source) -> Path:
        command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", folder]
        subprocess.run(command, cwd=source, check=True, capture_output=True)
        (made,) = folder.glob({"sdist": "*.tar.gz", "wheel": "*.whl"}[target])
        return made

    sdist = build("sdist", ROOT)
    with tarfile.open(sdist) as archive:
        archive.extractall(folder)
    return sdist, build("wheel", folder / sdist.name.removesuffix(".tar.gz"))


def files_of(sdist) -> set[str]:
    with tarfile.open(sdist) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason=NO_CLONE)
def test_an_sdist_has_what_the_clone_has(built):
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    names = {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}
    assert names <= files_of(built[0])


def test_a_wheel_has_the_library_and_the_course(built):
    sdist, wheel = built
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == {
        re.sub("^tutorials/", "minitransformer_course/chapters/", name)
        for name in files_of(sdist)
        if re.match("(minitransformer|minitransformer_course|tutorials)/", name)
    }
    assert wheel.stat().st_size <= 5_000_000


@pytest.mark.campaign
def test_a_wheel_teaches_in_a_bare_folder_without_a_clone(built, tmp_path):
    site, bare = tmp_path / "site", tmp_path / "bare"
    bare.mkdir()
    with zipfile.ZipFile(built[1]) as archive:
        archive.extractall(site)

    def run(*words):
        return subprocess.run(
            [sys.executable, *words],
            cwd=bare,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONPATH": str(site), "PYTHONIOENCODING": "utf-8"},
        )

    for words, code in ((["start", "4", "--language", "ko"], 0), (["check", "softmax"], 1)):
        done = run("-m", "minitransformer", "learn", *words)
        assert done.returncode == code, done.stderr
    page = (bare / "04_softmax.py").read_text(encoding="utf-8")
    assert "softmax" in done.stdout and "소프트맥스" in page
    code = (
        "from minitransformer_course import lab; print(lab.__file__, lab.write(*lab.drawkcab(), 'backward'), "
        "lab.write(*lab.load_korean_model(), '나는 집에 가고 싶어.'))"
    )
    done = run("-c", code)
    assert done.stdout.split() == [
        str(site / "minitransformer_course" / "lab" / "__init__.py"),
        "drawkcab",
        "I",
        "want",
        "to",
        "go",
        "home.",
    ], done.stderr


def test_without_an_installation_learn_says_how_to_install(tmp_path):
    code = f"import sys; sys.path[:0] = [{str(ROOT)!r}, {os.path.dirname(np.__path__[0])!r}]; "
    code += "import importlib.metadata; importlib.metadata.entry_points = lambda **_: (); "
    code += "from minitransformer.cli import main; sys.exit(main(['learn', 'list']))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert (
        done.returncode == 2 and done.stderr.count("\n") == 1 and "pip install -e ." in done.stderr
    )
