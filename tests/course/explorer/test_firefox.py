"""The page in Firefox, with keys alone: it fits, a number says where it came from, the tour moves,
mistakes turn boxes red.
"""

import pytest

from tests.course.explorer.pages import HELPERS, MAP, WHY, loss_of, of_word, overlaps
from tests.helpers.browser import Browser

pytestmark = [pytest.mark.slow, pytest.mark.campaign]

FOCUS = "(one => [one.getAttribute('aria-label') || one.id || one.textContent, one.className])(document.activeElement)"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    browser = Browser(path.parent, "firefox")
    path.write_text(of_word().html, encoding="utf-8")
    browser.open(path.as_uri())  # whose tour begins
    yield browser
    browser.close()


def tab_to(page, name):
    """Presses Tab until an element has the focus whose name begins with `name`."""
    for _ in range(120):
        page.press("Tab")
        label, style = page.run(FOCUS)
        if label.startswith(name) or name in str(style).split():
            return label
    raise AssertionError(f"no way to {name} with the Tab key")


def test_the_first_visit_begins_with_the_tour(page):
    assert page.run("find('told').textContent").startswith("Your text, “backward”, goes in")
    page.press("ArrowRight")
    assert page.run("find('which').textContent") == "2 of 8"
    page.press("Escape")
    assert not page.run("find('tour').checkVisibility()")


def test_the_map_fits(page):
    page.screen(1280, 800)
    assert page.run("[innerWidth, innerHeight]") == [1280, 800]
    page.run("find('gradients').click()")
    found = page.run(MAP)
    for i, one in enumerate(found["boxes"]):
        assert min(one) >= 0 and one[2] <= 1280 and one[3] <= 800
        assert not [
            other
            for other in [*found["boxes"][:i], found["breaks"], *found["zoom"]]
            if overlaps(one, other)
        ]
    for text, *place, size in found["texts"]:
        assert size >= 11 and not [
            picture for picture in found["pictures"] if overlaps(place, picture)
        ], text
    page.run("find('values').click()")


def test_keys_alone_open_a_box_explain_a_number_and_walk_on(page):
    page.run(HELPERS + WHY + "find('source').focus()")
    tab_to(page, "Softmax, decoder")
    page.press("Enter")
    assert page.run("find('open').querySelector('h2').textContent") == "Softmax"
    tab_to(page, "p, head 0")
    page.press("ArrowDown", "ArrowRight", "ArrowRight", "Enter")
    assert page.run("why()").endswith(")") and " = 1 / (e^" in page.run("why()")
    tab_to(page, "factor")
    page.press("Enter")
    assert page.run("find('open').querySelector('h2').textContent").startswith("Scores")
    assert page.run("document.activeElement.id") == "back"
    page.press("Enter")
    assert page.run("find('open').querySelector('h2').textContent") == "Softmax"


def test_keys_alone_break_it_and_change_the_text(page):
    page.run("find('source').focus()")
    tab_to(page, "mistake-mask")
    page.press("Space")
    assert page.run("red().length") > 10 and page.run("find('red').textContent").startswith("✗")
    page.press("Space")
    page.run("find('source').select(); find('source').focus()")
    page.press(*"hello", "Enter")
    assert page.run("red().length") == 0
    loss = page.run("state.numbers.loss")
    assert loss == pytest.approx(loss_of("hello", "drawkcab"), rel=1e-5)
