"""The layers of Table 1: the operations, steps, paths, time and memory of each."""

import math
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from time import process_time
from timeit import repeat
from typing import Any, NamedTuple

import numpy as np

from benchmarks.layers.counted import Counted, counted_copy, counting
from minitransformer.layers import SelfAttention
from minitransformer.workers.host import fast
from minitransformer.zoo.baselines import RNN, Convolution, RestrictedSelfAttention, SeparableConvolution

KERNEL = 3     # positions that a convolution sees
RADIUS = 32    # positions to each side that restricted attention sees
LENGTHS, WIDTH = (32, 64, 128, 256, 512, 1024, 2048, 4096), 64    # n is doubled, while d stays
WIDTHS, LENGTH = (64, 128, 256, 512), 256                         # d is doubled, while n stays
TURN = 0.02                                                       # seconds of a size's turn at least
LONG = 256                                                        # the shortest of LENGTHS whose slope is reported
N, D = 1024, 256                                                  # where multiplications, steps and paths are counted

_seconds = partial(repeat, timer=process_time, number=1)    # _seconds(a pass, repeat=2) -> [seconds, seconds]


class Kind(NamedTuple):
    make: Callable[[int], Any]               # takes d and returns the layer
    operations: Callable[[int, int], int]    # takes n and d and returns the multiplications of a forward pass, as derived below


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


# For one sequence of n vectors of width d, as tutorials/15_why_self_attention derives them:
KINDS = {
    # 4 projections of d x d at each position; n x n scores of d terms each, and as many for the values.
    "self-attention": Kind(lambda d: SelfAttention(d, 1, _rng()), lambda n, d: 4 * n * d * d + 2 * n * n * d),
    # A product with d x d for the input, and another one for the state.
    "recurrent": Kind(lambda d: RNN(d, d, _rng()), lambda n, d: 2 * n * d * d),
    # A product with d x d for each of k positions.
    "convolutional": Kind(lambda d: Convolution(d, d, _rng(), KERNEL), lambda n, d: KERNEL * n * d * d),
    # k numbers for each of d dimensions, then a product with d x d.
    "separable": Kind(lambda d: SeparableConvolution(d, d, _rng(), KERNEL), lambda n, d: KERNEL * n * d + n * d * d),
    # As self-attention, with 2 r + 1 keys for each query.
    "restricted": Kind(lambda d: RestrictedSelfAttention(d, 1, _rng(), RADIUS),
                       lambda n, d: 4 * n * d * d + 2 * n * (2 * RADIUS + 1) * d),
}


def measure(rounds) -> Iterator[dict[str, Any]]:
    """One dict for JSON for each kind, as soon as it is measured. Times are the shortest of `rounds`, on one thread."""
    with fast():
        for name, kind in KINDS.items():
            costs = _costs(kind, [*((n, WIDTH) for n in LENGTHS), *((LENGTH, d) for d in WIDTHS)], rounds)
            over_n, over_d = costs[:len(LENGTHS)], costs[len(LENGTHS):]
            multiplications, chain = count(kind.make(D), N, D)
            yield {
                "layer": name,
                "slope_n": _slope([cost for cost in over_n if cost["n"] >= LONG], "n", "seconds"),
                "slope_d": _slope(over_d, "d", "seconds"),
                "memory_slope_n": _slope([cost for cost in over_n if cost["n"] >= LONG], "n", "bytes"),
                "memory_slope_d": _slope(over_d, "d", "bytes"),
                "operations": multiplications,
                "operations_measured_over_formula": multiplications / kind.operations(N, D),
                "sequential_steps": chain,
                "path_length": path_length(kind.make(16), N, 16),
                "over_n": over_n, "over_d": over_d,
            }


def count(layer, n, d) -> tuple[int, int]:
    """(multiplications of a forward pass, the longest chain of products in it) for one sequence of n vectors of width d."""
    products = at_steps(layer, n, d)
    return products.total(), max(products)


def at_steps(layer, n, d) -> Counter[int]:
    """{step: multiplications} of a forward pass; a product is one step after those that it needs."""
    x = np.random.default_rng(0).standard_normal((1, n, d)).astype(np.float32).view(Counted)
    with counting():
        counted_copy(layer).forward(x)
    return Counter(Counted.at_step)


def path_length(layer, n, d) -> int:
    """How many layers, or steps of a recurrence, lie between the two ends of n positions.

    The gradient of one position's output shows how far a layer sees, and each such stretch needs another layer. A
    recurrent layer sees everything, but one step at a time, so there the steps are counted.
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
    """The slope of a straight line on logarithmic axes: 1 if the cost doubles when the size does, 2 if it quadruples."""
    sizes, found = ([one[name] for one in costs] for name in (size, cost))
    return float(np.polyfit(np.log(sizes), np.log(found), 1)[0])


def _costs(kind, sizes, rounds) -> list[dict[str, Any]]:
    """Processor time and memory of a forward and a backward pass over one sequence, in float32, at each of the (n, d) `sizes`.

    Every round measures all sizes, so that other programs disturb all of them alike.
    """
    passes = [_pass(kind.make(d), n, d) for n, d in sizes]
    peaks = [_peak(one) for one in passes]
    seconds = [min(_seconds(one, repeat=2)) for one in passes]
    for _ in range(rounds):
        for i, one in enumerate(passes):
            seconds[i] = min(seconds[i], *_seconds(one, repeat=max(1, int(TURN / seconds[i]))))
    return [{"n": n, "d": d, "seconds": best, "bytes": peak} for (n, d), best, peak in zip(sizes, seconds, peaks)]


def _pass(layer, n, d) -> Callable[[], None]:
    x = np.random.default_rng(0).standard_normal((1, n, d)).astype(np.float32)

    def once() -> None:
        y, cache = layer.forward(x)
        layer.backward((y[0], np.zeros_like(y[1])) if isinstance(y, tuple) else y, cache)

    return once


def _peak(once) -> int:
    """The most bytes held at a time beyond those held before; NumPy reports every array to tracemalloc."""
    once()    # whatever is made only once exists already
    tracemalloc.start()
    once()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak
