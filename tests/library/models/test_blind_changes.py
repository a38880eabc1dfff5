"""Random models, changed at random as users change them, by somebody who had not read the guards:
research/blind/models. One of its lines was changed since, as the loss has no weight of its own.

Of 500 (`python research/blind/models/draws.py --count 500`, six minutes) none differs.
"""

import re
import subprocess
import sys

import pytest

from tests import ROOT

EXPECTED = "make a new Adam"  # what the next step must say if the parameters change after Adam


@pytest.mark.parametrize(
    "count", [15, pytest.param(150, marks=pytest.mark.campaign)], ids=["sample", "more"]
)
def test_what_is_assigned_is_true_everywhere(count):
    draws = ROOT / "research" / "blind" / "models" / "draws.py"
    done = subprocess.run(
        [sys.executable, draws, "--count", str(count)], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert f"{count} draws, 0 with differences or faults" in done.stdout, done.stdout
    refused = re.findall(r"^refused +(\d+): \w+: (.*)$", done.stdout, re.MULTILINE)
    others = [int(times) for times, words in refused if EXPECTED not in words]
    assert max(others, default=0) <= max(1, 0.05 * count), done.stdout
