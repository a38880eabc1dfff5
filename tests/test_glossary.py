"""docs/glossary.md: each term occurs in the chapter that is said to explain it."""

import re

import pytest

from minitransformer_course.judge.course import find_chapter
from tests import ROOT

TABLE = re.search(
    r"(?:^\|.*\n)+", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE
)[0]
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in TABLE.splitlines()[2:]]


def text_of(number):
    """A chapter in one line, without the marks of its cells and of emphasis."""
    return " ".join(
        re.sub(r"^# ?", "", find_chapter(number).text, flags=re.MULTILINE)
        .replace("*", "")
        .lower()
        .split()
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_term_occurs_in_its_chapter(row):
    *_others, meaning, chapter = row
    assert len(row) == 5 and meaning and chapter
    for term in row[0].lower().split(", "):
        assert re.search(rf"\b{re.escape(term)}", text_of(chapter)), term


def test_no_term_has_two_rows():
    assert len({row[0] for row in ROWS}) == len(ROWS)
