"""python -m research.benchmarks, as its user runs it."""

import json
import re
import subprocess
import sys

import pytest

from research.benchmarks import scaling, step
from research.benchmarks.__main__ import BENCHMARKS
from research.benchmarks.cases import CASES
from research.benchmarks.measure import Measurement, OtherWork
from minitransformer.speed import kernels
from tests import ROOT
from tests.helpers.command import one_line

pytestmark = pytest.mark.slow


@pytest.fixture
def measured(monkeypatch):
    """The measurements are replaced by fixed numbers."""
    found = {
        "minitransformer": Measurement([0.1], 2e6, None),
        "matmul": Measurement([0.1], 1, None),
        "torch": Measurement([0.2], 4e6, None),
        "jax": Measurement([], 0, "RuntimeError: no luck"),
    }
    for module in (step, scaling):
        monkeypatch.setattr(
            module, "measure", lambda case, names, *_: {name: found[name] for name in names}
        )
    monkeypatch.setattr("research.benchmarks.report.require", lambda library: None)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ("stpe", "invalid choice: 'stpe'; did you mean step?"),
        ("step --config smal", "--config: unknown name 'smal'; did you mean small?"),
        ("step --config=", "--config: unknown name ''; choose from copy, tiny, small, base"),
        (
            "step --against tensorflow",
            "--against: unknown name 'tensorflow'; choose from torch, torch.compile, jax",
        ),
        ("step --threads 0", "argument --threads: 0 is not a whole number from 1 to "),
        (
            "scaling --threads 1000000",
            "argument --threads: 1000000 is not a whole number from 1 to ",
        ),
        ("profile --rounds 0", "argument --rounds: 0 is not a whole number from 1 to 1,000"),
        ("scaling --against jax", "unrecognized arguments: --against jax"),
        ("profile --threads 1", "unrecognized arguments: --threads 1"),
        ("step --rouns 3", "did you mean --rounds?"),
        ("step --batches no.tsv", "No such file"),
        ("step --batches a b c", "--batches: 3 files, expected SOURCE TARGET"),
        ("decoding", "the following arguments are required: RUN"),
        ("decoding no/run", "no/run: no run here"),
        ("decoding x --against torch", "unknown name 'torch'; choose from marianmt, ctranslate2"),
        ("decoding x --scaling --against marianmt", "--scaling measures minitransformer alone"),
        ("decoding x --scaling --batch 1", "leave --against and --batch out"),
        ("decoding x --batch 0", "argument --batch: 0 is not a whole number from 1 to "),
        ("layers --config tiny", "unrecognized arguments: --config tiny"),
        ("layers --rounds 0", "argument --rounds: 0 is not a whole number from 1 to 1,000"),
        ("layers --threads 1", "unrecognized arguments: --threads 1"),
        ("layers --output no/such/folder.png", "there is no folder no/such"),
        ("layers --outputs a.png", "did you mean --output?"),
    ],
)
def test_wrong_arguments(run_benchmark, arguments, words):
    code, out, error = run_benchmark(*arguments.split())
    assert code == 2 and not out and words in error and one_line(error)


