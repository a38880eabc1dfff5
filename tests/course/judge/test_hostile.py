"""Solutions that would talk the judge round: none passes, none stops it, and each is told what it
does.
"""

import os
import stat
import subprocess
import sys

import numpy as np
import pytest

from minitransformer_course import limits
from minitransformer_course.judge.course import exercises, find_exercise
from minitransformer_course.judge.judge_file import grade
from minitransformer_course.judge.judgement import check_function

pytestmark = pytest.mark.campaign

REFERENCE = find_exercise("softmax_backward").source.replace("import numpy as np\n", "")
HEAD = "import math\nimport numpy as np\n"
RIGHT = "p * (dp - (dp * p).sum(axis=-1, keepdims=True))"
FUNCTION = "def softmax_backward(dp, p):\n    "
HOSTILE = {  # what it does: (the file, the stage, words of the answer)
    "imports it in the function": (
        FUNCTION + "from minitransformer.functional import softmax_backward as f; return f(dp, p)",
        "own",
        "line 4: from minitransformer.functional",
    ),
    "imports it at the top": (
        "from minitransformer.functional import softmax_backward\n",
        "own",
        "it imports minitransformer",
    ),
    "imports it by importlib": (
        FUNCTION
        + "import importlib; importlib.import_module('minitransformer.functional'); return p",
        "own",
        "it imports minitransformer",
    ),
    "has no other answer": (
        FUNCTION
        + "try:\n        import minitransformer\n    except ImportError:\n        return p",
        "invariants",
        "must sum to 0",
    ),
    "borrows from another library": (
        "from scipy.special import softmax\n" + FUNCTION + "return softmax(p)",
        "own",
        "it imports scipy",
    ),
    "keeps its answers by shape": (
        "kept = {}\n" + FUNCTION + f"return kept.setdefault(p.shape, {RIGHT}).copy()",
        "repeats",
        "it keeps its answer for these shapes",
    ),
    "adds up over the calls": (
        "total = {}\n"
        + FUNCTION
        + f"total[p.shape, p.dtype] = total.get((p.shape, p.dtype), 0) + {RIGHT}\n"
        "    return total[p.shape, p.dtype].copy()",
        "repeats",
        "it adds up over the calls: begin with zeros in each call",
    ),
    "is random": (
        FUNCTION + f"return {RIGHT} * (1 + 1e-6 * np.random.rand())",
        "repeats",
        "the same numbers give another answer",
    ),
    "allocates 38 GB": (
        FUNCTION + "x = np.ones((70_000, 70_000)); return p",
        "runs",
        "MemoryError: Unable to allocate",
    ),
    "returns 38 GB": (
        FUNCTION + "return np.broadcast_to(p.flat[0], (70_000, 70_000))",
        "shape",
        "array of shape (70000, 70000)",
    ),
    "writes more than a disk holds": (
        FUNCTION + "import tempfile\n    with tempfile.TemporaryFile() as file:\n"
        "        file.truncate(10 ** 11)\n    return p",
        "runs",
        "File too large",
    ),
    "replaces what the judge compares with": (
        FUNCTION
        + "np.array_equal = np.allclose = lambda *a, **k: True; np.abs = lambda x: 0 * x; return p",
        "invariants",
        "sum to 0",
    ),
}
LIMITED = ("allocates", "writes")


@pytest.mark.parametrize("graded", [False, True], ids=["checked", "graded"])
@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_solution_does_not_pass(judged, what, graded):
    source, stage, words = HOSTILE[what]
    if what.startswith(LIMITED) and not sys.platform.startswith("linux"):
        pytest.skip("the system does not limit it")
    answer = judged(HEAD + source, ["softmax_backward"], limit=60, graded=graded)
    assert not answer.passed and answer.stage == stage and words in str(answer), answer
    assert len(str(answer).splitlines()) <= 8


def test_numpy_that_is_replaced_by_a_file_is_told(tmp_path):
    (tmp_path / "mine.py").write_text(
        HEAD + "np.allclose = lambda *a: True\n" + FUNCTION + "return np.copy(p)"
    )
    (student,) = grade(tmp_path)
    assert not student["exercises"] and "replaces numpy.allclose" in student["errors"][0]


def test_a_page_may_ask_the_judge(judged):
    """As a notebook does; and a library that is tried first may be missing."""
    asks = "from minitransformer_course import check\ntry:\n    import scipy\nexcept ImportError:\n    scipy = None\n"
    answer = judged(
        HEAD + asks + REFERENCE + "print(check('softmax_backward', softmax_backward))\n",
        graded=True,
    )
    assert answer.passed, answer


