"""The experiments that train many models: what they ran is not repeated, and the pages show their
results.
"""

import ast
import importlib
import json

import pytest

from tests import ROOT

pytestmark = pytest.mark.campaign


@pytest.fixture
def experiment(monkeypatch):
    """experiment(name): the script, imported as it is when it runs: with its own folder in the
    path.
    """
    monkeypatch.syspath_prepend(str(ROOT / "research" / "experiments"))
    return importlib.import_module


def results(name):
    return json.loads(
        (ROOT / "research" / "experiments" / f"{name}.json").read_text(encoding="utf-8")
    )


@pytest.mark.parametrize(
    "script",
    [
        script
        for folder in ("research/experiments", "research/benchmarks", "docs/pictures")
        for script in (ROOT / folder).glob("*.py")
    ],
    ids=lambda script: script.stem,
)
def test_what_a_script_imports_from_the_package_exists(script):
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and "minitransformer" in ast.unparse(
            node
        ):
            try:
                exec(ast.unparse(node), {})
            except ModuleNotFoundError as error:
                if error.name in ("torch", "jax", "transformers", "ctranslate2"):
                    pytest.skip(
                        f"{script.name} measures beside {error.name}, which is not installed"
                    )
                raise


def test_what_was_trained_is_not_trained_again(experiment, tmp_path):
    """Neither what has a result nor what has a run folder."""
    runs = experiment("side_by_side")
    copy = (
        "copy --steps 2 --batch 2 --validate-every 1 --num-layers 1 --d-model 8 --d-ff 8"
    ).split()
    jobs = [runs.Job("copy: small", seed, copy, []) for seed in (0, 1)]
    file = tmp_path / "results.json"
    file.write_text(json.dumps({"copy: small / 0": "not repeated"}), encoding="utf-8")
    found = runs.train_all(jobs, tmp_path / "runs", file)
    assert found["copy: small / 0"] == "not repeated" and runs.read(file) == found
    assert found["copy: small / 1"].keys() > {
        "exact_match",
        "training_seconds",
        "parameters",
        "valid_perplexity",
    }
    file.unlink()
    assert runs.train_all(jobs[1:], tmp_path / "runs", file) == {
        "copy: small / 1": found["copy: small / 1"]
    }  # to the second


def test_the_rows_of_table_3_are_trained_in_order(experiment, tmp_path):
    """The base with three seeds, then every row once, then further seeds."""
    for part in ("train", "val"):
        for language in ("en", "de"):
            (tmp_path / f"{part}.lc.norm.tok.{language}").touch()
    table_3 = experiment("table_3")
    keys = [job.key for job in table_3.jobs(tmp_path, seeds=2) if job.train[0] == "sort"]
    first, others = keys[: 3 + len(table_3.ROWS) - 1], keys[3 + len(table_3.ROWS) - 1 :]
    assert first[:3] == [f"sort: base / {seed}" for seed in range(3)]
    assert first[3:] == [f"sort: {row} / 0" for row in table_3.ROWS if row != "base"]
    assert others == [f"sort: {row} / 1" for row in table_3.ROWS if row != "base"]


@pytest.mark.parametrize("name", ["table_3", "transformer_and_lstm"])
def test_the_page_shows_the_results(experiment, name):
    assert experiment(name).table(results(name)) in (
        ROOT / "research" / "experiments" / "table_3.md"
    ).read_text(encoding="utf-8")


def test_the_picture_of_table_3_can_be_drawn(experiment, tmp_path):
    experiment("table_3").draw(results("table_3"), tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 50_000


def test_the_learning_rate_with_the_lowest_validation_perplexity_is_trained_further(experiment):
    compared = experiment("transformer_and_lstm")
    found = {
        f"LSTM with attention: {rate} / 0": {
            "valid_perplexity": perplexity,
            "perplexity": -perplexity,
        }
        for rate, perplexity in zip(compared.RATES, (9.0, 8.0, 8.5, 20.0))
    }
    assert compared.best_rate(found, "LSTM with attention") == compared.RATES[1]
