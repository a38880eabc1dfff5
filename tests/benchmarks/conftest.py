"""The command line of the benchmarks, and the runs and texts of the package's tests."""

import pytest

from tests.helpers.trained_runs import corpus, text_run, trained  # noqa: F401 - fixtures


@pytest.fixture
def run_benchmark(capsys):
    """run_benchmark(words, *arguments) -> (exit code, stdout, stderr) of the benchmarks."""
    from research.benchmarks.__main__ import main

    def run(words="", *arguments):
        try:
            code = main([*words.split(), *map(str, arguments)])
        except SystemExit as stop:
            code = stop.code
        return code, *capsys.readouterr()

    return run
