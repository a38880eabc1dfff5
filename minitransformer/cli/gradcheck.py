"""Check the hand-written gradients against central differences (float64) and the complex step, then
each kernel against the function that it replaces. With names, report all arrays of those blocks;
without, the worst array of every block.
"""

import multiprocessing
import signal
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache

from minitransformer.checking import Report, gradcheck
from minitransformer.checking.blocks import blocks
from minitransformer.checking.kernels import check_kernels
from minitransformer.checking.report import columns
from minitransformer.checking.subject import Subject
from minitransformer.checks import check_integer
from minitransformer.cli.interrupts import held_back
from minitransformer.errors import InputError, choices
from minitransformer.runs.progress_bar import brief_bar
from minitransformer.cores import available_cores

ALONE = 8  # with more blocks, starting processes takes less time than they save


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="blocks to check (default: all of them)"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="seed of the weights, inputs and directions (default: 0)",
    )


def execute(args: Namespace) -> int:
    check_integer("seed", args.seed, 0)
    _prepared.cache_clear()
    known = _prepared(args.seed, zoo=False)
    if not args.names or not set(args.names) <= set(known):
        known = _prepared(args.seed)
    for name in args.names:
        if name not in known:
            raise InputError(f"unknown block {name!r}; {choices(name, known)}")
    names = args.names or list(known)
    arrays = {
        array
        for block, inputs in (known[name] for name in names)
        for array in Subject(block, inputs).variables
    }
    report, as_row = Report([]), columns(names, arrays)
    with brief_bar(len(names), "block") as bar:
        for one in _reports(names, args.seed):
            rows = one.results if args.names else one.worst_rows
            bar.write(
                "\n".join(map(as_row, [None, *rows] if not report.results else rows)), sys.stdout
            )
            report += one
            bar.update()
    print("\n".join(report.conclusions))
    return 0 if report.passed else 1


@cache
def _prepared(seed: int, zoo: bool = True) -> dict:
    """The blocks, with the zoo's or without: made once in each process."""
    return blocks(seed, zoo=zoo)


def _reports(names: Sequence[str], seed: int) -> Iterator[Report]:
    """The Report of each block, in order; many are shared by processes, which start while the first
    one is checked here.
    """
    if len(names) <= ALONE or available_cores() == 1:
        yield from (_check(name, seed) for name in names)
        return
    spawn = multiprocessing.get_context("spawn")
    ignoring = signal.SIGINT, signal.SIG_IGN  # on Windows, too
    pool = ProcessPoolExecutor(available_cores(), spawn, signal.signal, ignoring)
    try:
        with held_back():
            rest = [pool.submit(_check, name, seed) for name in names[1:]]
        yield _check(names[0], seed)
        yield from (report.result() for report in rest)
    finally:
        pool.shutdown(cancel_futures=True)


def _check(name: str, seed: int) -> Report:
    """The textbook first; kernels that are compared with a wrong one would tell nothing."""
    known = _prepared(seed, zoo=False)
    if name not in known:
        known = _prepared(seed)
    block, inputs = known[name]
    is_a_model = hasattr(block, "loss_forward") or hasattr(block, "model")
    report = gradcheck(block, inputs, name=name, seed=seed, projection=True if is_a_model else None)
    return report + check_kernels(block, inputs, name=name, seed=seed) if report.passed else report
