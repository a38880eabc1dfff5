"""The command as its user runs it: what it prints, what it writes, and its exit code."""

import contextlib
import io
import json
import math
import re
import shutil
from functools import wraps

import numpy as np
import pytest

from minitransformer import Run, Search
from minitransformer import functional as F
from minitransformer.cli import gradcheck as gradcheck_command
from minitransformer.cli import main
from minitransformer.cli.parser import COMMANDS
from minitransformer.data.parallel import read_pairs
from minitransformer.decoding import GREEDY
from minitransformer.files import write_manifest
from minitransformer.layers import Linear
from minitransformer.dispatch import TABLE
from minitransformer.tasks import TASKS, toy
from minitransformer.tasks.evaluation import bleu, chrf
from tests.helpers.command import one_line, resumes_to_the_bit
from tests.helpers.kernels import needs_numba

pytestmark = pytest.mark.slow

SMALL = ("--steps", 12, "--batch", 8, "--validate-every", 6)


def test_help(run_cli, monkeypatch):
    """The general help lists every command, however narrow the terminal says that it is."""
    monkeypatch.setenv("COLUMNS", "1")
    assert run_cli("train copy --help")[0] == 0
    monkeypatch.delenv("COLUMNS")
    code, out, error = run_cli("--help")
    commands = re.findall(r"^    (\w+) +\w", out, re.MULTILINE)
    assert commands == list(COMMANDS) and "Examples:\n  minitransformer train copy\n" in out
    assert code == 0 and not error and {"train", "generate", "classify", "data"} <= set(commands)
    for command in [*commands, *(f"train {name}" for name in TASKS)]:
        code, out, error = run_cli(*command.split(), "--help")
        assert code == 0 and f"usage: minitransformer {command}" in out and not error


def test_the_output_may_go_to_a_string():
    """As in `with redirect_stdout(io.StringIO())` of a caller in Python."""
    for words, code, start in (["gradcheck", "relu"], 0, "block"), (["evaluate", "nowhere"], 2, ""):
        with (
            contextlib.redirect_stdout(io.StringIO()) as out,
            contextlib.redirect_stderr(io.StringIO()) as error,
        ):
            assert main(words) == code, error.getvalue()
        assert out.getvalue().startswith(start) and error.getvalue().count("\n") == (code != 0)


def test_gradcheck_of_named_blocks(run_cli):
    code, out, _ = run_cli("gradcheck linear softmax")
    assert code == 0
    assert all(word in out for word in "linear softmax weight bias central complex".split())
    assert out.splitlines()[-1].startswith("all 8 checks passed")  # neither has a kernel


@needs_numba
def test_gradcheck_counts_kernels_apart(run_cli, monkeypatch):
    """The output and every gradient, in float32 and float64."""
    code, out, _ = run_cli("gradcheck layer-norm")
    errors, counts = out.splitlines()[-2:]
    assert code == 0
    assert counts == "textbook: all 6 checks passed; kernels: all 8 checks passed"
    assert "kernels float64" in errors
    monkeypatch.setenv("MINITRANSFORMER_FAST", "0")
    assert run_cli("gradcheck layer-norm")[1].splitlines()[-1].startswith("all 6 checks passed")


@needs_numba
@pytest.mark.parametrize(
    "wrong, says",
    [
        (
            lambda dx, *others: (1.0001 * dx, *others),
            "the kernels differ from the textbook, which is right; those that ran: "
            "layer_norm_backward_compiled, layer_norm_forward_compiled",
        ),
        (
            lambda dx, *others: (dx[:1], *others),
            "the kernels cannot do what the textbook does: the gradient for x has shape",
        ),
    ],
)
def test_gradcheck_finds_a_wrong_kernel(run_cli, monkeypatch, wrong, says):
    entry = TABLE["layer_norm_backward"]
    (kernel,) = entry.kernels

    @wraps(kernel.function)
    def changed(dy, cache):
        return wrong(*kernel.function(dy, cache))

    monkeypatch.setattr(entry, "kernels", (kernel._replace(function=changed),))
    code, out, _ = run_cli("gradcheck layer-norm")
    assert code == 1 and f"layer-norm: {says}" in out


def test_gradcheck_checks_the_textbook_though_kernels_replace_it(run_cli, monkeypatch):
    """Attention's backward wrong in two ways, as a reader may leave it: the kernel that would run
    is right.
    """
    right = TABLE["attention_backward"].textbook

    def wrong(dy, cache):
        query, key, value, softmax, _dropout, weights = cache
        dscores = F.softmax_backward(dy @ value.swapaxes(-1, -2), softmax) * math.sqrt(
            query.shape[-1]
        )
        return dscores @ key, dscores.swapaxes(-1, -2) @ query, weights.swapaxes(-1, -2) @ dy

    monkeypatch.setattr(TABLE["attention_backward"], "textbook", wrong)
    TABLE["attention_backward"].choose()
    try:
        code, out, _ = run_cli("gradcheck attention")
    finally:
        monkeypatch.undo()
        TABLE["attention_backward"].choose()
    assert (
        code == 1
        and "textbook" not in out
        and "checks FAILED" in out
        and TABLE["attention_backward"].__call__ is right
    )


