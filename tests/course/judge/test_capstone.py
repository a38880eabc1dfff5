"""The capstone: a model of the reader's own functions, proven against tutorials/one_file.py,
trained until it writes backwards.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from minitransformer_course.judge.capstone_report import (
    BOUND,
    COLOURS,
    PROOFS,
    own_functions,
    proof_page,
    report,
)
from minitransformer_course.judge.course import SHORT, exercises
from minitransformer_course.judge.learner_progress import FILE
from minitransformer_course.judge.my_transformer import FUNCTIONS
from research.mistakes.capstone import IN_THE_MODEL, IN_THE_TRAINING
from tests.helpers.capstone import edit, result

pytestmark = pytest.mark.slow

PLACES = [name for name, one in exercises().items() if one.plug]


@pytest.mark.parametrize(
    "names, functions", [(PLACES, ()), ((), FUNCTIONS), (PLACES, ("loss", "greedy"))]
)
def test_what_is_right_is_the_papers_and_trains(folder, names, functions):
    said: list[str] = []
    found = result(names, functions, steps=2, say=said.append)
    assert len(said) == 2 and said[1].startswith("step     2: loss ")
    assert max(found["errors"].values()) < 1e-12 and found["steps"] == 2 and not found["not_passed"]
    assert len(found["errors"]) > 80  # each parameter of two layers on each side


@pytest.mark.parametrize("old, new, words", IN_THE_MODEL)
def test_what_is_wrong_is_named_and_not_trained(folder, old, new, words):
    edit(folder / "my_model.py", old, new)
    if words.startswith("adam_step"):
        plain = "def adam_step(w, g, m, v, t, rate, *_rest):\n    return w - rate * g, m, v\n\n\n"
        edit(folder / "my_model.py", "HEADS = 4", plain + "HEADS = 4")
    found = result()
    assert words in report(found, [], PLACES) and "exact" not in found


@pytest.mark.parametrize("old, new, words", IN_THE_TRAINING)
def test_what_is_wrong_in_the_training_is_named(folder, old, new, words):
    edit(folder / "my_model.py", old, new)
    said = report(result(steps=1), [], PLACES)
    assert words in said if words else "after 1 steps" in said, said


def test_a_training_run_of_the_reader_calls_the_librarys_where_the_file_lacks_a_function(folder):
    found = result(functions=("train",), steps=2)
    assert found["train"] == "" and found["steps"] == 2


def test_a_wrong_step_of_adam_gets_what_its_exercise_says(folder):
    edit(folder / "my_transformer.py", "mean = m / (1 - beta1 ** t)", "mean = m")
    found = result()
    assert "adam_step is off by" in report(found, [], PLACES) and "; only v is corrected" in report(
        found, [], PLACES
    )


def test_a_part_that_does_not_pass_is_named(folder):
    edit(
        folder / "my_transformer.py",
        "dkey = dscores.swapaxes(-1, -2) @ query",
        "dkey = 2 * dscores.swapaxes(-1, -2) @ query",
    )
    found = result(PLACES, ())
    said = report(found, PLACES, PLACES)
    assert (
        "key.weight is off by" in said and "value.weight, one step nearer" in said
    )  # the key's bias has none
    assert "these do not pass their checks: attention_backward" in said
    page = proof_page(found, PLACES, PLACES)
    assert (
        1 < page.count("#f4a3a3") < page.count("#ffdf80")
    )  # attention, and not what passes its check
    assert "look here first" in page


def test_a_gradient_that_is_lost_in_the_embedding_paints_nothing_else(folder):
    edit(
        folder / "my_transformer.py",
        "np.add.at(dE, source, math.sqrt(D) * dsource)",
        "dE[source] += math.sqrt(D) * dsource",
    )
    found = result()
    wrong = {
        part
        for part in "embedding softmax masks positions attention residual".split()
        if max(error for name, error in found["errors"].items() if re.match(PROOFS[part], name))
        > BOUND
    }
    assert wrong == {"embedding"}
    page = proof_page(found, PLACES, PLACES)
    assert "look here first" in page and all(colour in page for colour in COLOURS)


def test_the_command_says_what_is_missing_and_writes_the_page(folder, run_cli, monkeypatch):
    monkeypatch.setattr("minitransformer_course.judge.capstone.STEPS", 2)
    edit(folder / "my_model.py", "def greedy(", "def gredy(")
    edit(folder / "my_model.py", "dx = dx + dasked", "dx = dx - dasked")
    code, out, _error = run_cli("learn plug")
    assert (
        code == 1
        and "backward: the gradient of decoder.1" not in out
        and "backward: the gradient of decoder.0" in out
    ), out
    assert (
        "my_model.py: 5 of 6 functions of this model are yours; the library's: greedy" in out
        and "my_transformer.html shows" in out
    )
    page = (folder / "my_transformer.html").read_text(encoding="utf-8")
    assert page.count("#f4a3a3") > 10 and page.count("#ffdf80") >= 2  # Adam and the loss are right
    assert (
        "<dt>multi-head attention</dt>" in page and "<dt>dropout</dt>" not in page
    )  # which the model does without
    edit(folder / "my_model.py", "dx = dx - dasked", "dx = dx + dasked")
    code, out, _error = run_cli("learn plug")
    assert code == 1 and "words that it never saw are right" in out
    assert re.search(
        r"not yet .* my_model .*: 5 of 6 functions are yours$",
        run_cli("learn list")[1],
        re.MULTILINE,
    )
    picture, _legend = (folder / "my_transformer.html").read_text(encoding="utf-8").split("</svg>")
    assert "#f4a3a3" not in picture  # its own page is replaced
    edit(folder / "my_model.py", "def forward(", "def forward(:")
    code, _out, error = run_cli("learn plug")
    assert code == 2 and "my_model.py" in error and error.count("\n") == 1


def test_the_blank_file_is_written_once_and_is_no_exercise(learn, tmp_path):
    assert re.search("not started +★★★ 300 minutes  my_model ", learn("list")[1])
    assert (
        learn("start", "my_model")[0] == 0
        and "backward(dlogits, cache, weights)" in (tmp_path / "my_model.py").read_text()
    )
    assert re.search(
        "not yet +★★★ 300 minutes  my_model .*: 0 of 6 functions are yours", learn("list")[1]
    )
    code, _out, error = learn("start", "my_model.py")
    assert code == 2 and "nothing was changed" in error
    code, _out, error = learn("check", "my_model.py")
    assert code == 2 and "learn plug" in error


@pytest.mark.campaign
def test_it_trains_until_every_word_is_right(folder, run_cli):
    code, out, error = run_cli("learn plug")
    assert code == 0 and "100.0% of 200 words that it never saw are right" in out, out + error
    assert "the same as tutorials/one_file.py in 90 arrays" in out and "17 of 17" in out
    assert re.search(r"passed .* my_model .*: 6 of 6 functions", run_cli("learn list")[1])


def test_adam_of_an_exercise_is_the_readers_also_in_the_model():
    assert own_functions({"own": ["loss"]}, ["adam_step", "softmax"]) == ["loss", "adam_step"]
    assert own_functions({"own": ["loss"]}, ["softmax"]) == ["loss"]


@pytest.mark.campaign
def test_the_short_path_ends_when_all_of_its_functions_have_run(folder, run_cli):
    (folder / "my_model.py").unlink()
    nine = {name: {"state": "passed"} for name in SHORT}
    (folder / FILE).write_text(json.dumps({"short": True, "exercises": nine}))
    code, out, error = run_cli("learn plug")
    assert code == 0 and "the short path: 9 of 9 functions are yours\n" in out, out + error
    assert "my_model.py:" not in out and "learn start my_model" in out
    assert "short" not in json.loads((folder / FILE).read_text())


@pytest.mark.campaign
def test_without_my_model_the_parts_are_proven_in_the_librarys(folder, run_cli, monkeypatch):
    """The same numbers in every array: as many steps would end at the same weights."""
    monkeypatch.setattr("minitransformer_course.judge.capstone.STEPS", 2)
    (folder / "my_model.py").unlink()
    _code, out, error = run_cli("learn plug")
    assert "the same as tutorials/one_file.py in 90 arrays" in out and "17 of 17" in out, (
        out + error
    )


@pytest.mark.campaign
@pytest.mark.parametrize(
    "file, old, new, words",
    [
        (
            "my_transformer.py",
            "import math\n",
            "import maths\n",
            "ModuleNotFoundError: No module named 'maths'",
        ),
        ("my_model.py", "    return grads", "    while True: pass", "my_model.py, line"),
        ("my_model.py", "HEADS = 4", "HEADS = four", "NameError"),
        (
            "my_model.py",
            "import numpy as np",
            "from minitransformer import Transformer",
            "name 'np' is not defined",
        ),
    ],
)
def test_what_cannot_run_is_told_in_a_line(folder, run_cli, monkeypatch, file, old, new, words):
    monkeypatch.setattr("minitransformer_course.judge.run_file.PROOF_LIMIT", 20)
    edit(folder / file, old, new)
    code, out, error = run_cli("learn plug")
    assert code in (1, 2) and words in out + error and (out + error).count("Traceback") == 0, (
        out + error
    )


@pytest.mark.campaign
@pytest.mark.skipif(os.name == "nt", reason="signals of a terminal")
def test_ctrl_c_ends_both_processes_with_one_line(folder):
    process = subprocess.Popen(
        [sys.executable, "-m", "minitransformer", "learn", "plug"],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stderr.readline().startswith("the same as tutorials/one_file.py; training")
    assert process.stderr.readline().startswith("step   100: loss ")
    os.killpg(process.pid, signal.SIGINT)
    _out, error = process.communicate(timeout=60)
    assert (
        process.returncode == 130
        and error.splitlines()[-1] == "minitransformer: interrupted"
        and "Traceback" not in error
    )
    time.sleep(0.5)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
