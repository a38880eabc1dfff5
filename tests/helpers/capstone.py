"""A reader's folder with the capstone, and what the judge finds in it."""

import runpy
import sys

import pytest

from minitransformer_course.judge import capstone
from minitransformer_course.judge.course import exercises
from minitransformer_course.judge.my_transformer import FUNCTIONS, SECTION
from tests import ROOT

MY_MODEL = ROOT / "research" / "mistakes" / "my_model.py"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A reader's folder in which every exercise passes, and the model from a blank file."""
    sections = [
        SECTION.format(name=name, chapter=one.chapter.name) + f"\n\n{one.source}\n"
        for name, one in exercises().items()
    ]
    (tmp_path / "my_transformer.py").write_text(
        "\n".join(["import math\n\nimport numpy as np\n", *sections]), encoding="utf-8"
    )
    (tmp_path / "my_model.py").write_bytes(MY_MODEL.read_bytes())
    monkeypatch.setattr(
        capstone, "WORDS", 500
    )  # of which a few steps see a few: to draw 20,000 takes longer than these
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "my_transformer", raising=False)
    yield tmp_path
    sys.modules.pop("my_transformer", None)


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def result(names=(), functions=FUNCTIONS, **options):
    """What run() finds for these functions of the folder's two files."""
    parts, own = runpy.run_path("my_transformer.py"), runpy.run_path("my_model.py")
    return capstone.run(
        {name: parts[name] for name in names}, {name: own[name] for name in functions}, **options
    )
