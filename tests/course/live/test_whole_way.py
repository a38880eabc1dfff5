"""A chapter's page from the press to a solved exercise, by the keyboard alone: on a desk and on a
phone, in English and in Korean, and again after a reload.
"""

import pytest

from minitransformer_course import messages
from minitransformer_course.judge.learner_file import learner_cells
from minitransformer_course.live import chapter
from tests.course.live import conftest
from tests.course.live.conftest import CHAPTER, html_of, live_files
from tests.course.live.page import EXERCISE, PRESS, RIGHT, ChapterPage

pytestmark = [pytest.mark.slow, pytest.mark.campaign]

WRONG = "def softmax_backward(dp, p):\n    return p * (1 - p) * dp\n"
CELL = "document.querySelectorAll('div.cell')[0]"
HERE = "{place}.contains(document.activeElement) && document.activeElement.matches('.cm-content')"
OUTPUT = f"{CELL}.querySelector('.cell_output').textContent"
BELOW = f"{EXERCISE}.nextElementSibling.getBoundingClientRect().top + scrollY"
MARKUP = "<img src=x onerror=ran=1><script>ran=1</script>"


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


def tab_into(page, place):
    """With the Tab key, into the editor of a place; from an editor, Escape comes before it."""
    page.browser.press("Escape")
    for _ in range(60):
        page.browser.press("Tab")
        if page.run(HERE.format(place=place)):
            return
        if page.focus == "editor":
            page.browser.press("Escape")
    raise AssertionError(f"the Tab key does not reach the editor of {place}")


def write(page, code):
    page.browser.press("a", modifiers=2)
    page.browser.type(code)


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


def whole_way(page, said):
    page.tab_to(page.run("document.querySelector('.live-press').textContent"))
    page.browser.press("Enter")
    page.wait_until("document.querySelector('.live-press').hidden")
    assert page.status == said["started"]
    tab_into(page, CELL)
    write(page, f"print({MARKUP!r})\n6 * 7")
    page.work("Enter", modifiers=2)
    assert page.run(OUTPUT) == f"{MARKUP}\n42\n" and page.focus == "editor"
    page.browser.press("Escape", "Tab")
    assert page.focus == said["run"]
    page.work("Enter")
    assert page.run(OUTPUT).endswith("42\n") and page.focus == said["run"]
    tab_into(page, EXERCISE)
    check(page, WRONG)
    assert page.said(EXERCISE).startswith(said["title"])
    page.browser.press("Escape")
    page.tab_to(said["hint"])
    page.work("Enter")
    assert page.run(f"{EXERCISE}.querySelector('.live-hint').textContent")
    tab_back(page)
    check(page, RIGHT)
    assert page.run(f"{EXERCISE}.dataset.verdict") == "passed"
    page.browser.press("Escape")
    page.tab_to(said["solution"])
    page.browser.press("Enter")
    assert page.run("document.activeElement.closest('details').open")


def check(page, code):
    """By the keyboard, in the editor that has the focus; what is below it does not move."""
    write(page, code)
    before = page.run(BELOW)
    page.work("Enter", modifiers=2)
    assert page.run(BELOW) == before and page.focus == "editor"


def tab_back(page):
    for _ in range(6):
        page.browser.press("Tab", modifiers=8)
        if page.run(HERE.format(place=EXERCISE)):
            return
    raise AssertionError("Shift+Tab does not lead back into the editor")


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
    browser.call("Network.clearBrowserCache")
    server.broken = {name: how}
    page = ChapterPage(browser, server.address + "chapter.html").open()
    page.press()
    page.wait_for_status(f"{name} {words}")
    server.broken = {}
    assert page.focus == PRESS and not page.run("document.querySelector('.live-press').hidden")
    browser.complaints.clear()
