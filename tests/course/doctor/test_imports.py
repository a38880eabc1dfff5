"""The library never needs the course: what passes is decided without it, and it is loaded only if a
check failed, or to say a report in another language.
"""

import json
import random
import subprocess
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from minitransformer import gradcheck
from minitransformer.checking import plugins
from minitransformer_course import messages
from tests.helpers.finding import X
from tests.course.doctor.corpus import CORPORA, cases_in

LOADED = "[name for name in sys.modules if name.startswith('minitransformer_course')]"
PASSES = f"""import sys
from minitransformer.cli import main
assert main(["gradcheck", "linear", "encoder-layer"]) == 0
print({LOADED})
"""
HIDDEN = f"""import json, sys
sys.modules["minitransformer_course"] = None    # importing it is an error
from minitransformer.checking import gradcheck
from minitransformer.checking.blocks import blocks
from tests.course.doctor.corpus import CORPORA, ask, cases_in
for name in ("softmax", "linear", "self-attention", "lstm", "transformer-loss"):
    assert gradcheck(*blocks()[name], methods=("complex",), projection=True).passed
cases = {{name: case for corpus in CORPORA for name, case in cases_in(corpus).items()}}
print(json.dumps({{name: ask(*cases[name])[1:3] for name in json.load(sys.stdin)}}))
del sys.modules["minitransformer_course"]
assert not {LOADED}
"""
CASES = [name for corpus in CORPORA for name in cases_in(corpus)]


def python(code, given=""):
    """What a new process prints."""
    return subprocess.run(
        [sys.executable, "-c", code], input=given, check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.parametrize(
    "name",
    (
        "minitransformer.checking minitransformer_course.doctor.known_mistakes "
        "minitransformer_course.doctor.doctor "
        "minitransformer_course.diagnosis.fitting "
        "minitransformer_course.judge.fitting"
    ).split(),
)
def test_any_part_can_be_imported_first(name):
    python(f"import {name}")


def test_a_check_that_passes_loads_nothing_of_the_course():
    assert python(PASSES).splitlines()[-1] == "[]"


def test_in_another_language_it_loads_the_words_of_its_report(monkeypatch):
    monkeypatch.setenv(messages.VARIABLE, "ko")
    *said, loaded = python(PASSES).splitlines()
    assert "모두 통과했습니다" in said[-1] and "minitransformer_course.doctor" not in loaded


@pytest.mark.parametrize(
    "place, count", [("alone", 4), pytest.param("", 30, marks=pytest.mark.campaign)]
)
def test_without_the_course_right_blocks_pass_and_wrong_ones_do_not(place, count):
    cases = sorted(name for name in CASES if name.endswith(place))
    asked = random.Random(count).sample(cases, count)
    found = json.loads(python(HIDDEN, json.dumps(asked)))
    assert [name for name in asked if found[name][0] == "passed"] == []
    assert all(
        "minitransformer_course" in says
        for _kind, says in found.values()
        if "inputs only" not in says
    )


@pytest.mark.parametrize(
    "forward, backward, words",
    [
        (lambda x: (x * x, x), lambda dy, x: 2 * x * dy, "all 1 checks passed"),
        (lambda x: (x * x, x), lambda dy, x: x * dy, "wrong: x; "),
        (
            lambda x: (x * x, x),
            lambda dy, x: x * dy * len(x),
            "wrong: x; it does not show at the given inputs, but with x of shape (3, 3, 5)",
        ),
        (
            lambda x: (x * x, x),
            lambda dy, x: np.stack([2 * x[0] * dy[0], 2 * x[1] * dy[1]]),
            "right at the given inputs only",
        ),
        (
            lambda x: (x * x, x),
            lambda dy, x: np.float64(2) * x * dy,
            "float64 for inputs of float32",
        ),
        (lambda x: (x * x, x), lambda dy, x: 2 * x * dy * np.nan, "the gradient of x is NaN"),
    ],
)
def test_what_is_wrong_is_said_without_the_course(forward, backward, words, monkeypatch):
    def check():
        return gradcheck((forward, backward), [X], name="it", methods=("complex",))

    named = check()
    monkeypatch.setattr(sys.modules[gradcheck.__module__], "find_doctor", lambda: None)
    report = check()
    assert report.passed == named.passed == ("passed" in words or "float64" in words)
    assert words in str(report) and (
        report.passed or "inputs only" in words or "pip install -e ." in str(report)
    )


@pytest.mark.parametrize(
    "missing, is_told",
    [("minitransformer_course", False), ("minitransformer_course.doctor.nothing", True)],
)
def test_a_doctor_that_cannot_be_imported_is_a_bug_unless_its_package_is_gone(missing, is_told):
    def load():
        raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)

    doctor = SimpleNamespace(module="minitransformer_course.doctor.doctor", load=load)
    find = plugins.module_of.__wrapped__  # without its cache
    with pytest.raises(ModuleNotFoundError) if is_told else nullcontext():
        assert find(doctor) is None


def test_a_library_that_is_not_installed_has_no_plugins(monkeypatch):
    def nothing(name):
        raise plugins.PackageNotFoundError(name)

    monkeypatch.setattr(plugins, "distribution", nothing)
    assert plugins.entries.__wrapped__("report") == ()
