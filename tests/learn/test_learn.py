"""minitransformer learn, as a learner uses it: in a bare folder, from the first screen to a solved exercise."""

import argparse
import gettext
import json
import os
import runpy
import subprocess
import sys
import textwrap
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from minitransformer.cli import learn as cli_learn
from minitransformer.cli.learn_actions import at_each_save
from minitransformer.learn import check, judge_file, lab, yours
from minitransformer.learn.course import chapters, exercises, find_chapter, find_exercise
from minitransformer.learn.hints import next_hint
from minitransformer.learn.judgement import check_function
from minitransformer.learn.page import page
from minitransformer.learn.plug import report, train
from minitransformer.learn.progress import FILE
from minitransformer.learn.source import blanks
from tests import chromium

DIAGONAL = "def softmax_backward(dp, p):\n    return p * (1 - p) * dp\n"


@pytest.fixture
def learn(run_cli, tmp_path, monkeypatch):
    """learn(*words) -> (exit code, stdout, stderr), in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: run_cli("learn", *words)


def solve(path, name, source=None):
    """Write the reference, or another source, over a blank function of a learner's file."""
    text = path.read_text(encoding="utf-8")
    start = text.rindex(f"def {name}(")
    end = text.index("# end of your code\n", start) + len("# end of your code\n")
    path.write_text(text[:start] + (source or find_exercise(name).source) + text[end:], encoding="utf-8")


def test_the_first_screen_says_where_to_begin(learn):
    code, out, _ = learn()
    assert code == 0 and "learn start 1" in out and "An unsolved exercise fails; that is where you begin" in out


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
    for label, words in {"PASSED": "inputs unchanged", "WHERE": "dx[", "WHY": "must sum to 0", "LIKELY": "only the diagonal",
                         "NEXT": "learn hint softmax_backward"}.items():
        assert any(line.split()[0] == label and words in line for line in out.splitlines()[1:]), label
    assert [one["state"] for one in json.loads(learn("list", "--json")[1])["exercises"] if one["chapter"] == "04_softmax"] == [
        "passed", "not yet", "started", "started", "started"]


def test_json_of_list_and_check(learn, tmp_path):
    learn("start", "softmax")
    listed = json.loads(learn("list", "--json")[1])["exercises"]
    assert len(listed) == len(exercises()) and set(listed[0]) == {"name", "chapter", "title", "state"}
    code, out, _ = learn("check", "softmax_backward", "--json")
    assert code == 1 and set(json.loads(out)) == {"exercise", "passed", "stage", "where", "why", "diagnosis"}
    assert "where you begin" in json.loads(out)["why"]
    for words in (["check", "04_softmax.py", "--json"], ["check", "--all", "--json"]):
        code, out, _ = learn(*words)
        assert code == 1 and [one["stage"] for one in json.loads(out)["exercises"]] == 5 * ["runs"]


def test_json_is_json_with_exit_code_2_too(learn, tmp_path):
    (tmp_path / "04_softmax.py").write_text("def softmax(x:\n")
    for words in (["check", "softmax", "--json"], ["check", "nothing", "--json"], ["grade", "nowhere", "--json"]):
        code, out, error = learn(*words)
        assert code == 2 and json.loads(out)["error"] in error


def test_progress_is_written_again_by_check_all(learn, tmp_path):
    learn("start", "4")
    solve(tmp_path / "04_softmax.py", "softmax")
    learn("check", "--all")
    before = json.loads((tmp_path / FILE).read_text())
    (tmp_path / FILE).write_text("{ damaged")
    learn("check", "--all")
    assert json.loads((tmp_path / FILE).read_text()) == before and before["exercises"]["softmax"]["state"] == "passed"


def test_nothing_is_overwritten_and_reset_keeps_the_old_file(learn, tmp_path):
    learn("start", "4")
    path = tmp_path / "04_softmax.py"
    fresh = path.read_bytes()
    path.write_bytes(fresh + b"# mine\n")
    code, _, error = learn("start", "4")
    assert code == 2 and "nothing was changed" in error and path.read_bytes().endswith(b"# mine\n")
    assert learn("reset", "4")[0] == 0 and path.read_bytes() == fresh
    assert (tmp_path / "04_softmax.before-reset.py").read_bytes() == fresh + b"# mine\n"


