"""Print the model's output for TEXT, or for each line of standard input. An empty line stays empty;
only the beginning of a line that is too long is read, with a warning.
"""

from argparse import ArgumentParser, Namespace

from minitransformer.cli.shared_options import (
    SEARCH_OPTIONS,
    add_model,
    add_options,
    load_run,
    make_search,
    read_texts,
)
from minitransformer.errors import InputError


def add_arguments(parser: ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "text",
        metavar="TEXT",
        nargs="?",
        help="the source text (default: lines from standard input)",
    )
    add_options(parser, SEARCH_OPTIONS)
    parser.add_argument(
        "--n-best",
        type=int,
        metavar="N",
        help="print the N best hypotheses for each line, each as: "
        "line number, tab, score, tab, text",
    )


def execute(args: Namespace) -> None:
    run = load_run(args, "translate")
    search = make_search(args, run)
    if args.n_best is not None and not 1 <= args.n_best <= search.beam:
        raise InputError(f"--n-best is {args.n_best}, expected 1 to the --beam of {search.beam}")
    for number, found in enumerate(run.task.hypotheses(run, read_texts(args), search), 1):
        for score, text in found[: args.n_best or 1]:
            print(f"{number}\t{score:.4f}\t{text}" if args.n_best else text)
