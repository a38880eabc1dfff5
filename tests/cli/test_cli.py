"""The command as its user runs it: what it prints, what it writes, and its exit code."""

import io
import json
import os
import signal
import subprocess
import sys
import types

import pytest

from minitransformer.cli import gradcheck as gradcheck_command
from tests.checking.test_gradcheck import X, WrongLinear

SMALL = ("--steps", 12, "--batch", 8, "--validate-every", 6)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run folder of a few steps on the copy task."""
    from minitransformer.cli import main

    folder = tmp_path_factory.mktemp("runs") / "copy"
    assert main(["train", "copy", "--steps", "12", "--batch", "8", "--run", str(folder)]) == 0
    return folder


@pytest.fixture
def corpus(tmp_path):
    """Forty-five aligned sentences in two files, and in one TSV."""
    colours, things = ["red", "blue", "green"], ["dog", "cat", "bird", "house", "tree"]
    farben, dinge = ["rot", "blau", "grün"], ["hund", "katze", "vogel", "haus", "baum"]
    pairs = [(f"the {thing} is {colour} and {other} .", f"{ding} ist {farbe} und {andere} .")
             for thing, ding in zip(things, dinge) for colour, farbe in zip(colours, farben)
             for other, andere in zip(colours, farben)]
    (tmp_path / "en").write_text("".join(f"{source}\n" for source, _ in pairs), encoding="utf-8")
    (tmp_path / "de").write_text("".join(f"{target}\n" for _, target in pairs), encoding="utf-8")
    (tmp_path / "tsv").write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    return tmp_path


def one_line(error):
    """The error is one line without a traceback."""
    assert error.endswith("\n") and error.count("\n") == 1 and "Traceback" not in error
    return True


@pytest.mark.parametrize("arguments", [(), ("train",), ("train", "copy"), ("train", "translate"), ("evaluate",),
                                       ("translate",), ("gradcheck",)])
def test_help(run_cli, arguments):
    code, out, error = run_cli(*arguments, "--help")
    assert code == 0 and "usage: minitransformer" in out and not error


@pytest.mark.parametrize("arguments, words", [
    ((), "the following arguments are required: COMMAND"),
    (("trian",), "invalid choice: 'trian'; did you mean train?"),
    (("train", "cpoy"), "invalid choice: 'cpoy'; did you mean copy?"),
    (("train", "copy", "--step", "x"), "invalid int value: 'x'"),
    (("train", "copy", "--nonsense"), "unrecognized arguments: --nonsense; choose from -h, --help, --batch"),
    (("train", "copy", "--rate_factr=3"), "did you mean --rate-factor? (see minitransformer train copy --help)"),
    (("train", "copy", "--rate-factor", "inf"), "--rate-factor is inf, expected a number above 0"),
    (("train", "copy", "--backend", "torch"), "invalid choice: 'torch'; choose from numpy, cupy, auto"),
    (("train", "copy", "--steps", 0), "--steps is 0, expected 1 to 1,000,000,000"),
    (("train", "copy", "--batch", 0), "--batch is 0"),
    (("train", "copy", "--seed", -1), "--seed is -1"),
    (("train", "copy", "--dropout", 1), "--dropout is 1.0"),
    (("train", "copy", "--config", "huge"), "unknown configuration 'huge'"),
    (("train", "translate"), "required: --train, --valid"),
    (("gradcheck", "liner"), "unknown block 'liner'; did you mean linear?"),
    (("gradcheck", "--seed", -3), "--seed is -3"),
    (("train", "copy", "--steps", "9" * 400), "expected 1 to 1,000,000,000"),
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


def test_gradcheck_of_one_block(run_cli):
    code, out, _ = run_cli("gradcheck", "linear", "softmax")
    assert code == 0
    assert all(word in out for word in ("linear", "softmax", "weight", "bias", "central", "complex"))
    assert out.splitlines()[-1].startswith("all 8 checks passed")


def test_gradcheck_as_json(run_cli):
    code, out, _ = run_cli("gradcheck", "layer-norm", "--seed", 3, "--json")
    found = json.loads(out)
    assert code == 0 and found["passed"] and 0 < found["worst"] < 1e-7
    assert [set(result) for result in found["results"]] == [
        {"block", "wrt", "method", "max_relative_error", "passed"}] * 6


def test_gradcheck_of_all_blocks(run_cli, monkeypatch):
    from minitransformer.checking.blocks import blocks

    few = {name: block for name, block in blocks().items() if name in ("relu", "linear")}
    monkeypatch.setattr("minitransformer.cli.gradcheck.blocks", lambda seed: few)
    code, out, _ = run_cli("gradcheck")
    assert code == 0 and len(out.splitlines()) == 1 + 4 + 1


def test_gradcheck_that_fails_exits_with_1(run_cli, monkeypatch):
    monkeypatch.setattr("minitransformer.cli.gradcheck.blocks",
                        lambda seed: {"linear": (WrongLinear("wrong sign"), (X,))})
    code, out, _ = run_cli("gradcheck")
    assert code == 1 and "FAILED" in out
    code, out, _ = run_cli("gradcheck", "--json")
    assert code == 1 and json.loads(out)["passed"] is False


def test_train_evaluate_translate_a_toy_task(run_cli, trained):
    code, out, _ = run_cli("evaluate", trained, "--json")
    scores = json.loads(out)
    assert code == 0 and 0 <= scores["exact_match"] <= 1 and scores["examples"] == 1000
    code, out, _ = run_cli("evaluate", trained)
    assert code == 0 and out.startswith("exact match: ")
    code, out, _ = run_cli("translate", trained, "c a b")
    assert code == 0 and out.endswith("\n")


def test_train_says_what_comes_next(run_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("runs/reverse", "runs/reverse-2"):
        code, out, error = run_cli("train", "reverse", *SMALL, "--pre-norm", "--backend", "auto")
        assert code == 0
        assert f"minitransformer evaluate {folder}" in out and "exact match" in out
        assert "parameters" in error and "validation perplexity" in error


@pytest.mark.parametrize("language", ["german", "korean"])
def test_train_numbers(run_cli, tmp_path, language):
    folder = tmp_path / "run"
    code, out, _ = run_cli("train", "numbers", *SMALL, "--language", language, "--run", folder)
    assert code == 0 and "never trained on" in out
    assert run_cli("translate", folder, "one hundred twenty-three thousand")[0] == 0


def test_translate_from_standard_input(run_cli, trained, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("a b\n\nc\u2028\r\n".encode())))
    code, out, _ = run_cli("translate", trained)
    assert code == 0 and len(out.split("\n")) == 4 and out.split("\n")[1] == ""


def test_translate_of_unusable_input(run_cli, trained, monkeypatch):
    code, _, error = run_cli("translate", trained, "a X")
    assert code == 2 and "unknown symbol 'X'" in error and one_line(error)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff")))
    code, _, error = run_cli("translate", trained)
    assert code == 2 and "standard input: not UTF-8" in error


@pytest.mark.parametrize("text, words", [("a\udcff", "line 1 is not UTF-8 text"), ("a " * 300, "at most 256")])
def test_translate_of_unusable_text(run_cli, trained, text, words):
    code, _, error = run_cli("translate", trained, text)
    assert code == 2 and words in error and one_line(error)


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


def test_ctrl_c_while_numpy_loads(run_cli, monkeypatch):
    class Interrupted(types.ModuleType):
        def __getattr__(self, name):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "minitransformer.cli.parser", Interrupted("parser"))
    code, _, error = run_cli("info")
    assert code == 130 and error == "minitransformer: interrupted\n"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler    # the caller's own Ctrl-C still works


def test_control_characters_are_not_printed(run_cli):
    code, _, error = run_cli("gradcheck", "\x1b[31mred\r\u2028")
    assert code == 2 and r"\x1b[31mred\r\u2028" in error and one_line(error)


def test_version(run_cli):
    code, out, _ = run_cli("--version")
    assert code == 0 and out.startswith("minitransformer 0.")


def test_toy_runs_bring_their_own_test(run_cli, trained):
    code, _, error = run_cli("evaluate", trained, "--test", "a", "b")
    assert code == 2 and "leave --test out" in error and one_line(error)


def test_a_run_is_not_overwritten(run_cli, trained):
    before = {path.name: path.read_bytes() for path in trained.iterdir()}
    code, _, error = run_cli("train", "copy", *SMALL, "--run", trained)
    assert code == 2 and "already exists" in error
    assert before == {path.name: path.read_bytes() for path in trained.iterdir()}


@pytest.mark.parametrize("files", [("en", "de"), ("tsv",)])
def test_translation_from_text_to_bleu(run_cli, corpus, files):
    paths = [corpus / name for name in files]
    code, out, _ = run_cli("train", "translate", "--train", *paths, "--valid", *paths, "--run", corpus / "run",
                           "--vocab-size", 90, "--max-length", 40, "--config", "toy", "--steps", 150, "--batch", 400,
                           "--warmup", 20, "--dropout", 0, "--rate-factor", 0.5)
    assert code == 0 and "minitransformer translate" in out
    code, out, _ = run_cli("evaluate", corpus / "run", "--test", *paths, "--tokenize", "none", "--json")
    scores = json.loads(out)
    assert code == 0 and scores["bleu"] > 20 and scores["sentences"] == 45 and "tok:none" in scores["signature"]
    assert 1 < scores["perplexity"] < 10
    code, out, _ = run_cli("evaluate", corpus / "run")    # by default on the validation files
    assert code == 0 and "signature: nrefs:1" in out and "tok:13a" in out
    code, out, _ = run_cli("translate", corpus / "run", "the dog is red and blue .")
    assert code == 0 and out.strip()
    code, _, error = run_cli("translate", corpus / "run", "the dog " * 40)
    assert code == 2 and "at most 40 are allowed" in error and one_line(error)


@pytest.mark.parametrize("changes, words", [
    ({"--train": ["en", "short"]}, "en has 45 lines and"),
    ({"--train": ["en", "de", "tsv"]}, "--train: 3 files"),
    ({"--valid": ["none", "de"]}, "No such file"),
    ({"--valid": ["empty", "de"]}, "empty, expected one sentence a line"),
    ({"--train": ["binary", "de"]}, "not UTF-8"),
    ({"--train": ["en"]}, "line 1: one column"),
    ({"--max-length": [5]}, "line 1: a sentence of"),
    ({"--vocab-size": [0]}, "--vocab-size is 0"),
    ({"--vocab-size": [10 ** 30]}, "expected 1 to 1,000,000"),
    ({"--max-length": [0]}, "--max-length is 0"),
    ({"--batch": [100]}, "--batch is 100 tokens, expected at least --max-length + 1 = 257"),
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


def test_a_missing_extra_is_named(run_cli, corpus, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    code, _, error = run_cli("train", "translate", "--train", corpus / "tsv", "--valid", corpus / "tsv")
    assert code == 2 and 'pip install tokenizers' in error and one_line(error)


def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path):
    """The real command, interrupted as a terminal does it."""
    process = subprocess.Popen([sys.executable, "-m", "minitransformer", "train", "copy", "--run", tmp_path / "run",
                                "--validate-every", "1"], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for line in process.stderr:
        if "validation perplexity" in line:
            break
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in error
    assert f"minitransformer evaluate {tmp_path / 'run'}" in error
    assert (tmp_path / "run" / "weights.safetensors").exists() and (tmp_path / "run" / "loss.png").exists()


def test_interrupted_before_training(run_cli, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(gradcheck_command, "execute", interrupt)
    code, _, error = run_cli("gradcheck")
    assert code == 130 and error == "minitransformer: interrupted\n"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler    # the caller's own Ctrl-C still works


@pytest.mark.parametrize("arguments", ["gradcheck linear", "--help"])
def test_a_closed_pipe_is_quiet(arguments):
    command = f"{sys.executable} -m minitransformer {arguments} | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env={k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"})
    assert not done.stderr