def test_what_was_reset_is_to_be_solved_again(learn, tmp_path):
    learn("start", "4")
    solve(tmp_path / "04_softmax.py", "softmax")
    learn("check", "softmax")
    learn("reset", "4")
    assert "0 of" in learn()[1] and learn("check")[1].startswith("softmax: not yet")


def test_a_command_without_a_name_says_what_to_do_first(learn, tmp_path):
    for action in ("check", "hint", "watch"):
        code, _, error = learn(action)
        assert code == 2 and "no chapter was started in this folder: minitransformer learn start 1" in error
    assert "learn start 4" in learn("watch", "4")[2]
    learn("start", "4")
    for name in [one.name for one in find_chapter("4").exercises]:
        solve(tmp_path / "04_softmax.py", name)
    assert learn("check", "--all")[0] == 0
    code, _, error = learn("check")
    assert code == 2 and "every exercise that you started passes" in error and "learn start 1" in learn()[1]


def test_a_chapter_is_checked_by_its_number(learn):
    code, _, error = learn("check", "4")
    assert code == 2 and "04_softmax was not started in this folder: minitransformer learn start 4" in error
    learn("start", "4")
    learn("start", "6")
    code, out, _ = learn("check", "4", "--json")
    assert code == 1 and {answer["exercise"] for answer in json.loads(out)["exercises"]} == {
        one.name for one in find_chapter("4").exercises}


def test_hints_begin_with_the_one_that_the_diagnosis_asks_for(learn, tmp_path):
    learn("start", "4")
    assert "hint 1 of 4" in learn("hint", "softmax_backward")[1]
    solve(tmp_path / "04_softmax.py", "softmax_backward",
          "def softmax_backward(dp, p):\n    return p * (dp - (dp * p).sum())\n")
    learn("check", "softmax_backward")    # the sum over the complete array
    steps = [learn("hint", "softmax_backward")[1] for _ in range(4)]
    assert "hint 2 of 4: Two terms" in steps[0] and "hint 3 of 4: The pieces" in steps[1]
    assert "hint 4 of 4: The line with one hole" in steps[2] and "all the hints" in steps[3]


def test_after_the_first_hint_come_those_that_say_more():
    assert [next_hint(given, 2) for given in ([], [2], [2, 3], [2, 3, 4], [2, 3, 4, 1])] == [2, 3, 4, 1, None]
    assert next_hint([2], 4) == 4 and next_hint([4], 4) == 1


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
    assert notebook.cells[notebook.cells.index(cell) + 1].source.endswith('\n\ncheck("softmax", softmax)')
    cell.source = find_exercise("softmax").source
    nbformat.write(notebook, tmp_path / "04_softmax.ipynb")
    code, out, error = learn("check", "softmax")
    assert code == 0, out + error


def test_check_in_a_notebook():
    namespace = {"np": np}
    exec(DIAGONAL, namespace)
    import minitransformer.learn
    for name in ("judgement", "judge_file"):    # no module of the package may take the name's place
        __import__(f"minitransformer.learn.{name}")
    answer = minitransformer.learn.check("softmax_backward", namespace["softmax_backward"])
    assert not answer.passed and "only the diagonal" in repr(answer)


@pytest.mark.parametrize("body", [
    "while True: pass",
    "while True:\n        try:\n            x = x + 1\n        except Exception:\n            pass",
    "return sum(1 for _ in iter(int, 1))",
])
def test_an_endless_loop_in_a_notebook_is_stopped_and_told(body, monkeypatch):
    monkeypatch.setattr("minitransformer.learn.run_file.LIMIT", 0.3)
    namespace = {}
    exec(f"def softmax(x):\n    {body}", namespace)
    before = sys.gettrace()
    answer = check("softmax", namespace["softmax"])
    assert answer.stage == "runs" and answer.where.startswith("line ")
    assert answer.why == "still running after 0.3 s: an endless loop?"
    assert sys.gettrace() is before


