"""The parameter-free mathematics, against definitions written out slowly."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from minitransformer import functional as F
from minitransformer.data.special import PAD


def test_softmax_is_its_jacobian():
    """The only place where the Jacobian dp_i/dx_j = p_i (delta_ij - p_j) is ever built."""
    rng = np.random.default_rng(0)
    p, cache = F.softmax_forward(rng.standard_normal(7))
    dp = rng.standard_normal(7)
    jacobian = np.diag(p) - np.outer(p, p)
    np.testing.assert_allclose(F.softmax_backward(dp, cache), dp @ jacobian, rtol=1e-12, atol=1e-15)


def test_softmax_of_huge_scores():
    p, _ = F.softmax_forward(np.array([1e4, 1e4, -1e4]))
    np.testing.assert_array_equal(p, [0.5, 0.5, 0])


def test_softmax_of_nothing_is_zero():
    p, _ = F.softmax_forward(np.ones((2, 3)), np.array([[True, False, True], [False] * 3]))
    np.testing.assert_array_equal(p, [[0.5, 0, 0.5], [0, 0, 0]])


def test_a_position_sees_itself_and_what_is_before_it():
    np.testing.assert_array_equal(
        F.causal_mask(np.array([[7, 8, 9]])),
        [[True, False, False], [True, True, False], [True, True, True]],
    )


def test_padding_is_seen_by_nobody():
    mask = F.padding_mask(np.array([[7, 8, PAD], [9, PAD, PAD]]))
    assert mask.shape == (2, 1, 1, 3)  # for each head and query
    np.testing.assert_array_equal(mask[:, 0, 0], [[True, True, False], [True, False, False]])


def test_relu_at_its_kink():
    """Zero, and so is its gradient: a unit that is just off stays off."""
    x = np.array([-1.0, -0.0, 0.0, 2.0])
    y, cache = F.relu_forward(x)
    np.testing.assert_array_equal(y, [0, 0, 0, 2])
    np.testing.assert_array_equal(F.relu_backward(np.full(4, 3.0), cache), [0, 0, 0, 3])


def splitmix64(seed, count):
    """With Python's integers, which know no overflow."""
    limit = 2**64
    for i in range(1, count + 1):
        z = (seed + i * 0x9E3779B97F4A7C15) % limit
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % limit
        z = (z ^ z >> 27) * 0x94D049BB133111EB % limit
        yield z ^ z >> 31


def test_random_words_are_those_of_splitmix64():
    known = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert (
        F.random_words(np.array([1234567], "uint64"), 5).tolist()
        == known
        == list(splitmix64(1234567, 5))
    )
    many = F.random_words(np.array([2**62 - 1], "uint64"), 20_000)
    assert many.tolist() == list(splitmix64(2**62 - 1, 20_000))


def test_one_random_byte_decides_each_element():
    """The same bytes give the same mask in every version: runs are resumed to the same bits."""
    rng, keys = np.random.default_rng(4), np.random.default_rng(4)
    for rows in (5, 500):
        found = F.dropout_mask((rows, 7), 0.3, rng, np.float64)
        key = int(keys.integers(0, 2**62, 1, dtype="uint64")[0])
        random_bytes = [
            byte for word in splitmix64(key, rows) for byte in word.to_bytes(8, "little")
        ]
        np.testing.assert_array_equal(
            found, (np.array(random_bytes[: 7 * rows]).reshape(rows, 7) >= 77) * (256 / 179)
        )


@pytest.mark.parametrize(
    "dropout_rate, dropped",
    [(0.1, 26), (0.5, 128), (0.75, 192), (0.9, 230), (0.999, 255), (0.9999, 255)],
)
def test_a_dropout_rate_is_rounded_to_a_number_of_bytes(dropout_rate, dropped):
    assert F.dropout_mask(
        (1000,), dropout_rate, np.random.default_rng(0), np.float64
    ).max() == 256 / (256 - dropped)


@pytest.mark.parametrize("padding, count", [(None, 6), (PAD, 3), (4, 5)])
def test_padding_is_what_the_caller_says(padding, count):
    """Its rows are excluded from the sum, the count and the gradient; with None, every class
    counts.
    """
    logits, targets = (
        np.random.default_rng(0).standard_normal((2, 3, 5)),
        np.array([[1, 4, 0], [2, 0, 0]]),
    )
    loss, cache = F.cross_entropy_forward(logits, targets, padding=padding)
    log_p = np.log(np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True))
    each = -np.take_along_axis(log_p, targets[..., None], axis=-1)[..., 0]
    assert loss == pytest.approx(each[targets != padding].sum(), rel=1e-12)
    assert cache.count == count
    gradient = F.cross_entropy_backward(1.0, cache)
    np.testing.assert_array_equal(np.abs(gradient).sum(axis=-1) > 0, targets != padding)


def test_cross_entropy_with_ties_and_huge_logits():
    """Equal logits do not all count as the target, and smoothing does not give infinity."""
    loss, cache = F.cross_entropy_forward(np.zeros((1, 4)), np.array([2]), padding=None)
    assert loss == pytest.approx(math.log(4))
    np.testing.assert_allclose(F.cross_entropy_backward(1.0, cache), [[0.25, 0.25, -0.75, 0.25]])
    assert np.isfinite(
        F.cross_entropy_forward(np.array([[1e5, -1e5, 0]]), np.array([1]), 0.1, padding=None)[0]
    )


def test_cross_entropy_of_any_memory_order():
    rng = np.random.default_rng(0)
    logits, targets = rng.standard_normal((4, 3, 2)).transpose(2, 1, 0), rng.integers(0, 4, (2, 3))
    found = [
        F.cross_entropy_backward(1.0, F.cross_entropy_forward(array, targets, padding=PAD)[1])
        for array in (logits, np.ascontiguousarray(logits))
    ]
    np.testing.assert_array_equal(*found)


@given(length=st.integers(1, 40), d_model=st.integers(1, 33))
def test_sinusoids_are_their_definition(length, d_model):
    table = F.sinusoids(length, d_model)
    assert table.shape == (length, d_model)
    for t in {0, length // 2, length - 1}:
        for i in range(d_model):
            angle = t / 10000 ** (i // 2 * 2 / d_model)
            assert table[t, i] == pytest.approx(
                math.cos(angle) if i % 2 else math.sin(angle), abs=1e-12
            )
