"""docs/paper_map.md leads from every place of the paper to what exists."""

import re
from pathlib import Path

from minitransformer.learn.course import chapters, exercises

PAGE = Path(__file__).parents[1] / "docs" / "paper_map.md"
PLACES = ["1", "2", "3", "3.1", "3.2", "3.2.1", "3.2.2", "3.2.3", "3.3", "3.4", "3.5", "4", "5.1", "5.2", "5.3", "5.4", "6.1", "6.2",
          "6.3", "7", *(f"equation {n}" for n in (1, 2, 3)), *(f"table {n}" for n in (1, 2, 3, 4)), "figure 1", "figure 2",
          "Figures 3 to 5", "footnote 4", "footnote 5"]


def tables():
    """The rows of each table, without its head."""
    return [[[cell.strip() for cell in line.strip("|").split("|")] for line in found.splitlines()[2:]]
            for found in re.findall(r"(?:^\|.*\n)+", PAGE.read_text(encoding="utf-8"), re.MULTILINE)]


def test_every_place_of_the_paper_has_a_row_and_no_cell_is_empty():
    rows = tables()[0]
    places = ", ".join(row[0] for row in rows)
    assert not [place for place in PLACES if not re.search(rf"(?<![\d.]){re.escape(place)}(?![\d.]*\d)", places)]
    assert all(len(row) == 5 and all(row) for row in rows)
    assert all(len(row) in (2, 3) and all(row) for table in tables()[1:] for row in table)


def test_every_exercise_exists_and_belongs_to_a_chapter_of_its_row():
    for row in tables()[0]:
        named = re.findall(r"`(\w+)`", row[3])
        assert named and {exercises()[name].chapter.number for name in named} <= set(re.findall(r"\[(\w+)\]", row[2])), row
    slips = [name for row in tables()[1] for name in re.findall(r"`(\w+)`", row[2])]
    assert len(set(slips) & exercises().keys()) == len(set(slips)) >= 10


def test_every_file_exists():
    for path in re.findall(r"\]\((?!http)([^)]+)\)", PAGE.read_text(encoding="utf-8")):
        assert (PAGE.parent / path).is_file(), path


def test_every_chapter_is_on_the_map():
    text = PAGE.read_text(encoding="utf-8")
    assert [chapter.number for chapter in chapters() if f"tutorials/{chapter.name}/" not in text] == ["1", "1b"]
