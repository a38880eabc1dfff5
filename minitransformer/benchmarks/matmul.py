"""The machine's best rate: one large product of float32 matrices."""

from collections.abc import Callable

import numpy as np

SIZE = 2048
OPERATIONS = 2 * SIZE ** 3    # of one product


def make_step(case, threads) -> Callable[[], float]:
    """A function that multiplies two (SIZE, SIZE) matrices; OpenBLAS was started with this many threads."""
    a, b = np.random.default_rng(0).random((2, SIZE, SIZE), np.float32)
    y = np.empty_like(a)

    def step() -> float:
        return float(np.matmul(a, b, out=y)[0, 0])

    return step