def test_many_blocks_are_shared_by_processes_and_printed_in_order(run_cli, monkeypatch):
    monkeypatch.setattr("minitransformer.cli.gradcheck.available_cores", lambda: 2)
    monkeypatch.setenv("MINITRANSFORMER_FAST", "0")
    names = "relu gelu softmax dropout linear layer-norm rms-norm additive-attention silu".split()
    assert len(names) > gradcheck_command.ALONE
    code, out, _ = run_cli("gradcheck", *names)
    assert (
        code == 0
        and list(dict.fromkeys(line.split()[0] for line in out.splitlines()[1:-1])) == names
    )


class WrongLinear(Linear):
    def backward(self, dy, cache):
        return -super().backward(dy, cache)


def test_gradcheck_that_fails_exits_with_1(run_cli, monkeypatch):
    monkeypatch.setattr(
        "minitransformer.cli.gradcheck.blocks",
        lambda seed, zoo=True: {
            "linear": (WrongLinear(5, 4, np.random.default_rng(0)), (np.ones((2, 3, 5)),))
        },
    )
    code, out, _ = run_cli(
        "gradcheck"
    )  # without names, of each block only the worst array by each method
    assert (
        code == 1
        and "FAILED" in out
        and sum(line.startswith("linear ") for line in out.splitlines()) == 2
    )


def test_the_command_that_comes_next_has_a_text_with_letters(run_cli, tmp_path, monkeypatch):
    usual = toy.ToyTask.data
    monkeypatch.setattr(
        toy.ToyTask,
        "data",
        lambda *task: usual(*task)._replace(examples=[("", ""), ("\n\na b\nc", "")]),
    )
    code, out, _ = run_cli("train copy", *SMALL, "--run", tmp_path / "run")
    assert code == 0 and out.endswith(
        f"\n      minitransformer translate {tmp_path / 'run'} 'a b'\n"
    )


def test_train_evaluate_translate_a_toy_task(run_cli, trained):
    code, out, _ = run_cli("evaluate", trained, "--json")
    scores, run = json.loads(out), Run.load(trained)
    assert code == 0 and scores == run.task.evaluate(run, GREEDY) and scores["examples"] == 20
    code, out, _ = run_cli("evaluate", trained)
    assert code == 0 and out.startswith(f"exact match: {scores['exact_match']:.1%}\n")
    code, out, _ = run_cli("translate", trained, "c a b")
    assert code == 0 and out == run.answer(["c a b"])[0] + "\n"


