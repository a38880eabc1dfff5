"""The devices of this folder's tests: the stand-in for CuPy and, if there is one, a GPU."""

import sys
from contextlib import contextmanager, nullcontext

import numpy as np
import pytest

from minitransformer import InputError
from minitransformer.backend import generator, get_module
from tests.library.gpu import strict


class StandIn:
    """Computes with NumPy, so it must give the same bits."""

    xp = strict.cupy
    dtype, dropout = np.dtype("float32"), 0.1
    generator = staticmethod(generator)

    def check(self, error, dtype, slack=1):
        assert error == 0

    @contextmanager
    def never_waits(self):
        strict.waits.clear()
        yield
        assert strict.waits == []


class Gpu:
    """Sums in another order, so its results are only close. Without CuPy and a GPU, its tests are
    skipped.

    Beyond single blocks it computes in float64: ReLU at its kink and Adam's division can turn a
    rounding error into a large difference. Its runs have no dropout, because its random numbers are
    not NumPy's.
    """

    BOUNDS = {"float32": 1e-4, "float64": 1e-12}
    dtype, dropout = np.dtype("float64"), 0.0

    def __init__(self):
        try:
            self.xp = get_module("cupy")
        except InputError as error:
            pytest.skip(str(error))

    def check(self, error, dtype, slack=1):
        assert error <= slack * self.BOUNDS[dtype.name]

    def generator(self, xp, *entropy):
        return generator(xp, *entropy) if xp is np else HostGenerator(xp, *entropy)

    def never_waits(self):
        return nullcontext()  # CuPy cannot tell


class HostGenerator:
    """NumPy's random numbers on the GPU, whose own generator gives others for the same seed."""

    def __init__(self, xp, *entropy):
        self.xp = xp
        self.rng = generator(np, *entropy)

    def integers(self, *args, **kwargs):
        return self.xp.asarray(self.rng.integers(*args, **kwargs))


@pytest.fixture(scope="module", params=["stand-in", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request):
    if request.param == "gpu":
        yield Gpu()
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINITRANSFORMER_FAST", "0")  # the kernels are NumPy's alone
        patch.setitem(sys.modules, "cupy", strict.cupy)
        yield StandIn()
