"""One verdict: the last line, `.passed`, `raise_if_failed`, the exit code and the table agree."""

import numpy as np
import pytest

from minitransformer import gradcheck
from minitransformer.checking.report import OBSERVED, Finding, Report, Result
from minitransformer.cli import main

pytestmark = pytest.mark.usefixtures("without_the_doctor")
X = np.random.default_rng(3).standard_normal((2, 3, 5))
square = lambda x: (x * x, x)
BACKWARDS = {
    "right": lambda dy, x: 2 * x * dy,
    "wrong": lambda dy, x: x * dy,
    "wrong at another batch size": lambda dy, x: len(x) * x * dy,
    "wrong at other values": lambda dy, x: 2 * x * dy + (x != X) * (len(x) == 2),
    "not finite": lambda dy, x: np.nan * dy,
    "of another shape": lambda dy, x: dy[0],
    "an error": lambda dy, x: dy @ x,
    "twice": lambda dy, x: np.multiply(dy, 2 * x, out=dy),
    "a remark": lambda dy, x: np.float64(2) * x * dy,
}


def raises(report):
    try:
        report.raise_if_failed()
    except AssertionError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("backward", BACKWARDS.values(), ids=BACKWARDS)
def test_all_say_the_same(backward, monkeypatch, capsys):
    report = gradcheck((square, backward), [X], name="it")
    last = str(report).splitlines()[-1]
    assert report.passed == (backward in (BACKWARDS["right"], BACKWARDS["a remark"]))
    assert report.passed == ("FAILED" not in last) == last.startswith("all 2 checks passed")
    assert bool(report.remarks) == (backward is BACKWARDS["a remark"])
    assert report.passed == (not raises(report))
    assert report.passed or raises(report).splitlines()[-1] == last
    assert report.passed or report.findings
    failed = [line for line in str(report).splitlines() if line.endswith("FAILED")][:-1]
    assert not (report.passed and failed)
    monkeypatch.setattr(
        "minitransformer.cli.gradcheck.blocks",
        lambda seed, zoo=True: {"it": ((square, backward), [X])},
    )
    assert main(["gradcheck", "it"]) == (not report.passed)
    assert capsys.readouterr().out.splitlines()[-1] == last


@pytest.mark.parametrize(
    "rows, findings, verdict",
    [
        ("", "", "nothing was checked"),
        ("", "a", "nothing was checked, 1 finding: FAILED"),
        ("a", "", "all 1 checks passed"),
        ("ab", "a", "2 checks passed, 1 finding: FAILED"),
        ("ab", "ab", "2 checks passed, 2 findings: FAILED"),
        ("aB", "B", "1 of 2 checks FAILED"),
        ("aB", "aB", "1 of 2 checks FAILED, 1 finding"),
    ],
)
def test_what_is_found_beside_the_table_is_counted(rows, findings, verdict):
    report = Report(
        [Result(name, "x", "complex", float(name.isupper()), None, 1, 1) for name in rows],
        {name: Finding(OBSERVED, "wrong") for name in findings},
    )
    assert report.verdict == verdict
    assert report.conclusions[-1].startswith(verdict)
    assert report.passed == ("FAILED" not in verdict)


def test_a_remark_that_many_blocks_share_is_one_line():
    said = tuple(f"{name}: not tried" for name in "abcde")
    assert Report([], {}, (*said, "f: tried")).conclusions == [
        "a, b, c and 2 more: not tried",
        "f: tried",
        "nothing was checked",
    ]
