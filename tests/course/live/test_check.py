"""The page "Check your own layer" in Chromium, by the keyboard alone: a verdict, limits that keep
what was written, downloads that fail, and code that finds no way out.
"""

import json
import re
import shutil

import pytest

from tests import ROOT
from tests.course.live.page import CHECKED, PRESS, TANH, Page

pytestmark = [pytest.mark.slow, pytest.mark.campaign]

SHIFTS = """(() => { window.shifts = [];
    const names = entry => entry.sources.map(source => source.node?.className);
    const seen = list => shifts.push(...list.getEntries().map(one => [one.value, names(one)]));
    new PerformanceObserver(seen).observe({type: "layout-shift", buffered: true});
})()"""


@pytest.fixture(scope="module")
def page(browser, server):
    """A page in which Python runs, for at most 4 seconds at a time."""
    server.changes = {"seconds": 4}
    page = Page(browser, server.address + "index.html")
    browser.screen(1280, 800, "light")
    page.open()
    page.first, page.seconds = page.start()
    return page


def test_the_first_verdict_is_the_checker_s_own(page):
    """With the focus in the editor, where the keyboard is needed next. The seconds are printed, not
    tested: -s shows them.
    """
    print(f"from the press to the first verdict: {page.seconds:.1f} s")
    assert page.first["kind"] == "passed" and page.first["said"][0].startswith("Passed.")
    assert page.first["said"][1].startswith("all 2 checks passed; largest error: central ")
    assert "MeanOverTokens  x " in page.first["printed"] and not page.first["marked"]
    assert page.focus == "editor"


def test_a_mistake_is_named_and_its_line_is_marked(page):
    verdict = page.check(TANH)
    assert verdict["kind"] == "failed" and verdict["marked"] == ["    return dy * (1 - y)"]
    assert verdict["said"][0] == "Not yet: the check failed. Look at line 9."
    assert "`1 - y * y` belongs where `1 - y` is" in verdict["said"][2]
    assert verdict["said"][-1].startswith("2 of 2 checks FAILED")
    assert page.focus == "editor"


def test_tab_indents_and_escape_then_tab_leaves_the_editor(page):
    page.check(TANH)
    page.browser.press("Escape")
    page.tab_to("Check", "Shift+Tab")
    page.browser.press("Enter")
    assert page.wait_for_verdict()["kind"] == "failed" and page.focus == "Check"
    page.browser.press("Tab", "Tab", "Enter")
    assert page.focus == "editor"
    assert "class Averaged(Linear)" in page.run("document.querySelector('.cm-content').textContent")


@pytest.mark.parametrize(
    "code, head, line",
    [
        ("x = 1\nwhile True:\n    x += 1\n", "Stopped after 4 s: an endless loop?", 2),
        ("x = []\nwhile True: x.append(bytes(1_000_000))\n", "Stopped: it needs more than 1 GB", 2),
        ("x = [1]\nfor one in x:\n    x.append(bytes(1_000_000))\n", "Stopped: it needs more", 3),
        ("def f(): f()\nf()\n", "The program did not reach its end.", 1),
        ("x = (\n", "The program did not reach its end.", 1),
        ("\ninput()\n", "The program did not reach its end.", 2),
        ("raise SystemExit\n", "The program did not reach its end.", 1),
        ("print('hello')\n", "Nothing was checked", 0),
    ],
)
def test_what_does_not_end_well_is_a_sentence_and_the_next_check_runs(
    page, server, code, head, line
):
    """In the same Python: no file is asked for again."""
    server.requests.clear()
    verdict = page.check(code)
    assert verdict["kind"] == "error" and verdict["said"][0].startswith(head)
    lines = [text for text in code.split("\n")[line - 1 : line] if line]
    assert verdict["marked"] == lines
    assert page.check(CHECKED)["kind"] == "passed" and not server.requests


