"""`minitransformer gradcheck` fails if a backward is changed (mutants_of_gradients.py)."""

import subprocess
import sys

import pytest

from tests.mutants import ROOT

FILES = ["functional/attention.py", "functional/cross_entropy.py", "functional/layer_norm.py", "layers/embedding.py",
         "layers/linear_cross_entropy.py", "models/next_token.py", "rivals/recurrent/gru.py", "successors/rotary.py"]


def run(*options):
    """What the campaign prints; no change that counts goes unnoticed."""
    done = subprocess.run([sys.executable, "-m", "tests.checking.mutants_of_gradients", *map(str, options)], cwd=ROOT,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_command_notices_changed_backwards():
    assert run("--files", *FILES, "--count", 12).count("differs, noticed by") >= 5


@pytest.mark.campaign
@pytest.mark.parametrize("group", ["backwards", "forwards", "numpy", "compiled"])
def test_campaign(group):
    assert "differs, noticed by" in run("--group", group, "--count", 40, "--jobs", 2)
