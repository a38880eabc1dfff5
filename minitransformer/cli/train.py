"""Train a model; see `minitransformer train TASK --help`. To resume a stopped run, use
`minitransformer train --resume RUN`. To share the work among N processes, put `mpiexec -n N` before
either.
"""

import argparse
import shutil
import sys
from argparse import Namespace
from collections.abc import Sequence
from itertools import islice
from typing import cast

from minitransformer.cli.parser import Parser
from minitransformer.shell import quote_path, as_argument
from minitransformer.cli.new_run import new_run
from minitransformer.cli.train_options import add_task
from minitransformer.errors import InputError, one_line
from minitransformer.files import reason
from minitransformer.extras import broken_library
from minitransformer.speed.kernels import in_one_line
from minitransformer.tasks import TASKS
from minitransformer.tasks.files import PARTS
from minitransformer.runs import checkpoint, interrupt
from minitransformer.runs.config import TrainingConfig
from minitransformer.runs.run import Run
from minitransformer.runs.start import begin, resume
from minitransformer.runs.trainer import train
from minitransformer.speed.local import WIDEST, WORKERS
from minitransformer.speed.processes import Job


def add_arguments(parser: Parser) -> None:
    parser.add_argument("--resume", metavar="RUN", help="resume the run in this folder")
    for name in PARTS:
        parser.add_argument(
            f"--{name}",
            nargs="+",
            metavar="FILE",
            default=argparse.SUPPRESS,
            help=f"with --resume: where the files of --{name} are by now, if they have moved",
        )
    add_workers(parser)
    tasks = parser.add_subparsers(dest="task", metavar="TASK")
    for name, kind in TASKS.items():
        task = tasks.add_parser(
            name,
            help=kind.description,
            description=f"Train a model to {kind.description}.",
            argument_default=argparse.SUPPRESS,
        )
        add_workers(task)
        # `execute` says that it goes without a task
        task.add_argument("--resume", help=argparse.SUPPRESS)
        add_task(task, name, parser.words)


def add_workers(parser: Parser) -> None:
    parser.add_argument(
        "--workers",
        choices=WORKERS,
        default=argparse.SUPPRESS,
        help="what shares each batch: threads, or as many processes, which give the same numbers "
        f"(default: processes for a d_model up to {WIDEST}, where they are faster)",
    )


def execute(args: Namespace) -> int:
    job = Job(getattr(args, "workers", None))
    job.check_alike(vars(args))
    if args.resume is not None and args.task:
        raise InputError(
            f"--resume {args.resume} resumes with the run's own task and settings; "
            f"leave {args.task} and its options out"
        )
    if args.resume is None:
        run, data = begin(job, new_run(args))
    else:
        moved = {name: getattr(args, name) for name in PARTS if name in args}
        run, data = resume(job, args.resume, moved)
    if job.is_main and run.settings.backend == "numpy":
        print(in_one_line(), file=sys.stderr)
    config = run.settings.training
    assert config is not None  # begin stores it, and resume asks for it
    resumed = args.resume is not None
    try:
        steps = train(run, config, data.batches, data.valid, data.measure, resumed, job.workers)
    except MemoryError:  # a run without a step would only end in the same way
        if job.is_main and not resumed and not checkpoint.steps(run.path):
            shutil.rmtree(run.path)
        raise
    return _report(run, steps, data.examples) if job.is_main else 0


def _report(run: Run, steps: int, examples: Sequence[tuple[str, str]]) -> int:
    """Say how the run ended, and which command comes next; returns the exit code."""
    folder = quote_path(run.path)
    if not run.finished:
        planned = cast(TrainingConfig, run.settings.training).steps
        print(
            f"stopped after {steps} of {planned} steps; resume: {run.resume_command}",
            file=sys.stderr,
        )
        print(f"measure the model so far: minitransformer evaluate {folder}", file=sys.stderr)
        # as shells count: 130 after Ctrl-C, 143 after SIGTERM
        return 128 + interrupt.state.received
    print(f"saved in {run.path}")
    try:
        from minitransformer.runs.report import write_report  # imports matplotlib

        write_report(run, examples)
    except Exception as error:  # training is done
        why = broken_library(error)
        if why is None and not isinstance(error, (ImportError, OSError, ValueError, MemoryError)):
            raise
        print(f"report.html was not written: {one_line(why or reason(error))}", file=sys.stderr)
    if summary := run.task.summary(run):
        print(summary)
    commands = [f"minitransformer evaluate {folder}"]
    lines = (line for text, _ in examples for line in text.splitlines() if line.strip())
    commands += [
        f"minitransformer {run.task.command} {folder} {as_argument(line)}"
        for line in islice(lines, 1)
    ]
    print("next: " + "\n      ".join(commands))
    return 0
