"""The page in Firefox, with keys alone: it fits, a number says where it came from, the tour moves,
mistakes turn boxes red.
"""

import pytest

from tests.course.explorer import firefox
from tests.course.explorer.pages import HELPERS, MAP, WHY, loss_of, of_word, overlaps

pytestmark = [
    pytest.mark.slow,
    pytest.mark.campaign,
    pytest.mark.skipif(firefox.find() is None, reason="no Firefox in the PATH"),
]

TAB, ENTER, RIGHT, DOWN, SPACE = "\ue004", "\ue007", "\ue014", "\ue015", " "
FOCUS = "(one => [one.getAttribute('aria-label') || one.id || one.textContent, one.className])(document.activeElement)"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    browser, path = firefox.Firefox(), tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(of_word().html, encoding="utf-8")
    browser.open(path.as_uri())  # whose tour begins
    yield browser
    browser.close()


def tab_to(page, name):
    """Presses Tab until an element has the focus whose name begins with `name`."""
    for _ in range(120):
        page.press(TAB)
        label, style = page.run(FOCUS)
        if label.startswith(name) or name in str(style).split():
            return label
    raise AssertionError(f"no way to {name} with the Tab key")


def test_the_first_visit_begins_with_the_tour(page):
    assert page.run("find('told').textContent").startswith("Your text, “backward”, goes in")
    page.press(RIGHT)
    assert page.run("find('which').textContent") == "2 of 8"
    page.press("\ue00c")
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
    page.press(ENTER)
    assert page.run("find('open').querySelector('h2').textContent") == "Softmax"
    tab_to(page, "p, head 0")
    page.press(DOWN, RIGHT, RIGHT, ENTER)
    assert page.run("why()").endswith(")") and " = 1 / (e^" in page.run("why()")
    tab_to(page, "factor")
    page.press(ENTER)
    assert page.run("find('open').querySelector('h2').textContent").startswith("Scores")
    assert page.run("document.activeElement.id") == "back"
    page.press(ENTER)
    assert page.run("find('open').querySelector('h2').textContent") == "Softmax"


def test_keys_alone_break_it_and_change_the_text(page):
    page.run("find('source').focus()")
    tab_to(page, "mistake-mask")
    page.press(SPACE)
    assert page.run("red().length") > 10 and page.run("find('red').textContent").startswith("✗")
    page.press(SPACE)
    page.run("find('source').select(); find('source').focus()")
    page.press(*"hello", ENTER)
    assert page.run("red().length") == 0
    loss = page.run("state.numbers.loss")
    assert loss == pytest.approx(loss_of("hello", "drawkcab"), rel=1e-5)
