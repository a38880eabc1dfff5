"""The kernels that a block calls against its textbook: the output and every gradient, in float32
and in float64.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.checked_block import Breach, CheckedBlock, drawing, flat
from minitransformer.checking.compare import relative_errors
from minitransformer.checking.finding import OBSERVED, Finding
from minitransformer.checking.report import Report, Result
from minitransformer.speed.kernels import KINDS, available, load_all
from minitransformer.dispatch import TABLE, Kernel, kernels_run


def check_kernels(block, inputs, kind, *, name, seed=0) -> Report:
    """Compare a block that runs the kernels of one of KINDS with the textbook; an empty Report if
    it calls no such kernel.
    """
    results, used = [], set()
    for dtype in ("float32", "float64"):
        given = block, inputs, dtype, seed
        textbook = _computed(*given)
        try:
            with _kernels_of(kind) as ran:
                found = _computed(*given)
        except Breach as breach:
            return Report(
                [],
                {
                    name: Finding(
                        OBSERVED, f"{KINDS[kind]} cannot do what the textbook does: {breach}"
                    )
                },
            )
        used |= ran
        if ran:
            results += [
                _compared(name, f"{kind} {dtype}", wrt, textbook[wrt], found[wrt], error)
                for wrt, error in zip(textbook, _errors(textbook, found))
            ]
    if all(result.passed for result in results):
        return Report(results)
    return Report(
        results,
        {
            name: Finding(
                OBSERVED,
                f"{KINDS[kind]} differ from the textbook, which is right; "
                f"those that ran: {', '.join(sorted(used))}",
            )
        },
    )


def kinds_to_check() -> list[str]:
    """The KINDS of kernels that can run here, with the fastest first."""
    load_all()
    return [kind for kind in KINDS if available(kind)]


def _computed(block, inputs, dtype, seed) -> dict[str, Array]:
    """{"y": the output, name: its gradient}; backward receives the same dy every time."""
    checked = CheckedBlock(block, inputs, np.dtype(dtype), partial(np.random.default_rng, seed))
    with np.errstate(all="ignore"):
        y, cache = checked.forward()
        gradients = checked.gradients(checked.upstream(y, drawing(seed, 1)), cache)
    return {"y": flat(y), **{wrt: np.array(gradient) for wrt, gradient in gradients.items()}}


def _errors(textbook, found) -> list[float]:
    """The output's error, then those of the gradients, whose floor is a tenth of the largest
    gradient, as everywhere.
    """
    (y, *gradients), (y_found, *gradients_found) = textbook.values(), found.values()
    return [*relative_errors([y_found], [y]), *relative_errors(gradients_found, gradients)]


def _compared(name, method, wrt, textbook, kernel, error) -> Result:
    where = (
        np.unravel_index(np.abs(kernel - textbook).argmax(), np.shape(textbook))
        if np.size(textbook)
        else ()
    )
    return Result(
        name,
        wrt,
        method,
        error,
        tuple(map(int, where)),
        float(kernel[where]),
        float(textbook[where]),
    )


@contextmanager
def _kernels_of(kind) -> Iterator[set[str]]:
    """Within the block, the library's kernels run up to this kind; yields the names of those of
    this kind that were called.

    The compiled kernels do not replace everything that those for NumPy do, and share their caches.
    """
    ran: set[str] = set()
    slower = list(KINDS)[list(KINDS).index(kind) + 1 :]

    def noted(kernel) -> Kernel:
        @wraps(kernel.function)
        def noting(*arguments, **options) -> Any:
            ran.add(kernel.function.__name__)
            return kernel.function(*arguments, **options)

        return kernel._replace(function=noting)

    before = {entry: entry.kernels for entry in TABLE.values()}
    try:
        for entry, kernels in before.items():
            entry.kernels = [
                *(noted(kernel) for kernel in kernels if _is_of(kind, kernel)),
                *(kernel for kernel in kernels if any(_is_of(other, kernel) for other in slower)),
            ]
        with kernels_run():
            yield ran
    finally:
        for entry, kernels in before.items():
            entry.kernels = kernels


def _is_of(kind, kernel) -> bool:
    module = str(kernel.function.__module__)
    return module.startswith("minitransformer.") and f".{kind}." in module
