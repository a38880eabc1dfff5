"""Positions: added in order, the same for one position as for many, and no more than were learned."""

import numpy as np
import pytest

from minitransformer.layers import LearnedPositions, SinusoidalPositions


def test_positions_are_added_in_order():
    layer = LearnedPositions(5, 4, np.random.default_rng(0))
    x = np.ones((2, 3, 4), np.float32)
    np.testing.assert_array_equal(layer.forward(x)[0], x + layer.weight.data[:3])
    y, _ = SinusoidalPositions().forward(x)
    np.testing.assert_allclose(
        y[1, 2], 1 + np.array([np.sin(2), np.cos(2), np.sin(0.02), np.cos(0.02)]), rtol=1e-6
    )


@pytest.mark.parametrize(
    "positions", [SinusoidalPositions(), LearnedPositions(140, 4, np.random.default_rng(0))]
)
def test_one_position_alone_is_as_among_others(positions):
    x = np.ones((2, 140, 4), np.float32)
    y, _ = positions.forward(x)
    for place in (0, 1, 63, 64, 139):
        np.testing.assert_array_equal(positions.at(x[:, place], place), y[:, place])
