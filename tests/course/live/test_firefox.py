"""The pages that run Python, in Firefox: a download that was cut off, a verdict, an endless loop; a
chapter from the press to a solved exercise, and what a reload keeps of it.
"""

import pytest

from minitransformer_course.live import chapter
from tests.course.live.conftest import live_files
from tests.course.live.page import CHECKED, EXERCISE, PRESS, RIGHT, TANH, ChapterPage, Page
from tests.course.live.whole_way import WRONG, whole_way
from tests.helpers.browser import Browser

pytestmark = [pytest.mark.slow, pytest.mark.campaign]


@pytest.fixture(scope="module")
def firefox(server):
    browser = Browser(server.address, "firefox")
    yield browser
    browser.close()


def test_your_own_layer_is_checked(firefox, server):
    server.broken, server.changes = {"pyodide.asm.js": "aborted"}, {"seconds": 4}
    page = Page(firefox, server.address + "index.html").open()
    page.press()
    page.wait_for_status("pyodide.asm.js could not be downloaded")
    assert page.focus == PRESS
    server.broken = {}
    firefox.press("Enter")
    assert page.wait_for_verdict()["kind"] == "passed" and page.focus == "editor"
    assert page.check(TANH)["marked"] == ["    return dy * (1 - y)"]
    stopped = page.check("x = 1\nwhile True:\n    x += 1\n")
    assert stopped["said"][0].startswith("Stopped after 4 s") and stopped["marked"]
    assert page.check(CHECKED)["kind"] == "passed"
    server.changes = {}


def test_a_chapter_is_solved_and_kept(firefox, server):
    chapter.begin("en", [])
    title = chapter.judge("softmax_backward", WRONG)["title"]
    page = ChapterPage(firefox, server.address + "chapter.html").open()
    firefox.complaints.clear()
    whole_way(page, live_files.sentences() | {"title": title})
    assert not firefox.complaints and not firefox.refused
    page.open().start()
    assert page.text(EXERCISE)[2] == RIGHT.split("\n")[2]
    assert not page.run(f"{EXERCISE}.querySelector('button:last-child').hidden")
