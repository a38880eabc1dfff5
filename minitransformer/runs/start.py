"""How a command begins a run or resumes one, in one process or in several: the main one makes the
folder, the others open it.
"""

import sys
from pathlib import Path
from typing import Any

from minitransformer.backend import get_module
from minitransformer.errors import InputError, counted
from minitransformer.files import free_name
from minitransformer.lookup import find
from minitransformer.memory import TO_TRAIN, check_fits
from minitransformer.models import MODELS
from minitransformer.tasks.task import Data
from minitransformer.runs.folder import check_free
from minitransformer.runs.run import Run


def begin(
    job, task, model, config, changes, training, backend="numpy", folder=None, base=None
) -> tuple[Run, Data]:
    """A new run and its data, in the processes of a Job. Raises InputError if the folder is taken,
    or a file cannot be used.

    model: a name in MODELS, with its configuration called `config` and `changes` to it; training: a
    TrainingConfig; folder: None for a free one in runs/; base: None, or the folder of a run whose
    vocabulary and weights the new one begins with.
    """

    def create() -> tuple[Run, Data]:
        if folder is not None:
            check_free(folder)  # anything that can fail early fails here, before any work
        job.choose_gpu(get_module(backend))
        begun = task.begin()
        old = Run.load(base, backend) if base else None
        if old:
            begun.check_base(old)
        vocabulary = old.vocabulary if old else begun.make_vocabulary()
        data = begun.data(vocabulary, training)
        job.check_sentences(data.batches)
        kind = type(old.model) if old else find(MODELS, model)
        sizes = (
            old.model.config
            if old
            else kind.Config.named(config, **{**begun.model_sizes(vocabulary), **changes})
        )
        check_fits(sizes, TO_TRAIN)
        made = old.model if old else kind(sizes, training.seed).to(backend)
        path = free_name(Path("runs", begun.name)) if folder is None else folder
        run = Run.create(path, begun, made, vocabulary, training, backend)
        if old:
            old.folder.pass_on_licence(run.folder)
        heads = f" with {counted(sizes.num_heads, 'head')}" if hasattr(sizes, "num_heads") else ""
        print(
            f"{begun.name}: {config} {kind.__name__}, {counted(sizes.num_layers, 'layer')} of width {sizes.d_model}{heads}"
            f", {counted(made.num_parameters(), 'parameter')}, {counted(vocabulary.size, 'token')} in the vocabulary",
            *([] if old else begun.remarks(vocabulary)),
            sep="\n",
            file=sys.stderr,
        )
        return run, data

    return _opened(job, create)


def resume(job, folder) -> tuple[Run, Data]:
    """The run in `folder` and its data, in the processes of a Job. Raises InputError if either
    cannot be used.
    """
    return _opened(job, lambda: _open(job, folder))


def _open(job, folder) -> tuple[Run, Data]:
    run = Run.open(folder)
    planned = run.settings.training
    if planned is None:
        raise InputError(
            f"{folder}: config.json does not record how it was trained; resume from Python: train(..., resume=True)"
        )
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
