"""How a command begins a run or resumes one, in one process or in several."""

import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from minitransformer.backend import get_module
from minitransformer.errors import FolderTaken, InputError, counted, quote
from minitransformer.files import free_name
from minitransformer.kernels import in_one_line
from minitransformer.lookup import find
from minitransformer.memory import TO_TRAIN, check_fits
from minitransformer.models import MODELS
from minitransformer.tasks.task import Data
from minitransformer.training.config import TrainingConfig
from minitransformer.training.run import Run, check_free
from minitransformer.training.trainer import train


@dataclass(frozen=True)
class NewRun:
    """A run to begin, with settings that are checked."""

    task: Any                  # a Task
    model: str                 # a name in MODELS
    config: str                # the name of its configuration
    changes: dict[str, Any]    # to that configuration
    training: TrainingConfig
    backend: str
    folder: str | None         # None: a free one in runs/
    base: str | None = None    # the folder of a run whose vocabulary and weights it begins with

    def open_run(self, job) -> tuple[Run, Data]:
        """The run in its new folder, and its data. Raises InputError if the folder is taken, or a file cannot be used."""
        try:
            return self._open_run(job)
        except FolderTaken:
            folder = str(self.folder)    # not None: a name of our own would have been changed
            hint = (f"resume it: minitransformer train --resume {quote(folder)}, or choose another name"
                    if Path(folder, "config.json").exists() else "choose another name")
            raise InputError(f"--run {folder}: already exists; {hint}") from None

    def _open_run(self, job) -> tuple[Run, Data]:
        if self.folder is not None:
            check_free(self.folder)    # anything that can fail early fails here, before any work
        job.choose_gpu(get_module(self.backend))
        task = self.task.begin()
        base = Run.load(self.base, self.backend) if self.base else None
        if base:
            task.check_base(base)
        vocabulary = base.vocabulary if base else task.make_vocabulary()
        data = task.data(vocabulary, self.training)
        job.check_sentences(data.batches)
        model = self._model(task, vocabulary, base)
        run = self._create(task, model, vocabulary)
        if base:
            base.pass_on_licence(run)
        config, kind = model.config, type(model)
        heads = f" with {counted(config.num_heads, 'head')}" if hasattr(config, "num_heads") else ""
        print(f"{task.name}: {self.config} {kind.__name__}, {counted(config.num_layers, 'layer')} of width {config.d_model}{heads}"
              f", {counted(model.num_parameters(), 'parameter')}, {counted(vocabulary.size, 'token')} in the vocabulary",
              *([] if base else task.remarks(vocabulary)), sep="\n", file=sys.stderr)
        return run, data

    def _model(self, task, vocabulary, base) -> Any:
        if base:
            check_fits(base.model.config, TO_TRAIN)
            return base.model
        kind = find(MODELS, "model", self.model)
        config = kind.Config.named(self.config, **{**task.model_sizes(vocabulary), **self.changes})
        check_fits(config, TO_TRAIN)
        return kind(config, self.training.seed).to(self.backend)

    def _create(self, task, model, vocabulary) -> Run:
        """The run in its folder, or in a free one, even if another command creates a run at the same time."""
        settings = task, model, vocabulary, self.training, self.backend
        while self.folder is None:
            with suppress(FolderTaken):
                return Run.create(free_name(Path("runs", task.name)), *settings)
        return Run.create(self.folder, *settings)


@dataclass(frozen=True)
class OldRun:
    """A run to resume, perhaps for more steps than it has planned."""

    folder: str
    steps: int | None = None    # None: those that are planned

    def open_run(self, job) -> tuple[Run, Data]:
        """The run and its data. Raises InputError if either cannot be used, or if the steps are not more than those planned."""
        run = Run.open(self.folder)
        planned = run.settings.training
        if planned is None:
            raise InputError(f"{self.folder}: config.json does not record how it was trained; resume from Python: "
                             "train(..., resume=True)")
        data = run.task.data(run.vocabulary, planned)
        job.check_sentences(data.batches)
        job.choose_gpu(get_module(run.settings.backend))
        run.model = run.model.to(run.settings.backend)
        if self.steps is not None:
            run.lengthen(self.steps)
            print(f"{self.steps:,} steps are now planned instead of {planned.steps:,}: the learning rate follows the new plan",
                  file=sys.stderr)
        elif job.is_main and run.finished:
            print(f"to train longer: {run.resume_command} --steps N", file=sys.stderr)
        return run, data


class Trained(NamedTuple):
    """The outcome of a plan."""

    run: Run
    steps: int        # made so far
    examples: list    # those of the Data


def carry_out(plan, job) -> Trained:
    """Begin or resume a run, as the `plan` says, in the processes of a Job, and train it.

    The main process makes or lengthens the run, and then the others open its folder.
    """
    opened = job.together(lambda: plan.open_run(job) if job.is_main else None)
    folder = job.gather(opened and opened[0].path)[0]
    run, data = job.together(lambda: opened or OldRun(folder).open_run(job))
    if job.is_main and run.settings.backend == "numpy":
        print(in_one_line(), file=sys.stderr)
    steps = train(run, run.settings.training, data.batches, data.valid, data.measure, isinstance(plan, OldRun), job.workers)
    return Trained(run, steps, data.examples)
