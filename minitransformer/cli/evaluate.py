"""Measure a trained model: on a toy task, exact match or accuracy on 1,000 examples held out from
training; in translation, perplexity, and BLEU and chrF (sacrebleu) of the model's own output; for a
language model, perplexity and bits per character; for a classifier, accuracy.
"""

import json
import sys
from argparse import ArgumentParser, Namespace

from minitransformer.speed import kernels
from minitransformer.cli.shared_options import SEARCH_OPTIONS, add_model, add_options, make_search
from minitransformer.errors import InputError
from minitransformer.runs.log import as_texts
from minitransformer.runs.run import Run

OWN_OPTIONS = ("test", "tokenize")


def add_arguments(parser: ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "--test",
        nargs="+",
        metavar="FILE",
        help="text to measure the model on, in the format of --valid (default: the run's validation files)",
    )
    parser.add_argument(
        "--tokenize",
        choices=("13a", "none", "intl", "char", "ko-mecab"),
        help="for translation: sacrebleu's tokenisation; none for text that is already tokenised, "
        "ko-mecab for Korean (default: 13a)",
    )
    add_options(parser, SEARCH_OPTIONS)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def execute(args: Namespace) -> None:
    run = Run.load(args.run, args.backend)
    given = [name for name in (*OWN_OPTIONS, *SEARCH_OPTIONS) if getattr(args, name) is not None]
    for name in given:
        if name not in run.task.evaluate_options:
            raise InputError(
                f"{args.run} was trained on the task {run.task.name}, which does not use "
                f"--{name.replace('_', '-')}; leave it out"
            )
    own = {name: getattr(args, name) for name in OWN_OPTIONS if name in given}
    scores = run.task.evaluate(run, make_search(args, run), **own)
    if args.json:
        print(json.dumps(scores, ensure_ascii=False))
    else:
        print(kernels.in_one_line(), file=sys.stderr)
        print("\n".join(f"{name}: {text}" for name, text in as_texts(scores)))
