"""Does Adam's update number 10,000 cost as much as its first one if a part of the parameters no
longer gets a gradient?

As many parameters as the copy task's model has. A fifth of them, such as the weights of units that
ReLU has switched off, gets a gradient at the first update only. For the textbook and the kernel,
prints the milliseconds of an update (the least of 40, in the thread's own processor time) and how
many of the moments are denormal numbers.
"""

import inspect
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

from research.benchmarks.info import collect
from minitransformer.functional import adam_update
from minitransformer.speed.host import keep_freed_memory

PARAMETERS, DEAD, TIMED = 235_328, 0.2, 40
STEPS = 1, 1_000, 2_000, 5_000, 10_000


def updates() -> Iterator[tuple[str, Callable]]:
    yield "textbook", inspect.unwrap(adam_update)
    try:
        from minitransformer.speed.compiled.adam import adam_update_compiled
    except ImportError as error:
        print(f"no kernel: {error}", file=sys.stderr)
    else:
        yield "compiled", adam_update_compiled


def measure(update) -> Iterator[tuple[int, float, float]]:
    """(step, milliseconds, share of denormal moments) at each of STEPS."""
    rng = np.random.default_rng(0)
    data, first = rng.standard_normal((2, PARAMETERS), np.float32)
    later = first * (
        rng.random(PARAMETERS) >= DEAD
    )  # in no order, like a unit's weights in a matrix of all units
    m, v, grad = np.zeros((3, PARAMETERS), np.float32)
    seconds = []
    for step in range(1, STEPS[-1] + TIMED):
        grad[...] = later if step > 1 else first
        start = time.thread_time()
        update(data, grad, m, v, step, 1e-4, 1.0, 0.9, 0.98, 1e-9, np.True_)
        seconds.append(time.thread_time() - start)
        if step - TIMED + 1 in STEPS:
            moments = np.abs([m, v])
            denormal = np.mean((moments > 0) & (moments < np.finfo(np.float32).tiny))
            yield step - TIMED + 1, 1000 * min(seconds[-TIMED:]), denormal


def add_arguments(parser) -> None:
    pass


def execute(args) -> None:
    keep_freed_memory()  # as the command does
    print(
        f"{collect()['processor']}; NumPy {np.__version__}, float32, {PARAMETERS:,} parameters, {DEAD:.0%} without a gradient"
    )
    for name, update in updates():
        print(
            f"{name:10}"
            + "".join(
                f"  step {step:,}: {milliseconds:.2f} ms, {denormal:.1%} denormal"
                for step, milliseconds, denormal in measure(update)
            ),
            flush=True,
        )