def test_without_an_argument_it_lists_them(run_benchmark):
    """Each can be asked for its help: it parses, and nothing is measured. The page has them all."""
    code, out, error = run_benchmark()
    assert code == 0 and not error and {*BENCHMARKS} <= {*re.findall(r"\n    (\S+)", out)}
    page = (ROOT / "research" / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `python -m research.benchmarks (\w+)", page, re.MULTILINE) == list(
        BENCHMARKS
    )
    for name in BENCHMARKS:
        code, out, error = run_benchmark(name, "--help")
        assert code == 0 and out.startswith(f"usage: research.benchmarks {name} ") and not error


def test_bad_input_is_one_line_in_a_process_of_its_own(tmp_path):
    for words in ("nothing", "decoding no/such/run"):
        done = subprocess.run(
            [sys.executable, "-m", "research.benchmarks", *words.split()],
            capture_output=True,
            text=True,
            cwd=ROOT,
        )
        assert (
            done.returncode == 2
            and not done.stdout
            and one_line(done.stderr)
            and done.stderr.startswith("research.benchmarks")
        )


@pytest.mark.parametrize(
    "arguments, library",
    [
        ("step --against torch", "torch"),
        ("step --against jax", "jax"),
        ("decoding run --against marianmt", "transformers"),
        ("decoding run --against ctranslate2", "ctranslate2"),
    ],
)
def test_a_missing_library_is_named_with_its_command(
    run_benchmark, monkeypatch, arguments, library
):
    monkeypatch.setitem(sys.modules, "torch", sys)
    monkeypatch.setitem(sys.modules, library, None)
    code, out, error = run_benchmark(*arguments.split())
    assert code == 2 and not out and f"pip install {library}" in error and error.count("\n") == 1


def test_decoding(run_benchmark, text_run, corpus):
    """With real measurements, as JSON and as a table."""
    code, out, error = run_benchmark(
        "decoding",
        text_run,
        "--test",
        corpus / "en",
        corpus / "de",
        "--rounds",
        1,
        "--threads",
        1,
        "--json",
    )
    (result,) = json.loads(out)["results"]
    assert (
        code == 0
        and not error
        and result["peers"] == {}
        and result["sentences"] == 45
        and result["beam"] == 5
    )
    assert (
        result["sentences_per_second"] > 0
        and result["peak_memory_bytes"] > 0
        and 0 <= result["bleu"] <= 100
    )


def test_decoding_table(run_benchmark, text_run, monkeypatch):
    outputs = [[5, 6]] * 45
    found = {
        "minitransformer": Measurement([0.5], 2e6, None, outputs),
        "ctranslate2": Measurement([], 0, "no luck"),
        "marianmt": Measurement([1.5], 4e6, None, [*outputs[1:], [7]]),
    }
    monkeypatch.setattr(
        "research.benchmarks.decoding.measure",
        lambda case, names, *_, **__: {name: found[name.partition(":")[0]] for name in names},
    )
    monkeypatch.setattr("research.benchmarks.report.require", lambda library: None)
    monkeypatch.setattr(OtherWork, "cores", lambda self: 1.26)
    code, out, _ = run_benchmark(
        "decoding", text_run, "--against", "marianmt,ctranslate2", "--threads", 1
    )
    rows = [line.split() for line in out.splitlines()]
    assert code == 0 and ", transformers " in out and "other programs kept 1.3 cores busy" in out
    assert ["minitransformer", "90.0", "2", "MB"] in [row[:4] for row in rows]
    assert ["marianmt", "30.0", "3.00", "4", "MB", "0.50", "97.8%"] in [row[:7] for row in rows]
    assert ["ctranslate2", "failed:", "no", "luck"] in rows


def test_decoding_one_sentence_at_a_time(run_benchmark, text_run, monkeypatch):
    """The same search for every library, and the peers' settings are those with that batch."""
    asked = []

    def measured(case, names, *_, **__):
        asked.extend(names)
        return {name: Measurement([0.5], 2e6, None, [[5, 6]] * 45) for name in names}

    monkeypatch.setattr("research.benchmarks.decoding.measure", measured)
    monkeypatch.setattr("research.benchmarks.report.require", lambda library: None)
    code, out, _ = run_benchmark(
        "decoding", text_run, "--batch", 1, "--against", "marianmt,ctranslate2"
    )
    assert code == 0 and "45 sentences, beam 5, batches of 1\n" in out
    assert set(asked) == {
        "minitransformer",
        "marianmt:1",
        "ctranslate2:batches-1",
        "ctranslate2:operations-1",
    }


def test_decoding_scaling(run_benchmark, text_run, monkeypatch):
    monkeypatch.setattr(
        "research.benchmarks.decoding.measure",
        lambda case, names, *_: {name: Measurement([0.64], 2e6, None, []) for name in names},
    )
    code, out, _ = run_benchmark("decoding", text_run, "--scaling")
    rows = [line.split() for line in out.splitlines()]
    assert code == 0 and "threads: 1" in out and "64 5 640 ms 2.00 ms 2 MB".split() in rows


def test_decoding_of_what_cannot_be_decoded(run_benchmark, trained, text_run, tmp_path):
    (tmp_path / "tsv").write_text("\tein\n")
    for arguments, words in (
        ((trained,), "the task copy has no text to decode; give a translation run"),
        ((text_run, "--test", tmp_path / "none"), "No such file"),
        ((text_run, "--test", tmp_path / "tsv"), "no source sentences, expected at least one"),
    ):
        code, out, error = run_benchmark("decoding", *arguments)
        assert code == 2 and not out and words in error and error.count("\n") == 1


@pytest.mark.campaign
def test_json_of_a_real_measurement(run_benchmark):
    code, out, error = run_benchmark("step --config copy --rounds 1 --threads 1 --json")
    found = json.loads(out)
    assert (
        code == 0
        and not error
        and found["threads"] == 1
        and found["processor"]
        and found["versions"]["numpy"]
    )
    assert found["compiled_kernels"] == (
        f"no: {kernels.state.problem}" if kernels.state.problem else "yes"
    )
    (result,) = found["results"]
    assert result["config"] == "copy" and result["peers"] == {}
    assert (
        result["tokens_per_second"] > 0
        and result["peak_memory_bytes"] > 0
        and result["matmul_share"] > 0
    )


def test_table(run_benchmark, measured):
    code, out, _ = run_benchmark("step --against torch,jax,torch --config tiny,copy --threads 1")
    rows = [line.split() for line in out.splitlines()]
    assert code == 0
    assert ["torch", "5,120", "2.00", "4", "MB", "0.50"] in rows
    assert "jax failed: RuntimeError: no luck".split() in rows
    assert [row[0] for row in rows if row and row[0] in CASES] == ["tiny", "copy"]


def test_table_of_real_batches(run_benchmark, measured, corpus):
    for language in "en", "de":
        with open(corpus / language, "a", encoding="utf-8") as file:
            file.write("one\n")  # beside longer sentences
    code, out, _ = run_benchmark(
        "step --against torch --threads 1 --batches", corpus / "en", corpus / "de"
    )
    rows = [line.split() for line in out.splitlines()]
    assert code == 0 and [row[0] for row in rows if row and row[0] in CASES] == ["tiny"]
    assert "2.00" in next(row for row in rows if row and row[0] == "torch")
    assert "% of the source, " in out


def test_other_work_is_reported(run_benchmark, measured, monkeypatch):
    monkeypatch.setattr(OtherWork, "cores", lambda self: 1.26)
    code, out, _ = run_benchmark("step --config copy --threads 1")
    assert code == 0 and "other programs kept 1.3 cores busy" in out


def test_scaling(run_benchmark, measured):
    code, out, _ = run_benchmark("scaling --threads 1")
    assert code == 0 and "   length " in out
    assert "32 100 ms x 1.0 2 MB x 1.0".split() in [line.split() for line in out.splitlines()]
    code, out, _ = run_benchmark("scaling --threads 1 --json")
    assert json.loads(out)["results"][0] == {
        "axis": "length",
        "value": 16,
        "step_seconds": 0.1,
        "peak_memory_bytes": 2e6,
    }


def test_info(run_benchmark, monkeypatch):
    code, out, _ = run_benchmark("info --json")
    facts = json.loads(out)
    assert code == 0 and facts["python"] == sys.version.split()[0] and facts["cores"] >= 1
    code, out, _ = run_benchmark("info")
    assert (
        code == 0
        and len(out.splitlines()) == len(facts) + len(facts["kernels"])
        and facts["numpy"] in out
    )
    monkeypatch.setattr("research.benchmarks.info.threadpool_info", list)
    assert json.loads(run_benchmark("info --json")[1])["blas_kernels"] is None