def test_train_says_what_comes_next(run_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("runs/reverse", "runs/reverse-2"):
        code, out, error = run_cli("train reverse --pre-norm --backend auto", *SMALL)
        assert code == 0
        assert f"minitransformer evaluate {folder}" in out and "exact match" in out
        assert "parameters" in error and "valid perplexity" in error


def test_the_text_may_stand_behind_the_options(run_cli, trained):
    first, last = (
        run_cli("translate", trained, *rest)
        for rest in (("a b", "--beam", 2), ("--beam", 2, "a b"))
    )
    assert first == last and first[0] == 0


def test_translate_from_standard_input(run_cli, trained, typed):
    typed("a b\n\nc\u2028\r\n".encode())
    code, out, _ = run_cli("translate", trained)
    assert code == 0 and len(out.split("\n")) == 4 and out.split("\n")[1] == ""


def test_translation_from_text_to_bleu(run_cli, corpus):
    paths = [corpus / "en", corpus / "de"]  # text_run has read the TSV
    code, out, _ = run_cli(
        "train translate --vocab-size 90 --max-length 40 --config toy --steps 150 "
        "--batch 400 --warmup 20 --dropout 0 --rate-factor 0.5 --train",
        *paths,
        "--valid",
        *paths,
        "--run",
        corpus / "run",
    )
    assert code == 0 and "minitransformer translate" in out
    code, out, _ = run_cli(
        "evaluate", corpus / "run", "--test", *paths, "--tokenize", "none", "--json"
    )
    scores = json.loads(out)
    assert (
        code == 0
        and scores["bleu"] > 20
        and scores["sentences"] == 45
        and "tok:none" in scores["signature"]
    )
    assert 1 < scores["perplexity"] < 10
    code, out, _ = run_cli("evaluate", corpus / "run")  # by default on the validation files
    assert code == 0 and "signature: nrefs:1" in out and "tok:13a" in out
    code, out, _ = run_cli("translate", corpus / "run", "the dog is red and blue .")
    assert code == 0 and out.strip()
    code, out, error = run_cli("translate", corpus / "run", "the dog " * 40)
    assert (
        code == 0
        and out.strip()
        and "what follows the first 40 is not read" in error
        and one_line(error)
    )


@pytest.mark.parametrize("alpha, least", [(9, 2), (1, 9)])
def test_evaluate_with_a_beam(run_cli, text_run, alpha, least):
    code, out, _ = run_cli(
        "evaluate",
        text_run,
        "--beam",
        3,
        "--length-penalty",
        alpha,
        "--min-length",
        least,
        "--json",
    )
    scores = json.loads(out)
    assert code == 0 and list(scores) == "bleu chrf signature perplexity sentences seconds".split()
    sources, references = zip(*read_pairs([text_run.parent / "tsv"]))
    outputs = Run.load(text_run).answer(sources, Search(beam=3, alpha=alpha, min_length=least))
    assert (
        scores["chrf"] == chrf(outputs, references)
        and scores["bleu"] == bleu(outputs, references)[0]
    )
    assert scores["seconds"] > 0


def test_n_best_hypotheses_come_with_scores(run_cli, text_run, typed):
    typed(b"the dog is red .\n\nthe cat is blue .\n")
    code, out, _ = run_cli("translate", text_run, "--beam", 4, "--n-best", 2)
    rows = [line.split("\t") for line in out.splitlines()]
    assert code == 0 and [row[0] for row in rows] == "1 1 2 3 3".split()
    assert float(rows[0][1]) >= float(rows[1][1]) and rows[0][2] != rows[1][2] and rows[2][2] == ""


@pytest.mark.parametrize("name", ["translate", "language", "classify"])
def test_training_resumes_where_it_stopped(run_cli, runs, tmp_path, name):
    """Killed before its last checkpoint, the resumed run ends with the same bits as one that was
    not killed.
    """
    run = tmp_path / "killed"
    assert resumes_to_the_bit(run_cli, runs[name], run)
    weights = (run / "weights.safetensors").read_bytes()
    code, out, error = run_cli("train --resume", run)  # there is nothing more to do
    assert code == 0 and (run / "weights.safetensors").read_bytes() == weights


@pytest.mark.parametrize(
    "ruin, words",
    [
        (
            lambda run: shutil.rmtree(run / "checkpoints"),
            "no checkpoint is left to resume from",
        ),
        (
            lambda run: (run / "checkpoints" / "step-00000012" / "state.json").write_text("{}"),
            "step-00000012/state.json: damaged",
        ),
    ],
    ids=["none", "damaged"],
)
def test_a_run_that_cannot_be_resumed_stays_as_it_was(run_cli, trained, tmp_path, ruin, words):
    run = shutil.copytree(trained, tmp_path / "run")
    ruin(run)
    (run / "weights.safetensors").write_bytes(b"damaged")
    before = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}
    code, out, error = run_cli("train --resume", run)
    assert code == 2 and not out and words in error.splitlines()[-1] and "Traceback" not in error
    assert {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()} == before


def test_the_sizes_of_a_model_are_options(run_cli, tmp_path):
    code, _, error = run_cli(
        "train copy --steps 1 --batch 2 --num-layers 1 --d-model 24 --num-heads 3 "
        "--d-ff 7 --d-k 5 --run",
        tmp_path / "run",
    )
    config = Run.load(tmp_path / "run").model.config
    assert (config.num_layers, config.d_model, config.num_heads, config.d_ff, config.d_k) == (
        1,
        24,
        3,
        7,
        5,
    )
    assert code == 0 and "1 layer of width 24 with 3 heads" in error


def test_the_options_of_a_model_reach_it(text_run):
    model = json.loads((text_run / "config.json").read_text())["model"]
    assert model["name"] == "transformer"
    assert {
        name: value for name, value in model.items() if "dropout" in name or name == "pre_norm"
    } == {
        "dropout": 0.1,
        "embedding_dropout": 0.2,
        "attention_dropout": 0.15,
        "feed_forward_dropout": 0.05,
        "pre_norm": False,
    }
    assert Run.load(text_run).task.search == Search(beam=5)


@pytest.mark.parametrize(
    "options, schedule, peak, pre_norm",
    [
        ([], "inverse-sqrt", 0.003, True),
        (["--schedule", "paper", "--no-pre-norm"], "paper", None, False),
    ],
)
def test_a_preset_and_what_changes_it(run_cli, corpus, options, schedule, peak, pre_norm):
    text = corpus / "tsv"
    code, _, error = run_cli(
        "train translate --preset multi30k --config toy --steps 1 --train",
        text,
        "--valid",
        text,
        "--run",
        corpus / "run",
        *options,
    )
    assert code == 0, error
    settings = json.loads((corpus / "run" / "config.json").read_text())
    training, model = settings["training"], settings["model"]
    assert (training["schedule"], training["peak_rate"], model["pre_norm"]) == (
        schedule,
        peak,
        pre_norm,
    )
    assert (training["accumulate"], settings["task"]["batch"], model["dropout"]) == (2, 1024, 0.3)


def test_resume_wants_the_text_it_began_with(refused, text_run, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(text_run, run)
    settings = json.loads((run / "config.json").read_text())
    file = settings["task"]["train"][0]
    settings["task"]["sha256"][file] = "0" * 64
    (run / "config.json").write_text(json.dumps(settings))
    write_manifest(run, ["config.json", "tokenizer.json", "weights.safetensors"])
    assert f"{file} has changed since training began" in refused("train --resume", run)
