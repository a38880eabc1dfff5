"""Show where the time of a training step goes, block by block, on one thread."""

from benchmarks.cases import CASES
from benchmarks.profile import profile
from minitransformer.cli.benchmark.report import chosen_names, report


def add_arguments(parser) -> None:
    parser.add_argument("--config", metavar="NAMES", help=f"any of {','.join(CASES)} (default: all of them)")


def execute(args) -> None:
    names = chosen_names("--config", args.config, CASES)
    results = ({"config": name, "blocks": profile(CASES[name], args.rounds)} for name in names)
    report(args, results, _print_table, threads=1)


def _print_table(results) -> None:
    """In milliseconds: the time of the products at the machine's best rate, and the time beyond that."""
    directions = ("forward", "backward", "products")
    for result in results:
        print(f"\n{result['config']:20} {'forward':>9} {'backward':>9} {'products':>9} {'rest':>9}")
        total = {"block": "all", **{name: sum(row[name] for row in result["blocks"]) for name in directions}}
        for row in [*result["blocks"], total]:
            forward, backward, products = (row[name] for name in directions)
            numbers = (forward, backward, products, forward + backward - products)
            print(f"{row['block']:20} " + " ".join(f"{1000 * number:6.1f} ms" for number in numbers), flush=True)
