"""Measure Table 1 of the paper on one thread: operations, sequential steps, paths, time and memory of each layer."""

import sys

from tqdm import tqdm

from benchmarks.layers.measure import KERNEL, KINDS, LENGTH, LONG, RADIUS, WIDTH, D, N, measure
from minitransformer.cli.benchmark.report import report
from minitransformer.cli.output import picture_path, write_picture

SETTINGS = {"convolutional": f", k = {KERNEL}", "separable": f", k = {KERNEL}", "restricted": f", r = {RADIUS}"}


def add_arguments(parser) -> None:
    parser.add_argument("--output", metavar="FILE.png", help="image file to write, which shows the times; it must not exist yet")


def execute(args) -> None:
    from minitransformer.pictures import plots    # imports matplotlib

    path = None if args.output is None else picture_path(args.output)
    results = list(tqdm(measure(args.rounds), "layers", total=len(KINDS), disable=None, leave=False))
    report(args, results, _print_tables, threads=1)
    if path is not None:
        write_picture(plots.layers(results), path, sys.stderr if args.json else None)


def _print_tables(results) -> None:
    print(f"\n{'':22} {'multiplications':>15} {'':>9} {'steps':>6} {'path':>6}   {'time: slope in':>14}   {'memory: slope in':>16}")
    print(f"{'':22} {'':>15} {'/ formula':>9} {'':6} {'':6} {'n':>10} {'d':>6} {'n':>11} {'d':>6}")
    for row in results:
        print(f"{row['layer'] + SETTINGS.get(row['layer'], ''):22} "
              f"{row['operations']:15,} {row['operations_measured_over_formula']:9.3f} "
              f"{row['sequential_steps']:6,} {row['path_length']:6,} {row['slope_n']:10.2f} {row['slope_d']:6.2f} "
              f"{row['memory_slope_n']:11.2f} {row['memory_slope_d']:6.2f}")
    print(f"\nmultiplications of a forward pass, steps and path: n = {N:,}, d = {D}; slopes of a forward and a backward pass in "
          f"float32:\nin n from {LONG} at d = {WIDTH}, in d at n = {LENGTH}")
    for over, fixed in (("n", f"d = {WIDTH}"), ("d", f"n = {LENGTH}")):
        print(f"\n{f'ms at {fixed}, {over} =':22} " + " ".join(f"{cost[over]:9,}" for cost in results[0][f"over_{over}"]))
        for row in results:
            print(f"{row['layer']:22} " + " ".join(f"{1000 * cost['seconds']:9.2f}" for cost in row[f"over_{over}"]))
