"""minitransformer learn, as a learner uses it: in a bare folder, from the first screen to a solved
exercise.
"""

import json
import os
import re
import subprocess
import sys
import textwrap
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from minitransformer.cli.parser import Parser
from minitransformer_course.commands import learn as cli_learn
from minitransformer_course.judge import check, judge_file
from minitransformer_course.judge.course import (
    PARTS_OF_THE_BOOK,
    SHORT,
    chapters,
    exercises,
    find_chapter,
    find_exercise,
)
from minitransformer_course.judge.exercise import blanks
from minitransformer_course.judge.learner_progress import FILE
from minitransformer_course.judge.pages import FORMULA, plain
from tests.helpers.learner import solve

pytestmark = pytest.mark.slow

DIAGONAL = "def softmax_backward(dp, p):\n    return p * (1 - p) * dp\n"


def test_the_first_screen_says_where_to_begin(learn):
    code, out, _ = learn()
    assert (
        code == 0
        and "learn start 1" in out
        and "learn start path" in out
        and "An unsolved exercise fails; that is where you begin" in out
    )


def test_the_short_path_leads_from_its_first_function_to_plug(learn, tmp_path):
    """Whatever else is in the chapters, what comes next is on the path, and where to read is said."""
    code, out, _ = learn("start", "path")
    assert code == 0 and "01_linear.py" in out and "from the top of the page" in out
    for number, name in enumerate(SHORT):
        one = find_exercise(name)
        page = tmp_path / f"{one.chapter.name}.py"
        out = learn()[1]
        assert f"{number} of the {len(SHORT)} functions" in out
        if not page.exists():
            assert f"learn start {one.chapter.number}\n" in out
            code, _, error = learn("check")
            assert code == 2 and f"minitransformer learn start {one.chapter.number}" in error
            assert f"write {name} in it" in learn("start", one.chapter.number)[1]
            out = learn()[1]
        assert f"learn check {name}\n" in out
        assert (SHORT[name] or "from the top of the page") in out
        solve(page, name)
        assert learn("check")[1].startswith(f"{name}: passed")
    assert "9 of the 9 functions" in (out := learn()[1]) and out.endswith("learn plug\n")
    assert learn("start", "path")[1] == out  # nothing is begun twice
    code, _, error = learn("check")
    assert code == 2 and "every function of the short path passes" in error and "plug" in error


def test_once_the_short_path_has_ended_learn_says_so_and_goes_on_with_the_book(learn, tmp_path):
    nine = {name: {"state": "passed"} for name in SHORT}
    learn("start", "1")
    assert "short path" not in learn()[1]
    (tmp_path / FILE).write_text(json.dumps({"exercises": nine}))
    out = learn()[1]
    assert "The short path is done: minitransformer learn plug" in out
    assert "learn check query_key_backward\n" in out


def test_where_the_short_path_says_to_read_there_is_a_heading_above_the_blank():
    for name, heading in SHORT.items():
        text = find_exercise(name).chapter.text
        above = text[: text.index(f"# %% [exercise] {name}\n")]
        assert not heading or f"\n# ## {heading}\n" in above, name


def test_from_a_blank_to_a_solved_exercise(learn, tmp_path):
    assert learn("start", "4")[0] == 0
    code, out, _ = learn("check")
    assert code == 1 and out.startswith("softmax: not yet") and "not written yet" in out
    solve(tmp_path / "04_softmax.py", "softmax")
    code, out, _ = learn("check")
    assert code == 0 and out.startswith("softmax: passed")
    code, out, _ = learn()
    assert "softmax_backward" in out and "1 of" in out
    solve(tmp_path / "04_softmax.py", "softmax_backward", DIAGONAL)
    code, out, _ = learn("check")
    assert code == 1 and len(out.splitlines()) <= 8
    for label, words in {
        "PASSED": "inputs unchanged",
        "WHERE": "dx[",
        "WHY": "must sum to 0",
        "LIKELY": "only the diagonal",
        "NEXT": "learn hint softmax_backward",
    }.items():
        assert any(line.split()[0] == label and words in line for line in out.splitlines()[1:]), (
            label
        )
    states = [re.match(r"[> ] (passed|not yet) ", line) for line in learn("list")[1].splitlines()]
    assert [state[1] for state in states if state][:5] == [
        "passed",
        "not yet",
        "not yet",
        "not yet",
        "not yet",
    ]


