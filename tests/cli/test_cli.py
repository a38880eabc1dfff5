"""The command as its user runs it: what it prints, what it writes, and its exit code."""

import io
import json
import sys

import pytest

from tests.checking.test_gradcheck import X, WrongLinear
from tests.cli.conftest import one_line

SMALL = ("--steps", 12, "--batch", 8, "--validate-every", 6)


@pytest.mark.parametrize("arguments", [(), ("train",), ("train", "copy"), ("train", "translate"), ("evaluate",),
                                       ("translate",), ("gradcheck",), ("attention",), ("plot",), ("info",),
                                       ("benchmark",)])
def test_help(run_cli, arguments):
    code, out, error = run_cli(*arguments, "--help")
    assert code == 0 and "usage: minitransformer" in out and not error


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


def test_version(run_cli):
    code, out, _ = run_cli("--version")
    assert code == 0 and out.startswith("minitransformer 0.")


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
