"""The kernels that a block calls against its textbook: the output and every gradient, in float32
and in float64.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.compare import relative_errors
from minitransformer.checking.report import OBSERVED, Finding, Report, Result
from minitransformer.checking.subject import Block, Breach, Subject, drawing, flat
from minitransformer.dispatch import TABLE, Kernel
from minitransformer.speed.kernels import kernels_run, load_all


def check_kernels(block: Block, inputs: Any, *, name: str, seed: int = 0) -> Report:
    """Compare a block that runs the library's kernels with the textbook; an empty Report if it
    calls none.
    """
    results, used = [], set()
    for dtype in ("float32", "float64"):
        given = block, inputs, dtype, seed
        textbook = _computed(*given)
        try:
            with _librarys_kernels() as ran:
                found = _computed(*given)
        except Breach as breach:
            words = f"the kernels cannot do what the textbook does: {breach}"
            return Report([], {name: Finding(OBSERVED, words)})
        used |= ran
        if ran:
            results += [
                _compared(name, f"kernels {dtype}", wrt, textbook[wrt], found[wrt], error)
                for wrt, error in zip(textbook, _errors(textbook, found))
            ]
    if all(result.passed for result in results):
        return Report(results)
    names = ", ".join(sorted(used))
    words = f"the kernels differ from the textbook, which is right; those that ran: {names}"
    return Report(results, {name: Finding(OBSERVED, words)})


def _computed(block: Block, inputs: Any, dtype: str, seed: int) -> dict[str, Array]:
    """{"y": the output, name: its gradient}; backward receives the same dy every time."""
    checked = Subject(block, inputs, seed=seed, dtype=np.dtype(dtype))
    with np.errstate(all="ignore"):
        y, cache = checked.forward()
        gradients = checked.gradients(checked.upstream(y, drawing(seed, 1)), cache)
    return {"y": flat(y), **{wrt: np.array(gradient) for wrt, gradient in gradients.items()}}


def _errors(textbook: dict[str, Array], found: dict[str, Array]) -> list[float]:
    """The output's error, then those of the gradients, whose floor is a tenth of the largest
    gradient, as everywhere.
    """
    (y, *gradients), (y_found, *gradients_found) = textbook.values(), found.values()
    return [*relative_errors([y_found], [y]), *relative_errors(gradients_found, gradients)]


def _compared(
    name: str, method: str, wrt: str, textbook: Array, kernel: Array, error: float
) -> Result:
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
def _librarys_kernels() -> Iterator[set[str]]:
    """Within the block, the library's kernels run, and none of a reader's; yields the names of
    those that were called.
    """
    load_all()
    ran: set[str] = set()

    def noted(kernel: Kernel) -> Kernel:
        @wraps(kernel.function)
        def noting(*arguments: Any, **options: Any) -> Any:
            ran.add(kernel.function.__name__)
            return kernel.function(*arguments, **options)

        return kernel._replace(function=noting)

    before = {entry: entry.kernels for entry in TABLE.values()}
    try:
        for entry, kernels in before.items():
            entry.kernels = tuple(noted(kernel) for kernel in kernels if not kernel.by_reader)
        with kernels_run():
            yield ran
    finally:
        for entry, kernels in before.items():
            entry.kernels = kernels
