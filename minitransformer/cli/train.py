"""minitransformer train: train a model on a toy task or on text, or resume a stopped run."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from shlex import quote
from typing import Any

from minitransformer.backend import get_module
from minitransformer.cli.option_names import options_named_as_typed
from minitransformer.cli.output import free_name
from minitransformer.cli.train_options import CHOICES, SIZES, add_task, attention_settings, defaults
from minitransformer.errors import FolderTaken, InputError
from minitransformer.models.registry import MODELS
from minitransformer.workers.processes import Job
from minitransformer.tasks import TASKS
from minitransformer.tasks.task import Data
from minitransformer.training.config import TrainingConfig
from minitransformer.training.report import write_report
from minitransformer.training.run import Run, check_free
from minitransformer.training.trainer import train


def add_arguments(parser) -> None:
    parser.description = (
        "Train a model; see `minitransformer train TASK --help`. To resume a stopped run, use "
        "`minitransformer train --resume RUN`. To share the work among N processes, put `mpiexec -n N` before either.")
    parser.add_argument("--resume", metavar="RUN", help="resume the run in this folder")
    parser.add_argument("--steps", type=int, metavar="INT", default=argparse.SUPPRESS,
                        help="with --resume: train to this many updates instead of the planned number; also extends a finished run")
    tasks = parser.add_subparsers(dest="task", metavar="TASK")
    for name in TASKS:
        text = TASKS[name].description
        task = tasks.add_parser(name, help=text, description=f"Train a model to {text}.", argument_default=argparse.SUPPRESS)
        add_task(task, name)
        task.add_argument("--resume", help=argparse.SUPPRESS)    # `execute` says that it goes without a task


def execute(args) -> int:
    if args.resume is not None:
        if args.task:
            raise InputError(f"--resume {args.resume} resumes with the run's own task and settings; "
                             f"leave {args.task} and its options out")
        return _train(args, lambda job: _lengthened(args.resume, getattr(args, "steps", None), job), resume=True)
    if not args.task:
        raise InputError(f"train: no TASK given; choose from {', '.join(TASKS)} (see minitransformer train --help)")
    given = vars(args)
    options = {**defaults(TASKS[args.task], given.get("preset")), **given}
    if options["schedule"] == "paper":
        options["peak_rate"] = given.get("peak_rate")    # a preset's value belongs to its own schedule
    elif "rate_factor" in given:
        raise InputError(f"--rate-factor multiplies the paper's schedule; with {options['schedule']} use --peak-rate")
    changes = {name: options[name] for name in (*SIZES, *CHOICES, *attention_settings()) if options[name] is not None}
    known = {field.name for field in fields(MODELS[options["model"]].Config)}
    known |= set(attention_settings()) if "attention" in known else set()
    for name in changes.keys() - known:    # a default, or a preset's, is left out silently
        if name in given:
            raise InputError(f"--{name.replace('_', '-')} is of no use to the model {options['model']}; leave it out")
    changes = {name: changes[name] for name in changes if name in known}
    return _train(args, lambda job: _new(argparse.Namespace(**options), changes, job))


def _new(args, changes, job) -> tuple[Run, Data]:
    """Start a new run; `changes`: to the model's named configuration."""
    if args.run is not None:
        with _taken_folder_named(args.run):    # anything that can fail early fails here, before any work
            check_free(args.run)
    job.choose_gpu(get_module(args.backend))
    with options_named_as_typed(args):
        training = TrainingConfig(**_fields(TrainingConfig, args))
        task = TASKS[args.task](**_fields(TASKS[args.task], args))
        kind = MODELS[args.model]
        kind.Config.check_changes(args.config, **changes)    # now, and not after the vocabulary was learned
    task = task.begin()
    vocabulary = task.make_vocabulary()
    data = task.data(vocabulary, training)
    job.check_sentences(data.batches)
    config = kind.Config.named(args.config, **{**task.model_sizes(vocabulary), **changes})
    model = kind(config, training.seed).to(args.backend)
    run = _create(args.run, task, model, vocabulary, training, args.backend)
    heads = f" with {config.num_heads} heads" if hasattr(config, "num_heads") else ""
    print(f"{args.task}: {args.config} {kind.__name__}, {config.num_layers} layers of width {config.d_model}{heads}, "
          f"{model.num_parameters():,} parameters, {vocabulary.size:,} tokens in the vocabulary",
          file=sys.stderr)
    return run, data


