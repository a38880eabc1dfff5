"""The checker does not need the doctor until a check fails, and every part of both can be imported first."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("name", ["minitransformer.checking", "minitransformer_course.doctor.known", "minitransformer_course.doctor.doctor",
                                  "minitransformer_course.doctor.fitting", "minitransformer_course.judge.fitting"])
def test_any_part_can_be_imported_first(name):
    subprocess.run([sys.executable, "-c", f"import {name}"], check=True)


def test_the_doctor_is_loaded_when_a_check_runs():
    code = "import sys, minitransformer.checking; print('minitransformer_course.doctor.doctor' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
