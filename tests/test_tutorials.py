"""Every chapter has the form of the others. Building the site (docs/conf.py) runs them from top to bottom."""

from pathlib import Path

import jupytext
import pytest

CHAPTERS = sorted((Path(__file__).parent.parent / "tutorials").glob("*/chapter.py"))


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.parent.name)
def test_chapter_is_a_notebook(chapter):
    cells = jupytext.read(chapter).cells
    assert cells[0].cell_type == "markdown" and cells[0].source.startswith("# ")
    assert {cell.cell_type for cell in cells} == {"markdown", "code"}


def test_there_is_a_chapter():
    assert CHAPTERS


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.parent.name)
def test_cells_are_short_and_a_chapter_moves_as_they_all_do(chapter):
    cells = jupytext.read(chapter).cells
    assert max(len(cell.source.splitlines()) for cell in cells if cell.cell_type == "code") <= 15
    text = "\n".join(cell.source for cell in cells).lower()
    for part in ("**predict:**", "by hand", "gradcheck(", "## exercises", "learn start", "**read next:**"):
        assert part in text, part
