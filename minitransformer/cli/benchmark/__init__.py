"""Measure how fast minitransformer is. Libraries that are compared take turns, each in its own process; a ratio is
minitransformer's number divided by the other's. Measure on an otherwise idle machine.
"""

import os
from importlib import import_module

from minitransformer.checks import check_integer
from minitransformer.errors import InputError
from minitransformer.workers.host import available_cores

SUBCOMMANDS = {    # each is a module of this package
    "step": "measure a training step, alone or against PyTorch and JAX",
    "profile": "show where the time of a training step goes, block by block, on one thread",
    "scaling": "show how time and memory of a training step grow with length, sentences, d_model and vocabulary",
    "layers": "measure Table 1 of the paper on one thread: operations, sequential steps, paths, time and memory of each layer",
    "decoding": "measure beam search with the model of a run, alone or against MarianMT and CTranslate2",
}
MAX_ROUNDS = 1000


def add_arguments(parser) -> None:
    parser.set_defaults(measure=lambda _: parser.error(f"no SUBCOMMAND given; choose from {', '.join(SUBCOMMANDS)}"))
    subcommands = parser.add_subparsers(metavar="SUBCOMMAND")
    for name, text in SUBCOMMANDS.items():
        module = import_module(f"{__name__}.{name}")
        subcommand = subcommands.add_parser(name, help=text, description=module.__doc__)
        module.add_arguments(subcommand)
        subcommand.add_argument("--rounds", type=int, default=7, metavar="INT", help="rounds of measurement (default: 7)")
        subcommand.add_argument("--json", action="store_true", help="print one JSON object")
        subcommand.set_defaults(measure=module.execute)


def execute(args) -> None:
    if not hasattr(os, "killpg"):
        raise InputError("benchmark needs Linux or macOS: it stops its processes as a group")
    for name, most in ("threads", available_cores()), ("rounds", MAX_ROUNDS):
        check_integer(name, getattr(args, name, 1), 1, most)
    args.measure(args)
