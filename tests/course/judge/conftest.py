"""The command `minitransformer learn` in an empty folder, how its tests solve an exercise, and
figures that are closed again.
"""

import sys

import pytest

from minitransformer_course.judge.judge_file import check_file
from tests.helpers.capstone import folder  # noqa: F401 - a fixture


@pytest.fixture
def learn(run_cli, tmp_path, monkeypatch):
    """learn(*words) -> (exit code, stdout, stderr), in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: run_cli("learn", *words)


@pytest.fixture
def judged(tmp_path):
    """judged(text, ...) -> the only answer to a learner's file with that text, mine.py."""

    def judge(text, *arguments, **options):
        (tmp_path / "mine.py").write_text(text, encoding="utf-8")
        (answer,) = check_file(tmp_path / "mine.py", *arguments, **options).answers
        return answer

    return judge


@pytest.fixture(autouse=True)
def no_figures():
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):  # most tests draw nothing
        pyplot.close("all")


@pytest.fixture
def axes():
    from matplotlib import pyplot

    return pyplot.figure().subplots()
