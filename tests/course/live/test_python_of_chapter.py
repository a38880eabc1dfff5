"""The cells of a chapter in one namespace, and its exercises, judged in place."""

import base64
import sys
from pathlib import Path

import numpy as np
import pytest

from minitransformer_course import messages
from minitransformer_course.judge import my_transformer
from minitransformer_course.judge.course import find_exercise
from minitransformer_course.judge.judgement import check_function
from minitransformer_course.judge.learner_progress import PASSED, Progress
from minitransformer_course.live import chapter, stand_ins

WRONG = "def softmax_backward(dp, p):\n    return p * (1 - p) * dp\n"


@pytest.fixture(autouse=True)
def begun(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(messages, "_chosen", [])
    chapter.begin("en", ["softmax", "softmax_backward"])


def test_cells_share_their_names_and_show_what_the_last_line_is_worth():
    assert chapter.run("1", "x = 2\nprint('x')")["printed"] == "x\n"
    assert chapter.run("2", "x += 1\nx")["printed"] == "3\n"
    assert chapter.run("3", "x;")["printed"] == "" == chapter.run("4", "# nothing")["printed"]
    assert chapter.run("5", "'text'")["printed"] == "'text'\n"


def test_a_cell_that_fails_has_its_line_and_what_it_printed():
    found = chapter.run("7", "print('before')\ndef f():\n    return 1 / 0\nf()\n")
    assert found["line"] == 3 and found["printed"].startswith("before\nTraceback")
    assert 'File "<cell 7>", line 3, in f\n    return 1 / 0' in found["printed"]
    assert "chapter.py" not in found["printed"]
    assert chapter.run("8", "x = (")["line"] == 1
    assert chapter.run("9", "raise KeyboardInterrupt")["stopped"]


def test_each_figure_is_a_picture_once():
    code = "import matplotlib.pyplot as plt\nfor _ in range(2): plt.subplots()\n"
    first = chapter.run("1", code)["pictures"]
    assert len(first) == 2 and base64.b64decode(first[0]).startswith(b"\x89PNG")
    assert chapter.run("2", "1")["pictures"] == []


def test_the_page_uses_the_reference_until_the_readers_passes():
    assert chapter.run("1", "softmax(np.zeros(2))")["printed"] == "array([0.5, 0.5])\n"
    mine = "def softmax_backward(dp, p):\n    global called\n    called = True\n"
    mine += "    return p * (dp - (dp * p).sum(axis=-1, keepdims=True))\n"
    assert chapter.judge("softmax_backward", mine)["passed"]
    assert chapter.namespace["softmax_backward"].__globals__["called"]
    assert not chapter.judge("softmax_backward", WRONG)["passed"]
    reference = find_exercise("softmax_backward").reference
    assert chapter.namespace["softmax_backward"] is reference


def test_the_verdict_is_the_judges_own():
    found = chapter.judge("softmax_backward", WRONG)
    names = {}
    exec(WRONG, names)
    answer = check_function(find_exercise("softmax_backward"), names["softmax_backward"])
    assert (found["title"], found["said"]) == (answer.title, answer.lines)
    assert "only the diagonal" in dict(found["said"])["LIKELY"] and found["line"] == 0


@pytest.mark.parametrize(
    "code, line, said",
    [
        ("def softmax(x):\n\n    return x @ x[:, 0]\n", 3, "x (5, 2, 7)"),
        ("def softmax(x):\n    x = np.exp(\n        x\n    )\n    return own(x)\n", 5, "'own'"),
        ("def soft(x):\n    return x\n", 0, "softmax is not defined in this cell"),
        ("def softmax(x)\n    return x\n", 1, "SyntaxError: expected ':'"),
    ],
)
def test_what_does_not_run_has_its_line(code, line, said):
    found = chapter.judge("softmax", code)
    assert not found["passed"] and found["line"] == line
    assert said in f"{found['title']} {found['said']}"


def test_hints_say_more_and_more_and_begin_again():
    found = [chapter.hint("softmax", number)["hint"] for number in range(5)]
    assert found[0] == found[4] and "___" in found[2] and len({*found}) == 4


def test_a_page_speaks_its_language():
    chapter.begin("ko", ["softmax"])
    assert messages.language() == "ko"


def test_the_stand_ins_read_what_safetensors_wrote_and_it_what_they_wrote(tmp_path, monkeypatch):
    from safetensors import safe_open
    from safetensors.numpy import load, save_file

    arrays = {"x": np.arange(6.0).reshape(2, 3), "half": np.ones(4, np.float16)}
    save_file(arrays, tmp_path / "file", {"a": "b"})
    found = stand_ins.load((tmp_path / "file").read_bytes())
    for read in (found, load(stand_ins.save(arrays))):
        assert all(np.array_equal(read[name], array) for name, array in arrays.items())
        assert read["half"].dtype == np.float16
    one, other = safe_open(tmp_path / "file", "np"), stand_ins.SafeOpen(tmp_path / "file", "np")
    assert one.metadata() == other.metadata() == {"a": "b"}


def test_only_missing_modules_are_replaced(monkeypatch):
    monkeypatch.setattr(stand_ins, "find_spec", lambda name: None if name == "tqdm" else name)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    before = sys.modules["safetensors"]
    stand_ins.install()
    assert sys.modules["safetensors"] is before
    assert [*sys.modules["tqdm"].tqdm([1, 2])] == [1, 2]


SOFTMAX = """def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
"""
BACKWARD = """from my_transformer import softmax

def softmax_backward(dp, p):
    softmax(dp)
    return p * (dp - (dp * p).sum(axis=-1, keepdims=True))
"""


def test_what_passed_before_is_proven_again_and_every_page_has_it():
    kept = {"softmax_backward": BACKWARD, "softmax": SOFTMAX, "attention": WRONG, "unknown": ""}
    assert chapter.take_up(kept) == {"gone": ["attention"]}
    assert chapter.namespace["softmax"] is not find_exercise("softmax").reference
    code = "from minitransformer_course import lab\nlab.own('softmax_backward')\nlab.run_yours('4')"
    said = chapter.run("1", code)["printed"]
    assert said.startswith("softmax_backward: yours") and "2 of your functions ran" in said
    assert my_transformer.names_in(".") == ["softmax", "softmax_backward"]
    assert Progress(".").of("softmax")["state"] == PASSED
    chapter.begin("en", ["softmax_backward"])
    chapter.take_up(kept)
    assert "softmax" not in chapter.namespace  # it is of another page


def test_a_function_stands_alone():
    """As `learn check` has it: without the page's cells, with what it may import, and with the
    reader's others, which are blank until they pass.
    """
    chapter.run("1", "def exp(x):\n    return np.exp(x)\n")
    found = chapter.judge("softmax", SOFTMAX.replace("np.exp", "exp"))
    assert not found["passed"] and "'exp' is not defined" in str(found["said"])
    using = BACKWARD.replace("from my_transformer import softmax", "")
    assert "not written yet" in str(chapter.judge("softmax_backward", using)["said"])
    assert chapter.judge("softmax", SOFTMAX)["passed"]
    assert chapter.judge("softmax_backward", using)["passed"]
    chapter.begin("en", ["embedding"])
    assert chapter.judge("embedding", find_exercise("embedding").source)["passed"]  # math
    chapter.run("1", "")
    assert "\nimport math\n" in Path(my_transformer.FILE).read_text()


def test_two_helpers_of_one_name_are_said_and_the_others_are_kept():
    one, other = (
        f"def helped(x):\n    return x + {n}\n\n{source}"
        for n, source in ((0, SOFTMAX), (1, BACKWARD))
    )
    one = one.replace("np.exp(x", "np.exp(helped(x)").replace("x.max", "helped(x).max")
    other = other.replace("softmax(dp)", "helped(dp)")
    assert chapter.take_up({"softmax": one, "softmax_backward": other}) == {"gone": []}
    assert "each have a helper 'helped'" in chapter.run("1", "")["printed"]
    assert my_transformer.names_in(".") == ["softmax"]


def test_a_search_that_takes_too_long_costs_the_mistake_s_name_and_not_the_verdict(monkeypatch):
    def interrupted(*_given, **_named):
        raise KeyboardInterrupt  # as a page's limit does

    monkeypatch.setattr("minitransformer_course.judge.judgement.fitting_mistakes", interrupted)
    found = chapter.judge("softmax_backward", WRONG)
    assert not found["stopped"] and found["title"] == "softmax_backward: not yet"
    assert {"WHERE", "WHY"} < {*dict(found["said"])} and "LIKELY" not in dict(found["said"])


@pytest.mark.parametrize("name", ["cached_step", "grouped_attention"])  # no cell imports math
def test_a_solution_may_use_math_and_numpy_on_every_page(name):
    assert chapter.judge(name, find_exercise(name).source)["passed"]
    chapter.run("1", "1")
    assert f"def {name}(" in Path("my_transformer.py").read_text(encoding="utf-8")
