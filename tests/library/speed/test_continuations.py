"""The most likely continuations and the normaliser of the logits: every implementation finds the
same.
"""

from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitransformer.decoding.continuations import FIRST_WORD, OutputWeight
from minitransformer.dispatch import TABLE
from minitransformer.data.special import BOS, EOS, PAD
from tests.helpers.kernels import needs_numba, uncompiled

NEAR = {"float32": 2e-5, "float64": 1e-12}
RELATIVE = {"float32": 1e-6, "float64": 1e-13}
CONTEXTS = pytest.mark.parametrize(
    "context", [nullcontext, pytest.param(uncompiled, marks=needs_numba)]
)


def implementations(name, dtype):
    entry = TABLE[name]
    return [
        entry.textbook,
        *(kernel.function for kernel in entry.kernels if dtype in kernel.dtypes),
    ]


@CONTEXTS
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@given(
    batch=st.integers(1, 3),
    width=st.integers(1, 5),
    size=st.integers(1, 600),
    count=st.integers(1, 12),
    seed=st.integers(0, 99),
)
def test_the_likeliest_are_the_likeliest(context, dtype, batch, width, size, count, seed):
    """With ties, with hypotheses that have ended, and with weights that make the logits obvious."""
    size = size if context is nullcontext else 1 + size % 150
    rng = np.random.default_rng(seed)
    logits = rng.standard_normal((batch * width, FIRST_WORD + size)).round(1).astype(dtype)
    logits[:, PAD] = logits[:, BOS] = 5  # they count in the normaliser, and never follow
    before = rng.standard_normal((batch, width)).round(1)
    before[rng.random(before.shape) < 0.1] = -np.inf
    x = np.eye(batch * width, 2 + batch * width, k=2, dtype=dtype).reshape(
        batch, width, -1
    )  # the first two columns are 0
    weight = OutputWeight(
        np.concatenate([rng.standard_normal((logits.shape[1], 2)).astype(dtype), logits.T], axis=1)
    )
    totals = before[:, :, None] + (logits - np.logaddexp.reduce(logits, axis=1)[:, None]).reshape(
        batch, width, -1
    )
    expected = -np.sort(-totals[:, :, FIRST_WORD:].reshape(batch, -1), axis=1)[:, :count]
    with context():
        for find in implementations("continuations", dtype):
            ends, sums, parents, ids = find(x, weight, before, count)
            assert ends.dtype == sums.dtype == "float64"
            np.testing.assert_allclose(ends, totals[:, :, EOS], rtol=0, atol=NEAR[dtype])
            for i in range(batch):
                real = sums[i] > -np.inf
                assert real.sum() == (expected[i] > -np.inf).sum()
                np.testing.assert_allclose(
                    sums[i][real], expected[i][: real.sum()], rtol=0, atol=NEAR[dtype]
                )
                np.testing.assert_allclose(
                    totals[i, parents[i], ids[i]][real], sums[i][real], rtol=0, atol=NEAR[dtype]
                )
                assert len(set(zip(parents[i][real].tolist(), ids[i][real].tolist()))) == real.sum()
                assert ((ids[i][real] >= FIRST_WORD) & (ids[i][real] < FIRST_WORD + size)).all()


@CONTEXTS
@pytest.mark.parametrize("token", [BOS, EOS, FIRST_WORD + 70])
def test_a_logit_far_above_the_others_overflows_nothing(context, token):
    """exp(200) is infinity in float32."""
    weight = np.zeros((100, 1), "float32")
    weight[token] = 200
    with context():
        for find in implementations("continuations", "float32"):
            ends, sums, _, ids = find(
                np.ones((1, 1, 1), "float32"), OutputWeight(weight), np.zeros((1, 1)), 1
            )
            np.testing.assert_allclose(ends, [[0 if token == EOS else -200]], rtol=0, atol=1e-3)
            np.testing.assert_allclose(sums, [[0 if token > EOS else -200]], rtol=0, atol=1e-3)
            assert token <= EOS or ids == token


@CONTEXTS
def test_a_logit_that_is_no_number_reaches_the_sums(context):
    """Beam search looks for it there."""
    for wrong in (np.nan, np.inf):
        weight = np.ones((80, 4), "float32")
        weight[70] = wrong
        with context():
            for find in implementations("continuations", "float32"):
                with np.errstate(invalid="ignore"):
                    ends, *_ = find(
                        np.ones((2, 1, 4), "float32"), OutputWeight(weight), np.zeros((2, 1)), 2
                    )
                assert np.isnan(ends).all()


@CONTEXTS
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@given(
    rows=st.integers(1, 5),
    size=st.integers(1, 600),
    scale=st.sampled_from([1, 50]),
    seed=st.integers(0, 99),
)
def test_the_normaliser_is_that_of_all_logits(context, dtype, rows, size, scale, seed):
    """Also beside logits of -inf, which are those of forbidden tokens."""
    size = size if context is nullcontext else 1 + size % 150
    rng = np.random.default_rng(seed)
    logits = scale * rng.standard_normal((rows, size)).astype(dtype)
    logits[:, 1:][rng.random((rows, size - 1)) < 0.2] = -np.inf
    before = logits.copy()
    with context():
        for find in implementations("log_normaliser", dtype):
            found = find(logits)
            assert found.dtype == dtype
            expected = np.logaddexp.reduce(logits.astype("float64"), axis=1)
            np.testing.assert_allclose(found, expected, rtol=RELATIVE[dtype], atol=RELATIVE[dtype])
    np.testing.assert_array_equal(logits, before)
