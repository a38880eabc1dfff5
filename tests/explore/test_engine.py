"""The page's engine computes what the library computes: the loss, every layer's value and gradient, every parameter's gradient."""

import pytest

from tests import chromium
from tests.explore.engine import blank_page, differences, random_case

pytestmark = pytest.mark.skipif(chromium.find() is None, reason="no Chromium in the PATH")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    folder = tmp_path_factory.mktemp("engine")
    browser = chromium.Chromium(folder)
    browser.open(blank_page(folder).as_uri())
    yield browser
    assert not browser.complaints and not browser.refused
    browser.close()


@pytest.mark.parametrize("seed", range(8))
def test_the_engine_agrees_with_the_library(browser, seed):
    found = differences(browser, *random_case(seed))
    assert max(found.values()) < 1e-9, max(found.items(), key=lambda item: item[1])
