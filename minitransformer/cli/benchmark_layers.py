"""minitransformer benchmark --layers: Table 1 of the paper, measured."""

import json
import sys
from collections.abc import Iterator
from typing import Any

from tqdm import tqdm

from minitransformer.benchmarks.layers.kinds import KERNEL, KINDS, RADIUS
from minitransformer.benchmarks.layers.measure import LENGTH, LONG, N, WIDTH, D, measure
from minitransformer.cli.pictures import picture_path, write_picture

WORDS = {"self-attention": "self-attention", "recurrent": "recurrent", "convolutional": f"convolutional, k = {KERNEL}",
         "separable": f"separable, k = {KERNEL}", "restricted": f"restricted, r = {RADIUS}"}


def execute(args, environment) -> None:
    """Print the table, or the JSON object with what the speed depends on; draw --output."""
    path = None if args.output is None else picture_path(args.output)
    results = measure(args.rounds)
    if args.json:
        found = list(results)
        print(json.dumps({"layers": found, **environment}))
    else:
        print(f"{environment['processor']}, {environment['kernels']} kernels, one thread, "
              f"NumPy {environment['versions']['numpy']}\n")
        found = list(_printed(results))
        _print_times(found)
    if path is not None:
        from minitransformer.pictures import plots

        write_picture(plots.layers(found), path, sys.stderr if args.json else None)


def _printed(results) -> Iterator[dict[str, Any]]:
    print(f"{'':22} {'multiplications':>15} {'':>9} {'steps':>6} {'path':>6}   {'time: slope in':>14}   {'memory: slope in':>16}\n"
          f"{'':22} {'':>15} {'/ formula':>9} {'':6} {'':6} {'n':>10} {'d':>6} {'n':>11} {'d':>6}", flush=True)
    for row in tqdm(results, "layers", total=len(KINDS), disable=None, leave=False):
        tqdm.write(f"{WORDS[row['layer']]:22} {row['operations']:15,} {row['operations_measured_over_formula']:9.3f} "
                   f"{row['sequential_steps']:6,} {row['path_length']:6,} {row['slope_n']:10.2f} {row['slope_d']:6.2f} "
                   f"{row['memory_slope_n']:11.2f} {row['memory_slope_d']:6.2f}")
        yield row
    print(f"\nmultiplications of a forward pass, steps and path: n = {N:,}, d = {D}; slopes of a forward and a backward pass in "
          f"float32:\nin n from {LONG} at d = {WIDTH}, in d at n = {LENGTH}", flush=True)


def _print_times(found) -> None:
    """The milliseconds of each n and d."""
    for over, fixed in (("n", f"d = {WIDTH}"), ("d", f"n = {LENGTH}")):
        print(f"\n{f'ms at {fixed}, {over} =':22} " + " ".join(f"{cost[over]:9,}" for cost in found[0][f"over_{over}"]))
        for row in found:
            print(f"{row['layer']:22} " + " ".join(f"{1000 * cost['seconds']:9.2f}" for cost in row[f"over_{over}"]))