def test_only_a_call_that_never_returns_costs_the_worker_and_the_text_is_kept(page, server):
    server.broken = {"worker.js": "missing"}  # a new Python needs no network
    code = "x = 1\nsum(range(10**12))\n"
    verdict = page.check(code)
    assert verdict["said"] == [
        "Stopped in a call that never returned. A new Python starts; your text is kept."
    ]
    assert "sum(range(10**12))" in page.run("document.querySelector('.cm-content').textContent")
    assert page.check(CHECKED)["kind"] == "passed"
    server.broken = {}


def test_html_is_text_in_what_is_printed_named_and_raised(page):
    markup = "<img src=x onerror=ran=1><script>ran=1</script>"
    for code in (
        f"print({markup!r})\nraise ValueError({markup!r})\n",
        f"def f(): g()\nexec(compile('def g(): 1 / 0', {markup!r}, 'exec'))\nf()\n",
        CHECKED.replace("rng))", "rng), name=" + repr(markup) + ")").replace("rng), [", "rng), [")
        + f"\nraise type({markup!r}, (Exception,), {{}})\n",
    ):
        verdict = page.check(code)
        assert not verdict["inside"] and not page.run("'ran' in window"), code
        assert "<img" in verdict["printed"] + "".join(verdict["said"])


@pytest.mark.parametrize(
    "code",
    [
        "import js; js.fetch('{canary}')",
        "import js; js.setTimeout(\"fetch('{canary}')\", 0)",
        "import js; js.Object.constructor(\"return fetch('{canary}')\")()",
        "import pyodide_js; pyodide_js.loadPackage('{canary}x-1-py3-none-any.whl')",
        "import pyodide.code; pyodide.code.run_js(\"fetch('{canary}')\")",
        "import urllib.request; urllib.request.urlopen('{canary}')",
        "import js; js.localStorage",
        "import js; js.indexedDB",
    ],
)
def test_code_has_no_way_out_of_the_page(page, canary, code):
    page.check(code.format(canary=canary.address) + "\n")
    assert page.check(CHECKED)["kind"] == "passed"
    assert not canary.requests and not page.browser.refused


def test_the_policy_of_the_page_holds_in_a_worker_made_from_a_blob(page, canary):
    """It is what keeps a script from elsewhere: with its own fetch, without Python."""
    script = f"""new Promise(done => {{
        const said = "() => postMessage('out'), () => postMessage('kept')";
        const code = `fetch('{canary.address}').then(${{said}})`;
        new Worker(URL.createObjectURL(new Blob([code]))).onmessage = event => done(event.data);
    }})"""
    assert page.run(script) == "kept" and not canary.requests
    page.browser.complaints.clear()


def test_what_was_written_is_not_lost_in_silence(page):
    """The browser asks before the page with a text of the reader is left."""
    page.check("x = 1\n")
    page.browser.asked.clear()
    page.browser.open("about:blank")
    assert page.browser.asked == ["beforeunload"]


def test_nothing_is_loaded_before_the_press(browser, server):
    server.requests.clear()
    page = Page(browser, server.address + "index.html").open()
    assert {*server.requests} <= {"/index.html", "/live/live.css", "/live/press.js", "/favicon.ico"}
    (size,) = re.findall(r"downloads (\d+) MB", page.status)
    assert 19 <= int(size) <= 22


@pytest.mark.parametrize("screen", [(1280, 800, "dark"), (390, 844, "light")])
def test_nothing_moves_and_nothing_is_wider_than_the_screen(browser, server, screen):
    """From before the press to a long verdict."""
    browser.screen(*screen)
    page = Page(browser, server.address + "index.html").open()
    page.run(SHIFTS)
    desk = "document.querySelector('.live-desk').getBoundingClientRect().top + scrollY"
    before = page.run(desk)
    page.start()
    assert page.check(TANH)["kind"] == "failed"
    moved = [(far, names) for far, names in page.run("shifts") if "live-" in str(names)]
    assert page.run(desk) == before and not moved
    assert page.run("document.documentElement.scrollWidth") <= screen[0]
    top = page.run("document.querySelector('.live-verdict').getBoundingClientRect().top")
    assert 0 <= top < screen[1]


