"""docs/paper_map.md leads from every place of the paper to what exists."""

import re

import pytest

from minitransformer_course.judge.course import chapters, exercises, find_chapter, find_exercise
from tests import ROOT

TEXT = (ROOT / "docs" / "paper_map.md").read_text(encoding="utf-8")
MAP, SLIPS, QUESTIONS = [
    [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    for table in re.findall(r"(?:^\|.*\n)+", TEXT, re.MULTILINE)
]
PLACES = [
    *"1234567",
    "3.1",
    "3.2",
    "3.2.1",
    "3.2.2",
    "3.2.3",
    "3.3",
    "3.4",
    "3.5",
    "5.1",
    "5.2",
    "5.3",
    "5.4",
    "6.1",
    "6.2",
    "6.3",
    "Abstract",
    "equation 1",
    "equation 2",
    "equation 3",
    "table 1",
    "table 2",
    "table 3",
    "table 4",
    "figure 1",
    "figure 2",
    "Figures 3, 4 and 5",
    "Footnote 4",
    "footnote 5",
]


def named(cell):
    """The words in backticks."""
    return re.findall(r"`([^`]+)`", cell)


def sections(cell):
    """Its numbers, without those of tables and the like."""
    return re.findall(
        r"\d(?:\.\d)*",
        re.sub(r"(table|figure|equation|footnote) \d|\(.*?\)", "", cell, flags=re.IGNORECASE),
    )


@pytest.mark.parametrize("place", PLACES)
def test_every_place_of_the_paper_has_a_row(place):
    assert any(place in sections(row[0]) or (len(place) > 5 and place in row[0]) for row in MAP)


def test_no_cell_is_empty():
    assert (
        {len(row) for row in MAP} == {4}
        and {len(row) for row in SLIPS} == {3}
        and {len(row) for row in QUESTIONS} == {2}
    )
    assert all(cell for row in (*MAP, *SLIPS, *QUESTIONS) for cell in row)


@pytest.mark.parametrize("row", MAP, ids=lambda row: row[0])
def test_the_code_the_exercises_and_the_proof_exist(row):
    _place, code, exercise, proof = row
    assert named(code) and all(
        (ROOT / path).is_file() or (ROOT / "minitransformer" / path).is_file()
        for path in named(code)
    )
    assert named(exercise) and set(named(exercise)) <= exercises().keys()
    path, test = re.fullmatch(r"`(\S+)`: ([\w ]+)", proof).groups()
    assert f"\ndef test_{test.replace(' ', '_')}(" in (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("row", [*SLIPS, *QUESTIONS], ids=lambda row: row[0])
def test_what_settles_a_sentence_or_a_question_exists(row):
    where = row[-1]
    assert set(named(where)) <= exercises().keys()
    found = re.findall(r"\[chapter (\w+)\]\([^)]+\), \*([^*]+)\*", where)
    for number, heading in found:
        assert re.search(
            rf"^# # .*{re.escape(heading)}$|^# ## {re.escape(heading)}$",
            find_chapter(number).text,
            re.MULTILINE,
        )
    assert named(where) or found or re.search(r"\]\([\w./]+\.md\)", where)
    assert re.findall(r"chapter \w+", where) == [f"chapter {number}" for number, _heading in found]


def test_most_slips_are_exercises():
    assert len(SLIPS) == 16 and sum(bool(named(row[-1])) for row in SLIPS) >= 10


def test_each_exercise_and_each_chapter_is_a_link_to_its_page():
    linked = {}
    for text, name in re.findall(r"\[([^\]]+)\]\(\.\./tutorials/(\w+)/chapter\.py\)", TEXT):
        exercise = re.fullmatch("`(.+)`", text)
        found = find_exercise(exercise[1]).chapter if exercise else find_chapter(text.split()[1])
        assert name == found.name, text
        linked[name] = text
    assert [one.number for one in chapters() if one.name not in linked] == ["1", "1b"]
    unlinked = re.sub(r"\[[^\]]+\]\([^)]+\)", "", TEXT)
    assert not {*named(unlinked)} & exercises().keys() and not re.search(r"chapter \d", unlinked)
