"""Files that cannot be judged, and functions that misbehave: a helpful line, never a traceback, nothing of the reader's changed."""

import pytest

from minitransformer.errors import InputError
from minitransformer.learn import run_file
from minitransformer.learn.judge_file import check_file
from minitransformer.learn.progress import FILE

HEAD = "import numpy as np\n"
FUNCTION = "def softmax_backward(dp, p):\n    "
CANNOT = {    # what the file holds: words of the one line
    b"": "is empty",
    b" \n\n": "is empty",
    b"\x00\x01\x02\xff": "no Python file",
    b"\xff\xfe\xfa def": "no Python file",
    b"x = 1\n": "none of the exercises' functions",
    b"def softmax_backward(dp, p:\n    pass": "line 1",
    b"import nothing_of_that_name\ndef softmax_backward(dp, p): pass": "line 1: import nothing_of_that_name: ModuleNotFoundError",
    b"import sys\ndef softmax_backward(dp, p): pass\nsys.exit(0)": "line 3: sys.exit(0): it calls exit",
    b"import os\ndef softmax_backward(dp, p): pass\nos._exit(0)": "ends the process",
    b"def softmax_backward(dp, p): pass\nwhile True: pass": "line 2: still running",
    b"softmax_backward = 3\n": "no function softmax_backward",
    b"def softmax_backward(dp, p): pass\nx = 1 / 0": "line 2: x = 1 / 0: ZeroDivisionError",
    b"import numpy\nnumpy.abs = None\ndef softmax_backward(dp, p): pass": "replaces numpy.abs",
    b"import json\njson.dumps = lambda *a: '{}'\ndef softmax_backward(dp, p): pass": "does it replace functions of Python?",
    b"import builtins\nbuiltins.len = 3\ndef softmax_backward(dp, p): pass": "does it replace functions of Python?",
    b"import minitransformer.learn.call as c\nc.call_on = lambda *a: 1\ndef softmax_backward(dp, p): pass": "learn.call.call_on",
}
MISBEHAVES = {    # the body: the stage, words of the answer
    "while True: pass": ("runs", "an endless loop?"),
    "import os; os._exit(0)": ("runs", "ends the process"),
    "exit()": ("runs", "it calls exit"),
    "return None": ("shape", "is `return` missing?"),
    "return [1, 2]": ("shape", "it returns list"),
    "return p[0]": ("shape", "has the shape"),
    "return dp, p": ("shape", "2 arrays"),
    "return p * 1j": ("shape", "complex128"),
    "return p * (dp - (dp * p).sum(axis=-1, keepdims=True)) * np.float64(1)": ("float32", "float64, expected float32"),
    "return p.astype(object)": ("shape", "array of object"),
    "return p * np.nan": ("invariants", "nan"),
    "p *= dp; return p": ("inputs", "p is not what it was"),
    "raise ValueError('two\\nlines')": ("runs", "ValueError: two"),
    "class E(Exception):\n        def __str__(self): raise ValueError\n    raise E": ("runs", "WHY     E"),
    "return softmax_backward(dp, p)": ("runs", "RecursionError"),
    "print('x' * 10 ** 6); return p": ("invariants", "must sum to 0"),
    "input(); return p": ("runs", "EOFError"),
    "from minitransformer.functional import softmax_forward; return softmax_forward(p)[0]": ("own", "borrowed"),
    "import sys; sys.setprofile(None); import minitransformer; return p * dp": ("own", "it calls sys.setprofile"),
}


def test_there_is_no_file(tmp_path):
    for path in (tmp_path / "nothing.py", tmp_path):
        with pytest.raises(InputError):
            check_file(path)


@pytest.mark.parametrize("data", CANNOT, ids=CANNOT.get)
def test_what_cannot_be_judged(tmp_path, data):
    path = tmp_path / "mine.py"
    path.write_bytes(data)
    with pytest.raises(InputError) as error:
        check_file(path, limit=1.5)
    assert CANNOT[data] in str(error.value) and "\n" not in str(error.value)
    assert path.read_bytes() == data and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("body", MISBEHAVES)
