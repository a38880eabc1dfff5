"""Files that cannot be judged, and functions that misbehave: a helpful line, never a traceback,
nothing of the reader's changed.
"""

import json
import os
from pathlib import Path

import pytest

from minitransformer.errors import InputError
from minitransformer_course.judge import cells, run_file
from minitransformer_course.judge.course import find_exercise
from minitransformer_course.judge.judge_file import check_file
from minitransformer_course.judge.learner_progress import FILE

pytestmark = pytest.mark.slow

HEAD = "import numpy as np\n"
FUNCTION = "def softmax_backward(dp, p):\n    "
CANNOT = {  # what the file holds: words of the one line
    b"": "is empty",
    b" \n\n": "is empty",
    b"\x00\x01\x02\xff": "save it as UTF-8",
    b"\xff\xfe\xfa def": "save it as UTF-8",
    "def softmax_backward(dp, p): return p    # \N{HANGUL SYLLABLE HAN}".encode(
        "cp949"
    ): "not Python in UTF-8: save it as UTF-8",
    "x = 1\uff0c2\n".encode(): "x = 1\uff0c2: Python does not know the character '\uff0c' (U+FF0C): type \",\" instead",
    "x = \u2018a\u2019\n".encode(): '(U+2018): type "\'" instead',
    "x =\u30001\n".encode(): '(U+3000): type " " instead',
    "x = 1 \u20ac 2\n".encode(): "the character '\u20ac' (U+20AC) here",
    b"x = 1\n": "none of the exercises' functions",
    b"def softmax_backward(dp, p:\n    pass": "line 1",
    b"import nothing_of_that_name\ndef softmax_backward(dp, p): nothing_of_that_name": "ModuleNotFoundError",
    b"import sys\nx = sys.exit(0)\ndef softmax_backward(dp, p): return x": "line 2: x = sys.exit(0): it calls exit",
    b"import os\nx = os._exit(0)\ndef softmax_backward(dp, p): return x": "ends the process",
    b"def softmax_backward(dp, p): return x\nwhile True: x = 1": "line 2: still running",
    b"softmax_backward = 3 * 1\n": "no function softmax_backward",
    b"x = 1 / 0\ndef softmax_backward(dp, p): return x": "line 1: x = 1 / 0: ZeroDivisionError",
    b"import numpy\nnumpy.abs = None\ndef softmax_backward(dp, p): return numpy": "replaces numpy.abs",
    b"import json\njson.dumps = lambda *a: '{}'\ndef softmax_backward(dp, p): json": "does it replace functions of Python?",
}
MISBEHAVES = {  # the body: the stage, words of the answer
    "while True: pass": ("runs", "an endless loop?"),
    "import os; os._exit(0)": ("runs", "ends the process"),
    "exit()": ("runs", "it calls exit"),
    "return None": ("shape", "is `return` missing?\n"),
    "return np.add.at(p, 0, 1)": ("shape", "such as np.add.at"),
    "return dp @ p": ("runs", "WHY     ValueError: dp (6, 4, 2) @ p (6, 4, 2): 2 and 4 differ"),
    "return np.dot(dp, p)": ("runs", "dp (6, 4, 2) @ p (6, 4, 2): 2 and 4 differ"),
    "return p + dp[..., :0]": ("runs", "p (6, 4, 2) + dp[..., :0] (6, 4, 0): 2 and 0 differ"),
    "return [1, 2]": ("shape", "it returns 2 arrays"),
    "return p, [1, 2]": ("shape", "it returns ndarray, list, expected"),
    "return p * math.pi": (
        "runs",
        "name 'math' is not defined: write `import math` above your function",
    ),
    "return dp * p.sum(axis=-1)": ("runs", "2 and 4 differ: is keepdims=True missing?"),
    "return p[0]": ("shape", "has the shape"),
    "return dp, p": ("shape", "2 arrays"),
    "return p * 1j": ("shape", "complex128"),
    "return p * (dp - (dp * p).sum(axis=-1, keepdims=True)) * np.float64(1)": (
        "float32",
        "float64, expected float32",
    ),
    "return p.astype(object)": ("shape", "array of object"),
    "return p * np.nan": ("finite", "dx[0, 0, 0]: nan; NaN or infinity: 48 of 48 numbers"),
    "p *= dp; return p": ("inputs", "p is not what it was"),
    "raise ValueError('two\\nlines')": ("runs", "ValueError: two"),
    "class E(Exception):\n        def __str__(self): raise ValueError\n    raise E": (
        "runs",
        "WHY     E",
    ),
    "return softmax_backward(dp, p)": ("runs", "RecursionError"),
    "print('x' * 10 ** 6); return p": ("invariants", "must sum to 0"),
    "input(); return p": ("runs", "EOFError"),
    "from minitransformer.functional import softmax_forward; return softmax_forward(p)[0]": (
        "own",
        "borrowed",
    ),
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    with pytest.raises(InputError, match="pipe.py is neither a Python file nor a notebook"):
        check_file(tmp_path / "pipe.py")


def test_there_is_no_file(tmp_path):
    for path in (tmp_path / "nothing.py", tmp_path):
        with pytest.raises(InputError):
            check_file(path)


@pytest.mark.parametrize("data", CANNOT, ids=CANNOT.get)
def test_what_cannot_be_judged(tmp_path, data):
    path = tmp_path / "mine.py"
    path.write_bytes(data)
    with pytest.raises(InputError) as error:
        check_file(path, limit=0.8)
    assert CANNOT[data] in str(error.value) and "\n" not in str(error.value)
    assert path.read_bytes() == data and list(tmp_path.iterdir()) == [path]


RIGHT = FUNCTION + "return p * (dp - (dp * p).sum(axis=-1, keepdims=True))\n"


@pytest.mark.parametrize("end", ["\x0c", "\u2028", "\x85"], ids=ascii)
def test_a_character_that_ends_no_line_in_python_hides_nothing(judged, end):
    assert judged(f"{HEAD}# one{end}two\n{RIGHT}").passed


@pytest.mark.parametrize(
    "cell",
    [
        "np.exp?",
        "?np.exp",
        "if True:\n    %timeit np.exp(1)",
        "files = !ls",
        "await nothing()",
        "%%bash\nls -l | cat",
        "pip install numpy",
        f"%%time\n{RIGHT}",
    ],
)
def test_what_only_a_notebook_understands_is_left_out(tmp_path, cell):
    cells = [
        {"cell_type": "code", "source": source.splitlines(keepends=True)}
        for source in (HEAD, RIGHT, cell)
    ]
    if RIGHT in cell:
        del cells[1]
    (tmp_path / "mine.ipynb").write_text(json.dumps({"cells": cells}))
    assert check_file(tmp_path / "mine.ipynb").answers[0].passed


def test_an_exception_names_its_case(judged):
    why = judged("def clip(dW, db, limit):\n    return 1 / float(abs(dW).sum()), db\n").why
    assert "ZeroDivisionError" in why and "(a gradient of 0)" in why


@pytest.mark.parametrize("body", MISBEHAVES)
def test_what_misbehaves(tmp_path, body):
    path = tmp_path / "mine.py"
    path.write_text(HEAD + FUNCTION + body)
    stage, words = MISBEHAVES[body]
    ((answer,), *_) = check_file(
        path, limit=0.8 if "endless" in words else 60
    )  # a busy machine imports slowly
    assert not answer.passed and answer.stage == stage and words in str(answer)
    assert len(str(answer).splitlines()) <= 8 and len(answer.printed) < 3000
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.campaign
def test_a_right_but_slow_solution_is_called_so(judged):
    right = find_exercise("softmax_backward").source.replace(
        "    return", "    __import__('time').sleep(1)\n    return"
    )
    answer = judged(HEAD + right, limit=2.5)
    assert (
        answer.stage == "runs"
        and "it is right so far, but slow: " in answer.why
        and "loop" not in answer.why
    )
    assert "an endless loop?" in judged(HEAD + right.replace("p * (", "2 * p * ("), limit=2.5).why


def test_a_name_that_is_nearly_the_exercises_is_asked_for(tmp_path):
    (tmp_path / "mine.py").write_text(HEAD + "def softmax_bakward(dp, p): return p\n")
    for names, words in (
        (
            ["softmax_backward"],
            "no function softmax_backward: did you rename it to softmax_bakward?",
        ),
        (None, "is softmax_bakward your softmax_backward?"),
    ):
        with pytest.raises(InputError, match=words.replace("?", "[?]")):
            check_file(tmp_path / "mine.py", names)


def test_what_is_not_needed_is_not_run(judged):
    """A page has cells of its own, and a reader tries things in it."""
    answer = judged(
        f"import sys, minitransformer\n{HEAD}x = 1 / 0\n{FUNCTION}return p * dp\nsys.exit(1)\n"
    )
    assert "the sum over the row is missing" in answer.diagnosis


def test_what_the_page_defines_is_told(judged):
    page = cells.parse(find_exercise("softmax_backward").chapter.text)
    helper = next(cell.source for cell in page if "\ndef diagonal(" in f"\n{cell.source}")
    why = judged(f"{helper}\n{HEAD}{FUNCTION}return diagonal(dp, p)\n").why
    assert (
        "name 'diagonal' is not defined; the judge runs your own code without the page's cells: define diagonal"
        in why
    )
    assert "import" not in why
    assert (
        "or write `from my_transformer import softmax` above"
        in judged(HEAD + FUNCTION + "return softmax(p)\n").why
    )
    assert "page's cells" not in judged(HEAD + FUNCTION + "return no_such_name(p)\n").why


def test_one_endless_loop_does_not_hide_the_others(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(HEAD + "def softmax(x):\n    while True: pass\n" + FUNCTION + "return p * dp")
    first, second = check_file(path, limit=0.8)[0]
    assert (
        "endless loop" in first.why
        and first.where == "line 3"
        and "the sum over the row is missing" in second.diagnosis
    )


def test_a_loop_is_found_in_a_folder_of_any_name(tmp_path):
    folder = tmp_path / "ö 성 (x)"
    folder.mkdir()
    (folder / "mine.py").write_text("def softmax(x):\n    while True:\n        pass\n")
    assert check_file(folder / "mine.py", limit=0.8)[0][0].where in ("line 2", "line 3")


def test_a_thread_that_goes_on_is_not_waited_for(judged, monkeypatch):
    stopped, run = [], run_file.subprocess.run

    def recorded(*arguments, **options):
        try:
            return run(*arguments, **options)
        except run_file.subprocess.TimeoutExpired:
            stopped.append(True)
            raise

    monkeypatch.setattr(run_file.subprocess, "run", recorded)
    source = f"import threading, time\n{FUNCTION}threading.Thread(target=time.sleep, args=[60]).start(); return p * dp"
    assert judged(source, limit=0.8).stage == "invariants" and not stopped


def test_an_error_in_a_module_beside_the_file_is_told_with_its_name(tmp_path, judged):
    (tmp_path / "own.py").write_text("def f(x):\n    return x.nothing\n")
    assert (
        judged(f"from own import f\n{FUNCTION}return f(p)\n").where
        == "own.py, line 2: return x.nothing"
    )


def test_a_failure_of_the_judge_itself_is_told_as_such(judged, monkeypatch):
    monkeypatch.setattr(
        run_file,
        "START",
        run_file.START.replace("main(", "sys.modules[main.__module__].call_on = None\nmain("),
    )
    with pytest.raises(InputError, match="the judge itself failed .TypeError"):
        judged(FUNCTION + "return p\n")


def test_a_learners_numpy_py_is_left_alone(tmp_path, judged):
    (tmp_path / "numpy.py").write_text("raise SystemExit")
    assert judged(HEAD + FUNCTION + "return p * dp").stage == "invariants"


def test_a_folder_that_cannot_be_written_is_one_line(run_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    opened = Path.open

    def refuse(path, *arguments, **options):
        if path.name == "04_softmax.py":
            raise PermissionError(13, "Permission denied", path.name)
        return opened(path, *arguments, **options)

    monkeypatch.setattr("pathlib.Path.open", refuse)
    code, _, error = run_cli("learn start 4")
    monkeypatch.undo()
    assert code == 2 and error.count("\n") == 1 and "Permission denied" in error


@pytest.mark.parametrize(
    "text", ["", "[]", '{"exercises": 3}', '{"exercises": {"softmax_backward": {"state": "pas']
)
def test_damaged_progress_is_kept(run_cli, tmp_path, monkeypatch, text):
    """Under another name, and the next check does not overwrite it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / FILE).write_text(text)
    code, out, error = run_cli("learn")
    assert (
        code == 0
        and f"{FILE} is damaged: it is kept as {FILE}.damaged" in error
        and error.count("\n") == 1
    )
    assert [path.name for path in tmp_path.iterdir()] == [f"{FILE}.damaged"]
    assert (tmp_path / f"{FILE}.damaged").read_text() == text
    (tmp_path / FILE).write_text("again")
    assert run_cli("learn")[0] == 0
    assert sorted(path.read_text() for path in tmp_path.iterdir()) == sorted([text, "again"])