def test_numpys_own_programs_are_not_the_learners(judged):
    assert judged(HEAD + "import numpy.testing\n" + REFERENCE).passed


def test_a_wrong_sum_of_gradients_does_not_pass_in_this_process_either():
    total = {}

    def added(dy, x, W):
        key = W.shape, W.dtype
        total[key] = total.get(key, 0) + x.T @ dy
        return dy @ W.T, total[key].copy(), dy.sum(axis=0)

    answer = check_function(exercises()["linear_backward"], added, watched=False)
    assert answer.stage == "repeats" and "dW" in answer.where and "it adds up" in answer.why


def test_one_submission_never_ends_the_table(tmp_path, monkeypatch):
    """Answers that change from call to call, and a judge that fails."""
    (tmp_path / "ann.py").write_text(
        HEAD + "n = 0\ndef causal_mask(ids):\n    global n\n    n += 1\n"
        "    return np.tri(ids.shape[1], dtype=bool) ^ (n > 7)\n"
    )
    (tmp_path / "bob.py").write_text(HEAD + REFERENCE)
    first, second = grade(tmp_path)
    assert first["exercises"][0]["stage"] == "repeats" and second["exercises"][0]["passed"]
    monkeypatch.setattr(
        "minitransformer_course.judge.judge_file.check_outcomes", lambda *given: 1 / 0
    )
    assert all(
        "the judge itself failed (ZeroDivisionError" in student["errors"][0]
        for student in grade(tmp_path)
    )


def test_a_library_that_counts_bleu_is_refused_by_name(judged):
    answer = judged(
        "def corpus_bleu(matches, totals, lengths, references):\n    import sacrebleu\n"
    )
    assert "it imports sacrebleu" in answer.where


def test_a_constant_is_wrong_and_not_kept():
    answer = check_function(
        exercises()["causal_mask"],
        lambda ids: np.ones((ids.shape[1], ids.shape[1]), bool),
        watched=False,
    )
    assert answer.stage != "repeats"


def test_the_limits_are_those_of_the_system(tmp_path):
    resource = pytest.importorskip("resource")
    code = (
        "from minitransformer_course.limits import limit_this_process\nimport resource as r\nlimit_this_process(20)\n"
        "print(*(r.getrlimit(kind)[1] for kind in (r.RLIMIT_FSIZE, r.RLIMIT_NOFILE, r.RLIMIT_CPU)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert done.stdout.split() == [
        str(limits.FILE),
        str(min(limits.OPEN, hard) if hard > 0 else limits.OPEN),
        "21",
    ]


@pytest.mark.skipif(os.name != "posix", reason="bubblewrap is a program of Linux")
@pytest.mark.parametrize("runs", [True, False])
def test_grade_uses_bubblewrap_where_it_runs_and_first_says_what_is_not_contained(
    run_cli, tmp_path, monkeypatch, runs
):
    """A stand-in that notes its options, and runs the command."""
    tools, handed_in = tmp_path / "tools", tmp_path / "handed in"
    tools.mkdir(), handed_in.mkdir()
    (tools / "bwrap").write_text(
        f'#!/bin/sh\necho "$@" >> {tools}/used\n[ {int(runs)} = 1 ] || exit 1\n'
        'while [ "$1" != "true" ] && [ "${1##*/python}" = "$1" ]; do shift; done\nexec "$@"\n'
    )
    (tools / "bwrap").chmod(0o755 | stat.S_IEXEC)
    (tools / os.path.basename(sys.executable)).symlink_to(sys.executable)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("minitransformer_course.judge.run_file.sys.executable", sys.executable)
    (handed_in / "ann.py").write_text(HEAD + REFERENCE)
    limits._bubblewrap_runs.cache_clear()
    try:
        code, out, error = run_cli("learn grade", handed_in)
    finally:
        limits._bubblewrap_runs.cache_clear()
    used = (tools / "used").read_text()
    assert code == 0 and "passed" in out.splitlines()[1]
    assert error.splitlines()[0].startswith("not contained: ") and (
        "bubblewrap does not run" in error
    ) == (not runs)
    assert "--unshare-all" in used and ("--bind" in used.replace("--ro-bind", "")) == runs


@pytest.mark.skipif(
    not os.path.exists("/proc/self/statm"),
    reason="the system does not tell how much memory a process has",
)
def test_a_changed_reference_gets_no_more_memory_than_a_submission():
    with limits.limited_memory(), pytest.raises(MemoryError):
        np.empty(2**33)
    np.empty(2**20)
