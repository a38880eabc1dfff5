"""Measure a training step (forward, loss, backward, clipping, Adam; float32, dropout 0.1), alone or against the same model
in other libraries.
"""

from tempfile import TemporaryDirectory

from benchmarks.cases import CASES
from benchmarks.comparison import PACKAGES, compare
from benchmarks.text import text_cases
from minitransformer.cli.benchmark.report import add_threads, chosen_names, chosen_peers, print_comparison, report
from minitransformer.extras import require


def add_arguments(parser) -> None:
    parser.add_argument("--against", metavar="NAMES", help=f"any of {','.join(PACKAGES)} (default: none)")
    parser.add_argument("--config", metavar="NAMES", help=f"any of {','.join(CASES)} (default: all of them)")
    parser.add_argument("--batches", nargs="+", metavar=("SOURCE", "TARGET"),
                        help="measure on batches of this parallel text, padding included, as `train translate` makes them; "
                             "--config is then tiny, if not given (default: random tokens without padding)")
    add_threads(parser)


def execute(args) -> None:
    peers, packages = chosen_peers(args.against, PACKAGES)
    configs = chosen_names("--config", "tiny" if args.batches and args.config is None else args.config, CASES)
    cases = {name: CASES[name] for name in configs}
    with TemporaryDirectory() as folder:
        if args.batches:
            require("tokenizers")
            cases = text_cases(cases, args.batches, folder)
        results = ({"config": name, **compare(case, peers, args.threads, args.rounds)} for name, case in cases.items())
        report(args, results, _print_table, args.threads, packages)


def _print_table(results) -> None:
    for result in results:
        source, target = result["padding"].values()
        print(f"\npadding: {source:.1%} of the source, {target:.1%} of the target" if source or target else "")
        print_comparison(result, result["config"], "tokens", 0, {"matmul share": lambda numbers: (
            f"{numbers['matmul_share']:.0%}" if "matmul_share" in numbers else "")})
