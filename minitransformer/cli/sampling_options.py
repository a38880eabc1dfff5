"""The sampling options, which translate and generate share."""

from typing import Any

from minitransformer.errors import InputError


def add_sampling(parser, of="") -> None:
    parser.add_argument("--temperature", type=float, metavar="FLOAT",
                        help=f"{of}divides the logits; below 1, likely tokens become likelier (default: 1.0)")
    parser.add_argument("--top-k", type=int, metavar="K",
                        help=f"{of}draw from the K most likely tokens (default: 0, all of them)")
    parser.add_argument("--top-p", type=float, metavar="P",
                        help=f"{of}draw from the fewest tokens whose probability reaches P (default: 1.0)")
    parser.add_argument("--seed", type=int, metavar="INT", help=f"{of}seed of the draws (default: 0)")


def given_sampling(args) -> dict[str, Any]:
    """{option: value} of the options that were given. Raises InputError for a negative seed."""
    if args.seed is not None and args.seed < 0:
        raise InputError(f"--seed is {args.seed}, expected 0 or more")
    options = {name: getattr(args, name) for name in ("temperature", "top_k", "top_p", "seed")}
    return {name: value for name, value in options.items() if value is not None}
