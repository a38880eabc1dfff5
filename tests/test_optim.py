"""Adam, the schedule and clipping, against their formulas."""

import numpy as np
import pytest

from minitransformer import Adam, clip_gradient_norm, schedule
from minitransformer.layers import Linear
from minitransformer.optim import constant, cooldown, inverse_sqrt


def test_the_first_step_of_adam_moves_by_the_rate():
    """m' / sqrt(v') is the gradient's sign at t = 1, whatever its size."""
    layer = Linear(2, 2, np.random.default_rng(0)).astype(np.float64)
    adam = Adam(layer)
    before = layer.flat.data.copy()
    layer.flat.grad[...] = [1e-3, -5, 7, 1, -1, 100]
    adam.step(0.1)
    np.testing.assert_allclose(before - layer.flat.data, 0.1 * np.array([1, -1, 1, 1, -1, 1]), rtol=1e-5)
    assert not layer.flat.grad.any()


def test_adam_is_algorithm_1():
    layer = Linear(3, 2, np.random.default_rng(0)).astype(np.float64)
    adam, rng = Adam(layer), np.random.default_rng(1)
    w, m, v = layer.flat.data.copy(), 0, 0
    for t in range(1, 6):
        g = rng.standard_normal(w.shape)
        layer.flat.grad[...] = g
        adam.step(0.01 * t)
        m, v = 0.9 * m + 0.1 * g, 0.98 * v + 0.02 * g * g
        w = w - 0.01 * t * (m / (1 - 0.9 ** t)) / (np.sqrt(v / (1 - 0.98 ** t)) + 1e-9)
        np.testing.assert_allclose(layer.flat.data, w, rtol=1e-12)


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_a_gradient_that_is_not_finite_stops_the_parameters(bad, clip):
    """1e200 is finite, its square is not. What comes after it moves nothing either."""
    layer = Linear(2, 2, np.random.default_rng(0)).astype(np.float64)
    adam = Adam(layer)
    layer.flat.grad[...] = 1
    adam.step(0.1)
    before = layer.flat.data.copy()
    with np.errstate(all="ignore"):
        for gradient in (bad, 1.0):
            layer.flat.grad[...] = 1
            layer.flat.grad[2] = gradient
            if clip:
                clip_gradient_norm(adam.grad, 1.0)
            adam.step(0.1)
    np.testing.assert_array_equal(layer.flat.data, before)
    assert (adam.updates, adam.steps) == (1, 3)


def test_the_papers_schedule():
    rates = [schedule(step, 512, 4000) for step in range(1, 20_001)]
    assert np.argmax(rates) == 3999
    assert rates[3999] == pytest.approx(1 / np.sqrt(512 * 4000))
    assert rates[999] == pytest.approx(rates[3999] / 4)         # linear
    assert rates[15_999] == pytest.approx(rates[3999] / 2)      # 1 / sqrt(step)
    assert schedule(7, 512, 4000, factor=3) == pytest.approx(3 * rates[6])


def test_the_other_schedules():
    assert [inverse_sqrt(step, 4, 0.2) for step in (1, 4, 16)] == pytest.approx([0.05, 0.2, 0.1])
    assert [constant(step, 4, 0.2) for step in (1, 4, 16)] == pytest.approx([0.05, 0.2, 0.2])


@pytest.mark.parametrize("limit, expected", [(1.0, [0.6, 0.8]), (10.0, [3.0, 4.0])])
def test_clipping(limit, expected):
    grad = np.array([3.0, 4.0])
    assert clip_gradient_norm(grad, limit) == 5
    np.testing.assert_allclose(grad, expected)


def test_clipping_nothing():
    grad = np.zeros(3)
    assert clip_gradient_norm(grad, 1.0) == 0
    assert not grad.any()


def test_the_cooldown_is_a_line_to_zero():
    assert [cooldown(step, 10, 0.4) for step in range(1, 11)] == pytest.approx([1] * 7 + [0.75, 0.5, 0.25])
    assert [cooldown(step, 3, 0) for step in (1, 2, 3)] == [1, 1, 1]
