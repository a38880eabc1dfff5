"""Check the hand-written gradients against central differences (float64) and the complex step. With names, report all
arrays of those blocks; without, the worst array of every block.
"""

import json
import sys

from minitransformer.checking import Report, gradcheck
from minitransformer.checking.blocks import blocks
from minitransformer.checks import check_whole
from minitransformer.cli.colour import coloured
from minitransformer.errors import InputError, choices


def add_arguments(parser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="blocks to check (default: all of them)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the weights, inputs and directions (default: 0)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")


def execute(args) -> int:
    check_whole("seed", args.seed, 0)
    known = blocks(args.seed)
    for name in args.names:
        if name not in known:
            raise InputError(f"unknown block {name!r}; {choices(name, known)}")
    report = Report([])
    for name in args.names or known:
        block, inputs = known[name]
        report += gradcheck(block, inputs, name=name, seed=args.seed)
    shown = str(report) if args.names else report.summary()
    print(json.dumps(report.as_dict()) if args.json else coloured(shown, sys.stdout))
    return 0 if report.passed else 1
