"""One browser for all tests of the explorer."""

import pytest

from tests.helpers.browser import Browser
from tests.helpers.trained_runs import *  # noqa: F403 - fixtures: runs of the library
from tests.course.explorer.pages import HELPERS


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.getbasetemp())
    yield browser
    browser.close()
    assert not browser.complaints and not browser.refused


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory):
    """opened(page) opens a Page in the browser, which is returned."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "seen.html").write_text(
        "<!DOCTYPE html><script>localStorage.setItem('minitransformer: tour', 'seen')</script>"
    )
    browser.open((folder / "seen.html").as_uri())  # otherwise the first page would begin its tour

    def open_page(page, name="page.html", screen=(1280, 800, "light")):
        browser.screen(*screen)
        (folder / name).write_text(page.html, encoding="utf-8")
        browser.open((folder / name).as_uri())
        browser.run("typeof find === 'function'") and browser.run(HELPERS)
        return browser

    return open_page
