"""The chapters travel with the package: in a wheel, offline and outside the clone."""

import os
import re
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from tests import ROOT

pytestmark = pytest.mark.slow


@pytest.mark.campaign
def test_a_wheel_teaches_in_a_bare_folder_without_a_clone(tmp_path):
    clone, built, site, bare = (tmp_path / name for name in ("clone", "built", "site", "bare"))
    clone.mkdir(), bare.mkdir()
    files = [
        path.relative_to(ROOT).as_posix()
        for folder in ("minitransformer", "minitransformer_course", "tutorials")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".mo"
    ]
    files += ["setup.py", "setup.cfg", "pyproject.toml", "README.md", "LICENSE"]
    for name in files:
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, clone / name)
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
            "--no-index",
            "--wheel-dir",
            built,
            clone,
        ],
        check=True,
        capture_output=True,
    )
    (wheel,) = built.iterdir()
    assert wheel.stat().st_size <= 4_000_000
    with zipfile.ZipFile(wheel) as archive:
        assert {name for name in archive.namelist() if ".dist-info/" not in name} == {
            "minitransformer_course/locale/ko.mo",
            *(
                re.sub("^tutorials/", "minitransformer_course/chapters/", name)
                for name in files
                if "/" in name and not name.endswith(".po")
            ),
        }
        archive.extractall(site)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    for words, code in ((["start", "4", "--language", "ko"], 0), (["check", "softmax"], 1)):
        done = subprocess.run(
            [sys.executable, "-m", "minitransformer", "learn", *words],
            cwd=bare,
            capture_output=True,
            text=True,
            env=environment,
        )
        assert done.returncode == code, done.stderr
    assert "softmax" in done.stdout and "소프트맥스" in (bare / "04_softmax.py").read_text(
        encoding="utf-8"
    )
    code = (
        "from minitransformer_course import lab; print(lab.__file__, lab.write(*lab.drawkcab(), 'backward'), "
        "lab.write(*lab.load_korean_model(), '나는 집에 가고 싶어.'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=bare, capture_output=True, text=True, env=environment
    )
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
