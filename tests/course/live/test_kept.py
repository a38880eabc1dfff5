"""What a reader writes is kept in the browser: over reloads, on other pages, beside another tab;
and what cannot be kept is said.
"""

import json

import pytest

from tests.course.live.page import ChapterPage
from tests.course.live.test_chapter import EXERCISE, RIGHT

pytestmark = [pytest.mark.slow, pytest.mark.campaign]

WRONG = "def softmax_backward(dp, p):\n    return p\n"
CELL = "document.querySelector('div.cell')"
NOTICE = f"{EXERCISE}.querySelector('.live-kept')"
ENTRY = 'JSON.parse(localStorage.getItem("minitransformer/softmax_backward"))'
OTHER_TAB = """new Promise(done => {    // a document of the same site, which writes
    const other = document.body.appendChild(document.createElement("iframe"));
    other.onload = () => {
        setTimeout(() => { other.remove(); done(); }, 300);
        other.contentWindow.localStorage.setItem("minitransformer/softmax_backward", %s);
    };
    other.src = "live/pin";
})"""
FULL = """(() => { for (let size = 2 ** 22; size >= 1; size /= 2) {
    try { for (let i = 0; ; i++) localStorage.setItem(`${size}.${i}`, "x".repeat(size)); } catch {}
} })()"""
FORBIDDEN = """Object.defineProperty(window, "localStorage", {
    get() { throw new DOMException("forbidden", "SecurityError"); }}) && 0"""


@pytest.fixture
def page(browser, server):
    """A page on which nothing was written."""
    browser.screen(1280, 800, "light")
    page = ChapterPage(browser, server.address + "chapter.html").open()
    page.run("localStorage.clear()")
    browser.asked.clear()
    return page


def stored(page, **entry):
    key = "minitransformer/softmax_backward"
    page.run(f"localStorage.setItem({key!r}, {json.dumps(json.dumps(entry))})")


def test_over_a_reload_and_on_a_later_page(page, server):
    page.start()
    assert "passed" in page.check(EXERCISE, RIGHT)
    page.write(EXERCISE, WRONG)
    page.open().start()
    assert not page.browser.asked  # nothing is lost, so the browser does not ask
    assert page.text(EXERCISE)[1] == "    return p"
    assert page.said(EXERCISE) == ("An earlier text of yours passed, and this page uses that one.")
    assert not page.run(f"{EXERCISE}.querySelector('button:last-child').hidden")
    assert page.focus == "Run all cells"
    assert page.output(CELL, "softmax_backward(np.ones(2), np.ones(2) / 2)").startswith("<b>mine")
    later = ChapterPage(page.browser, server.address + "later.html").open().start()
    code = 'from minitransformer_course import lab\nlab.own("softmax_backward")\nlab.run_yours("4")'
    said = later.output(CELL, code)
    assert said.startswith("softmax_backward: yours")
    assert "functions are yours; new in this chapter: softmax_backward\n" in said
    later.browser.asked.clear()
    later.open()
    assert later.browser.asked == ["beforeunload"]  # an edited cell is not kept


def test_another_tab_is_not_overwritten(page):
    page.start()
    page.write(EXERCISE, WRONG)
    theirs = json.dumps(json.dumps({"text": "def theirs():\n    pass"}))
    page.run(OTHER_TAB % theirs)
    assert page.text(EXERCISE)[0] == "def theirs():"
    assert "Another tab has changed this exercise" in page.run(f"{NOTICE}.textContent")
    stored(page, text="newer")  # of which this tab does not hear, as if it had been frozen
    page.write(EXERCISE, RIGHT)
    assert "newer" in page.run(f"{ENTRY}.text")
    assert "is not kept yet" in page.run(f"{NOTICE}.textContent")
    page.browser.press("Escape", "Tab")
    page.tab_to("Keep this text")
    page.browser.press("Enter")
    assert page.focus == "editor" and page.run(f"{NOTICE}.textContent") == ""
    assert page.run(f"{ENTRY}.text") == RIGHT


@pytest.mark.parametrize("script", [FULL, FORBIDDEN])
def test_what_is_not_kept_is_said_and_the_browser_asks(page, script):
    page.run(script)
    page.start()
    page.write(EXERCISE, WRONG)
    assert "full or forbidden" in page.run(f"{NOTICE}.textContent")
    assert "not yet" in page.check(EXERCISE, WRONG)
    page.open()
    assert page.browser.asked == ["beforeunload"]
    page.run("localStorage.clear()")


def test_what_another_version_let_pass_is_proven_again(page):
    stored(page, text=WRONG, passed=WRONG)
    page.open().start()
    assert "passed with another version of this site, but not with this one" in page.said(EXERCISE)
    assert page.run(f"{ENTRY}.fails")
    print_it = "softmax_backward(np.ones(2), np.ones(2) / 2)"
    assert page.output(CELL, print_it) == "array([0., 0.])\n"
    page.run("localStorage.setItem('minitransformer/softmax_backward', '[1, \"of another form\"]')")
    page.open().start()
    assert page.text(EXERCISE) == ['[1, "of another form"]']
