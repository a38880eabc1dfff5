""""Who is right?": the reader writes a test, and the judge runs it on right and wrong versions of a change."""

import pytest

from minitransformer_course import lab
from minitransformer_course.judge.course import exercises
from minitransformer_course.judge.judgement import check_function
from tests.course.judge.conftest import solve

pytestmark = pytest.mark.slow

TESTS = {name: one for name, one in exercises().items() if one.versions}


@pytest.mark.parametrize("name", TESTS)
def test_the_reference_tells_right_versions_from_wrong_ones(name, capsys):
    exercise = TESTS[name]
    lab.verdicts(exercise.reference)
    said = [line.split()[0] == "passes" for line in capsys.readouterr().out.splitlines()]
    assert said == [one.right for one in exercise.versions]
    assert 2 <= sum(said) < len(said) - 2    # a right one that is not shown, too


def test_a_version_that_is_misjudged_is_told():
    answer = check_function(TESTS["test_context"], lambda encode: True, watched=False)
    assert "yours True, expected False (the code before the change" in answer.where
    assert answer.why == "a wrong version passes your test"
    answer = check_function(TESTS["test_context"], lambda encode: False, watched=False)
    assert "yours False, expected True (the code after the change" in answer.where
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
            (ASSERTS.replace("    q =", "    smoothed = smoothed.before\n    q ="), 1, "AttributeError")):
        solve(path, "test_smoothing", source)
        found, out, error = learn("check", "test_smoothing")
        assert found == code and words in out, out + error
