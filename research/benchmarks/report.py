"""What the benchmarks share: options, names that the user chose, and the report."""

import json
from argparse import ArgumentTypeError
from collections.abc import Callable

from minitransformer.speed import kernels
from minitransformer.errors import InputError, choices
from minitransformer.extras import require
from minitransformer.cores import available_cores

MUCH_OTHER_WORK = 0.1  # cores
MAX_ROUNDS = 1000


def add_common(parser, threads=False) -> None:
    """The options --rounds and --json, and --threads."""
    add_rounds(parser, 7)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    if threads:
        add_threads(parser)


def add_threads(parser) -> None:
    parser.add_argument(
        "--threads",
        type=whole(1, available_cores()),
        default=available_cores(),
        metavar="INT",
        help=f"threads for each library (default: {available_cores()})",
    )


def add_rounds(parser, default, least=1) -> None:
    parser.add_argument(
        "--rounds",
        type=whole(least, MAX_ROUNDS),
        default=default,
        metavar="INT",
        help=f"rounds of measurement (default: {default})",
    )


def whole(least, most) -> Callable[[str], int]:
    """The type of an option whose values are whole numbers in these bounds."""

    def number(text) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise ArgumentTypeError(f"{text} is not a whole number from {least:,} to {most:,}")
        return int(text)

    return number


def chosen_names(option, text, known) -> list[str]:
    """The names in `text`, without repetition; all that are known if the option was not given."""
    names = list(known) if text is None else list(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in known:
            raise InputError(f"{option}: unknown name {name!r}; {choices(name, known)}")
    return names


def chosen_peers(against, packages) -> tuple[list[str], list[str]]:
    """(the peers in `against`, their packages), for {peer: packages}. Raises InputError if a
    package is missing.
    """
    peers = [] if against is None else chosen_names("--against", against, packages)
    needed = sorted({package for peer in peers for package in packages[peer]})
    for package in needed:
        require(package)
    return peers, needed


def report(args, results, print_table, threads, packages=()) -> None:
    """Print the results as a table, each as soon as it is measured, or as one JSON object; and what
    a speed depends on.
    """
    from research.benchmarks.info import (
        collect,
    )  # imports NumPy: some set the number of its threads first

    facts = collect()
    compilers = ["numba"] if facts["numba"] else []
    versions = {
        name: facts[name] for name in ("minitransformer", "python", "numpy", *compilers, *packages)
    }
    if args.json:
        print(
            json.dumps(
                {
                    "results": list(results),
                    "processor": facts["processor"],
                    "kernels": facts["blas_kernels"],
                    "threads": threads,
                    "compiled_kernels": facts["compiled_kernels"],
                    "versions": versions,
                }
            )
        )
        return
    print(
        f"{facts['processor']}, BLAS: {facts['blas_kernels']} kernels, threads: {threads}\n{kernels.in_one_line()}\n"
        + ", ".join(f"{name} {version}" for name, version in versions.items()),
        flush=True,
    )
    print_table(results)


def print_comparison(result, title, unit, digits, more) -> None:
    """A line for each library. more: {title of a further column: function of a library's numbers
    that returns its text}.
    """

    def row(name, speed, ratio, memory, memory_ratio, texts) -> None:
        print(
            f"{name:15} {speed:>11} {ratio:>6} {memory:>12} {memory_ratio:>6}  {'  '.join(texts)}".rstrip(),
            flush=True,
        )

    row(title, f"{unit}/s", "ratio", "peak memory", "ratio", more)
    for name, numbers in {"minitransformer": result, **result["peers"]}.items():
        if "failed" in numbers:
            print(f"{name:15} failed: {numbers['failed']}", flush=True)
            continue
        ratios = (
            f"{numbers[ratio]:.2f}" if ratio in numbers else ""
            for ratio in ("ratio", "peak_memory_ratio")
        )
        row(
            name,
            f"{numbers[f'{unit}_per_second']:,.{digits}f}",
            next(ratios),
            memory(numbers),
            next(ratios),
            [f"{text(numbers):>{len(column)}}" for column, text in more.items()],
        )
    if (result["other_work"] or 0) > MUCH_OTHER_WORK:
        print(
            f"other programs kept {result['other_work']:.1f} cores busy meanwhile: measure again without them",
            flush=True,
        )


def memory(numbers) -> str:
    return f"{numbers['peak_memory_bytes'] / 1e6:9,.0f} MB"
