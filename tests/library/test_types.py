"""A type checker sees the types of the library in a user's program."""

import os
import re
import subprocess
import sys

import pytest

from tests import ROOT

PROGRAM = """
import numpy as np
from minitransformer import (
    Adam, Classifier, ClassifierConfig, Threads, Transformer, TransformerConfig,
    beam_search, gradcheck, make_batch, training_step,
)
from minitransformer.layers import LayerNorm

config = TransformerConfig.named("toy", 20)
model = Transformer(config, seed=1)
training_step(model, Adam(model), make_batch([([5, 6], [6, 5])]), 0.001)
source = np.array([[5, 6, 2]])
logits, cache = model.forward(source, source)
scores = [best.score for best, *_ in beam_search(model, source, 3)]
with Threads(model, 2) as workers:
    training_step(model, Adam(model), [make_batch([([5], [6])])], 0.001, (0, 1), workers=workers)
gradcheck(LayerNorm(4), [np.ones((2, 4))]).raise_if_failed()
Transformer("toy")  # wrong
model.forward([5, 6], source)  # wrong
classifier = Classifier(ClassifierConfig.named("toy", vocab_size=20, num_classes=2))
beam_search(classifier, source, 3)  # wrong
beam_search(model, source, "3")  # wrong
training_step(model, Adam(model), source, 0.001)  # wrong
LayerNorm("4")  # wrong
gradcheck(LayerNorm, [np.ones((2, 4))])  # wrong
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