def test_a_line_of_a_notebook_is_counted_within_its_cell(learn, tmp_path, monkeypatch):
    monkeypatch.setattr(judge_file, "check_file", partial(judge_file.check_file, limit=1.5))    # not 10 s, for an endless loop
    learn("start", "4", "--notebook")
    path = tmp_path / "04_softmax.ipynb"
    blank = path.read_text(encoding="utf-8")
    broken = json.loads(blank)
    cell = next(cell for cell in reversed(broken["cells"]) if cell["source"] and cell["source"][0].startswith("def softmax("))
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


def test_the_picture_is_one_file_that_overwrites_none(learn, tmp_path):
    learn("start", "4")
    solve(tmp_path / "04_softmax.py", "softmax_backward", DIAGONAL)
    assert learn("check", "softmax_backward", "--html", "x.html")[0] == 1
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert page.count("<figure>") == 3 and "http" not in page and "<script" not in page and page.count("class=worst") == 3
    code, out, error = learn("check", "softmax_backward", "--html", "x.html")
    assert code == 2 and not out and "--html x.html: already exists" in error
    assert (tmp_path / "x.html").read_text(encoding="utf-8") == page
    assert learn("check", "softmax_backward", "--html", "nowhere/x.html")[0] == 2


@pytest.mark.skipif(chromium.find() is None, reason="no Chromium in the PATH")
def test_the_picture_is_seen_on_a_desktop_and_on_a_phone_in_light_and_in_dark(tmp_path):
    known = exercises()
    three_times = known["log_softmax_backward"].reference
    answers = [check_function(one, wrong, watched=False) for one, wrong in (
        (known["softmax"], known["softmax"].mistakes[0].wrong), (known["causal_mask"], known["causal_mask"].mistakes[0].wrong),
        (known["log_softmax_backward"], lambda *given: 3 * three_times(*given)), (known["softmax"], known["softmax"].reference))]
    (tmp_path / "x.html").write_text(page(answers), encoding="utf-8")
    browser = chromium.Chromium(tmp_path)
    try:
        for width, height in ((1280, 900), (390, 844)):
            for scheme in ("light", "dark"):
                browser.screen(width, height, scheme)
                browser.open((tmp_path / "x.html").as_uri())
                assert browser.run("document.documentElement.scrollWidth") <= width
                assert browser.run("document.querySelectorAll('td.worst').length") == 9
                back, text = (sum(map(int, browser.run(f"getComputedStyle(document.body).{name}").strip("rgb()").split(",")))
                              for name in ("backgroundColor", "color"))
                assert abs(back - text) > 500 and (back > text) == (scheme == "light")
                assert browser.run("getComputedStyle(document.querySelector('td')).color") == "rgb(17, 17, 17)"
        assert not browser.complaints and not browser.refused
    finally:
        browser.close()


def test_watch_checks_at_each_save(tmp_path):
    path, seen = tmp_path / "x.py", []
    path.write_text("1")

    def sleep(_seconds):
        if len(path.read_text()) == 3:
            raise KeyboardInterrupt
        path.write_text(path.read_text() + "1")

    at_each_save(lambda: path, lambda path: seen.append(path.read_text()), sleep)
    assert seen == ["1", "11", "111"][:len(seen)] and len(seen) >= 2


def test_watch_outlives_an_editor_that_deletes_and_writes_anew_and_ends_quietly(tmp_path):
    path, turns, seen = tmp_path / "x.py", iter(range(9)), []

    def sleep(_seconds):
        path.unlink() if next(turns) % 2 else path.write_text("1")

    def check_and_stop(path):
        seen.append(path)
        if len(seen) == 2:
            raise KeyboardInterrupt

    at_each_save(lambda: path, check_and_stop, sleep)
    assert seen == [path, path]


def test_a_function_of_the_reader_trains_a_model(learn, tmp_path, monkeypatch):
    monkeypatch.setattr("minitransformer.learn.plug.STEPS", 4)
    learn("start", "4")
    solve(tmp_path / "04_softmax.py", "softmax_backward")
    code, out, error = learn("plug", "softmax_backward")
    assert code == 0, out + error
    assert "your softmax_backward ran 12 times" in out and "4.4" in out    # 3 attentions in each of 4 steps
    solve(tmp_path / "04_softmax.py", "softmax_backward",
          "def softmax_backward(dp, p):\n    return dp[0, 99]\n# end of your code\n")
    code, out, _ = learn("plug", "softmax_backward")
    assert code == 1 and "IndexError" in out and "stopped, after 1 calls: line" in out
    code, _, error = learn("plug", "temperature_backward")
    assert code == 2 and "softmax_backward" in error


