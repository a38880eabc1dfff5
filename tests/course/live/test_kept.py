"""What a reader writes is kept in the browser: over reloads, on other pages, beside another tab;
and what cannot be kept is said.
"""

import json
from pathlib import Path

import pytest

from tests.course.live.conftest import CHAPTER
from tests.course.live.page import EXERCISE, RIGHT, ChapterPage

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


def stored(page, name="softmax_backward", **entry):
    key = f"minitransformer/{name}"
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
    assert "is not kept, because another tab" in page.run(f"{NOTICE}.textContent")
    assert page.focus == "editor" and page.text(EXERCISE)[0].startswith("def softmax_backward")
    page.open()
    assert page.browser.asked == ["beforeunload"]


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


WORK = "document.querySelector('.live-work')"
SAID = f"{WORK}.querySelector('.live-status').textContent"
COUNTS = "[...document.querySelectorAll('td')].map(one => one.textContent.trim())"
YOURS = "new Set([...document.querySelectorAll('.live-yours')].map(one => one.ariaLabel)).size"
BRING = """(text => {    // as if a file had been chosen
    const files = new DataTransfer();
    files.items.add(new File([text], "my_work.py"));
    const input = document.querySelector(".live-work input");
    input.files = files.files;
    input.dispatchEvent(new Event("change"));
    return new Promise(done => setTimeout(done, 200));
})(%s)"""
TAKE = """new Promise(done => {    // what a click would download
    URL.createObjectURL = blob => { blob.text().then(done); return "#"; };
    document.querySelector(".live-work .live-take").click();
})"""


@pytest.fixture
def chapters(browser, server):
    """The list of chapters, in a browser without any work."""
    browser.screen(1280, 800, "light")
    page = ChapterPage(browser, server.address + "list.html").open()
    page.run("localStorage.clear()")
    return again(page)


def again(page):
    page.open().wait_until(f"!{WORK}.querySelector('.live-tools').hidden")
    return page


def test_the_list_and_the_map_show_what_passed(chapters):
    assert chapters.run(COUNTS) == ["4", "5"] and chapters.run(SAID) == ""
    assert chapters.run(YOURS) == 0
    assert chapters.run("getComputedStyle(document.querySelector('.map')).display") == "none"
    stored(chapters, text="x", passed="x")
    assert again(chapters).run(COUNTS) == ["4 1/5", "5"] and chapters.run(YOURS) == 0
    assert chapters.run("document.querySelector('.live-count').ariaLabel") == "1 of 5 passed"
    for one in CHAPTER.exercises:
        stored(chapters, one.name, text="x", passed="x")
    stored(chapters, "softmax_backward", text="x", passed="x", fails=True)
    assert again(chapters).run(COUNTS) == ["4 4/5", "5"] and chapters.run(YOURS) == 0
    stored(chapters, text="x", passed="x")
    stored(chapters, "of_another_version", text="x")
    assert again(chapters).run(COUNTS) == ["4 ✓", "5"] and chapters.run(YOURS) == 1
    assert chapters.run("document.querySelector('.live-yours').ariaDescription") == "yours"
    said = chapters.run(SAID)
    assert said.startswith("5 of ") and "no exercise of_another_version; what you wrote" in said


def test_taken_along_and_brought_back(chapters, run_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draft = f"{WRONG}\n# ---- softmax (04_softmax), passed ----"
    stored(chapters, text=draft, passed=RIGHT)
    stored(chapters, "of_another_version", text="x = 1")
    file = again(chapters).run(TAKE)
    assert file.startswith('"""What I wrote') and "import numpy as np\n" in file
    Path("my_work.py").write_text(file, encoding="utf-8")
    code, out, _ = run_cli("learn start --from my_work.py")
    assert code == 0 and "softmax_backward: passed" in out and "04_softmax.py: 1 of " in out
    assert "no such exercise: of_another_version" in out
    chapters.run("localStorage.clear()")
    again(chapters).run(BRING % json.dumps(file.replace("\n", "\r\n")))
    assert chapters.run(SAID) == (
        "Here now, from my_work.py: softmax_backward, of_another_version."
    )
    kept = chapters.run(ENTRY)
    assert kept["passed"] == RIGHT.rstrip() and kept["text"].startswith(WRONG.rstrip())
    assert chapters.run(COUNTS) == ["4 1/5", "5"]
    chapters.run(BRING % json.dumps("nothing"))
    assert "my_work.py holds no exercises" in chapters.run(SAID)


def test_what_is_here_is_replaced_only_if_the_reader_says_so(chapters):
    stored(chapters, text=WRONG)
    file = f"# ---- softmax_backward, passed ----\n\n{RIGHT}\n\n# ---- softmax ----\n\nx\n"
    chapters.run("window.confirm = said => { window.question = said; return false; }; 0")
    chapters.run(BRING % json.dumps(file))
    assert "Something else is here for softmax_backward." in chapters.run("question")
    assert chapters.run(SAID) == "Here now, from my_work.py: softmax."
    assert chapters.run(ENTRY) == {"text": WRONG}
    chapters.run("window.confirm = () => true; 0")
    chapters.run(BRING % json.dumps(file))
    assert chapters.run(ENTRY)["passed"] == RIGHT.rstrip()
    chapters.run(FULL)
    chapters.run(BRING % json.dumps(file.replace("x\n", "x" * 1000)))
    assert "is full or forbidden: softmax_backward." in chapters.run(SAID)
    chapters.run("localStorage.clear()")


def test_by_the_keyboard_alone(chapters):
    stored(chapters, text="x", passed="x")
    again(chapters).browser.screen(390, 844, "dark")
    chapters.run("document.querySelector('.live-take').previousElementSibling?.focus()")
    for _ in range(60):
        if chapters.focus == "Take it with you":
            break
        chapters.browser.press("Tab")
    chapters.run("URL.createObjectURL = () => { window.taken = true; return '#'; }; 0")
    chapters.browser.press("Enter")
    assert chapters.run("taken") and chapters.focus == "Take it with you"
    chapters.browser.press("Tab")
    assert chapters.focus == "Bring it here"
