"""Train a model; see `minitransformer train TASK --help`. To resume a stopped run, use `minitransformer train --resume
RUN`. To share the work among N processes, put `mpiexec -n N` before either.
"""

import argparse
import sys
from itertools import islice

from minitransformer.cli.colour import coloured
from minitransformer.cli.train_options import HELP, add_task, new_run, old_run
from minitransformer.errors import quote
from minitransformer.lookup import find, names
from minitransformer.tasks import TASKS
from minitransformer.training import interrupt
from minitransformer.training.start import carry_out
from minitransformer.workers.local import WIDEST, WORKERS
from minitransformer.workers.processes import Job


def add_arguments(parser) -> None:
    parser.add_argument("--resume", metavar="RUN", help="resume the run in this folder")
    parser.add_argument("--steps", type=int, metavar="INT", default=argparse.SUPPRESS,
                        help="with --resume: train to this many updates instead of the planned number; also extends a finished run")
    add_workers(parser)
    tasks = parser.add_subparsers(dest="task", metavar="TASK")
    for name in names(TASKS, "task"):
        if name not in TASKS and {name, *HELP}.isdisjoint(parser.words):    # then it is not needed, nor are its options
            tasks.add_parser(name)
            continue
        text = find(TASKS, "task", name).description
        task = tasks.add_parser(name, help=text, description=f"Train a model to {text}.", argument_default=argparse.SUPPRESS)
        add_workers(task)
        task.add_argument("--resume", help=argparse.SUPPRESS)    # `execute` says that it goes without a task
        add_task(task, name, parser.words)


def add_workers(parser) -> None:
    parser.add_argument("--workers", choices=WORKERS, default=argparse.SUPPRESS,
                        help="what shares each batch: threads, or as many processes, which give the same numbers "
                             f"(default: processes for a d_model up to {WIDEST}, where they are faster)")


def execute(args) -> int:
    job = Job(getattr(args, "workers", None))
    job.check_alike(vars(args))
    trained = carry_out(new_run(args) if args.resume is None else old_run(args), job)
    return _report(trained) if job.is_main else 0


def _report(trained) -> int:
    """Say how the run ended, and which command comes next; returns the exit code."""
    run = trained.run
    folder = quote(str(run.path))
    if not run.finished:
        planned = run.settings.training.steps
        print(f"stopped after {trained.steps} of {planned} steps; resume: {run.resume_command}", file=sys.stderr)
        print(f"measure the model so far: minitransformer evaluate {folder}", file=sys.stderr)
        return 128 + interrupt.state.received    # as shells count: 130 after Ctrl-C, 143 after SIGTERM
    print(f"saved in {run.path}")
    try:
        from minitransformer.training.report import write_report    # imports matplotlib
        write_report(run, trained.examples)
    except (ImportError, OSError, ValueError, MemoryError) as error:    # matplotlib could not draw; training is done
        print(f"report.html was not written: {error}", file=sys.stderr)
    if summary := run.task.summary(run):
        print(summary)
    commands = [f"minitransformer evaluate {folder}"]
    lines = (line for text, _ in trained.examples for line in text.splitlines() if line.strip())
    commands += [f"minitransformer {run.task.command} {folder} {quote(line)}" for line in islice(lines, 1)]
    print(coloured("next: " + "\n      ".join(commands), sys.stdout))
    return 0
