"""The exponential of the compiled kernels, against float64's, at every float32 that matters."""

import numpy as np
import pytest

from minitransformer.speed import kernels

kernels.load_all()
if kernels.state.problem:
    pytest.skip(f"no compiled kernels: {kernels.state.problem}", allow_module_level=True)

from numba import njit, vectorize  # noqa: E402

from minitransformer.speed.exponential import exp, rank, ranked  # noqa: E402

BOUND = 1.2e-7  # relative: what the docstring says


@njit(error_model="numpy")
def worst(first, last):
    """The largest relative error of exp at the float32 with these bits and all between, which are
    -x of growing size.
    """
    largest = 0.0
    for bits in range(first, last):
        x = np.int32(bits).view(np.float32)
        expected = np.exp(np.float64(x))
        largest = max(largest, abs(exp(x) - expected) / expected)
    return largest


@pytest.mark.campaign
def test_exp_at_every_float32_from_minus_87_to_0():
    """Those nearer to 0 than 2^-24 round to 1, and so does their exponential."""
    first, last = (int(np.float32(x).view(np.int32)) for x in (-(2.0**-24), -87.0))
    assert worst(first, last + 1) < BOUND
    tiny = -(np.float32(2) ** np.arange(-149, -24, dtype=np.float32))
    assert (
        all(vectorize(exp.py_func)(tiny) == 1) and exp(np.float32(0)) == exp(np.float32(-0.0)) == 1
    )


def test_exp_at_the_ends():
    assert np.isnan(exp(np.float32(np.nan))) and np.isnan(exp(-np.float32(np.nan)))
    for x in (-87.1, -1e30, -np.inf):
        assert exp(np.float32(x)) == exp(np.float32(-87)) > 0


@pytest.mark.parametrize("function", [exp, exp.py_func])
def test_exp_uncompiled_is_the_same(function):
    x = -np.random.default_rng(0).exponential(8, 500).astype("float32")
    found = np.array([function(value) for value in x])
    assert (
        function is exp or found.dtype == np.float32
    )  # Numba hands a float32 to Python as a float
    np.testing.assert_allclose(found, np.exp(x.astype("float64")), rtol=BOUND)


def test_ranks_order_as_their_numbers():
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [
            rng.integers(-(2**31), 2**31, 3000).astype("int32").view("float32"),
            np.float32([0, np.inf, -np.inf]),
        ]
    )
    x = np.sort(x[~np.isnan(x)])
    ranks = [int(rank(value)) for value in x]
    assert ranks == sorted(ranks)
    np.testing.assert_array_equal([ranked(np.int32(number)) for number in ranks], x)
    assert rank(np.float32(np.nan)) > rank(np.float32(np.inf))
