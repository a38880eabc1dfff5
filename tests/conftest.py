"""Shared by all tests: hypothesis without deadlines, and the path to the real data."""

import os
import signal
from pathlib import Path

os.environ.setdefault(
    "OPENBLAS_NUM_THREADS", "1"
)  # before NumPy loads: small matrices only wait for threads
if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # `pytest &` in a script: ours, and so our children's, is Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest
from hypothesis import settings

from minitransformer.speed import kernels
from tests.helpers.small_corpus import server  # noqa: F401 - a fixture

# compiles them, if that was not done yet: no test that ends a slow process is to wait for it
kernels.load_all()

settings.register_profile("local", deadline=None, max_examples=20)
settings.register_profile("ci", deadline=None, max_examples=20, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(scope="session")
def multi30k():
    """The folder of the tokenised Multi30K files."""
    root = os.environ.get("MINITRANSFORMER_DATA")
    if not root:
        pytest.skip("MINITRANSFORMER_DATA is not set: no real data here")
    folder = Path(root) / "multi30k-tok"
    if not folder.is_dir():
        pytest.skip(f"{folder} does not exist: no real data here")
    return folder


@pytest.fixture
def run_cli(capsys):
    """run_cli(words, *arguments) -> (exit code, stdout, stderr) of the minitransformer command.

    run_cli("train copy --steps 2 --run", folder): only the first string is split into words.
    """
    from minitransformer.cli import main

    def run(words="", *arguments):
        try:
            code = main([*words.split(), *map(str, arguments)])
        except SystemExit as stop:
            code = stop.code
        return code, *capsys.readouterr()

    return run
