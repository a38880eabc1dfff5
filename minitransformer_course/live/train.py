"""A training run in parts of one or two seconds, between which a page draws the loss, tries the
model, or stops. Its folder is the one that `minitransformer train` writes.
"""

import shutil
import time
import unicodedata
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from minitransformer.cli.new_run import new_run
from minitransformer.errors import InputError
from minitransformer.runs.start import begin as begin_run
from minitransformer.runs.trainer import Training
from minitransformer.runs.validation import Validation
from minitransformer.speed.processes import Job
from minitransformer.tasks import TASKS
from minitransformer.training.workers import OneWorker
from minitransformer_course import messages
from minitransformer_course.explorer import explore as explore_run
from minitransformer_course.judge.own_text import readable
from minitransformer_course.live.parts import SECONDS, answers, seen
from minitransformer_course.live.products import with_einsum
from minitransformer_course.messages import _

PLACE = Path("trained")  # the folder of the run, and of the text that it learns from
HELD_OUT = 20_000  # characters of a text, at most
SNAPSHOTS = 3  # of the weights, for the explorer
SMALL = {  # a language model that learns in a few minutes
    "steps": 600,
    "peak_rate": 0.003,
    "window": 64,
    "batch": 16,
    "num_layers": 2,
    "d_model": 64,
    "d_ff": 256,
    "num_heads": 4,
}
state = SimpleNamespace(training=None)  # of the page


class Timed(OneWorker):
    """One worker, who stops between two steps once SECONDS are over."""

    until: float | None = None  # None: before the first step of a part

    def agree(self, flag: bool) -> bool:
        now = time.perf_counter()
        if self.until is None:
            self.until = now + SECONDS
        return flag or now >= self.until


def begin(language: str) -> None:
    """Forget everything."""
    messages.choose(language)
    state.training = None


@answers
def start(task: str, text: str) -> dict:
    """Begin a run of a task; `text` is what a language model learns from."""
    state.training = None
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir()
    options, remarks = dict(TASKS[task].defaults), []
    if task == "language":
        files, remarks = _files(text)
        options |= SMALL | files
    steps = options["steps"]
    more = {"validate_every": steps, "snapshot_every": steps // SNAPSHOTS}
    plan = new_run(Namespace(task=task, run=str(PLACE / task), **options, **more))
    run, data = begin_run(Job(), plan)
    with_einsum(run.model)
    validation = Validation(data.valid, data.measure, plan.training.threads)
    workers: Any = Timed(run.model)
    state.training = Training(run, plan.training, data.batches, validation, workers)
    said = _("{n:,} weights, {steps:,} steps.").format(n=run.model.num_parameters(), steps=steps)
    return {"said": " ".join([said, *remarks])}


def _files(text: str) -> tuple[dict[str, list[str]], list[str]]:
    """({"train", "valid": the file}, remarks) of a text, whose end is held out."""
    path = PLACE / _("your text")
    path.write_text(text, encoding="utf-8", errors="replace")
    text, remarks = readable(path)
    path.unlink()
    text = unicodedata.normalize("NFC", text)
    end = len(text) - min(len(text) // 10, HELD_OUT)
    known = {*text[:end]}  # a model of characters can read no others
    held_out = "".join(filter(known.__contains__, text[end:]))
    files = {"train": text[:end], "valid": held_out}
    for name, part in files.items():
        (PLACE / f"{name}.txt").write_text(part, encoding="utf-8")
    return {name: [str(PLACE / f"{name}.txt")] for name in files}, remarks


@answers
def advance() -> dict:
    """Train for a part of the run, and measure the model if it is the last one."""
    training = state.training
    training.workers.until = None
    step, updates = training.train(), training.updates
    losses = [(one["step"], one["loss"]) for one in training.log.records if "loss" in one]
    if updates.terms:  # since the last line of the log
        losses.append((step, float(updates.sums.loss) / updates.terms))
    said = _measured(training.log.records) if training.run.finished else None
    return {**seen(losses, training.config.steps), "said": said}


def _measured(records: list[dict[str, Any]]) -> list[str]:
    last = next(one for one in reversed(records) if "valid_nll" in one)
    if "valid_exact_match" in last:
        said = _("{share:.1%} of its answers to examples that it never saw are exactly right.")
        said = said.format(share=last["valid_exact_match"])
    else:
        said = _("On the held-out end of your text its perplexity is {n:.1f}.")
        said = said.format(n=last["valid_perplexity"])
    return [_("Trained."), said]


@answers
def say(text: str) -> dict:
    """What the model writes for a text."""
    run = _trained()
    (answer,) = run.answer([_as_read(run, text)])
    return {"answer": f"{text} → {answer if _is_prose(run) else ''.join(answer.split())}"}


@answers
def explore(text: str) -> dict:
    """The explorer's page on the model and a text."""
    run = _trained()
    page = explore_run(run, _as_read(run, text)).html.encode()
    said = _("Open the explorer on this model, in a new tab")
    return {"file": page, "type": "text/html", "link": said}


@answers
def download(_text: str) -> dict:
    """The run's folder, with the text beside it, as a zip."""
    run = _trained()
    archive = Path(shutil.make_archive(str(PLACE), "zip", PLACE))
    return {"file": archive.read_bytes(), "type": "application/zip", "name": f"{run.path.name}.zip"}


def _trained() -> Any:
    if state.training is None:
        raise InputError(_("Train a model first, a few steps at least."))
    return state.training.run


def _is_prose(run: Any) -> bool:
    return run.task.name == "language"


def _as_read(run: Any, text: str) -> str:
    """As the task reads it: a word is letters with spaces in between."""
    if not text.strip():
        raise InputError(_("Write something for the model to read."))
    return text if _is_prose(run) else " ".join("".join(text.lower().split()))
