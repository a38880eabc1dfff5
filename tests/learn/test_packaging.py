"""The chapters travel with the package: in a wheel, offline and outside the clone, and in an editable install by a link."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from minitransformer.learn.course import FOLDER

ROOT = Path(__file__).parents[2]


def test_in_a_clone_the_package_links_to_the_chapters():
    assert FOLDER.resolve() == ROOT / "tutorials" or not (ROOT / "tutorials").exists()


def test_a_wheel_teaches_in_a_bare_folder_without_a_clone(tmp_path):
    clone, built, site, bare = (tmp_path / name for name in ("clone", "built", "site", "bare"))
    clone.mkdir(), bare.mkdir()
    for name in ("minitransformer", "tutorials"):
        shutil.copytree(ROOT / name, clone / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, clone / name)
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
                    "--wheel-dir", built, clone], check=True, capture_output=True)
    (wheel,) = built.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        assert {name.partition("/")[0].partition("-")[0] for name in archive.namelist()} == {"minitransformer"}
        archive.extractall(site)
    for words, code in ((["start", "4"], 0), (["check", "softmax", "--json"], 1)):
        done = subprocess.run([sys.executable, "-m", "minitransformer", "learn", *words], cwd=bare, capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": str(site)})
        assert done.returncode == code, done.stderr
    assert '"stage": "runs"' in done.stdout and (bare / "04_softmax.py").exists()
