"""A chapter's page from the press to a solved exercise, by the keyboard alone: on a desk and on a
phone, in English and in Korean, and again after a reload.
"""

import pytest

from minitransformer_course import messages
from minitransformer_course.judge.learner_file import learner_cells
from tests.course.live import conftest
from tests.course.live.conftest import CHAPTER, html_of, live_files
from tests.course.live.page import ChapterPage
from tests.course.live.test_chapter import EXERCISE, RIGHT
from tests.course.live.test_check import SHIFTS

pytestmark = [pytest.mark.slow, pytest.mark.campaign]

WRONG = "def softmax_backward(dp, p):\n    return p * (1 - p) * dp\n"
CELL = "document.querySelectorAll('div.cell')[0]"
HERE = "{place}.contains(document.activeElement) && document.activeElement.matches('.cm-content')"
OUTPUT = f"{CELL}.querySelector('.cell_output').textContent"
MARKUP = "<img src=x onerror=ran=1><script>ran=1</script>"
RATIOS = """[...document.querySelectorAll("%s")].filter(one => one.checkVisibility()).map(one => {
    const channels = text => text.match(/[\\d.]+/g).map(Number);
    const back = one => { for (; one; one = one.parentElement) {
        const [r, g, b, a = 1] = channels(getComputedStyle(one).backgroundColor);
        if (a) return [r, g, b];
    } return channels(getComputedStyle(document.documentElement).colorScheme === "dark" ? "0 0 0" : "255 255 255"); };
    const light = ([r, g, b]) => [r, g, b].map(c => c / 255)
        .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const [low, high] = [light(channels(getComputedStyle(one).color)), light(back(one))].sort((a, b) => a - b);
    return [one.className || one.tagName, (high + 0.05) / (low + 0.05)];
})"""


@pytest.fixture(scope="module")
def languages(site):
    """{language: what the scripts say in it}; a page in Korean is beside the English one."""
    said = {"en": live_files.sentences()}
    before = messages.language()
    messages.choose("ko")
    cells = "".join(map(html_of, learner_cells(CHAPTER)))
    conftest.write(site / "korean.html", live_files.chapter("here", wheel_of(site)) + cells, "ko")
    said["ko"] = live_files.sentences()
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
    "name, language, width", [("chapter", "en", 1280), ("chapter", "en", 390), ("korean", "ko", 390)]
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
    write(page, WRONG)
    page.work("Enter", modifiers=2)
    assert page.focus == "editor"
    assert page.said(EXERCISE).startswith(messages_title(page, "not yet"))
    page.browser.press("Escape")
    page.tab_to(said["hint"])
    page.work("Enter")
    assert page.run(f"{EXERCISE}.querySelector('.live-hint').textContent")
    page.run(SHIFTS)
    tab_back(page)
    write(page, RIGHT)
    page.work("Enter", modifiers=2)
    assert page.run(f"{EXERCISE}.dataset.verdict") == "passed"
    page.browser.press("Escape")
    page.tab_to(said["solution"])
    page.browser.press("Enter")
    assert page.run("document.activeElement.closest('details').open")


def messages_title(page, what):
    if page.run("document.documentElement.lang") == "en":
        return f"softmax_backward: {what}"
    return "softmax_backward: "


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_contrast_of_what_is_written_is_4_5(started, scheme):
    page = started
    page.browser.screen(1280, 800, scheme)
    page.check(EXERCISE, WRONG)
    texts = ".live-status, .live-tools button, .live-verdict p, .live-keys, .cm-line span, .cm-gutters"
    found = page.run(RATIOS % texts)
    assert len(found) > 20
    assert not {name: ratio for name, ratio in found if ratio < 4.5}
