"""Print the most probable class of TEXT, or of each line of standard input, and the probability of
every class. An empty line stays empty (with --json: null); only the beginning of a line that is too
long is read, with a warning.
"""

import json
from argparse import ArgumentParser, Namespace

from minitransformer.cli.shared_options import add_model, load_run, read_texts


def add_arguments(parser: ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "text", metavar="TEXT", nargs="?", help="the text (default: lines from standard input)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object for each text")


def execute(args: Namespace) -> None:
    run = load_run(args, "classify")
    labels = run.task.labels
    for p in run.task.probabilities(
        run, read_texts(args, "the text is empty, expected a text to classify")
    ):
        if p is None:
            print("null" if args.json else "")
            continue
        best = labels[p.argmax()]
        if args.json:
            print(
                json.dumps(
                    {"class": best, "probabilities": dict(zip(labels, map(float, p)))},
                    ensure_ascii=False,
                )
            )
        else:
            print("\t".join([best, *(f"{label} {q:.4f}" for label, q in zip(labels, p))]))
