"""Bad input is reported in one line, with exit code 2, and nothing is lost."""

import importlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError

import pytest

from minitransformer import InputError, Run, TransformerConfig, extras
from minitransformer import files, memory
from minitransformer.cli import gradcheck as gradcheck_command
from minitransformer.tasks.text_to_text import TextToText
from tests import campaign_but
from tests.library.cli.conftest import one_line, rewrite

pytestmark = pytest.mark.slow

SMALL = ("--steps", 12, "--batch", 8, "--validate-every", 6)


@pytest.mark.parametrize("command", ["train translate --train tsv --valid tsv", "evaluate run"])
def test_a_missing_library_is_named_before_the_work(run_cli, text_run, corpus, monkeypatch, command):
    monkeypatch.chdir(corpus)
    (corpus / "run").symlink_to(text_run)
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    monkeypatch.setattr(Run, "create", None)
    monkeypatch.setattr(TextToText, "answer", None)
    code, _, error = run_cli(*command.split())
    assert code == 2 and "this needs sacrebleu: pip install \".[translation]\"" in error and one_line(error)


def test_a_missing_analyser_of_korean_is_named_before_the_work(run_cli, text_run, monkeypatch):
    monkeypatch.setattr(importlib.import_module("sacrebleu.tokenizers.tokenizer_ko_mecab"), "MeCab", None)
    monkeypatch.setattr(TextToText, "answer", None)
    code, _, error = run_cli("evaluate", text_run, "--tokenize", "ko-mecab")
    assert code == 2 and '--tokenize ko-mecab needs' in error and 'pip install "sacrebleu[ko]"' in error and one_line(error)


@pytest.mark.parametrize("extra, names", {
    "translation": ("tokenizers", "sacrebleu", "pooch"), "fast": ("numba",), "distributed": ("mpi4py",), "gguf": ("gguf", "jinja2"),
    "bench": ("torch", "ctranslate2")}.items())
