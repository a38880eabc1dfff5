"""The minutes that a chapter's page says before it computes: what was measured, of its cells today."""

import json
import re

import pytest

from minitransformer_course.judge.course import chapters
from research.benchmarks.pages import cells_of
from tests.course.live.conftest import live_files  # and with it the folder of live_minutes
import live_minutes

MOST = 240  # seconds of processor time for all cells of a page
ALL = pytest.mark.parametrize("chapter", chapters(), ids=lambda one: one.name)


@ALL
def test_every_cell_of_a_chapter_was_measured_and_they_take_a_few_minutes(chapter):
    """To measure a chapter again: python -m research.benchmarks pages NUMBER"""
    recorded = {one["chapter"]: one for one in live_minutes.measured()}[chapter.name]
    assert recorded["cells"] == len(cells_of(chapter))
    assert {*map(int, recorded["long"])} <= cells_of(chapter).keys()
    assert recorded["page"] <= MOST


def test_a_page_says_the_minutes_of_its_long_cells_and_of_all(monkeypatch):
    found = [{"chapter": "one", "long": {"3": 21, "4": 100}}]
    monkeypatch.setattr(live_minutes, "measured", lambda: found)
    wheel = {"bytes": 1}
    page = live_files.chapter("here", wheel, "one")
    (said,) = re.findall('data-minutes="(.*?)"', page)
    assert json.loads(said.replace("&quot;", '"')) == {"3": 1, "4": 2}
    assert ">Run all cells (about 3 min)</button>" in page
    found[0]["long"] = {}
    assert 'data-minutes="{}">Run all cells</button>' in live_files.chapter("here", wheel, "one")
