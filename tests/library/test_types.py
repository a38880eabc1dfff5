"""A type checker sees the types of the library in a user's program."""

import os
import re
import subprocess
import sys

import pytest

from tests import ROOT

PROGRAM = """
from minitransformer import Adam, Transformer, TransformerConfig, make_batch, training_step

config = TransformerConfig.named("toy", 20)
model = Transformer(config, seed=1)
training_step(model, Adam(model), make_batch([([5, 6], [6, 5])]), 0.001)
Transformer("toy")  # wrong
TransformerConfig.named(20, "toy")  # wrong
"""


@pytest.mark.slow
def test_mistakes_of_a_user_are_found(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "program.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},  # an editable installation is not found without
        capture_output=True,
        text=True,
    )
    found = set(map(int, re.findall(r"^program.py:(\d+): error:", done.stdout, re.MULTILINE)))
    wrong = {i for i, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# wrong")}
    assert found == wrong, done.stdout + done.stderr
