"""minitransformer train: train a model on a toy task or on text, or resume a run that was stopped."""

import argparse
import sys
from dataclasses import fields
from pathlib import Path
from shlex import quote

from minitransformer.backend import get_module
from minitransformer.cli.option_names import options_named_as_typed
from minitransformer.cli.train_options import CHOICES, SIZES, add_task, defaults
from minitransformer.errors import InputError
from minitransformer.layers.config import StackConfig
from minitransformer.models.registry import MODELS
from minitransformer.tasks import TASKS
from minitransformer.training.config import TrainingConfig
from minitransformer.training.report import write_report
from minitransformer.training.run import Run, check_free
from minitransformer.training.trainer import train


def add_arguments(parser):
    parser.description = (
        "Train a model; see `minitransformer train TASK --help`. A run that was stopped resumes with "
        "`minitransformer train --resume RUN`.")
    parser.add_argument("--resume", metavar="RUN", help="resume the run in this folder")
    tasks = parser.add_subparsers(dest="task", metavar="TASK")
    for name in TASKS:
        text = TASKS[name].description
        add_task(tasks.add_parser(name, help=text, description=f"Train a model to {text}.",
                                  argument_default=argparse.SUPPRESS), name)


def execute(args):
    if args.resume is not None:
        if args.task:
            raise InputError(f"--resume {args.resume} resumes with the run's own task and settings; "
                             f"leave {args.task} and its options out")
        return _resume(args.resume)
    if not args.task:
        raise InputError(f"train: no TASK is given; choose from {', '.join(TASKS)} (see minitransformer train --help)")
    given = vars(args)
    options = {**defaults(TASKS[args.task], given.get("preset")), **given}
    if options["schedule"] == "paper":
        options["peak_rate"] = given.get("peak_rate")    # a preset's belongs to its own schedule
    elif "rate_factor" in given:
        raise InputError(f"--rate-factor multiplies the paper's schedule; {options['schedule']} has --peak-rate")
    return _start(argparse.Namespace(**options))


def _start(args):
    """A new run."""
    folder = args.run or _free_folder(args.task)
    check_free(folder)    # what can fail at once does, before any work
    get_module(args.backend)
    with options_named_as_typed(args):
        training = TrainingConfig(**_fields(TrainingConfig, args))
        task = TASKS[args.task](**_fields(TASKS[args.task], args))
        changes = {name: getattr(args, name) for name in (*SIZES, *CHOICES) if getattr(args, name) is not None}
        StackConfig.named(args.config, **changes)    # the model's own checks it again, with the vocabulary's size
    task = task.begin()
    vocabulary = task.make_vocabulary()
    data = task.data(vocabulary, training)
    kind = MODELS[task.model]
    config = kind.Config.named(args.config, **{**task.model_sizes(vocabulary), **changes})
    model = kind(config, training.seed).to(args.backend)
    run = Run.create(folder, task, model, vocabulary, training, args.backend)
    print(f"{args.task}: {args.config} {kind.__name__} with {model.num_parameters():,} parameters, "
          f"{vocabulary.size:,} tokens in the vocabulary", file=sys.stderr)
    return _train(run, data)


def _resume(folder):
    """An old run, from its newest intact checkpoint."""
    run = Run.open(folder)
    if run.settings.training is None:
        raise InputError(f"{folder}: config.json does not say how it was trained; resume it from Python: train(..., resume=True)")
    data = run.task.data(run.vocabulary, run.settings.training)
    run.model = run.model.to(run.settings.backend)
    return _train(run, data, resume=True)


def _train(run, data, resume=False):
    folder = quote(str(run.path))
    config = run.settings.training
    steps = train(run, config, data.batches, data.valid, data.measure, resume)
    if not run.finished:
        print(f"stopped after {steps} of {config.steps} steps; resume: {run.resume_command}", file=sys.stderr)
        print(f"measure what there is: minitransformer evaluate {folder}", file=sys.stderr)
        return 130
    print(f"saved in {run.path}")
    try:
        write_report(run, data.examples)
    except (ImportError, OSError, ValueError, MemoryError) as error:    # a matplotlib that cannot draw; training is done
        print(f"report.html was not written: {error}", file=sys.stderr)
    if summary := run.task.summary(run):
        print(summary)
    print(f"next: minitransformer evaluate {folder}, or minitransformer {run.task.command} {folder} \"...\"")
    return 0


def _fields(kind, args):
    """{field: value} of a dataclass, from the arguments that have its fields' names."""
    return {field.name: getattr(args, field.name) for field in fields(kind) if hasattr(args, field.name)}


def _free_folder(task):
    folder, number = Path("runs") / task, 2
    while folder.exists():
        folder, number = Path("runs") / f"{task}-{number}", number + 1
    return str(folder)
