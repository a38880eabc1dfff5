"""How a command begins a run or resumes one, in one process or in several: the main one makes the folder, the others open it."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from minitransformer.backend import get_module
from minitransformer.errors import FolderTaken, InputError, counted, quote
from minitransformer.files import free_name
from minitransformer.lookup import find
from minitransformer.memory import TO_TRAIN, check_fits
from minitransformer.models import MODELS
from minitransformer.tasks.task import Data
from minitransformer.training.run import Run, check_free


def begin(job, task, model, config, changes, training, backend="numpy", folder=None, base=None) -> tuple[Run, Data]:
    """A new run and its data, in the processes of a Job. Raises InputError if the folder is taken, or a file cannot be used.

    model: a name in MODELS, with its configuration called `config` and `changes` to it; training: a TrainingConfig; folder: None
    for a free one in runs/; base: None, or the folder of a run whose vocabulary and weights the new one begins with.
    """
    def create() -> tuple[Run, Data]:
        if folder is not None:
            check_free(folder)    # anything that can fail early fails here, before any work
        job.choose_gpu(get_module(backend))
        begun = task.begin()
        old = Run.load(base, backend) if base else None
        if old:
            begun.check_base(old)
        vocabulary = old.vocabulary if old else begun.make_vocabulary()
        data = begun.data(vocabulary, training)
        job.check_sentences(data.batches)
        kind = type(old.model) if old else find(MODELS, "model", model)
        sizes = old.model.config if old else kind.Config.named(config, **{**begun.model_sizes(vocabulary), **changes})
        check_fits(sizes, TO_TRAIN)
        made = old.model if old else kind(sizes, training.seed).to(backend)
        run = _create(folder, begun, made, vocabulary, training, backend)
        if old:
            old.pass_on_licence(run)
        heads = f" with {counted(sizes.num_heads, 'head')}" if hasattr(sizes, "num_heads") else ""
        print(f"{begun.name}: {config} {kind.__name__}, {counted(sizes.num_layers, 'layer')} of width {sizes.d_model}{heads}"
              f", {counted(made.num_parameters(), 'parameter')}, {counted(vocabulary.size, 'token')} in the vocabulary",
              *([] if old else begun.remarks(vocabulary)), sep="\n", file=sys.stderr)
        return run, data

    def create_or_say_how_to_resume() -> tuple[Run, Data]:
        try:
            return create()
        except FolderTaken:    # not one of our own choice
            hint = (f"resume it: minitransformer train --resume {quote(str(folder))}, or choose another name"
                    if Path(str(folder), "config.json").exists() else "choose another name")
            raise InputError(f"--run {folder}: already exists; {hint}") from None

    return _opened(job, create_or_say_how_to_resume)


def resume(job, folder) -> tuple[Run, Data]:
    """The run in `folder` and its data, in the processes of a Job. Raises InputError if either cannot be used."""
    return _opened(job, lambda: _open(job, folder))


def _create(folder, task, *settings) -> Run:
    """The run in its folder, or in a free one, even if another command creates a run at the same time."""
    while folder is None:
        with suppress(FolderTaken):
            return Run.create(free_name(Path("runs", task.name)), task, *settings)
    return Run.create(folder, task, *settings)


def _open(job, folder) -> tuple[Run, Data]:
    run = Run.open(folder)
    planned = run.settings.training
    if planned is None:
        raise InputError(f"{folder}: config.json does not record how it was trained; resume from Python: train(..., resume=True)")
    data = run.task.data(run.vocabulary, planned)
    job.check_sentences(data.batches)
    job.choose_gpu(get_module(run.settings.backend))
    run.model = run.model.to(run.settings.backend)
    return run, data


def _opened(job, work) -> Any:
    """What work() returns in the main process; the others open the folder of its run."""
    opened = job.together(lambda: work() if job.is_main else None)
    folder = job.gather(opened and opened[0].path)[0]
    return job.together(lambda: opened or _open(job, folder))
