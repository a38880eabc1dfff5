"""Measure Table 1 of the paper on one thread: operations, sequential steps, paths, time and memory
of each layer.
"""

import math
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from time import process_time
from timeit import repeat
from typing import Any

import numpy as np
from tqdm import tqdm

from research.benchmarks.report import add_common, report
from minitransformer.cli.output import picture_path, write_picture
from minitransformer.pictures.figure import Figure
from minitransformer.speed.host import fast
from minitransformer.zoo.baselines import RNN
from minitransformer_course.lab.table_1 import KERNEL, KINDS, RADIUS, count

SETTINGS = {
    "convolutional": f", k = {KERNEL}",
    "separable": f", k = {KERNEL}",
    "restricted": f", r = {RADIUS}",
}
LENGTHS, WIDTH = (32, 64, 128, 256, 512, 1024, 2048, 4096), 64  # n is doubled, while d stays
WIDTHS, LENGTH = (64, 128, 256, 512), 256  # d is doubled, while n stays
TURN = 0.02  # seconds of a size's turn at least
LONG = 256  # the shortest of LENGTHS whose slope is reported
N, D = 1024, 256  # where multiplications, steps and paths are counted

_seconds = partial(
    repeat, timer=process_time, number=1
)  # _seconds(a pass, repeat=2) -> [seconds, seconds]


def add_arguments(parser) -> None:
    add_common(parser)
    parser.add_argument(
        "--output",
        metavar="FILE.png",
        help="image file to write, which shows the times; it must not exist yet",
    )


def execute(args) -> None:
    path = None if args.output is None else picture_path(args.output)
    results = list(
        tqdm(measure(args.rounds), "layers", total=len(KINDS), disable=None, leave=False)
    )
    report(args, results, _print_tables, threads=1)
    if path is not None:
        write_picture(_picture(results), path, sys.stderr if args.json else None)


def measure(rounds) -> Iterator[dict[str, Any]]:
    """One dict for JSON for each kind, as soon as it is measured. Times are the shortest of
    `rounds`, on one thread.
    """
    with fast():
        for name, kind in KINDS.items():
            costs = _costs(
                kind, [*((n, WIDTH) for n in LENGTHS), *((LENGTH, d) for d in WIDTHS)], rounds
            )
            over_n, over_d = costs[: len(LENGTHS)], costs[len(LENGTHS) :]
            multiplications, chain = count(kind.make(D), N, D)
            yield {
                "layer": name,
                "slope_n": _slope([cost for cost in over_n if cost["n"] >= LONG], "n", "seconds"),
                "slope_d": _slope(over_d, "d", "seconds"),
                "memory_slope_n": _slope(
                    [cost for cost in over_n if cost["n"] >= LONG], "n", "bytes"
                ),
                "memory_slope_d": _slope(over_d, "d", "bytes"),
                "operations": multiplications,
                "operations_measured_over_formula": multiplications / kind.operations(N, D),
                "sequential_steps": chain,
                "path_length": path_length(kind.make(16), N, 16),
                "over_n": over_n,
                "over_d": over_d,
            }


def path_length(layer, n, d) -> int:
    """How many layers, or steps of a recurrence, lie between the two ends of n positions.

    The gradient of one position's output shows how far a layer sees, and each such stretch needs
    another layer. A recurrent layer sees everything, but one step at a time, so there the steps are
    counted.
    """
    if isinstance(layer, RNN):
        return n - 1
    layer = layer.astype(np.float64)
    y, cache = layer.forward(np.random.default_rng(0).standard_normal((1, n, d)))
    dy = np.zeros_like(y)
    dy[:, -1] = 1
    (reached,) = np.nonzero(layer.backward(dy, cache).any(axis=(0, 2)))
    return math.ceil((n - 1) / (n - 1 - int(reached.min())))


def _slope(costs, size, cost) -> float:
    """The slope of a straight line on logarithmic axes: 1 if the cost doubles when the size does, 2
    if it quadruples.
    """
    sizes, found = ([one[name] for one in costs] for name in (size, cost))
    return float(np.polyfit(np.log(sizes), np.log(found), 1)[0])


