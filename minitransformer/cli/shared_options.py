"""The arguments that several commands share: the model, the search, and the text."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import replace

from minitransformer.backend import BACKENDS
from minitransformer.checks import check_integer
from minitransformer.cli.streams import read_input
from minitransformer.data.text_files import split_lines
from minitransformer.decoding import Search
from minitransformer.errors import InputError
from minitransformer.runs.run import Run

MAX_BEAM = 1000
MAX_LENGTH = 1_000_000
MAX_PENALTY = 10
SEARCH_OPTIONS = {  # {option: (its type, what it means)}
    "beam": (
        int,
        "hypotheses kept at each position; 1 is greedy search (default: 5; for a toy task, 1)",
    ),
    "length_penalty": (
        float,
        "larger values favour longer outputs, 0 ignores the length (default: 0.6)",
    ),
    "min_length": (int, "minimum length of an output, in tokens (default: 0)"),
    "max_length": (
        int,
        "maximum length of an output, in tokens; at most the source's length + 50 (the default)",
    ),
}


def add_model(parser: ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="folder that minitransformer train wrote")
    parser.add_argument("--backend", choices=BACKENDS, default="numpy", help="default: numpy")


def load_run(args: Namespace, command: str) -> Run:
    """The run that the options of `add_model` describe. Raises InputError if its model belongs to
    another command.
    """
    run = Run.load(args.run, args.backend)
    if run.task.command != command:
        raise InputError(
            f"{run.path} was trained on the task {run.task.name}: use minitransformer {run.task.command} instead"
        )
    return run


def add_options(parser: ArgumentParser, options: Mapping[str, tuple[type, str]]) -> None:
    """Add the options of a table such as SEARCH_OPTIONS."""
    for name, (kind, text) in options.items():
        parser.add_argument(
            f"--{name.replace('_', '-')}", type=kind, metavar=kind.__name__.upper(), help=text
        )


def make_search(args: Namespace, run: Run) -> Search:
    """The Search that the options describe; defaults come from `run`."""
    for name, least, most in (
        ("beam", 1, MAX_BEAM),
        ("min_length", 0, MAX_LENGTH),
        ("max_length", args.min_length or 1, MAX_LENGTH),
    ):
        if getattr(args, name) is not None:
            check_integer(name, getattr(args, name), least, most)
    if args.length_penalty is not None and not 0 <= args.length_penalty <= MAX_PENALTY:
        raise InputError(
            f"length_penalty is {args.length_penalty}, expected a number from 0 to {MAX_PENALTY}"
        )
    given = {
        "beam": args.beam,
        "alpha": args.length_penalty,
        "min_length": args.min_length,
        "max_length": args.max_length,
    }
    return replace(
        run.task.search, **{name: value for name, value in given.items() if value is not None}
    )


def read_texts(args: Namespace, empty: str | None = None) -> list[str]:
    """[args.text], or the lines of standard input if there is none. `empty`: what to say of an
    empty text; None: it is allowed.
    """
    if args.text is not None:
        if empty and not args.text.strip():
            raise InputError(empty)
        return [args.text]
    return split_lines(read_input())
