""" "Who is right?": the reader writes a test, and the judge runs it on right and wrong versions of
a change.
"""

import re

import numpy as np
import pytest

from minitransformer import gradcheck
from minitransformer_course import lab
from minitransformer_course.judge.course import exercises
from minitransformer_course.judge.fixtures import VersionUnderTest
from minitransformer_course.judge.judgement import check_function
from tests.helpers.learner import solve

pytestmark = pytest.mark.slow

TESTS = {name: one for name, one in exercises().items() if one.versions}


@pytest.mark.parametrize("name", TESTS)
def test_the_reference_tells_right_versions_from_wrong_ones(name, capsys):
    exercise = TESTS[name]
    lab.verdicts(exercise.reference)
    said = [line.split()[0] == "passes" for line in capsys.readouterr().out.splitlines()]
    assert said == [one.right for one in exercise.versions]
    assert 2 <= sum(said) < len(said) - 2  # a right one that is not shown, too


def test_a_version_that_is_misjudged_is_told():
    answer = check_function(TESTS["test_smoothing"], lambda smoothed: True, watched=False)
    assert "yours True, expected False (the code after the change" in answer.where
    assert answer.why == "a wrong version passes your test"
    answer = check_function(TESTS["test_smoothing"], lambda smoothed: False, watched=False)
    assert "yours False, expected True (the code before the change" in answer.where
    assert answer.why == "a correct version fails your test"


ASSERTS = """def test_smoothing(smoothed):
    q = smoothed(np.array([1, 3]), 4, 0.2)
    assert abs(q.sum(axis=1) - 1).max() < 1e-9
    assert q.max() < 0.99
# end of your code
"""


@pytest.mark.campaign
def test_a_test_may_assert_as_pytest_does(learn, tmp_path):
    learn("start", "10")
    path = tmp_path / "10_loss.py"
    for source, code, words in (
        (ASSERTS, 0, "passed"),
        (ASSERTS.replace("    assert q.max() < 0.99\n", ""), 1, "fails only wrong sums"),
        (ASSERTS.replace("    assert", "    q.sum(axis=1) - 1,"), 1, "passes every version"),
        (ASSERTS.replace("q.max() < 0.99", "q.shape[7]"), 1, "IndexError"),
        (
            ASSERTS.replace("    q =", "    smoothed = smoothed.before\n    q ="),
            1,
            "AttributeError",
        ),
    ):
        solve(path, "test_smoothing", source)
        found, out, error = learn("check", "test_smoothing", "--likely")
        assert found == code and words in out, out + error


FAULT = TESTS["find_fault"]


def said(function):
    return str(check_function(FAULT, function, watched=False))


@pytest.mark.parametrize("line", [3, 18])
def test_the_line_of_a_broken_program_is_asked_for_and_never_told(line):
    answer = said(lambda step: (FAULT.reference(step)[0], line))
    assert (
        f"line: {line} is not the one" in answer
        and "your test passes every correct version" in answer
    )
    assert "LIKELY" not in answer and " 4" not in answer
    answer = said(
        lambda step: (True, line)
    )  # the test comes first: lines cannot be tried one by one without a right one
    assert (
        "verdict: yours True, expected False (the step that you were given)" in answer
        and "passes every version" in answer
    )
    assert f" {line} " not in answer and " 4" not in answer
    answer = said(
        lambda step: (FAULT.module.only_w(step)[0], line)
    )  # right about the first step, and not about a later one
    assert (
        "verdict: yours True, expected False (a token that occurs twice" in answer
        and "at W alone" in answer
    )


def test_the_right_line_alone_does_not_pass():
    for wrong in FAULT.mistakes:
        assert wrong.wrong(VersionUnderTest(FAULT.versions[0].function))[1] == 4
        assert wrong.sentence in said(wrong.wrong)
    assert "expected verdict, line" in said(lambda step: FAULT.reference(step)[0])
    for other in (None, "y = np.add(x, h, out=x)", (4,)):
        assert "end with `return verdict, line`" in said(
            lambda step, other=other: (FAULT.reference(step)[0], other)
        )
    assert "passed" in said(lambda step: [*FAULT.reference(step)])


def test_a_failed_assert_keeps_the_line_that_the_other_calls_return():
    def asserts(step, line=4, fails=False):
        assert FAULT.reference(step)[0] and not fails
        return True, line

    assert "find_fault: passed" in said(asserts)
    assert "line: 3 is not the one" in said(lambda step: asserts(step, line=3))
    assert "expected verdict, line" in said(lambda step: asserts(step, fails=True))


@pytest.mark.parametrize("version", FAULT.versions, ids=lambda one: one.function.__name__)
def test_the_loss_of_every_version_is_right(version):
    """So a test of the loss alone says nothing, and one of the moves alone is enough."""
    rng = np.random.default_rng(0)
    given = [rng.standard_normal((6, 4)), rng.standard_normal((4, 4)), rng.standard_normal(4)]
    given += [rng.integers(0, 6, 9), rng.integers(0, 6, 9), 0.1]
    kept = [np.copy(one) for one in given]
    right = VersionUnderTest(next(one.function for one in FAULT.versions if one.right))
    *moved, loss = VersionUnderTest(version.function)(*given)
    *expected, same = right(*given)
    assert abs(loss - same) < 1e-12
    assert version.right == all(
        np.allclose(one, other, rtol=1e-9) for one, other in zip(moved, expected)
    )
    assert all(np.array_equal(now, before) for now, before in zip(given, kept))


def test_gradcheck_finds_the_array_and_the_line_mends_it(capsys):
    """The code in the derivation, which is not run on the site; gradcheck does not name the mistake
    either.
    """
    shown = re.search(
        r"```python\n(.*?)```",
        "\n".join(cell.source for cell in FAULT.chapter.derivation(FAULT)),
        re.DOTALL,
    )[1]
    for mend, words in (
        (str, "no mistake is proven; wrong: W; right: E, b\n"),
        (lambda source: source.replace("y = np.add(x, h, out=x)", "y = x + h"), "passed"),
    ):
        exec(mend(FAULT.source) + shown, {"np": np, "gradcheck": gradcheck, "__name__": "page"})
        assert words in capsys.readouterr().out


@pytest.mark.campaign
def test_a_reader_is_told_what_is_missing(learn, tmp_path):
    learn("start", "11")
    path = tmp_path / "11_learning.py"
    code, out, error = learn("check", "find_fault")
    assert code == 1 and "where you begin" in out
    solve(
        path,
        "find_fault",
        """def find_fault(step):
    from minitransformer import gradcheck
# end of your code
""",
    )
    code, out, error = learn("check", "find_fault")
    assert code == 1 and "NumPy alone" in out, out + error
    solve(path, "find_fault")
    code, out, error = learn("check", "find_fault")
    assert code == 0 and "find_fault: passed" in out, out + error
