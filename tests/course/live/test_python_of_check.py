"""A reader's file as a page shows it: the verdict is the checker's, and a line is marked."""

import linecache

import pytest

import minitransformer
from minitransformer import checking
from minitransformer_course import messages
from minitransformer_course.live.check import begin, check
from tests import ROOT
from tests.helpers.documents import blocks

RIGHT, WRONG = blocks(ROOT / "README.md", "python")[:2]
TANH = """import numpy as np
from minitransformer.checking import gradcheck

def forward(x):
    y = np.tanh(x)
    return y, y

def backward(dy, y):
    return dy * (1 - y)

gradcheck((forward, backward), [np.random.default_rng(0).standard_normal((2, 3))])
"""


@pytest.fixture
def seen(tmp_path, monkeypatch):
    """seen(code): what is seen of that code."""
    monkeypatch.chdir(tmp_path)
    return check


def test_a_right_layer_passes_with_its_report(seen):
    found = seen(RIGHT)
    assert found["passed"] and found["line"] == 0 and not found["stopped"]
    assert found["said"][0].startswith("all 2 checks passed")
    assert "MeanOverTokens  x " in found["printed"]


@pytest.mark.parametrize("code, line, said", [(WRONG, 6, "(B = 2)"), (TANH, 9, "is not squared")])
def test_a_wrong_one_has_the_doctors_sentence_and_a_line(seen, code, line, said):
    """The line that the sentence quotes, or else the beginning of the backward."""
    found = seen(code)
    assert found["passed"] is False and found["line"] == line
    assert said in "".join(found["said"]) and "FAILED" in found["said"][-1]


def test_a_page_in_korean_has_its_report_in_korean(seen, monkeypatch):
    monkeypatch.setattr(messages, "_chosen", [])
    begin("ko")
    found = seen(WRONG)
    assert found["line"] == 6 and "배치 크기(B = 2)" in "".join(found["said"])
    assert "통과하지 못했습니다(FAILED)" in found["said"][-1]
    assert seen(RIGHT)["said"][0].startswith("검사 2개를 모두 통과했습니다")


def test_one_failed_check_is_the_verdict_of_several(seen):
    assert seen(f"{WRONG}\n{RIGHT}")["passed"] is False


@pytest.mark.parametrize(
    "code, line, said",
    [
        ("def f():\n    return 1 / 0\n\nf()\n", 2, "ZeroDivisionError: division by zero"),
        ("x = (\n", 1, "SyntaxError: '(' was never closed"),
        ("\nimport numpy as np\nnp.zeros(3).reshape(2)\n", 3, "ValueError: cannot reshape"),
        ("import sys\nsys.exit('no')\n", 2, "SystemExit: no"),
    ],
)
def test_an_error_is_shown_from_the_readers_file_on(seen, code, line, said):
    found = seen(f"{code}\n")
    assert found["passed"] is None and found["line"] == line and found["said"][0].startswith(said)
    assert "runpy" not in found["printed"] and "check.py" not in found["printed"]


def test_what_was_printed_before_an_error_is_kept(seen):
    assert seen("print('before')\n1 / 0\n")["printed"].startswith("before\nTraceback")


def test_an_interrupt_is_told_from_an_error(seen):
    found = seen("x = 1\nraise KeyboardInterrupt\n")
    assert found["stopped"] and found["line"] == 2


def test_nothing_checked_is_no_verdict(seen):
    assert seen("print(1)\n") == {
        "passed": None, "said": [], "printed": "1", "line": 0, "stopped": False
    }  # fmt: skip


def test_a_file_that_changed_is_read_again(seen, monkeypatch):
    """Though it is as long as before, and no older for the coarse clock of a page."""
    monkeypatch.setattr(linecache, "checkcache", lambda *_: None)
    assert seen("x = 1\n1 / 0\n")["printed"].count("1 / 0") == 1
    assert "2 / 0" in seen("x = 1\n2 / 0\n")["printed"]


def test_afterwards_gradcheck_is_the_librarys(seen):
    before = checking.gradcheck
    seen(RIGHT), seen("1 / 0\n")
    assert checking.gradcheck is before is minitransformer.gradcheck
