"""Numba, which only our compiled kernels use: an import in our process, and never a part of another
library's memory.
"""

import os
import subprocess
import sys

import pytest

from minitransformer.data.vocabularies.subwords import SubwordVocabulary
from minitransformer.models import Transformer, TransformerConfig
from minitransformer.tasks import TASKS
from minitransformer.runs.run import Run

pytestmark = pytest.mark.slow

pytest.importorskip("numba", reason='Numba is not installed: pip install ".[fast]"')

LINES = ["a dog runs .", "a cat sleeps in the red house ."]


def has_numba(code):
    """Whether a fresh process has imported Numba after `code`."""
    environment = {
        name: value for name, value in os.environ.items() if name != "MINITRANSFORMER_FAST"
    }
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint('numba' in sys.modules)"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1] == "True"


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """The code of a training case and of a decoding case."""
    folder = tmp_path_factory.mktemp("run")
    vocabulary = SubwordVocabulary.learn(LINES, size=40)
    config = TransformerConfig(
        source_vocab=vocabulary.size,
        target_vocab=vocabulary.size,
        num_layers=1,
        d_model=16,
        num_heads=2,
        d_ff=24,
    )
    task = TASKS["translate"](train=["none"], valid=["none"], max_length=30)
    run = Run.create(folder / "run", task, Transformer(config), vocabulary)
    run.save_weights()
    (folder / "text.tsv").write_text(
        "".join(f"{line}\t{line}\n" for line in LINES), encoding="utf-8"
    )
    return {
        "Case": 'Case("toy", 20, 4, 6)',
        "Sentences": f"Sentences({str(folder / 'run')!r}, [{str(folder / 'text.tsv')!r}])",
    }


@pytest.mark.campaign
@pytest.mark.parametrize(
    "contestant, kind, package",
    [
        ("torch", "Case", "torch"),
        ("jax", "Case", "jax"),
        ("matmul", "Case", "numpy"),
        ("marianmt:2", "Sentences", "transformers"),
        ("ctranslate2:batches-2", "Sentences", "ctranslate2"),
    ],
)
def test_no_peer_imports_numba(cases, contestant, kind, package):
    pytest.importorskip(package, reason=f'{package} is not installed: pip install ".[bench]"')
    assert not has_numba(f"""
from research.benchmarks.worker import Case, Sentences, serve
(answer,) = serve({contestant!r}, {cases[kind]}, 1, ["1"])
assert "failed" not in answer, answer
""")


def test_what_peers_call_of_ours_does_not_import_numba(cases):
    """The same, for a machine without the other libraries."""
    assert not has_numba(f"""
from research.benchmarks.worker import Case, Sentences
from minitransformer.decoding.translation import longest_first
from minitransformer.functional import sinusoids
from minitransformer.models import Transformer
case = {cases["Case"]}
case.batches(), Transformer(case.config()), sinusoids(6, 64, dtype="float32")
run, sources = {cases["Sentences"]}.load()
list(longest_first(sources, 2))
""")


@pytest.mark.parametrize("module", ["our_step", "our_search"])
def test_our_numba_counts_as_import(module):
    assert has_numba(f"import research.benchmarks.contestants.{module}")
