"""The page "Your Transformer" in Chromium: what passed in this browser runs in a model, which learns,
is tried, and becomes a page for a friend.
"""

import base64
import json

import pytest

from minitransformer_course.judge.course import find_exercise
from tests.course.live.page import ANSWER, GONE_ON, KEPT, READ, SAID, STEP, Page, press, to

pytestmark = [pytest.mark.slow, pytest.mark.campaign]


@pytest.fixture
def page(browser, server):
    browser.screen(390, 844, "dark")
    page = Page(browser, server.address + "yours.html").open()
    page.run("localStorage.clear()")
    return page


def begin(page):
    page.press()
    page.wait_until("document.querySelector('.live-press').hidden")
    page.run(KEPT)
    page.browser.press("Enter")


def test_without_a_function_that_passed_it_says_where_to_begin(page):
    begin(page)
    page.wait_until(f"{SAID}.includes('Chapter 4 is a good place to begin')")


def test_what_passed_runs_in_a_model_for_a_friend(page):
    for name in ("softmax", "layer_norm"):
        text = find_exercise(name).source
        entry = json.dumps(json.dumps({"text": text, "passed": text}))
        page.run(f"localStorage.setItem('minitransformer/{name}', {entry})")
    begin(page)
    page.wait_until(f"{STEP}.startsWith('Step ')", seconds=120)
    assert "2 of 17 functions of this model are yours" in page.run(SAID)
    press(page, "stop")
    page.wait_until(GONE_ON)
    to(page, "given")
    page.browser.press("Control+a")
    page.browser.type("fed")
    page.browser.press("Enter")
    page.wait_until(f"{ANSWER}.startsWith('fed → ')")
    press(page, "download")
    page.wait_until("window.given?.type === 'text/html'", seconds=120)
    given = base64.b64decode(page.run(READ)).decode()
    assert "My Transformer" in given and "2 of 17 functions of this model" in given
    assert page.run("document.documentElement.scrollWidth") <= 390
    # the map's picture is not on this small site
    assert all("404" in complaint for complaint in page.browser.complaints)