def test_progress_is_written_again_by_check_all(learn, tmp_path):
    learn("start", "4")
    solve(tmp_path / "04_softmax.py", "softmax")
    learn("check", "--all")
    before = json.loads((tmp_path / FILE).read_text())
    (tmp_path / FILE).write_text("{ damaged")
    learn("check", "--all")
    assert (
        json.loads((tmp_path / FILE).read_text()) == before
        and before["exercises"]["softmax"]["state"] == "passed"
    )


def test_nothing_is_overwritten(learn, tmp_path):
    learn("start", "4")
    path = tmp_path / "04_softmax.py"
    fresh = path.read_bytes()
    path.write_bytes(fresh + b"# mine\n")
    code, _, error = learn("start", "4")
    assert code == 2 and "nothing was changed" in error and path.read_bytes().endswith(b"# mine\n")


def test_a_command_without_a_name_says_what_to_do_first(learn, tmp_path):
    for started in (False, True):  # chapter 0 has no exercises
        for words in (["check"], ["check", "--all"], ["hint"]):
            code, _, error = learn(*words)
            assert (
                code == 2
                and "no exercise was started in this folder: minitransformer learn start 1" in error
            )
        assert started or learn("start", "0")[0] == 0
    learn("start", "4")
    for name in [one.name for one in find_chapter("4").exercises]:
        solve(tmp_path / "04_softmax.py", name)
    assert learn("check", "--all")[0] == 0
    code, _, error = learn("check")
    assert (
        code == 2
        and "every exercise that you started passes" in error
        and "learn start 1" in learn()[1]
    )


def test_a_chapter_is_checked_by_its_number(learn):
    code, _, error = learn("check", "4")
    assert (
        code == 2
        and "04_softmax was not started in this folder: minitransformer learn start 4" in error
    )
    learn("start", "4")
    learn("start", "6")
    code, out, _ = learn("check", "4")
    assert code == 1 and re.findall(r"^(\w+): not yet$", out, re.MULTILINE) == [
        one.name for one in find_chapter("4").exercises
    ]


def test_each_hint_says_more_than_the_one_before(learn, tmp_path):
    """From a question to the formula, whatever the diagnosis: after the last one come all, in that
    order.
    """
    learn("start", "4")
    said = [learn("hint", "softmax_backward")[1] for _ in range(5)]
    for step, words in enumerate(
        ("what happens to p?", "Two terms", "The line with one hole", "The pieces"), 1
    ):
        assert (
            f"hint {step} of 4" in said[step - 1]
            and words in said[step - 1]
            and f"hint {step} of 4" in said[4]
        )
    assert "all the hints" in said[4]


def test_the_solution_is_shown_after_passing_or_giving_up(learn, tmp_path):
    learn("start", "4")
    code, out, _ = learn("solution", "softmax_backward")
    assert code == 1 and "along" not in out
    code, out, _ = learn("solution", "softmax_backward", "--give-up")
    assert code == 0 and out.endswith("\n\n" + find_exercise("softmax_backward").source)
    assert json.loads((tmp_path / FILE).read_text())["exercises"]["softmax_backward"]["gave_up"]


def test_a_notebook_is_checked_like_a_script(learn, tmp_path):
    nbformat = pytest.importorskip("nbformat")
    learn("start", "4", "--notebook")
    notebook = nbformat.read(tmp_path / "04_softmax.ipynb", 4)
    nbformat.validate(notebook)
    cell = [cell for cell in notebook.cells if cell.source.startswith("def softmax(")][-1]
    assert notebook.cells[notebook.cells.index(cell) + 1].source.endswith(
        '\n\ncheck("softmax", softmax)'
    )
    cell.source = find_exercise("softmax").source
    nbformat.write(notebook, tmp_path / "04_softmax.ipynb")
    code, out, error = learn("check", "softmax")
    assert code == 0, out + error


def test_check_in_a_notebook():
    namespace = {"np": np}
    exec(DIAGONAL, namespace)
    import minitransformer_course.judge

    for name in ("judgement", "judge_file"):  # no module of the package may take the name's place
        __import__(f"minitransformer_course.judge.{name}")
    answer = minitransformer_course.judge.check("softmax_backward", namespace["softmax_backward"])
    assert not answer.passed and "only the diagonal" in repr(answer)


