"""Every chapter has the form of the others, and gives nothing away. Building the site
(docs/conf.py) runs them.
"""

import ast
import json
import re

import pytest

from minitransformer_course.judge import cells
from minitransformer_course.judge.course import HOURS, SHORT, chapters, exercises
from minitransformer_course.judge.exercise import blanks
from tests import ROOT

WITH_EXERCISES = [chapter for chapter in chapters() if chapter.exercises]
AUDITS = "14", "14b", "15", "16", "17"  # they end with what they found about the paper
RIVALS = AUDITS[2:]  # their functions have no place in the reader's model
MEASURES = (
    "13_after_2017",
    "13b_inside",
    "13c_teaching",
)  # they train and take apart a model on the page
SMALL = 8  # nodes of an expression that anybody would write: x.sum(axis=-1)


def names(chapter):
    return chapter.name


def code_of(page):
    return [cell.source for cell in page if cell.kind == "code"]


def text_of(page):
    return "\n".join(cell.source for cell in page if cell.kind == "markdown")


@pytest.mark.parametrize("chapter", chapters(), ids=names)
def test_a_page_begins_with_its_title(chapter):
    page = cells.parse(chapter.text)
    assert page[0].kind == "markdown" and re.match(rf"# {chapter.number}\. \w", page[0].source)
    assert {cell.kind for cell in page} <= {"markdown", "code", "exercise", "derivation"}


@pytest.mark.parametrize("chapter", WITH_EXERCISES, ids=names)
def test_a_chapter_moves_as_they_all_do_and_is_short(chapter):
    page = cells.parse(chapter.text)
    text, code = text_of(page), code_of(page)
    checked = ["gradcheck("] if "backward" in text + "".join(code) else []
    audited = ["what is known now"] if chapter.number in AUDITS else []
    own = ["\n## Your Transformer", "lab.run_yours("] if chapter.number not in RIVALS else []
    for part in (*checked, *audited, *own, "**Read next:**", "**By hand"):
        assert part.lower() in chapter.text.replace("\n# ", "\n").lower(), part
    assert "## Exercises" not in text
    assert 1 <= text.count("**Predict") <= 6
    prose = re.sub(r"\$\$.*?\$\$|```.*?```", "", text, flags=re.DOTALL)
    assert len(re.findall(r"\S*\w\S*", prose)) <= 1500  # a word has a letter or a digit
    lines = sum(len(cell.split("\n")) for cell in code)
    assert lines <= (105 if chapter.name in MEASURES else 75) + 15  # its own, and its imports
    assert max(len(cell.split("\n")) for cell in code) <= 15
    assert sum(cell.kind == "exercise" for cell in page) <= 5
    for i, cell in enumerate(page):
        if cell.kind == "exercise":
            assert page[i + 1].kind == "derivation", f"{cell.name} has no derivation"


@pytest.mark.parametrize("chapter", WITH_EXERCISES, ids=names)
def test_no_answer_stands_above_its_blank(chapter):
    """No expression of a solution, whatever its names are: neither in a cell nor in a sentence."""
    exercises = {one.name: one for one in chapter.exercises}
    shown = set()
    for cell in cells.parse(chapter.text):
        if cell.kind == "code":
            shown |= expressions(cell.source)
        elif cell.kind == "markdown":
            for code in re.findall(r"`([^`]+)`", cell.source):
                shown |= expressions(code.removeprefix("`python"))
        elif cell.kind == "exercise":
            for lines in blanks(exercises[cell.name].source):
                told = [line for line in lines if expressions(line) & shown]
                assert not told, (cell.name, told)


def test_an_answer_is_recognised_under_other_names():
    assert expressions("dx = p * (dp - (dp * p).sum(axis=-1, keepdims=True))") & expressions(
        "print(a * (b - (b * a).sum(axis=-1, keepdims=True)))"
    )
    assert not expressions("p * (dp - (dp * p).sum(axis=-1, keepdims=True))") & expressions(
        "p * (p - (dp * dp).sum(axis=-1, keepdims=True))"
    )
    assert not expressions("x.sum(axis=-1)") and not expressions("no Python at all")


def expressions(code):
    """The normalised expressions of a piece of code that are not SMALL."""
    try:
        tree = ast.parse(code.strip())
    except SyntaxError:
        return set()
    return {
        _normalised(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.expr)
        and sum(isinstance(inner, ast.expr) for inner in ast.walk(node)) > SMALL
    }


def _normalised(node):
    """Its dump, with names in the order in which they occur: a, b, ..."""
    order: dict[str, str] = {}
    return re.sub(
        r"Name\(id='(\w+)'",
        lambda found: f"Name(id={order.setdefault(found[1], len(order))}",
        ast.dump(node),
    )


def test_the_table_of_heads_is_what_the_experiment_measured():
    root = ROOT
    measured = json.loads(
        (root / "research" / "experiments" / "heads.json").read_text(encoding="utf-8")
    )
    page = (root / "tutorials" / "07_heads" / "chapter.py").read_text(encoding="utf-8")
    for heads in (1, 2, 4, 16):
        adding, copying = (
            ", ".join(f"{100 * share:.0f} %" for share in measured[f"{task} / {heads} heads"])
            for task in ("add neighbours", "copy")
        )
        assert f"| {heads} | {adding} | {copying} |" in page


def test_the_paths_take_as_long_as_the_first_page_says():
    page, known = chapters()[0].text, exercises()
    rows = re.findall(r"^# \| `(\w+)` \| (\w+) \| (.*?) \| (\d+) \|$", page, re.MULTILINE)
    assert rows == [
        (
            name,
            known[name].chapter.number,
            f"*{heading}*" if heading else "the top",
            str(known[name].minutes),
        )
        for name, heading in SHORT.items()
    ]
    words = text_of(cells.parse(page)).split()
    text = " ".join(words)
    minutes = sum(known[name].minutes for name in SHORT)
    assert f"the functions take {minutes} minutes" in text
    reading = sum(words_above(known[name], heading) for name, heading in SHORT.items())
    assert abs(int(re.search(r"some ([\d,]+) words", text)[1].replace(",", "")) - reading) <= 100
    assert f"about {HOURS} hours and leads" in text
    assert minutes / 60 + reading / 75 / 60 <= HOURS  # 75 words a minute, with its cells
    hours = int(re.search(r"Its exercises take about (\d+) hours", text)[1])
    assert abs(sum(one.minutes for one in known.values()) / 60 - hours) <= 0.5
    assert len(words) <= 1500


def words_above(exercise, heading):
    """The words of a page from a heading, or from its top, down to the blank, with its task."""
    page = cells.parse(exercise.chapter.text)
    end = [cell.name for cell in page if cell.kind == "exercise"].index(exercise.name)
    end = [i for i, cell in enumerate(page) if cell.kind == "exercise"][end]
    text = text_of(page[:end])
    text = text[text.index(f"## {heading}\n") :] if heading else text
    return len(re.sub(r"\$\$.*?\$\$|```.*?```", "", text, flags=re.DOTALL).split()) + len(
        exercise.task.split()
    )


def test_the_table_of_chapters_lists_them_all_with_their_minutes():
    text = (ROOT / "tutorials" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| \[(\w+)\]\((\w+)/chapter.py\) \| [^|]+ \| (\w+) \| [^|]+ \|$", text, re.MULTILINE
    )
    assert rows == [
        (one.number, one.name, str(sum(each.minutes for each in one.exercises) or "none"))
        for one in chapters()
    ]
