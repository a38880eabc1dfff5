"""The page's engine computes what the library computes: the loss, every layer's value and gradient, every parameter's gradient."""

import pytest

from minitransformer.explore.page import ENGINE, PAGE, script
from tests.explore.engine import blank_page, differences, random_case


@pytest.fixture(scope="module")
def engine(browser, tmp_path_factory):
    browser.open(blank_page(tmp_path_factory.mktemp("engine")).as_uri())
    return browser


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.campaign) for seed in range(8, 50))])
def test_the_engine_agrees_with_the_library(engine, seed):
    found = differences(engine, *random_case(seed))
    assert max(found.values()) < 1e-9, max(found.items(), key=lambda item: item[1])


def test_the_engine_and_the_page_are_small():
    lines = [sum(len(script(name).splitlines()) for name in names) for names in (ENGINE, PAGE)]
    lines[1] += sum(len(script("page/page", suffix).splitlines()) for suffix in (".html", ".css"))
    assert lines[0] <= 600 and lines[1] <= 1200
    assert max(len(line) for name in (*ENGINE, *PAGE) for line in script(name).splitlines()) <= 132
