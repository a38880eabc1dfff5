"""Every chapter runs from top to bottom, as its reader runs it: as a notebook."""

import os
import subprocess
import sys
from pathlib import Path

import jupytext
import pytest

CHAPTERS = sorted((Path(__file__).parent.parent / "tutorials").glob("*/chapter.py"))


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.parent.name)
def test_chapter_runs(chapter):
    done = subprocess.run([sys.executable, chapter], capture_output=True, text=True,
                          env={**os.environ, "MPLBACKEND": "agg"})
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.parent.name)
def test_chapter_is_a_notebook(chapter):
    cells = jupytext.read(chapter).cells
    assert cells[0].cell_type == "markdown" and cells[0].source.startswith("# ")
    assert {cell.cell_type for cell in cells} == {"markdown", "code"}


def test_there_is_a_chapter():
    assert CHAPTERS
