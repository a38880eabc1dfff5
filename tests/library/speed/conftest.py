"""In these tests kernels run, as inside `with fast():`."""

import pytest

from minitransformer.speed.kernels import kernels_run


@pytest.fixture(autouse=True, scope="module")
def with_kernels():
    with kernels_run():
        yield
