"""The command in tests: short runs of `train`, a small corpus, and the form of an error."""

import json
import shutil
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from minitransformer import Run
from minitransformer.cli import main
from minitransformer.files import write_manifest
from minitransformer.pictures import plots
from minitransformer.runs import report as run_report
from minitransformer.speed import local
from minitransformer.tasks import toy

NO_PICTURE = SimpleNamespace(curves=lambda records: SimpleNamespace(as_html=lambda description: ""))


@contextmanager
def few_examples(curves=False):
    """Twenty held-out examples, not 200 and 1,000: an untrained model answers at length. No process
    starts for a few steps.

    curves: the report of a run has its picture, which takes longer than the run.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in ("VALID", "TEST"):
            patch.setattr(toy, name, 20)
        patch.setattr(local, "WIDEST", 0)
        patch.setattr(run_report, "plots", plots if curves else NO_PICTURE)
        yield


def train(words, *arguments, curves=False):
    """For fixtures that outlive a test. `words` is split, as by run_cli."""
    with few_examples(curves):
        assert main(["train", *words.split(), *map(str, arguments)]) == 0


QUICK = "--config toy --d-model 16 --num-heads 2 --d-ff 32 --warmup 4 --threads 1".split()
SENTIMENTS = {
    "very good": "a fine good film {}",
    "0": "a dull bad film {}",
    "시시하다": "{} is just a film",
}  # {label: sentence}


def rewrite(run, settings):
    """Give a run other settings, with the checksums of what it then holds."""
    (run / "config.json").write_text(json.dumps(settings))
    write_manifest(run, json.loads((run / "manifest.json").read_text())["files"])


def write_corpus(folder):
    colours, things = "red blue green".split(), "dog cat bird house tree".split()
    farben, dinge = "rot blau grün".split(), "hund katze vogel haus baum".split()
    pairs = [
        (f"the {thing} is {colour} and {other} .", f"{ding} ist {farbe} und {andere} .")
        for thing, ding in zip(things, dinge)
        for colour, farbe in zip(colours, farben)
        for other, andere in zip(colours, farben)
    ]
    (folder / "en").write_text("".join(f"{source}\n" for source, _ in pairs), encoding="utf-8")
    (folder / "de").write_text("".join(f"{target}\n" for _, target in pairs), encoding="utf-8")
    (folder / "tsv").write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    return folder


def one_line(error):
    """The error is one line without a traceback."""
    assert error.endswith("\n") and error.count("\n") == 1 and "Traceback" not in error
    return True


def resumes_to_the_bit(run_cli, folder, run):
    """A copy `run` of that run folder, as if killed before its last checkpoint, resumes to its
    weights.
    """
    shutil.copytree(folder, run)
    *_, before, last = sorted((run / "checkpoints").iterdir())
    shutil.rmtree(last)
    (run / "weights.safetensors").unlink()
    write_manifest(run, ["config.json", Run.open(folder).vocabulary.file_name])
    code, out, error = run_cli("train", "--resume", run)
    assert (
        code == 0
        and f"saved in {run}" in out
        and f"resuming after step {int(before.name[5:])}" in error
    )
    return (run / "weights.safetensors").read_bytes() == (
        folder / "weights.safetensors"
    ).read_bytes()