def _costs(kind, sizes, rounds) -> list[dict[str, Any]]:
    """Processor time and memory of a forward and a backward pass over one sequence, in float32, at
    each of the (n, d) `sizes`.

    Every round measures all sizes, so that other programs disturb all of them alike.
    """
    passes = [_pass(kind.make(d), n, d) for n, d in sizes]
    peaks = [_peak(one) for one in passes]
    seconds = [min(_seconds(one, repeat=2)) for one in passes]
    for _ in range(rounds):
        for i, one in enumerate(passes):
            seconds[i] = min(seconds[i], *_seconds(one, repeat=max(1, int(TURN / seconds[i]))))
    return [
        {"n": n, "d": d, "seconds": best, "bytes": peak}
        for (n, d), best, peak in zip(sizes, seconds, peaks)
    ]


def _pass(layer, n, d) -> Callable[[], None]:
    x = np.random.default_rng(0).standard_normal((1, n, d)).astype(np.float32)

    def once() -> None:
        y, cache = layer.forward(x)
        layer.backward((y[0], np.zeros_like(y[1])) if isinstance(y, tuple) else y, cache)

    return once


def _peak(once) -> int:
    """The most bytes held at a time beyond those held before; NumPy reports every array to
    tracemalloc.
    """
    once()  # whatever is made only once exists already
    tracemalloc.start()
    once()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def _print_tables(results) -> None:
    print(
        f"\n{'':22} {'multiplications':>15} {'':>9} {'steps':>6} {'path':>6}   {'time: slope in':>14}   {'memory: slope in':>16}"
    )
    print(f"{'':22} {'':>15} {'/ formula':>9} {'':6} {'':6} {'n':>10} {'d':>6} {'n':>11} {'d':>6}")
    for row in results:
        print(
            f"{row['layer'] + SETTINGS.get(row['layer'], ''):22} "
            f"{row['operations']:15,} {row['operations_measured_over_formula']:9.3f} "
            f"{row['sequential_steps']:6,} {row['path_length']:6,} {row['slope_n']:10.2f} {row['slope_d']:6.2f} "
            f"{row['memory_slope_n']:11.2f} {row['memory_slope_d']:6.2f}"
        )
    print(
        f"\nmultiplications of a forward pass, steps and path: n = {N:,}, d = {D}; slopes of a forward and a backward pass in "
        f"float32:\nin n from {LONG} at d = {WIDTH}, in d at n = {LENGTH}"
    )
    for over, fixed in (("n", f"d = {WIDTH}"), ("d", f"n = {LENGTH}")):
        print(
            f"\n{f'ms at {fixed}, {over} =':22} "
            + " ".join(f"{cost[over]:9,}" for cost in results[0][f"over_{over}"])
        )
        for row in results:
            print(
                f"{row['layer']:22} "
                + " ".join(f"{1000 * cost['seconds']:9.2f}" for cost in row[f"over_{over}"])
            )


def _picture(results) -> Figure:
    """What a layer of each kind costs over the length and over the width: the dicts that `measure`
    yields.
    """
    figure = Figure(10, 4.6)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, over, fixed, word in zip(panels, "nd", "dn", ("n, the length", "d, the width")):
        for row in results:
            costs = row[f"over_{over}"]
            axes.plot(
                [cost[over] for cost in costs],
                [1000 * cost["seconds"] for cost in costs],
                marker="o",
                markersize=4,
                label=row["layer"],
            )
        size = costs[0][fixed]
        axes.axvline(size, color="grey", linestyle=":")
        axes.annotate(
            "n = d",
            (size, 1),
            (3, -10),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            color="grey",
            fontsize=9,
        )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(
            ticks := [cost[over] for cost in costs], [f"{tick:,}" for tick in ticks], rotation=45
        )
        axes.set_xlabel(word)
        axes.set_title(f"{fixed} = {size}", fontsize=10)
        axes.grid(alpha=0.3)
    panels[0].yaxis.set_major_formatter("{x:g}")
    panels[0].set_ylabel("forward and backward (ms of processor time)")
    panels[0].legend(fontsize=9)
    return figure
