"""learn.lab.training: the short training runs of the chapters about the loss and about learning."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from minitransformer import Transformer
from minitransformer.data.special import BOS
from minitransformer_course import lab

pytestmark = pytest.mark.slow


def test_a_model_learns_to_reverse_only_if_it_reads():
    reading, blind = (
        lab.training.reverse(200, blind=blind, learning_rate=lambda step: 0.004)[1]
        for blind in (False, True)
    )
    assert len(reading) == 200 and reading[:3] == pytest.approx(blind[:3], abs=0.2)
    assert reading[-20:].mean() < 2.6 and blind[-20:].mean() == pytest.approx(np.log(26), abs=0.1)


def test_sgd_moves_against_the_gradient_and_is_clipped():
    model = Transformer(lab.CONFIG, seed=0)
    before, gradient = model.flat.data.copy(), lab.training.gradient_of(model).copy()
    lab.training.SGD(model).step(0.5)
    np.testing.assert_allclose(model.flat.data, before - 0.5 * gradient, atol=1e-7)
    assert not model.flat.grad.any()
    before = model.flat.data.copy()
    lab.training.gradient_of(model)
    lab.training.SGD(model).step(1.0, clip=0.01)
    assert np.linalg.norm(model.flat.data - before) == pytest.approx(0.01, rel=1e-3)


def test_the_least_certain_position():
    model, vocabulary = lab.drawkcab()
    p, ids, t = lab.training.undecided(model, "backward")
    np.testing.assert_allclose(p.sum(axis=-1), 1)
    assert vocabulary.decode(ids[0, :-1].tolist()) == "drawkcab" and BOS not in ids
    assert p[0, t].max() == p[0].max(axis=-1).min()


def test_pictures_name_their_axes():
    _figure, panels = plt.subplots(1, 3)
    lab.show_curves(panels[0], [0, 1], {"one": [1, 2]}, "step", "gap")
    lab.training.show_floors(panels[1], {0: 1.0, 0.1: 0.9}, 29)
    lab.training.show_weights(panels[2], ["2 letters"], {"a": [1], "b": [2]})
    assert all(axes.get_xlabel() and axes.get_ylabel() and axes.get_legend() for axes in panels)
