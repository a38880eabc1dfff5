"""How the tests see which function ran: by its calls, or by the cache of its kernel."""

import numpy as np
import pytest

from minitransformer import functional as F
from minitransformer import plugged
from minitransformer.layers import LinearCrossEntropy, OutputProjection
from minitransformer.layers.parameter import Parameter
from minitransformer.speed import kernels

all_kernels = [*kernels.KERNELS.values()]  # which imports the zoo's textbooks
kernels.load_all()
needs_numba = pytest.mark.skipif(
    bool(kernels.state.problem), reason=f"no kernels: {kernels.state.problem}"
)


class Counting:
    """Calls of `function`, counted."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *arguments, **options):
        self.calls += 1
        return self.function(*arguments, **options)


def counting(function):
    """The textbook of a replaceable function, counted, to plug in."""
    return Counting(function.textbook)


def textbook():
    """Within the block no kernel runs: something is plugged in, which is the textbook itself."""
    return plugged(F.adam_update, F.adam_update.textbook)


LOSS = LinearCrossEntropy()


def output_layer(dtype="float32"):
    return OutputProjection(4, 3, weight=Parameter(np.ones((4, 3), dtype)))


def loss_cache(dtype="float32", **options):
    x, targets = np.ones((2, 3), dtype), np.array([1, 2])
    return LOSS.forward(x, output_layer(dtype), targets, padding=None, **options)[1]


def kernel_runs(cache):
    return hasattr(cache, "dx")
