"""The options of beam search, which evaluate and translate share."""

from dataclasses import replace

from minitransformer.errors import InputError


def add_search(parser):
    parser.add_argument("--beam", type=int, metavar="INT",
                        help="hypotheses kept at each position; 1 is greedy (default: 5, for a toy task 1)")
    parser.add_argument("--length-penalty", type=float, metavar="FLOAT",
                        help="larger favours longer outputs, 0 ignores the length (default: 0.6)")
    parser.add_argument("--min-length", type=int, default=0, metavar="INT", help="tokens of an output (default: 0)")
    parser.add_argument("--max-length", type=int, metavar="INT",
                        help="tokens of an output (default: those of the source + 50)")


def make_search(args, run, **changes):
    """The Search that the options ask for; `run` knows what is usual for it."""
    for name, value, least in (("--beam", args.beam, 1), ("--min-length", args.min_length, 0),
                               ("--max-length", args.max_length, max(args.min_length, 1))):
        if value is not None and value < least:
            raise InputError(f"{name} is {value}, expected at least {least}")
    if args.length_penalty is not None and not abs(args.length_penalty) <= 100:
        raise InputError(f"--length-penalty is {args.length_penalty}, expected a number from -100 to 100")
    given = {"beam": args.beam, "alpha": args.length_penalty, "min_length": args.min_length,
             "max_length": args.max_length, **changes}
    return replace(run.search, **{name: value for name, value in given.items() if value is not None})