def _create(folder, task, *settings) -> Run:
    """The new run in `folder`, by default a free one, even if another command creates a run at the same time."""
    while folder is None:
        with suppress(FolderTaken):
            return Run.create(free_name(Path("runs", task.name)), task, *settings)
    with _taken_folder_named(folder):
        return Run.create(folder, task, *settings)


@contextmanager
def _taken_folder_named(folder) -> Iterator[None]:
    """An error about an existing folder names --run, and the command that resumes the run in it."""
    try:
        yield
    except FolderTaken:
        hint = (f"resume it: minitransformer train --resume {quote(folder)}, or choose another name"
                if Path(folder, "config.json").exists() else "choose another name")
        raise InputError(f"--run {folder}: already exists; {hint}") from None


def _opened(folder, job) -> tuple[Run, Data]:
    """Open an old run, or one that process 0 has just begun."""
    run = Run.open(folder)
    if run.settings.training is None:
        raise InputError(f"{folder}: config.json does not record how it was trained; resume from Python: train(..., resume=True)")
    data = run.task.data(run.vocabulary, run.settings.training)
    job.check_sentences(data.batches)
    job.choose_gpu(get_module(run.settings.backend))
    run.model = run.model.to(run.settings.backend)
    return run, data


def _lengthened(folder, steps, job) -> tuple[Run, Data]:
    """An old run, which from now on plans to train for `steps`, if that is not None."""
    run, data = _opened(folder, job)
    if steps is not None:
        planned = run.settings.training.steps
        with options_named_as_typed(argparse.Namespace(steps=steps)):
            run.lengthen(steps)
        print(f"{steps:,} steps are now planned instead of {planned:,}: the learning rate follows the new plan", file=sys.stderr)
    elif run.finished:
        print(f"to train longer: {run.resume_command} --steps N", file=sys.stderr)
    return run, data


def _train(args, make, resume=False) -> int:
    """Train the run that make(job) -> (run, data) makes in the main process; the others open its folder then."""
    job = Job()
    job.check_alike({name: value for name, value in vars(args).items() if name != "execute"})
    made = job.together(lambda: make(job) if job.is_main else None)
    path = job.gather(made and made[0].path)[0]
    run, data = job.together(lambda: made or _opened(path, job))
    folder = quote(str(run.path))
    config = run.settings.training
    steps = train(run, config, data.batches, data.valid, data.measure, resume, job.workers)
    if not job.is_main:
        return 0
    if not run.finished:
        print(f"stopped after {steps} of {config.steps} steps; resume: {run.resume_command}", file=sys.stderr)
        print(f"measure the model so far: minitransformer evaluate {folder}", file=sys.stderr)
        return 130
    print(f"saved in {run.path}")
    try:
        write_report(run, data.examples)
    except (ImportError, OSError, ValueError, MemoryError) as error:    # matplotlib could not draw; training is done
        print(f"report.html was not written: {error}", file=sys.stderr)
    if summary := run.task.summary(run):
        print(summary)
    print(f"next: minitransformer evaluate {folder}, or minitransformer {run.task.command} {folder} \"...\"")
    return 0


def _fields(kind, args) -> dict[str, Any]:
    """{field: value} for a dataclass, from the arguments named like its fields."""
    return {field.name: getattr(args, field.name) for field in fields(kind) if hasattr(args, field.name)}
