"""`minitransformer gradcheck` fails if a backward is changed (mutants_of_gradients.py)."""

import subprocess
import sys

import pytest

from tests import ROOT

pytest.importorskip("resource", reason="Windows lacks it, and cannot fork")


def run(*options):
    """What the campaign prints; no change that counts goes unnoticed."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.library.checking.mutants_of_gradients", *map(str, options)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.campaign
@pytest.mark.parametrize(
    "counts", [{"backwards": 30, "forwards": 6}, {"compiled": 6}], ids=" ".join
)
def test_campaign(counts):
    found = run("--group", *counts, "--count", *counts.values(), "--jobs", 2)
    assert found.count("differs, noticed by") == sum(counts.values())