def test_a_seed_draws_other_weights_and_letters():
    first, again, other = (train(steps=1, seed=seed).losses for seed in (0, 0, 1))
    assert first == again != other


def test_what_passes_grows_into_a_transformer_of_the_readers_own(learn, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("minitransformer.learn.plug.STEPS", 2)
    code, _, error = learn("plug", "--all")
    assert code == 2 and "nothing that passes so far" in error and "softmax_backward" in error
    learn("start", "4")
    learn("start", "5")
    own = "from my_transformer import softmax\n\n\ndef rows(x):\n    return x.sum(axis=-1, keepdims=True)\n\n\n"
    solve(tmp_path / "04_softmax.py", "softmax")
    solve(tmp_path / "04_softmax.py", "softmax_backward", own.partition("\n")[2] + "def softmax_backward(dp, p):\n"
          "    # your code: two blanks\n    along = rows(dp * p)\n    # end of your code\n    return p * (dp - along)\n")
    assert learn("check", "4")[0] == 1
    made = runpy.run_path("my_transformer.py")
    for name in ("softmax", "softmax_backward"):
        assert check_function(find_exercise(name), made[name], watched=False).passed
    text = (tmp_path / "my_transformer.py").read_text()
    assert "rows" in made and not any(word in text for word in ("yours", "raise", "your code", "minitransformer import"))
    learn("check", "4")
    assert (tmp_path / "my_transformer.py").read_text() == text
    solve(tmp_path / "05_attention.py", "attention",
          own + "def attention(Q, K, V, mask):\n    return Q, softmax(Q @ K.swapaxes(-1, -2))\n")
    learn("check", "attention")
    assert (tmp_path / "my_transformer.py").read_text() == text    # it does not pass
    code, out, error = learn("plug", "--all")
    assert code == 0 and "your softmax ran" in out and "2 of " in out and "the library's: linear_backward" in out, out + error
    lab.at_work()
    assert "backward -> drawkcab\n2 of " in (out := capsys.readouterr().out) and "softmax, softmax_backward" in out
    assert float(out.split()[-1]) < 1e-9
    (tmp_path / "my_transformer.py").write_text(text.replace("return p * (", "return 1.001 * p * ("))
    lab.at_work()
    assert float(capsys.readouterr().out.split()[-1]) > 1e-5


def test_parts_of_my_transformer_that_cannot_stand_together_are_told(learn, tmp_path):
    learn("start", "4")
    solve(tmp_path / "04_softmax.py", "softmax")
    learn("check", "softmax")
    before = (tmp_path / "my_transformer.py").read_text()
    path = tmp_path / "mine.py"
    right = find_exercise("softmax_backward").source.replace("dp * p)", "times(dp, p))")
    path.write_text("import numpy as np\ndef times(a, b):\n    return a * b\n" + right)
    assert learn("check", path)[0] == 0
    right = find_exercise("log_softmax_backward").source.replace("dy, y):", "dy, y):\n    times(dy, y)")
    path.write_text("import numpy as np\ndef times(a, b):\n    return b * a\n" + right)
    code, _, error = learn("check", path)
    assert code == 0 and error.count("\n") == 1 and "helper 'times', and the two differ" in error
    (tmp_path / "my_transformer.py").write_text("def f(:")
    code, _, error = learn("check", "softmax")
    assert code == 0 and "my_transformer.py cannot be read (SyntaxError)" in error
    assert (tmp_path / "my_transformer.py").read_text() == "def f(:" and before


def test_what_an_earlier_edition_had_elsewhere_is_found(learn, tmp_path):
    """An exercise that moved to another chapter, and one that is gone."""
    learn("start", "5")
    with (tmp_path / "05_attention.py").open("a", encoding="utf-8") as file:
        file.write("\n\n" + find_exercise("softmax").source)
    learn("start", "4")
    (tmp_path / "04_softmax.py").write_text("import numpy as np\n")
    assert learn("check", "softmax")[1].startswith("softmax: passed")
    known = json.loads((tmp_path / FILE).read_text())
    known["exercises"]["complex_numbers"] = {"state": "passed"}
    (tmp_path / FILE).write_text(json.dumps(known))
    code, out, _ = learn()
    assert "softmax is in chapter 4 now; yours stays in 05_attention.py, and counts" in out
    assert "no longer exercises: complex_numbers" in out
    learn("check", "softmax")
    assert json.loads((tmp_path / FILE).read_text())["exercises"]["complex_numbers"] == {"state": "passed"}


def test_a_page_goes_on_over_a_blank(capsys):
    def softmax(x):
        raise NotImplementedError

    used = yours(softmax)
    assert used is find_exercise("softmax").reference and "softmax: the reference, until yours passes" in capsys.readouterr().out
    right = find_exercise("softmax").styles[0].function
    right.__name__ = "softmax"
    assert yours(right) is right and capsys.readouterr().out == "softmax: yours\n"


def test_a_function_that_is_too_slow_to_train_with_is_told_before(learn, tmp_path, monkeypatch):
    monkeypatch.setattr("minitransformer.learn.run_file.PLUG_LIMIT", 50)
    learn("start", "4")
    slow = find_exercise("softmax_backward").source.replace("    return", "    __import__('time').sleep(0.1)\n    return")
    solve(tmp_path / "04_softmax.py", "softmax_backward", slow)
    code, out, error = learn("plug", "softmax_backward")
    assert code == 1 and "too slow for 200 steps of training, 0.3" in out and "It need not be wrong" in out, out + error


def test_a_plugged_function_that_is_wrong_proves_nothing(learn, tmp_path, monkeypatch):
    monkeypatch.setattr("minitransformer.learn.plug.STEPS", 2)
    learn("start", "6")
    learn("start", "7")
    solve(tmp_path / "07_heads.py", "merge_heads",
          "def merge_heads(heads):\n    B, H, T, d = heads.shape\n    return heads.reshape(B, T, H * d)\n")
    solve(tmp_path / "06_masks.py", "causal_mask",
          "def causal_mask(ids):\n    return np.ones((ids.shape[1], ids.shape[1]), bool)\n")
    code, out, _ = learn("plug", "merge_heads")
    assert code == 1 and "does not pass its check yet" in out and "learn check merge_heads" in out
    code, out, _ = learn("plug", "causal_mask")
    assert code == 1 and "A lower loss proves nothing, either" in out
    solve(tmp_path / "06_masks.py", "causal_mask")
    code, out, _ = learn("plug", "causal_mask")
    assert code == 0 and "nothing" not in out.replace("(nothing)", "")


def test_what_passes_differs_by_rounding_alone():
    result = {"library": [2.0, 1.0], "yours": [2.0, 1.1], "calls": {"softmax": 3}, "example": ["a", "a"], "not_passed": []}
    assert "differs from the library by rounding alone" in report(result)
    assert not any("rounding" in report(result | other) for other in ({"yours": [2.0, 1.0]}, {"not_passed": ["softmax"]}))


def test_a_folder_is_graded(learn, tmp_path):
    folder = tmp_path / "handed in"
    (folder / "ann").mkdir(parents=True)
    (folder / "ann" / "04_softmax.py").write_text("import numpy as np\n" + find_exercise("softmax_backward").source)
    (folder / "bob's (2) & 성.py").write_text(DIAGONAL, encoding="utf-8")
    (folder / "eve.py").write_text("def softmax_backward(dp, p:\n")
    (folder / "notes.txt").write_text("not Python")
    (folder / "two\nlines").mkdir()
    (folder / "two\nlines" / "x.py").write_text("x = 1")
    code, out, _ = learn("grade", folder)
    assert code == 0 and "breaks a rule" in out and "   1 x  only the diagonal" in out and "eve: eve.py, line 1" in out
    assert "\ntwo\\nlines: x.py has none" in out
    code, out, _ = learn("grade", folder, "--json", "--seed", "7")
    students = json.loads(out)["students"]
    assert [one["student"] for one in students] == ["ann", "bob's (2) & 성", "eve", "two\\nlines"]
    assert students[0]["exercises"][0]["passed"] and not students[1]["exercises"][0]["passed"]
    code, out, _ = learn("grade", folder, "--csv")
    assert out.splitlines()[0] == "student,softmax_backward,passed" and "ann,passed,1" in out
    assert learn("grade", tmp_path / "nowhere")[0] == 2
    (folder / "eve.py").rename(folder / "=1+1.py")
    assert "\n'=1+1,,0\n" in learn("grade", folder, "--csv")[1]    # a spreadsheet is to show the name, not to compute it


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_the_file_of_a_chapter_holds_blanks_and_no_answers(learn, tmp_path, chapter):
    assert learn("start", chapter.name)[0] == 0
    text = (tmp_path / f"{chapter.name}.py").read_text(encoding="utf-8")
    assert text.count("raise NotImplementedError(") == sum(len(blanks(one.source)) for one in chapter.exercises)
    for one in chapter.exercises:
        assert text.count(f"\n{one.name} = yours({one.name})") == 1
        assert all("\n".join(lines) not in textwrap.dedent(text) for lines in blanks(one.source))
    for cell in chapter.text.split("# %% [derivation]")[1:]:
        assert cell.partition("# %%")[0].strip() not in text
    compile(text, chapter.name, "exec")


def test_the_messages_survive_a_korean_console(tmp_path):
    environment = {**os.environ, "PYTHONIOENCODING": "cp949", "PYTHONUTF8": "0"}
    for words, code in ((["list"], 0), (["start", "5"], 0), (["check"], 1), (["hint"], 0)):
        done = subprocess.run([sys.executable, "-m", "minitransformer", "learn", *words], cwd=tmp_path, env=environment,
                              capture_output=True)
        assert done.returncode == code, done.stderr
        assert "\\u" not in done.stdout.decode("utf-8")    # as it is written to a file: nothing had to be escaped
        done.stdout.decode("utf-8").encode("cp949")


def test_the_messages_are_translated(learn, monkeypatch):
    class Loud(gettext.NullTranslations):
        def gettext(self, message):
            return message.replace("exercise", "EXERCISE").replace("The gradient of a softmax", "TITLE")

    monkeypatch.setattr("minitransformer.learn.messages._CATALOGUE", Loud())
    assert "unsolved EXERCISE fails" in learn()[1] and "TITLE" in learn("list")[1]
    assert "all EXERCISEs" in learn("--help")[1] and "an EXERCISE, a file" in learn("check", "--help")[1]


def test_every_text_of_the_help_can_be_translated(learn, monkeypatch):
    class Marked(gettext.NullTranslations):
        def gettext(self, message):
            return f"<{message}>"

    monkeypatch.setattr("minitransformer.learn.messages._CATALOGUE", Marked())
    parser = argparse.ArgumentParser()
    cli_learn.add_arguments(parser)
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    texts = [parser.description, *(action.help for action in commands._choices_actions)]
    for command in commands.choices.values():
        texts += [command.description, *(action.help for action in command._actions if action.dest != "help")]
    assert len(texts) > 30 and not [text for text in texts if text and not text.startswith("<")]


def test_the_end_of_the_course_is_a_model_of_the_readers_own(learn, tmp_path):
    passed = {"exercises": {name: {"state": "passed"} for name in exercises()}}
    (tmp_path / FILE).write_text(json.dumps(passed))
    for chapter in chapters():
        learn("start", chapter.name)
    code, out, _ = learn()
    assert code == 0 and "learn plug --all" in out and (path := out.split()[-1]).endswith("one_file.py")
    assert "def main" in Path(path).read_text(encoding="utf-8")


def test_an_exercise_says_how_hard_and_how_long_it_is(learn):
    out = learn("list")[1]
    assert all(f"{one.effort}  {name}" in out for name, one in exercises().items())
    assert all(one.module.stars in (1, 2, 3) for one in exercises().values())
    assert sum(one.module.minutes for one in exercises().values() if one.chapter.name < "09") <= 9 * 60    # part one
