"""minitransformer translate: use a trained model."""

import sys

from minitransformer.cli.model_options import add_model, load_run
from minitransformer.cli.option_names import options_named_as_typed
from minitransformer.cli.search_options import MAX_BEAM, add_search, make_search
from minitransformer.data.parallel import decode_utf8, split_lines
from minitransformer.decoding.sampling import check_sampling
from minitransformer.errors import InputError


def add_parser(commands):
    parser = commands.add_parser(
        "translate", help="give a trained model text and print what it answers",
        description="Print the model's output for TEXT, or for each line of standard input. An empty line stays empty; "
                    "of a line that is too long the beginning is read, and standard error says so.")
    add_model(parser)
    parser.add_argument("text", metavar="TEXT", nargs="?", help="the source text (default: lines from standard input)")
    add_search(parser)
    parser.add_argument("--n-best", type=int, metavar="N", help="print the N best hypotheses of each line, each as: "
                        "number of the line, tab, score, tab, text")
    parser.add_argument("--sample", type=int, metavar="N",
                        help="draw N outputs for each line at random, printed as by --n-best")
    parser.add_argument("--temperature", type=float, metavar="FLOAT",
                        help="of --sample: below 1 favours what is likely (default: 1.0)")
    parser.add_argument("--top-k", type=int, metavar="K",
                        help="of --sample: from the K likeliest tokens (default: 0, all of them)")
    parser.add_argument("--top-p", type=float, metavar="P",
                        help="of --sample: from the fewest tokens whose probability reaches P (default: 1.0)")
    parser.add_argument("--seed", type=int, metavar="INT", help="seed of the draws of --sample (default: 0)")
    parser.set_defaults(execute=execute)


def execute(args):
    run = load_run(args)
    search = _search(args, run)
    if args.text is not None:
        texts = [args.text]
    elif sys.stdin is None:
        raise InputError("no TEXT is given and standard input is closed")
    else:
        texts = split_lines(decode_utf8(sys.stdin.buffer.read(), "standard input"))
    several = args.n_best is not None or search.samples
    for number, found in enumerate(run.hypotheses(texts, search), 1):
        for score, text in found[: args.n_best or search.samples or 1]:
            print(f"{number}\t{score:.4f}\t{text}" if several else text)


def _search(args, run):
    given = {name: getattr(args, name) for name in ("temperature", "top_k", "top_p", "seed")}
    given = {name: value for name, value in given.items() if value is not None}
    if args.sample is None:
        if given:
            name = next(iter(given)).replace("_", "-")
            raise InputError(f"--{name} is of --sample N, which draws at random; give both or neither")
        search = make_search(args, run)
        if args.n_best is not None and not 1 <= args.n_best <= search.beam:
            raise InputError(f"--n-best is {args.n_best}, expected 1 to the --beam of {search.beam}")
        return search
    for name in ("beam", "n_best", "length_penalty"):
        if getattr(args, name) is not None:
            raise InputError(f"--sample draws at random; leave --{name.replace('_', '-')} out")
    if not 1 <= args.sample <= MAX_BEAM:
        raise InputError(f"--sample is {args.sample}, expected 1 to {MAX_BEAM}")
    search = make_search(args, run, samples=args.sample, **given)
    if search.seed < 0:
        raise InputError(f"--seed is {search.seed}, expected 0 or more")
    with options_named_as_typed(args):
        check_sampling(search.temperature, search.top_k, search.top_p)
    return search