@pytest.mark.parametrize(
    "name, how, words",
    [
        ("pyodide.asm.wasm", "missing", "pyodide.asm.wasm could not be downloaded"),
        ("pyodide.asm.js", "aborted", "pyodide.asm.js could not be downloaded"),
        ("python_stdlib.zip", "silent", "python_stdlib.zip could not be downloaded"),
        ("pyodide.js", "another", "pyodide.js is not the file that this page was made for"),
        (".whl", "another", "is not the file that this page was made for"),
        ("engine.js", "missing", "A part of this page is missing"),
        ("settings.json", "another", "A part of this page is missing"),
        ("worker.js", "missing", "worker.js could not be downloaded"),
    ],
)
def test_a_failed_download_is_a_sentence_and_the_press_works_again(
    browser, server, name, how, words
):
    server.broken, server.changes = {name: how}, {"silence": 3}
    page = Page(browser, server.address + "index.html").open()
    page.press()
    page.wait_for_status(words)
    assert page.focus == PRESS and page.run("document.activeElement.ariaDisabled") == "false"
    server.broken, server.changes = {}, {}
    if name == "pyodide.asm.wasm":
        browser.press("Enter")
        assert page.wait_for_verdict()["kind"] == "passed"
    browser.complaints.clear()


@pytest.mark.parametrize(
    "without, words",
    [
        ("delete window.WebAssembly", "This browser runs no WebAssembly"),
        ("Object.defineProperty(crypto, 'subtle', {value: undefined})", "only on https"),
    ],
)
def test_what_a_browser_lacks_is_a_sentence(browser, server, without, words):
    page = Page(browser, server.address + "index.html").open()
    page.run(without)
    page.press()
    page.wait_for_status(words)


def test_our_own_scripts_and_styles_are_small():
    sizes = {path.name: path.stat().st_size for path in (ROOT / "docs" / "live").glob("*.[cj]s*")}
    del sizes["engine.json"]
    assert len(sizes) > 5 and sum(sizes.values()) <= 40_000, sizes


@pytest.mark.parametrize("number, ground", [(0, "#f2f2f2"), (1, "#202020")])  # light and dark
def test_what_is_coloured_has_the_contrast_of_text(number, ground):
    style = (ROOT / "docs" / "live" / "live.css").read_text(encoding="utf-8")
    pairs = re.findall(r"--live-(\w+): light-dark\((#\w{6}), (#\w{6})\)", style)
    named = {name: both[number] for name, *both in pairs}
    marked = named.pop("marked")
    assert len(named) == 7
    for name, colour in named.items():
        assert min(contrast(colour, ground), contrast(colour, marked)) >= 4.5, name


def contrast(*colours):
    """That of two colours, by WCAG."""
    light = []
    for colour in colours:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        light.append(0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2] + 0.05)
    return max(light) / min(light)


def test_a_pinned_file_that_is_missing_or_another_one_is_refused(site, tmp_path):
    """When the site is built with a folder of the engine."""
    from tests.course.live.conftest import live_files

    assert json.loads((site / "live" / "settings.json").read_text())["address"] == "pyodide/"
    (tmp_path / "given").mkdir()
    for name in live_files.FILES:
        (tmp_path / "given" / name).write_bytes(b"another")
    with pytest.raises(live_files.InputError, match="is not the file at https://cdn"):
        live_files.copy_engine(tmp_path / "given", tmp_path / "copy")
    (tmp_path / "given" / name).unlink()
    for kept in {*live_files.FILES} - {name}:
        shutil.copy(site / "live" / "pyodide" / kept, tmp_path / "given")
    with pytest.raises(live_files.InputError, match=f"has no {name}; docs/live.md says"):
        live_files.copy_engine(tmp_path / "given", tmp_path / "another")
