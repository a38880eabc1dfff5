"""The beam search options, which evaluate and translate share."""

from dataclasses import replace
from typing import TYPE_CHECKING

from minitransformer.errors import InputError

if TYPE_CHECKING:
    from minitransformer.decoding.translation import Search

MAX_BEAM = 1000
MAX_LENGTH = 1_000_000
MAX_PENALTY = 10
SEARCH_OPTIONS = ("beam", "length_penalty", "min_length", "max_length")


def add_search(parser) -> None:
    parser.add_argument("--beam", type=int, metavar="INT",
                        help="hypotheses kept at each position; 1 is greedy search (default: 5; for a toy task, 1)")
    parser.add_argument("--length-penalty", type=float, metavar="FLOAT",
                        help="larger values favour longer outputs, 0 ignores the length (default: 0.6)")
    parser.add_argument("--min-length", type=int, metavar="INT", help="minimum length of an output, in tokens (default: 0)")
    parser.add_argument("--max-length", type=int, metavar="INT",
                        help="maximum length of an output, in tokens; at most the source's length + 50 (the default)")


def make_search(args, run, **changes) -> "Search":
    """The Search that the options describe; defaults come from `run`."""
    for name, value, least, most in (("--beam", args.beam, 1, MAX_BEAM), ("--min-length", args.min_length, 0, MAX_LENGTH),
                                     ("--max-length", args.max_length, max(args.min_length or 0, 1), MAX_LENGTH)):
        if value is not None and not least <= value <= most:
            raise InputError(f"{name} is {value}, expected {least} to {most:,}")
    if args.length_penalty is not None and not 0 <= args.length_penalty <= MAX_PENALTY:
        raise InputError(f"--length-penalty is {args.length_penalty}, expected a number from 0 to {MAX_PENALTY}")
    given = {"beam": args.beam, "alpha": args.length_penalty, "min_length": args.min_length,
             "max_length": args.max_length, **changes}
    return replace(run.task.search, **{name: value for name, value in given.items() if value is not None})