@pytest.mark.parametrize(
    "body",
    [
        "while True: pass",
        "while True:\n        try:\n            x = x + 1\n        except Exception:\n            pass",
        "return sum(1 for _ in iter(int, 1))",
    ],
)
def test_an_endless_loop_in_a_notebook_is_stopped_and_told(body, monkeypatch):
    monkeypatch.setattr("minitransformer_course.judge.run_file.LIMIT", 0.3)
    namespace = {}
    exec(f"def softmax(x):\n    {body}", namespace)
    before = sys.gettrace()
    answer = check("softmax", namespace["softmax"])
    assert answer.stage == "runs" and answer.where.startswith("line ")
    assert answer.why == "still running after 0.3 s: an endless loop?"
    assert sys.gettrace() is before


@pytest.mark.campaign
def test_a_line_of_a_notebook_is_counted_within_its_cell(learn, tmp_path, monkeypatch):
    monkeypatch.setattr(
        judge_file, "check_file", partial(judge_file.check_file, limit=1.5)
    )  # not 10 s, for an endless loop
    learn("start", "4", "--notebook")
    path = tmp_path / "04_softmax.ipynb"
    blank = path.read_text(encoding="utf-8")
    broken = json.loads(blank)
    cell = next(
        cell
        for cell in reversed(broken["cells"])
        if cell["source"] and cell["source"][0].startswith("def softmax(")
    )
    for source, place in {
        "# mine\ndef softmax(x):\n    return x.nothing": "WHERE   line 3 of the cell `def softmax(x):`: return x.nothing",
        "def softmax(x):\n    while True:\n        pass": "of the cell `def softmax(x):`",
        "%time\ndef softmax(x):\n    return (x": "line 3 of the cell `def softmax(x):`: return (x: '(' was never closed",
        "x = 1\n\ny = x / 0\ndef softmax(x):\n    return y": "ipynb, line 3 of the cell `x = 1`: y = x / 0: ZeroDivisionError",
    }.items():
        cell["source"] = source
        path.write_text(json.dumps(broken), encoding="utf-8")
        _code, out, error = learn("check", "softmax")
        assert place in out + error


@pytest.mark.campaign
def test_a_folder_is_graded(learn, tmp_path):
    folder = tmp_path / "handed in"
    (folder / "ann").mkdir(parents=True)
    (folder / "ann" / "04_softmax.py").write_text(
        "import numpy as np\n" + find_exercise("softmax_backward").source
    )
    (folder / "bob's (2) & 성.py").write_text(DIAGONAL, encoding="utf-8")
    (folder / "eve.py").write_text("def softmax_backward(dp, p:\n")
    (folder / "notes.txt").write_text("not Python")
    (folder / "two\nlines").mkdir()
    (folder / "two\nlines" / "x.py").write_text("x = 1")
    code, out, _ = learn("grade", folder)
    assert (
        code == 0
        and "breaks a rule" in out
        and "   1 x  only the diagonal" in out
        and "eve: eve.py, line 1" in out
    )
    assert "\ntwo\\nlines: x.py has none" in out
    code, out, _ = learn("grade", folder, "--json", "--seed", "7")
    students = json.loads(out)["students"]
    assert [one["student"] for one in students] == ["ann", "bob's (2) & 성", "eve", "two\\nlines"]
    assert students[0]["exercises"][0]["passed"] and not students[1]["exercises"][0]["passed"]
    assert learn("grade", tmp_path / "nowhere")[0] == 2


@pytest.mark.campaign
def test_grade_follows_no_link_and_skips_nobody(learn, tmp_path):
    folder = tmp_path / "handed in"
    (folder / "empty").mkdir(parents=True)
    (folder / "ann").mkdir()
    (folder / "ann" / "a.py").write_text("import numpy as np\n\n" + DIAGONAL)
    (folder / "ann" / "root").symlink_to("/")
    (folder / "eve").symlink_to("/")
    (folder / "gone.py").symlink_to("nowhere.py")
    (folder / "blank.py").write_text(
        "def softmax_backward(dp, p):\n    raise NotImplementedError('softmax_backward')\n"
    )
    os.mkfifo(folder / "pipe.py")
    code, out, _ = learn("grade", folder, "--csv", tmp_path / "table.csv")
    assert code == 0 and re.search(r"^blank +not written", out, re.MULTILINE)
    assert "empty: empty holds no .py or .ipynb file" in out and "eve: eve is a link" in out
    assert "gone: gone.py is a link" in out and "pipe: pipe.py is neither" in out
    assert "ann: ann/root is a link" in out  # beside a file that is judged
    rows = (tmp_path / "table.csv").read_text(encoding="utf-8-sig").splitlines()
    assert rows[0] == "student,softmax_backward,passed" and len(rows) == 7


