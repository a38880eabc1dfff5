"""One browser for all tests of the explorer."""

import pytest

from tests import chromium
from tests.library.cli.conftest import *    # noqa: F403 - fixtures: runs of the library


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    if chromium.find() is None:
        pytest.skip("no Chromium in the PATH")
    browser = chromium.Chromium(tmp_path_factory.getbasetemp())
    yield browser
    browser.close()
    assert not browser.complaints and not browser.refused