def test_what_misbehaves(tmp_path, body):
    path = tmp_path / "mine.py"
    path.write_text(HEAD + FUNCTION + body)
    stage, words = MISBEHAVES[body]
    ((answer,), _) = check_file(path, limit=1.5 if "endless" in words else 60)    # a busy machine imports slowly
    assert not answer.passed and answer.stage == stage and words in str(answer)
    assert len(str(answer).splitlines()) <= 8 and len(answer.printed) < 3000
    assert list(tmp_path.iterdir()) == [path]


def test_one_endless_loop_does_not_hide_the_others(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(HEAD + "def softmax(x):\n    while True: pass\n" + FUNCTION + "return p * dp")
    first, second = check_file(path, limit=1.5)[0]
    assert "endless loop" in first.why and first.where == "line 3" and "the sum over the row is missing" in second.diagnosis


def test_a_loop_is_found_in_a_folder_of_any_name(tmp_path):
    folder = tmp_path / "ö 성 (x)"
    folder.mkdir()
    (folder / "mine.py").write_text("def softmax(x):\n    while True:\n        pass\n")
    assert check_file(folder / "mine.py", limit=1.5)[0][0].where in ("line 2", "line 3")


def test_a_thread_that_goes_on_is_not_waited_for(tmp_path, monkeypatch):
    stopped, run = [], run_file.subprocess.run

    def recorded(*arguments, **options):
        try:
            return run(*arguments, **options)
        except run_file.subprocess.TimeoutExpired:
            stopped.append(True)
            raise

    monkeypatch.setattr(run_file.subprocess, "run", recorded)
    (tmp_path / "mine.py").write_text("import threading, time\n" + FUNCTION
                                      + "threading.Thread(target=time.sleep, args=[60]).start(); return p * dp")
    assert check_file(tmp_path / "mine.py", limit=1.5)[0][0].stage == "invariants" and not stopped


def test_an_error_in_a_module_beside_the_file_is_told_with_its_name(tmp_path):
    (tmp_path / "own.py").write_text("def f(x):\n    return x.nothing\n")
    (tmp_path / "mine.py").write_text("from own import f\n" + FUNCTION + "return f(p)\n")
    assert check_file(tmp_path / "mine.py")[0][0].where == "own.py, line 2: return x.nothing"


def test_a_failure_of_the_judge_itself_is_told_as_such(tmp_path, monkeypatch):
    monkeypatch.setattr(run_file, "START", run_file.START.replace("main(", "sys.modules[main.__module__].call_on = None\nmain("))
    (tmp_path / "mine.py").write_text(FUNCTION + "return p\n")
    with pytest.raises(InputError, match="the judge itself failed .TypeError"):
        check_file(tmp_path / "mine.py")


def test_a_learners_numpy_py_is_left_alone(tmp_path):
    (tmp_path / "numpy.py").write_text("raise SystemExit")
    (tmp_path / "mine.py").write_text(HEAD + FUNCTION + "return p * dp")
    assert check_file(tmp_path / "mine.py")[0][0].stage == "invariants"


def test_a_folder_that_cannot_be_written_is_one_line(run_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def refuse(*_arguments, **_options):
        raise PermissionError(13, "Permission denied", "04_softmax.py")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    code, _, error = run_cli("learn", "start", "4")
    monkeypatch.undo()
    assert code == 2 and error.count("\n") == 1 and "Permission denied" in error


@pytest.mark.parametrize("text", ["", "[]", '{"exercises": 3}', '{"exercises": {"softmax_backward": {"state": "pas'])
def test_damaged_progress_is_kept(run_cli, tmp_path, monkeypatch, text):
    """Under another name, and the next check does not overwrite it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / FILE).write_text(text)
    code, out, error = run_cli("learn")
    assert code == 0 and f"{FILE} is damaged: it is kept as {FILE}.damaged" in error and error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == [f"{FILE}.damaged"]
    assert (tmp_path / f"{FILE}.damaged").read_text() == text