def test_from_part_two_on_the_reader_looks_first(learn, tmp_path):
    page = tmp_path / "answers.py"
    wrong = "import numpy as np\n\ndef clip(dW, db, limit):\n    return dW{}, db{}\n"
    page.write_text(wrong.format(" * 2", " * 2"))
    assert "LIKELY" not in learn("check", page)[1]
    assert "LIKELY" not in learn("check", page)[1]  # of the same code
    assert "LIKELY" in learn("check", page, "--likely")[1]
    page.write_text(wrong.format(" * 3", " * 3"))
    assert "LIKELY" in learn("check", page)[1]
    page.write_text("import numpy as np\n\n" + DIAGONAL)
    assert "LIKELY" in learn("check", page)[1]  # part one


def test_a_hint_says_what_is_likely(learn, tmp_path):
    page = tmp_path / "answers.py"
    page.write_text("import numpy as np\n\ndef clip(dW, db, limit):\n    return 2 * dW, 2 * db\n")
    learn("check", page)
    assert "Likely: " in learn("hint", "clip")[1]


def test_a_function_may_import_another_of_its_file(learn, tmp_path):
    source = find_exercise("softmax_backward").source
    called = "    from my_transformer import softmax\n    softmax(p)\n"
    text = source.replace("    # your code", called + "    # your code", 1)
    page = tmp_path / "both.py"
    page.write_text("import numpy as np\n\n" + text + "\n\n" + find_exercise("softmax").source)
    assert learn("check", page)[0] == 0


