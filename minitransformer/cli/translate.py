"""Print the model's output for TEXT, or for each line of standard input. An empty line stays empty; only the beginning of a
line that is too long is read, with a warning.
"""

from minitransformer.checks import check_integer
from minitransformer.cli.shared_options import (
    MAX_BEAM, SAMPLING_OPTIONS, SEARCH_OPTIONS, add_model, add_options, check_command, given_sampling, make_search,
    read_texts)
from minitransformer.decoding import Search
from minitransformer.decoding.sampling import check_sampling
from minitransformer.errors import InputError
from minitransformer.training.run import Run


def add_arguments(parser) -> None:
    add_model(parser)
    parser.add_argument("text", metavar="TEXT", nargs="?", help="the source text (default: lines from standard input)")
    add_options(parser, SEARCH_OPTIONS)
    parser.add_argument("--n-best", type=int, metavar="N", help="print the N best hypotheses for each line, each as: "
                        "line number, tab, score, tab, text")
    parser.add_argument("--sample", type=int, metavar="N",
                        help="draw N outputs at random for each line, printed as with --n-best")
    add_options(parser, SAMPLING_OPTIONS, "with --sample: ")


def execute(args) -> None:
    run = Run.load(args.run, args.backend)
    check_command(run, "translate")
    search = _search(args, run)
    several = args.n_best is not None or search.samples
    for number, found in enumerate(run.task.hypotheses(run, read_texts(args), search), 1):
        for score, text in found[: args.n_best or search.samples or 1]:
            print(f"{number}\t{score:.4f}\t{text}" if several else text)


def _search(args, run) -> Search:
    given = given_sampling(args)
    if args.sample is None:
        if given:
            name = next(iter(given)).replace("_", "-")
            raise InputError(f"--{name} works only with --sample N, which draws at random; give both or neither")
        search = make_search(args, run)
        if args.n_best is not None and not 1 <= args.n_best <= search.beam:
            raise InputError(f"--n-best is {args.n_best}, expected 1 to the --beam of {search.beam}")
        return search
    for name in ("beam", "n_best", "length_penalty"):
        if getattr(args, name) is not None:
            raise InputError(f"--sample draws at random; leave --{name.replace('_', '-')} out")
    check_integer("sample", args.sample, 1, MAX_BEAM)
    search = make_search(args, run, samples=args.sample, **given)
    check_sampling(search.temperature, search.top_k, search.top_p)
    return search
