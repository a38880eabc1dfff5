"""A chapter's page in Chromium: its cells run as they do installed, an exercise is judged where it
stands, and the page then uses the reader's function.
"""

import pytest

from minitransformer_course.judge.learner_file import learner_cells
from minitransformer_course.live import chapter
from tests.course.live.conftest import CHAPTER
from tests.course.live.page import EXERCISE, RIGHT, ChapterPage

pytestmark = [pytest.mark.slow, pytest.mark.campaign]

OUTPUTS = """[...document.querySelectorAll(".cell_output")].map(one =>
    [one.querySelector("pre")?.textContent ?? "", one.querySelectorAll("img").length])"""


@pytest.fixture(scope="module")
def page(browser, server):
    """A page in which Python runs."""
    browser.screen(1280, 800, "light")
    page = ChapterPage(browser, server.address + "chapter.html").open()
    page.run("document.querySelector('.live-all').dataset.minutes = '{\"3\": 2}'")
    return page.start()


def test_a_long_cell_says_its_minutes_before_it_runs(page):
    cell = "document.querySelectorAll('div.cell, .live-exercise')[2]"
    said = page.run(f"{cell}.querySelector('.live-cost').textContent")
    assert said == "It computes for about 2 min in this page."
    assert page.run("document.querySelectorAll('.live-cost').length") == 1


def test_every_cell_prints_and_draws_what_it_does_installed(page):
    assert page.focus == "Run all cells"
    page.work("Enter")
    chapter.begin("en", [one.name for one in CHAPTER.exercises])
    codes = [one.source for one in learner_cells(CHAPTER) if one.kind == "code"]
    ran = [chapter.run("1", code) for code in codes if " = yours(" not in code]
    rounding = "e-1"  # a line that prints an error of rounding
    expected = [[one["printed"], len(one["pictures"])] for one in ran]
    found = page.run(OUTPUTS)
    for (text, pictures), (right, drawn) in zip(found, expected, strict=True):
        assert pictures == drawn
        for line, other in zip(text.splitlines(), right.splitlines(), strict=True):
            assert line == other or rounding in line


def test_a_button_is_told_from_those_of_other_cells(page):
    labels = page.run(
        "[...document.querySelectorAll('.live-tools button')].map(one => one.ariaLabel)"
    )
    labels = [label for label in labels if label]
    assert len(labels) > 30 and len({*labels}) == len(labels)
    assert "Run: Cell 1, in Python" in labels and "Hint: Your softmax, in Python" in labels


def test_an_exercise_is_judged_where_it_stands(page):
    said = page.check(EXERCISE, "def softmax_backward(dp, p):\n    return p * (1 - p) * dp\n")
    answer = chapter.judge(
        "softmax_backward", "def softmax_backward(dp, p):\n    return p * (1 - p) * dp\n"
    )
    told = [f"{label} {text}" for label, text in answer["said"] if label != "NEXT"]
    assert len(told) > 1 and all(one in said for one in told)
    assert page.run(f"{EXERCISE}.querySelector('button:last-child').hidden")
    said = page.check(EXERCISE, "def softmax_backward(dp, p):\n    return p / 0 @ dp\n")
    assert "the cell" in said and page.run(f"{EXERCISE}.querySelectorAll('.live-mark').length") == 1


def test_once_it_passes_the_page_uses_it_and_the_solution_opens(page):
    assert "softmax_backward: passed" in page.check(EXERCISE, RIGHT)
    place = "document.querySelectorAll('div.cell')[7]"
    page.write(place, "softmax_backward(np.ones(2), np.ones(2) / 2)")
    page.work("Control+Enter")
    output = page.run(f"{place}.querySelector('.cell_output').innerHTML")
    assert "&lt;b&gt;mine&lt;/b&gt;" in output and "array([0., 0.])" in output
    page.run(f"{EXERCISE}.querySelector('button:last-child').click()")
    assert page.run("document.activeElement.closest('details').open")


def test_a_loop_stops_at_its_line_and_what_the_cells_made_is_kept(page, server):
    place = "document.querySelectorAll('div.cell')[2]"
    server.requests.clear()
    page.write(place, "kept = 5\nx = []\nwhile True: x.append(bytes(1_000_000))\n")
    page.work("Control+Enter")
    assert page.run(f"{place}.querySelector('.live-mark').textContent").startswith("while True")
    page.write(place, "del x\nkept")
    page.work("Control+Enter")
    assert page.run(f"{place}.querySelector('.cell_output').textContent") == "5\n"
    assert not server.requests


def test_stop_costs_what_the_cells_made_and_says_so(page):
    place = "document.querySelectorAll('div.cell')[2]"
    page.write(place, "while True: pass")
    page.browser.press("Control+Enter")
    page.wait_until("document.querySelector('.live-stop').ariaDisabled === 'false'")
    page.run("document.querySelector('.live-stop').click()")
    page.wait_for_status("run again what you need")
    page.write(place, "'kept' in globals()")
    page.work("Control+Enter")
    assert page.run(f"{place}.querySelector('.cell_output').textContent") == "False\n"


def test_run_up_to_here_runs_what_has_not_run_with_its_present_text(page):
    """The cells above, in their order; what is edited has not run, and what is below does not."""
    place = "document.querySelectorAll('div.cell')[{}]"
    texts = ["ran = ['a']", "ran.append('b')", "ran", "ran.append('below')"]
    for number, text in enumerate(texts):
        page.write(place.format(number), text)
    here = f"{place.format(2)}.querySelector('.live-tools button:nth-of-type(2)').focus()"
    printed = f"{place.format(2)}.querySelector('.cell_output').textContent"
    for first, expected in (("a", "['a', 'b']"), ("a", "['a', 'b']"), ("c", "['c']")):
        if first != "a":
            page.write(place.format(0), f"ran = [{first!r}]")
        page.run(here)
        page.work("Enter")
        assert page.run(printed) == expected + "\n"
