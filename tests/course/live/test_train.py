"""The page "Train" in Chromium, by the keyboard alone: a curve that moves, a model that is tried
while it learns, a run that stops, goes on, and is taken along.
"""

import base64
import io
import json
import re
import zipfile

import pytest

from minitransformer import Run
from minitransformer.runs import checkpoint
from tests.course.live.page import (
    ANSWER,
    GONE_ON,
    KEPT,
    PLACE,
    READ,
    SAID,
    STEP,
    Page,
    press,
    to,
)

pytestmark = [pytest.mark.slow, pytest.mark.campaign]

POINTS = 'document.querySelector(".live-curve polyline").getAttribute("points")'
EXPLORED = """new Promise(done => {    // in a frame, where the page's policy holds as in a new tab
    const frame = document.body.appendChild(document.createElement("iframe"));
    frame.onload = () => {
        const shown = frame.contentDocument;
        done([shown.title, shown.querySelector("#loss").textContent]);
        frame.remove();
    };
    frame.src = document.activeElement.href;
})"""


@pytest.fixture(scope="module")
def page(browser, server):
    """A page in which Python runs, and trains."""
    browser.screen(1280, 800, "light")
    page = Page(browser, server.address + "train.html").open()
    page.press()
    page.wait_until("document.querySelector('.live-press').hidden")
    assert page.run(PLACE) == "check"
    page.run(KEPT)
    browser.press("Enter")
    page.wait_until(f"{STEP}.startsWith('Step ')")
    return page


def step_of(page):
    return int(re.match(r"Step (\d+) of 350: loss \d\.\d{3}", page.run(STEP))[1])


def stop(page):
    press(page, "stop")
    page.wait_until(GONE_ON)


def test_the_curve_moves_while_it_trains(page):
    for _ in range(3):
        before = page.run(POINTS)
        page.wait_until(f"{POINTS} !== {json.dumps(before)}")
    label = page.run("document.querySelector('.live-curve svg').ariaLabel")
    assert label == page.run(STEP) and page.run(SAID) == "235,328 weights, 350 steps."


def test_the_model_is_tried_while_it_trains(page):
    to(page, "given")
    page.browser.press("Control+a")
    page.browser.type("fed")
    page.browser.press("Enter")
    page.wait_until(f"{ANSWER}.startsWith('fed → ')")
    before = step_of(page)
    page.wait_until(f"parseInt({STEP}.slice(5)) > {before}")


def test_it_stops_and_goes_on(page):
    stop(page)
    assert page.run(SAID) == "Stopped. It can go on from here."
    before = step_of(page)
    press(page, "on")
    page.wait_until(f"parseInt({STEP}.slice(5)) > {before}")
    stop(page)
    assert before < step_of(page) < before + 20


def test_the_explorer_opens_on_the_model_under_the_page_s_policy(page):
    press(page, "explore")
    page.wait_until(f"{ANSWER}.startsWith('Open the explorer')")
    title, loss = page.run(EXPLORED)
    assert title == "copy" and re.search(r"\d\.\d", loss) and not page.browser.complaints


def test_the_browser_asks_before_a_run_is_lost_and_the_download_is_a_run(page, tmp_path):
    stop(page)
    step = step_of(page)
    press(page, "download")
    page.wait_until("window.given?.type === 'application/zip'")
    given = base64.b64decode(page.run(READ))
    zipfile.ZipFile(io.BytesIO(given)).extractall(tmp_path)
    run = Run.load(tmp_path / "copy")
    assert checkpoint.steps(run.path)[0] == step and run.settings.training.steps == 350
    page.browser.asked.clear()
    press(page, "on")
    page.wait_until(f"parseInt({STEP}.slice(5)) > {step}")
    page.browser.open("about:blank")
    assert page.browser.asked == ["beforeunload"]


@pytest.mark.parametrize("screen", [(1280, 800, "dark"), (390, 844, "light")])
def test_a_text_that_is_too_short_is_a_sentence_and_one_of_hangul_trains(browser, server, screen):
    """Nothing is wider than the screen."""
    browser.screen(*screen)
    page = Page(browser, server.address + "train.html").open()
    page.press()
    page.wait_until("document.querySelector('.live-press').hidden")
    to(page, "task")
    page.browser.press("g")  # the task that begins with it
    to(page, "text")
    page.browser.type("짧다")
    press(page, "check")
    page.wait_until(f"{SAID}.includes('your text has 2 characters')")
    assert page.run("document.querySelector('.live').dataset.verdict") == "error"
    to(page, "text")
    page.browser.type("동해물과 백두산이 마르고 닳도록 " * 600)
    press(page, "check")
    page.wait_until(f"{STEP}.startsWith('Step ')")
    stop(page)
    to(page, "given")
    page.browser.press("Control+a")
    page.browser.type("백두산")
    page.browser.press("Enter")
    page.wait_until(f"{ANSWER}.startsWith('백두산 → ')")
    assert page.run("document.documentElement.scrollWidth") <= screen[0]


def test_copy_is_learned_in_the_page(browser, server):
    """To at least 99 % of the words that it never saw: minutes on an idle machine."""
    page = Page(browser, server.address + "train.html").open()
    page.press()
    page.wait_until("document.querySelector('.live-press').hidden")
    browser.press("Enter")
    page.wait_until("document.querySelector('.live').dataset.verdict === 'passed'", seconds=1200)
    share = re.search(r"(\d+\.\d)% of its answers", page.run(SAID))
    assert float(share[1]) >= 99
    press(page, "given")
    page.wait_until(f"{ANSWER} === 'cab → cab'")