def test_a_missing_library_is_installed_with_its_extra(extra, names, monkeypatch):
    for name in names:
        assert extras.how_to_install(name) == f'pip install ".[{extra}]" in the folder of the clone, or pip install {name}'
    assert extras.how_to_install("numpy") == "pip install numpy"

    def not_installed(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(extras, "requires", not_installed)
    assert extras.how_to_install(names[0]) == f"pip install {names[0]}"


def test_a_library_that_is_broken_is_not_called_missing(monkeypatch):
    def broken(name):
        raise ImportError("numpy.core.multiarray failed to import")

    monkeypatch.setattr(extras.importlib, "import_module", broken)
    with pytest.raises(InputError, match="sacrebleu is installed but cannot be imported .numpy.core.multiarray failed"):
        extras.require("sacrebleu")


@pytest.mark.parametrize("arguments, words", [
    ((), "minitransformer: no COMMAND given; start with: minitransformer train copy (see minitransformer --help)"),
    (("--hlep",), "unrecognized arguments: --hlep; did you mean --help?"),
    (("--hlep", "train"), "unrecognized arguments: --hlep; did you mean --help?"),
    (("train", "--stpes", 5, "copy"), "minitransformer train: unrecognized arguments: --stpes; did you mean --steps?"),
    (("train", "--d-model", 5, "copy"), "--d-model belongs after TASK: minitransformer train TASK --d-model ..."),
    (("train", "copy", "--heads", 3), "did you mean --num-heads? (see minitransformer train copy --help)"),
    (("train", "copy", "--layers", 3), "did you mean --num-layers?"),
    (("train", "copy", "--resume", "no/such/run"), "leave copy and its options out"),
    (("trian",), "invalid choice: 'trian'; did you mean train?"),
    (("train", "cpoy"), "invalid choice: 'cpoy'; did you mean copy?"),
    (("train", "copy", ""), "unrecognized arguments: "),
    (("train", "copy", "--step", "x"), "invalid int value: 'x'"),
    (("train", "copy", "--nonsense"), "unrecognized arguments: --nonsense (see minitransformer train copy --help)"),
    (("train", "copy", "--rate_factr=3"), "did you mean --rate-factor? (see minitransformer train copy --help)"),
    (("train", "copy", "--rate-factor", "inf"), "--rate-factor is inf, expected a number above 0"),
    (("train", "copy", "--backend", "torch"), "invalid choice: 'torch'; choose from numpy, cupy, auto"),
    (("train", "copy", "--steps", 0), "--steps is 0, expected a whole number from 1 to 1,000,000,000"),
    (("train", "copy", "--batch", 0), "--batch is 0"),
    (("train", "copy", "--seed", -1), "--seed is -1"),
    (("train", "copy", "--schedule", "constant", "--peak-rate", 0.1, "--rate-factor", 2), "with constant use --peak-rate"),
    (("train", "copy", "--dropout", 1), "--dropout is 1.0"),
    (("train", "copy", "--d-model", 10, "--num-heads", 4), "num_heads"),
    (("train", "copy", "--window", 8), "unrecognized arguments: --window"),
    (("train", "copy", "--preset", "x"), "unrecognized arguments: --preset"),
    (("train", "language"), "required: --train, --valid"), (("train", "classify", "--train", "x"), "required: --valid"),
    (("train", "language", "--train", "x", "y", "--valid", "x"), "unrecognized arguments: y"),
    (("train", "language", "--train", "x", "--valid", "x"), "x: No such file or directory"),
    (("generate", "no/such/run"), "required: PROMPT"), (("generate", "no/such/run", "x"), "no run here"),
    (("classify", "no/such/run", "x"), "no run here"), (("classify",), "required: RUN"),
    (("train", "copy", "--config", "huge"), "unknown configuration 'huge'"),
    (("train",), "no TASK given; choose from classify, copy, language, numbers, reverse, sort, translate"),
    (("train", "--resume", "no/such/run"), "no run here"),
    (("train", "--resume", "no/such/run", "--seed", 4), "--resume resumes with the run's own task and settings; leave --seed out"),
    (("train", "--resume", "no/such/run", "copy"), "leave copy and its options out"),
    (("train", "copy", "--schedule", "constant"), "--peak-rate is None, but the schedule constant needs one"),
    (("train", "copy", "--schedule", "const"), "did you mean constant?"),
    (("train", "translate"), "required: --train, --valid"),
    (("train", "translate", "--train", "x", "--valid", "x", "--preset", "multi30"), "did you mean multi30k?"),
    (("gradcheck", "liner"), "unknown block 'liner'; did you mean linear?"),
    (("gradcheck", "--seed", -3), "--seed is -3"),
    (("data",), "the following arguments are required: CORPUS"),
    (("data", "multi30"), "invalid choice: 'multi30'; did you mean multi30k?"),
    (("data", "wmt14"), "invalid choice: 'wmt14'; choose from multi30k"),
    (("data", "multi30k", "--folder", "/proc/none"), "/proc/none/raw/train.en.gz: No such file or directory"),
    (("data", "multi30k", "--folder", "/dev/null"), "/dev/null/raw/train.en.gz: Not a directory"),
    (("data", "multi30k", "--folder", "a" * 300), "File name too long"),
    (("train", "copy", "--steps", "9" * 400), "expected a whole number from 1 to 1,000,000,000"),
    (("train", "copy", "--run", "/proc/none"), "/proc/none"),
    (("train", "copy", "--run", "a" * 300), "File name too long"),
    (("translate", "a" * 300, "x"), "File name too long"),
    (("evaluate", "no\nrun"), "no\\nrun: no run here"),
    (("evaluate", "no/such/run"), "no run here"),
    (("translate", "no/such/run", "text"), "no run here"),
])
def test_wrong_arguments_give_one_line_and_2(run_cli, monkeypatch, tmp_path, arguments, words):
    monkeypatch.chdir(tmp_path)
    code, out, error = run_cli(*arguments)
    assert code == 2 and not out and words in error and one_line(error)
    assert not list(tmp_path.iterdir())


def test_translate_of_unusable_input(run_cli, trained, monkeypatch):
    code, _, error = run_cli("translate", trained, "a X")
    assert code == 2 and "unknown symbol 'X'" in error and one_line(error)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\n\nb X\n")))
    code, out, error = run_cli("translate", trained)
    assert code == 2 and not out and "line 3: unknown symbol 'X'" in error and one_line(error)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\n\xff")))
    code, _, error = run_cli("translate", trained)
    assert code == 2 and "standard input, line 2: not UTF-8" in error
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert run_cli("translate", trained, "--n-best", 1)[:2] == (0, "")


def test_letters_need_no_spaces(run_cli, trained, tmp_path):
    """In every command that reads a text."""
    assert run_cli("translate", trained, "cab") == run_cli("translate", trained, "c a b")
    for command, options in ("translate", ()), ("attention", ("--output", tmp_path / "a.png")):
        code, _, error = run_cli(command, trained, "drawkcab", *options)
        assert code == 0 and not error


def test_translate_of_what_is_not_text(run_cli, trained):
    code, _, error = run_cli("translate", trained, "a\udcff")
    assert code == 2 and "line 1 is not UTF-8 text" in error and one_line(error)


def test_a_line_that_is_too_long_is_named_and_the_others_are_translated(run_cli, trained, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a b\n" + b"a " * 10_000 + b"\n\nc\n")))
    code, out, error = run_cli("translate", trained, "--min-length", 1)
    lines = out.split("\n")
    assert code == 0 and len(lines) == 5 and lines[0] and lines[1] and not lines[2] and lines[3]
    assert error == "line 2 has 10000 tokens: only the first 256 are read (max_length in training)\n"


@pytest.mark.parametrize("arguments, words", [
    (("--beam", 0), "--beam is 0, expected a whole number from 1 to 1,000"),
    (("--beam", 2, "--n-best", 3), "--n-best is 3, expected 1 to the --beam of 2"),
    (("--min-length", 3, "--max-length", 2), "--max-length is 2, expected a whole number from 3"),
    (("--length-penalty", "nan"), "--length-penalty is nan"),
])
def test_wrong_search_options(run_cli, trained, arguments, words):
    code, out, error = run_cli("translate", trained, "a b", *arguments)
    assert code == 2 and not out and words in error and one_line(error)


def test_what_a_translation_model_cannot_read_is_named(run_cli, text_run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("the dog\nthe 漢 字 漢\n".encode())))
    code, out, error = run_cli("translate", text_run)
    assert code == 0 and len(out.splitlines()) == 2 and error == "line 2: not in the vocabulary, read as <unk>: '漢', '字'\n"


def test_translate_with_no_standard_input(run_cli, trained, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    code, _, error = run_cli("translate", trained)
    assert code == 2 and "standard input is closed" in error and one_line(error)


def test_too_little_memory_is_one_line(run_cli, monkeypatch):
    def exhaust(_):
        raise MemoryError

    monkeypatch.setattr(gradcheck_command, "execute", exhaust)
    code, _, error = run_cli("gradcheck")
    assert code == 2 and "not enough memory" in error and one_line(error)


def test_control_characters_are_not_printed(run_cli):
    code, _, error = run_cli("gradcheck", "\x1b[31mred\r\u2028")
    assert code == 2 and r"\x1b[31mred\r\u2028" in error and one_line(error)


@pytest.mark.parametrize("option", [("--test", "a", "b"), ("--tokenize", "none")])
def test_toy_runs_bring_their_own_test(run_cli, trained, option):
    code, _, error = run_cli("evaluate", trained, *option)
    assert code == 2 and f"the task copy, which does not use {option[0]}; leave it out" in error and one_line(error)


COMMANDS = {"translate": ("copy", "translate"), "generate": ("language", "subwords"), "classify": ("classify",)}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_run_is_used_by_the_command_of_its_task(run_cli, runs, command):
    for name, run in runs.items():
        right = next(other for other, names in COMMANDS.items() if name in names)
        if command != right:
            code, out, error = run_cli(command, run, "x")
            assert code == 2 and not out and one_line(error)
            assert f"{run} was trained on the task {Run.load(run).task.name}: use minitransformer {right} instead" in error


@pytest.mark.parametrize("name, options", [
    ("copy", "test tokenize"), ("translate", ""), ("language", "tokenize beam length-penalty min-length max-length"),
    ("classify", "tokenize beam length-penalty min-length max-length")])
def test_options_that_a_task_has_no_use_for(run_cli, runs, name, options):
    values = {"tokenize": "none", "test": "x"}
    for option in options.split():
        code, out, error = run_cli("evaluate", runs[name], f"--{option}", values.get(option, 1))
        assert code == 2 and not out and one_line(error)
        assert f"was trained on the task {name}, which does not use --{option}; leave it out" in error


def test_only_a_transformer_is_exported(run_cli, runs, tmp_path):
    for name in ("language", "classify"):
        code, out, error = run_cli("export", runs[name], "--output", tmp_path / "a")
        assert code == 2 and not out and "cannot be exported" in error and one_line(error) and not (tmp_path / "a").exists()


def test_a_run_folder_of_the_old_format(run_cli, trained, tmp_path):
    """An older version wrote it, with a valid manifest of its own, and nothing in it is damaged."""
    run = tmp_path / "old"
    shutil.copytree(trained, run)
    (run / "config.json").write_text(json.dumps({"task": "copy", "language": None, "vocabulary": "SymbolVocabulary"}))
    known = {name: files.digest(run / name) for name in json.loads((run / "manifest.json").read_text())["files"]}
    (run / "manifest.json").write_text(json.dumps({"sha256": files._seal(1, known), "format": 1, "files": known}))
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    for arguments in (("translate", run, "a"), ("generate", run, "a"), ("classify", run, "a"), ("evaluate", run),
                      ("attention", run, "a", "--output", tmp_path / "a.png"),
                      ("export", run, "--output", tmp_path / "a"), ("train", "--resume", run)):
        code, out, error = run_cli(*arguments)
        assert code == 2 and not out and one_line(error)
        assert f"{run} has format 1, this version of minitransformer reads format 2; use a version that reads 1" in error
    assert before == {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} and list(tmp_path.iterdir()) == [run]


def test_a_run_is_not_overwritten(run_cli, trained):
    contents = lambda: {path: path.read_bytes() for path in trained.rglob("*") if path.is_file()}
    before = contents()
    code, _, error = run_cli("train", "copy", *SMALL, "--run", trained)
    assert code == 2 and one_line(error) and f"{trained} already exists and holds a run" in error
    assert f"resume it: minitransformer train --resume {trained}, or" in error
    assert before == contents()


def test_a_folder_with_other_files_is_not_a_run_folder(run_cli, tmp_path):
    (tmp_path / "mine").write_text("mine")
    code, _, error = run_cli("train", "copy", *SMALL, "--run", tmp_path)
    assert code == 2 and f"{tmp_path} already exists and is not an empty folder; choose another" in error and one_line(error)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("changes, words", [
    ({"--train": ["en", "short"]}, "en has 45 lines and"),
    ({"--train": ["en", "de", "tsv"]}, "--train: 3 files"),
    ({"--valid": ["none", "de"]}, "No such file"),
    ({"--valid": ["empty", "de"]}, "empty, expected text"),
    ({"--train": ["binary", "de"]}, "not UTF-8"),
    ({"--train": ["en"]}, "line 1: one column"),
    ({"--max-length": [5]}, "line 1: a sentence of"),
    ({"--vocab-size": [0]}, "--vocab-size is 0"),
    ({"--vocab-size": [10 ** 30]}, "expected a whole number from 1 to 1,000,000"),
    ({"--max-length": [0]}, "--max-length is 0"),
    ({"--batch": [100]}, "--batch is 100 tokens, expected at least max_length + 1 = 257"),
])
def test_unusable_text_gives_one_line_and_2(run_cli, corpus, changes, words):
    (corpus / "short").write_text("a\n")
    (corpus / "empty").write_text("")
    (corpus / "binary").write_bytes(b"\x00\xff\xfe")
    options = {"--train": ["en", "de"], "--valid": ["en", "de"], "--run": ["run"], "--vocab-size": [60], **changes}
    arguments = [item for option, values in options.items() for item in
                 (option, *(value if isinstance(value, int) else corpus / value for value in values))]
    code, _, error = run_cli("train", "translate", *arguments)
    assert code == 2 and words in error and one_line(error)
    assert not (corpus / "run").exists()


def test_a_pipe_cannot_be_trained_on(run_cli, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    code, _, error = run_cli("train", "translate", "--train", tmp_path / "pipe", "--valid", tmp_path / "pipe")
    assert code == 2 and "pipe: a pipe, expected a file" in error and one_line(error)


def test_a_missing_extra_is_named(run_cli, corpus, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    code, _, error = run_cli("train", "translate", "--train", corpus / "tsv", "--valid", corpus / "tsv")
    assert code == 2 and 'pip install tokenizers' in error and one_line(error)


def test_a_missing_library_for_downloads_is_named(run_cli, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    code, _, error = run_cli("data", "multi30k", "--folder", tmp_path)
    assert code == 2 and "pip install pooch" in error and one_line(error)


@pytest.mark.parametrize("options", [("--num-layers", 1_000_000), ("--d-model", 10_000_000, "--num-heads", 1)])
def test_a_model_that_cannot_fit_into_memory_is_refused(run_cli, tmp_path, options):
    code, out, error = run_cli("train", "copy", *options, "--run", tmp_path / "run")
    assert code == 2 and not out and one_line(error) and not list(tmp_path.iterdir())
    assert re.search(r"--num-layers is .*: such a model needs at least [\d,.]+ GB of memory, and [\d,.]+ GB is available", error)


@pytest.mark.parametrize("sizes", [dict(num_layers=10 ** 6, d_model=4, d_ff=1, num_heads=1),    # the objects alone need 10 GB
                                   dict(num_layers=2, d_model=4096, d_ff=8192), dict(vocab_size=10 ** 7)])
def test_layers_and_parameters_need_memory(sizes, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 10 ** 9)
    memory.check_fits(TransformerConfig.named("base", 1000), memory.TO_TRAIN)
    with pytest.raises(InputError, match="such a model needs at least .* GB of memory, and 1.0 GB is available"):
        memory.check_fits(TransformerConfig.named("toy", **{"vocab_size": 20, **sizes}), memory.TO_TRAIN)


@pytest.mark.skipif(memory.available_memory() is None, reason="this system does not say how much memory there is")
def test_a_container_has_less_memory(tmp_path, monkeypatch):
    (tmp_path / "new").write_text("max\n")
    (tmp_path / "old").write_text("3000000\n")
    monkeypatch.setattr(memory, "CONTAINER", (tmp_path / "new", tmp_path / "old", tmp_path / "none"))
    assert memory.available_memory() == 3_000_000
    monkeypatch.setattr(memory, "CONTAINER", (tmp_path / "new",))
    assert memory.available_memory() > 3_000_000


def test_a_received_run_that_cannot_fit_into_memory_is_refused(run_cli, trained, tmp_path):
    run = shutil.copytree(trained, tmp_path / "run")
    settings = json.loads((run / "config.json").read_text())
    settings["model"]["num_layers"] = 1_000_000
    rewrite(run, settings)
    code, out, error = run_cli("evaluate", run)
    assert code == 2 and not out and "num_layers is 1,000,000" in error and one_line(error)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")
@pytest.mark.parametrize("name", campaign_but(
    ["manifest.json", "config.json", "vocabulary.json", "weights.safetensors"], "config.json"))
def test_a_fifo_in_a_run_folder_is_named(trained, tmp_path, name):
    run = shutil.copytree(trained, tmp_path / "run")
    (run / name).unlink()
    os.mkfifo(run / name)
    done = subprocess.run([sys.executable, "-m", "minitransformer", "evaluate", run], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and name in done.stderr and one_line(done.stderr)


def test_damaged_weights_are_made_again_by_resume(run_cli, trained, tmp_path):
    run = shutil.copytree(trained, tmp_path / "run")
    (run / "weights.safetensors").write_bytes(b"")
    code, _, error = run_cli("translate", run, "a b")
    assert code == 2 and f"again from its checkpoints: minitransformer train --resume {run}\n" in error and one_line(error)
    assert run_cli("train", "--resume", run)[0] == 0 and run_cli("translate", run, "a b")[0] == 0
    (run / "weights.safetensors").write_bytes(b"")
    shutil.rmtree(run / "checkpoints")
    code, _, error = run_cli("translate", run, "a b")
    assert code == 2 and "--resume" not in error and one_line(error)
