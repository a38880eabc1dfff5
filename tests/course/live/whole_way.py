"""The way through a chapter's page by the keyboard alone, from the press to a solved exercise."""

from tests.course.live.page import EXERCISE, RIGHT

WRONG = "def softmax_backward(dp, p):\n    return p * (1 - p) * dp\n"
CELL = "document.querySelectorAll('div.cell')[0]"
HERE = "{place}.contains(document.activeElement) && document.activeElement.matches('.cm-content')"
OUTPUT = f"{CELL}.querySelector('.cell_output').textContent"
BELOW = f"{EXERCISE}.nextElementSibling.getBoundingClientRect().top + scrollY"
MARKUP = "<img src=x onerror=ran=1><script>ran=1</script>"


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
    page.browser.press("Control+a")
    page.browser.type(code)


def whole_way(page, said):
    page.tab_to(page.run("document.querySelector('.live-press').textContent"))
    page.browser.press("Enter")
    page.wait_until("document.querySelector('.live-press').hidden")
    assert page.status == said["started"]
    tab_into(page, CELL)
    write(page, f"print({MARKUP!r})\n6 * 7")
    page.work("Control+Enter")
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
    page.work("Control+Enter")
    assert page.run(BELOW) == before and page.focus == "editor"


def tab_back(page):
    for _ in range(6):
        page.browser.press("Shift+Tab")
        if page.run(HERE.format(place=EXERCISE)):
            return
    raise AssertionError("Shift+Tab does not lead back into the editor")
