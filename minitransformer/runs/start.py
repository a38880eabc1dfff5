"""How a command begins a run or resumes one, in one process or in several: the main one makes the
folder, the others open it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minitransformer.backend import get_module
from minitransformer.errors import InputError, counted
from minitransformer.files import free_name
from minitransformer.models.model import Model
from minitransformer.lookup import find
from minitransformer.memory import TO_TRAIN, check_fits
from minitransformer.models import MODELS
from minitransformer.runs.config import TrainingConfig
from minitransformer.runs.folder import check_free
from minitransformer.runs.run import Run
from minitransformer.speed.processes import Job
from minitransformer.stderr import stderr
from minitransformer.tasks.task import Data, Task

Begun = tuple[Run, Data]


@dataclass(frozen=True)
class Plan:
    """What a new run is to be."""

    task: Task
    model: str  # a name in MODELS
    config: str  # the name of its configuration
    changes: dict[str, Any]  # to that
    training: TrainingConfig
    backend: str = "numpy"
    folder: str | None = None  # None: a free one in runs/
    base: str | None = None  # the folder of a run with whose vocabulary and weights it begins


def begin(job: Job, plan: Plan) -> Begun:
    """A new run and its data, in the processes of a Job. Raises InputError if the folder is taken,
    or a file cannot be used.
    """
    return _opened(job, lambda: _create(job, plan), {})


def resume(job: Job, folder: str, files: Mapping[str, list[str]]) -> Begun:
    """The run in `folder` and its data, in the processes of a Job; `files`: where those of {"train"
    or "valid": names} are by now. Raises InputError if either cannot be used.
    """
    return _opened(job, lambda: _open(job, folder, files), files)


def _create(job: Job, plan: Plan) -> Begun:
    if plan.folder is not None:
        check_free(plan.folder)  # anything that can fail early fails here, before any work
    job.choose_gpu(get_module(plan.backend))
    task: Any = plan.task.begin()
    base = Run.load(plan.base, plan.backend) if plan.base else None
    if base:
        task.check_base(base)
    vocabulary = base.vocabulary if base else task.make_vocabulary()
    data = task.data(vocabulary, plan.training)
    job.check_sentences(data.batches)
    model = base.model if base else _new_model(plan, task.model_sizes(vocabulary))
    folder = free_name(Path("runs", task.name)) if plan.folder is None else plan.folder
    run = Run.create(folder, task, model, vocabulary, plan.training, plan.backend)
    if base:
        base.folder.pass_on_licence(run.folder)
    print(_about(run, plan.base or plan.config), file=stderr)
    for line in [] if base else task.remarks(vocabulary):
        print(line, file=stderr)
    return run, data


def _new_model(plan: Plan, sizes: dict[str, Any]) -> Model:
    kind = find(MODELS, plan.model)
    config = kind.Config.named(plan.config, **{**sizes, **plan.changes})
    check_fits(vars(config), TO_TRAIN)
    return kind(config, plan.training.seed).to(plan.backend)


def _about(run: Run, size: str) -> str:
    config, layers = run.model.config, counted(run.model.config.num_layers, "layer")
    heads = f" with {counted(config.num_heads, 'head')}" if hasattr(config, "num_heads") else ""
    return (
        f"{run.task.name}: {size} {type(run.model).__name__}, {layers} of width {config.d_model}{heads}"
        f", {counted(run.model.num_parameters(), 'parameter')}, "
        f"{counted(run.vocabulary.size, 'token')} in the vocabulary"
    )


def _open(job: Job, folder: str | Path, files: Mapping[str, list[str]]) -> Begun:
    run = Run.open(folder)
    planned = run.settings.training
    if planned is None:
        raise InputError(
            f"{folder}: config.json does not record how it was trained; resume from Python: train(..., resume=True)"
        )
    data = run.task.read(run.places_given(files)).data(run.vocabulary, planned)
    job.check_sentences(data.batches)
    job.choose_gpu(get_module(run.settings.backend))
    run.model = run.model.to(run.settings.backend)
    return run, data


def _opened(job: Job, work: Callable[[], Begun], files: Mapping[str, list[str]]) -> Begun:
    """What work() returns in the main process; the others open the folder of its run."""
    opened = job.together(lambda: work() if job.is_main else None)
    folder = job.gather(opened and opened[0].path)[0]
    return job.together(lambda: opened or _open(job, folder, files))
