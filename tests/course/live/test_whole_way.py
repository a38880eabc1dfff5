"""A chapter's page from the press to a solved exercise, by the keyboard alone: on a desk and on a
phone, in English and in Korean, and again after a reload.
"""

import pytest

from minitransformer_course import messages
from minitransformer_course.judge.learner_file import learner_cells
from minitransformer_course.live import chapter
from tests.course.live import conftest
from tests.course.live.conftest import CHAPTER, html_of, live_files
from tests.course.live.page import EXERCISE, PRESS, ChapterPage
from tests.course.live.whole_way import CELL, MARKUP, WRONG, whole_way

pytestmark = [pytest.mark.slow, pytest.mark.campaign]


@pytest.fixture(scope="module")
def languages(site):
    """{language: what the page says in it}; a page in Korean is beside the English one."""
    before = messages.language()
    said = {}
    for language in ("ko", "en"):
        chapter.begin(language, [])
        title = chapter.judge("softmax_backward", WRONG)["title"]
        said[language] = live_files.sentences() | {"title": title}
        if language == "ko":
            cells = "".join(map(html_of, learner_cells(CHAPTER)))
            body = live_files.chapter("here", wheel_of(site), CHAPTER.name) + cells
            page = conftest.PAGE.replace('lang="en"', 'lang="ko"')
            policy = live_files.policy(own_engine=True)
            (site / "korean.html").write_text(page.format(policy=policy, body=body), "utf-8")
    messages.choose(before)
    return said


def wheel_of(site):
    (wheel,) = (site / "live").glob("*.whl")
    return {"name": wheel.name, "bytes": wheel.stat().st_size}


@pytest.mark.parametrize(
    "name, language, width",
    [("chapter", "en", 1280), ("chapter", "en", 390), ("korean", "ko", 390)],
)
def test_from_the_press_to_the_solution_by_the_keyboard(
    browser, server, languages, name, language, width
):
    server.changes = {"sentences": languages[language]}
    browser.screen(width, 844, "dark" if width == 390 else "light")
    page = ChapterPage(browser, f"{server.address}{name}.html").open()
    page.run("localStorage.clear()")
    for _again in range(2):
        browser.complaints.clear()
        whole_way(page.open(), languages[language])
        assert page.run("document.documentElement.scrollWidth") <= width
        assert not browser.complaints and not browser.refused
        page.run("localStorage.clear()")
    server.changes = {}


@pytest.fixture(scope="module")
def started(browser, server):
    browser.screen(1280, 800, "light")
    page = ChapterPage(browser, server.address + "chapter.html").open()
    page.run("localStorage.clear()")
    return page.start()


@pytest.mark.parametrize(
    "code",
    [
        f"print({MARKUP!r})",
        f"type({MARKUP!r}, (), {{}})()",
        f"raise type({MARKUP!r}, (Exception,), {{}})({MARKUP!r})",
        f"exec(compile('1 / 0', {MARKUP!r}, 'exec'))",
        f"import sys; sys.stderr.write({MARKUP!r}); None",
    ],
)
def test_html_is_text_in_cells_and_verdicts(started, canary, code):
    page = started
    assert "<img" in page.output(CELL, code)
    mine = f"def softmax_backward(dp, p):\n    {code}\n    return p\n"
    page.check(EXERCISE, mine)
    assert "<img" in page.run(f"{EXERCISE}.textContent")
    assert not page.run("'ran' in window") and not page.run("document.images.length")
    assert not canary.requests and not page.browser.refused


@pytest.mark.parametrize(
    "package, how, words",
    [
        ("matplotlib", "missing", "could not be downloaded"),
        ("numpy", "aborted", "could not be downloaded"),
        ("pillow", "cut", "is not the file that this page was made for"),
        ("contourpy", "another", "is not the file that this page was made for"),
    ],
)
def test_a_broken_package_is_a_sentence_within_30_seconds(browser, server, package, how, words):
    name = next(one for one in live_files.FILES if one.startswith(f"{package}-"))
    server.broken = {name: how}
    page = ChapterPage(browser, server.address + "chapter.html").open()
    page.press()
    page.wait_for_status(f"{name} {words}")
    server.broken = {}
    assert page.focus == PRESS and not page.run("document.querySelector('.live-press').hidden")
    browser.complaints.clear()
