"""The chapters travel with the package: in a wheel, offline and outside the clone, and in an editable install by a link."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from minitransformer_course.judge.course import PACKAGE, chapters, folder_in

ROOT = Path(__file__).parents[2]


def test_in_a_clone_the_package_links_to_the_chapters():
    assert folder_in(PACKAGE).resolve() == ROOT / "tutorials" or not (ROOT / "tutorials").exists()


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
        assert {"minitransformer_course/tutorials/one_file.py", "minitransformer_course/tutorials/drawkcab/weights.safetensors"} <= set(
            archive.namelist())
        scripts = {path.relative_to(ROOT).as_posix() for path in (ROOT / "minitransformer" / "explore").rglob("*.*")}
        assert len(scripts) > 30 and {name for name in scripts if not name.endswith(".pyc")} <= set(archive.namelist())
        modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "minitransformer").rglob("*.py")}
        assert modules <= set(archive.namelist())    # a folder without __init__.py is left out
        archive.extractall(site)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    for words, code in ((["start", "4"], 0), (["check", "softmax", "--json"], 1)):
        done = subprocess.run([sys.executable, "-m", "minitransformer", "learn", *words], cwd=bare, capture_output=True, text=True,
                              env=environment)
        assert done.returncode == code, done.stderr
    assert '"stage": "runs"' in done.stdout and (bare / "04_softmax.py").exists()
    code = "from minitransformer_course import lab; print(lab.__file__, lab.write(*lab.drawkcab(), 'backward'))"
    done = subprocess.run([sys.executable, "-c", code], cwd=bare, capture_output=True, text=True, env=environment)
    assert done.stdout.split() == [str(site / "minitransformer" / "learn" / "lab" / "__init__.py"), "drawkcab"], done.stderr


def test_the_chapters_are_found_where_git_wrote_a_text_file_for_the_link(tmp_path):
    package = tmp_path / "minitransformer"
    package.mkdir()
    (tmp_path / "tutorials").mkdir()
    (package / "tutorials").write_text("../tutorials")
    assert folder_in(package) == tmp_path / "tutorials"
    (package / "tutorials").unlink()
    (package / "tutorials").mkdir()
    assert folder_in(package) == package / "tutorials"


def test_chapters_that_are_not_installed_are_one_line(run_cli, tmp_path, monkeypatch):
    monkeypatch.setattr("minitransformer_course.judge.course.PACKAGE", tmp_path)
    chapters.cache_clear()
    try:
        for words in ([], ["list"], ["start", "1"], ["check"]):
            code, _, error = run_cli("learn", *words)
            assert code == 2 and error.count("\n") == 1 and "pip install -e ." in error
    finally:
        chapters.cache_clear()
