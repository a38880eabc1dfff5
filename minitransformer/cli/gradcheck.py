"""Check the hand-written gradients against central differences (float64) and the complex step, then each kernel against the
function that it replaces. With names, report all arrays of those blocks; without, the worst array of every block.
"""

import json
import multiprocessing
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from tqdm import tqdm

from minitransformer.checking import Report, gradcheck
from minitransformer.checking.blocks import blocks
from minitransformer.checking.kernels import check_kernels, kinds_to_check
from minitransformer.checking.report import columns
from minitransformer.checks import check_whole
from minitransformer.cli.colour import coloured
from minitransformer.errors import InputError, choices
from minitransformer.workers.host import available_cores

ALONE = 8    # with more blocks, starting processes takes less time than they save
# In this process and in those that it starts:
_known: dict[str, tuple] = {}    # the blocks
_kinds: list[str] = []           # the kinds of kernels that can run here


def add_arguments(parser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="blocks to check (default: all of them)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the weights, inputs and directions (default: 0)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")


def execute(args) -> int:
    check_whole("seed", args.seed, 0)
    _prepare(args.seed, args.names)
    for name in args.names:
        if name not in _known:
            raise InputError(f"unknown block {name!r}; {choices(name, _known)}")
    names = args.names or list(_known)
    report, as_row = Report([]), columns({name: _known[name] for name in names})
    with tqdm(total=len(names), unit="block", leave=False, disable=True if args.json else None) as bar:
        for one in _reports(names, args.seed):
            if not args.json:
                rows = one.results if args.names else one.worst_rows
                bar.write(coloured("\n".join(map(as_row, [None, *rows] if not report.results else rows)), sys.stdout), sys.stdout)
            report += one
            bar.update()
    print(json.dumps(report.as_dict()) if args.json else coloured("\n".join(report.conclusions), sys.stdout))
    return 0 if report.passed else 1


def _prepare(seed, names) -> None:
    """Without the zoo's blocks, if all the `names` are the library's."""
    _known.clear()
    _known.update(blocks(seed, zoo=False))
    if not names or not set(names) <= set(_known):
        _known.update(blocks(seed))
    _kinds[:] = kinds_to_check()


def _reports(names, seed) -> Iterator[Report]:
    """The Report of each block, in order; many are shared by processes, which start while the first one is checked here."""
    if len(names) <= ALONE or available_cores() == 1:
        yield from (_check(name, seed) for name in names)
        return
    pool = ProcessPoolExecutor(available_cores(), multiprocessing.get_context("spawn"), _start, (seed, names))
    try:
        rest = [pool.submit(_check, name, seed) for name in names[1:]]
        yield _check(names[0], seed)
        yield from (report.result() for report in rest)
    finally:
        pool.shutdown(cancel_futures=True)


def _start(seed, names) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)    # Ctrl-C reaches them too, but it is ours
    _prepare(seed, names)


def _check(name, seed) -> Report:
    """The textbook first; kernels that are compared with a wrong one would tell nothing."""
    block, inputs = _known[name]
    report = gradcheck(block, inputs, name=name, seed=seed, projection=True if _is_a_model(block) else None)
    if report.passed:
        for kind in _kinds:
            report += check_kernels(block, inputs, kind, name=name, seed=seed)
    return report


def _is_a_model(block) -> bool:
    return hasattr(block, "loss_forward") or hasattr(block, "model")