@pytest.mark.campaign
def test_the_commands_run_without_docstrings(tmp_path):
    for words in (["list"], ["start", "1"], ["hint"]):
        done = subprocess.run(
            [sys.executable, "-OO", "-m", "minitransformer", "learn", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("entry", [{"state": 5, "hint": -9}, {"state": "passed!", "hint": True}, 7])
def test_what_was_written_into_the_progress_by_hand_does_no_harm(learn, tmp_path, entry):
    kept = {"language": "en", "exercises": {"softmax": entry}}
    (tmp_path / FILE).write_text(json.dumps(kept))
    assert learn("list")[0] == learn()[0] == 0
    assert "hint 1 of 4" in learn("hint", "softmax")[1]


def test_a_solution_has_no_latex_in_a_terminal(learn):
    out = learn("solution", "softmax_backward", "--give-up")[1]
    assert "dx_j = p_j ( dp_j - sum_i dp_i p_i )" in out and "\\frac" not in out and "$" not in out


def test_no_formula_of_a_chapter_has_latex_in_a_terminal():
    for chapter in chapters():
        text = "\n".join(line.removeprefix("# ") for line in chapter.text.splitlines())
        for page in FORMULA.findall(text):
            shown = plain(f"$${page[0] or page[1]}$$")
            assert not re.search(r"[\\{}]|frac|matrix|sqrt[^(]|begin", shown), shown


@pytest.mark.parametrize(
    "formula, shown",
    [
        (r"\frac1D \sum_k c_k", "1/D sum_k c_k"),
        (r"\frac{Q K^\top}{\sqrt{d_k}}", "(Q K^T)/sqrt(d_k)"),
        (r"10000^{-2i / d_{model}}", "10000^(-2i / d_model)"),
        (
            r"\begin{pmatrix} \cos b & \sin b \\ -\sin b & \cos b \end{pmatrix}",
            "[cos b, sin b; -sin b, cos b]",
        ),
    ],
)
def test_a_formula_reads_like_code_in_a_terminal(formula, shown):
    assert plain(f"${formula}$") == shown


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_the_file_of_a_chapter_holds_blanks_and_no_answers(learn, tmp_path, chapter):
    assert learn("start", chapter.name)[0] == 0
    text = (tmp_path / f"{chapter.name}.py").read_text(encoding="utf-8")
    assert text.count("raise NotImplementedError(") == sum(
        len(blanks(one.source)) for one in chapter.exercises
    )
    for one in chapter.exercises:
        assert text.count(f"\n{one.name} = yours({one.name})") == 1
        assert all("\n".join(lines) not in textwrap.dedent(text) for lines in blanks(one.source))
    for cell in chapter.text.split("# %% [derivation]")[1:]:
        assert cell.partition("# %%")[0].strip() not in text
    compile(text, chapter.name, "exec")


@pytest.mark.campaign
def test_the_messages_survive_a_korean_console(tmp_path):
    environment = {**os.environ, "PYTHONIOENCODING": "cp949", "PYTHONUTF8": "0"}
    for words, code in ((["list"], 0), (["start", "5"], 0), (["check"], 1), (["hint"], 0)):
        done = subprocess.run(
            [sys.executable, "-m", "minitransformer", "learn", *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
        )
        assert done.returncode == code, done.stderr
        assert "\\u" not in done.stdout.decode("cp949")  # nothing had to be escaped


def translate(monkeypatch, translated):
    class Catalogue(dict):
        def get(self, text, default):
            return translated(text)

    monkeypatch.setattr("minitransformer_course.messages.catalogue", lambda language: Catalogue())


def test_the_messages_are_translated(learn, monkeypatch):
    def loud(text):
        return text.replace("exercise", "EXERCISE").replace("The gradient of a softmax", "TITLE")

    translate(monkeypatch, loud)
    assert "unsolved EXERCISE fails" in learn()[1] and "TITLE" in learn("list")[1]
    assert (
        "all EXERCISEs" in learn("--help")[1]
        and "an EXERCISE, a file" in learn("check", "--help")[1]
    )


def test_every_text_of_the_help_can_be_translated(learn, monkeypatch):
    translate(monkeypatch, "<{}>".format)
    parser = Parser()
    cli_learn.add_arguments(parser)
    texts = [parser.description, *(action.help for action in parser.below._choices_actions)]
    for command in parser.below.choices.values():
        texts += [
            command.description,
            *(action.help for action in command.actions if action.dest != "help"),
        ]
    assert len(texts) > 25 and not [text for text in texts if text and not text.startswith("<")]


def test_the_end_of_the_course_is_a_model_of_the_readers_own(learn, tmp_path):
    passed = {name: {"state": "passed"} for name in exercises()}
    (tmp_path / FILE).write_text(json.dumps({"exercises": passed}))
    for chapter in chapters():
        learn("start", chapter.name)
    code, out, _ = learn()
    path = out.split()[-1]
    assert code == 0 and "learn start my_model" in out and path.endswith("one_file.py")
    assert "def main" in Path(path).read_text(encoding="utf-8")
    (tmp_path / FILE).write_text(
        json.dumps({"exercises": passed | {"my_model": {"state": "passed"}}})
    )
    assert "my_model" not in learn()[1]  # it is not called for again


def test_an_exercise_says_how_hard_and_how_long_it_is(learn):
    out = learn("list")[1]
    assert all(f"{one.effort}  {name}" in out for name, one in exercises().items())
    assert all(f"\n{part}\n" in out for part in PARTS_OF_THE_BOOK)
    assert re.findall(r"^> .*?minutes  (\w+)", out, re.MULTILINE) == [*SHORT]
    assert all(one.module.stars in (1, 2, 3) for one in exercises().values())
    assert (
        sum(one.module.minutes for one in exercises().values() if one.chapter.name < "09") <= 9 * 60
    )  # part one


def test_what_is_saved_while_a_check_runs_is_not_recorded(learn, tmp_path, monkeypatch):
    """The file is read once: the code that was judged is the code that joins my_transformer.py."""
    learn("start", "4")
    page = tmp_path / "04_softmax.py"
    solve(page, "softmax")
    read = Path.read_bytes

    def read_and_save(path):
        text = read(path)
        if path.name == page.name:
            solve(page, "softmax", "def softmax(x):\n    return x\n")
        return text

    monkeypatch.setattr(Path, "read_bytes", read_and_save)
    code, out, _ = learn("check", "softmax")
    assert code == 0 and out.startswith("softmax: passed")
    kept = (tmp_path / "my_transformer.py").read_text()
    assert "def softmax(" in kept and "return x\n" not in kept
