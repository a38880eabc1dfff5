"""lab.heads: a model of attention alone, in which the reader finds the heads that look things up."""

import matplotlib.pyplot as plt
import numpy as np

from minitransformer import gradcheck
from minitransformer_course import lab
from minitransformer_course.explorer.page import engine_config

IDS = np.array([lab.LETTERS.encode("kingdomskin")])


def test_feed_forward_networks_add_nothing_and_the_gradients_are_right():
    model = lab.heads.attention_only(seed=1)
    assert not any("feed_forward." in name for name in model.parameters())
    report = gradcheck(model, [IDS[:, :5]], methods=["complex"])
    assert report.passed, report


def test_the_paper_s_layers_with_zeros_are_the_same_model():
    model = lab.heads.attention_only(num_heads=2)
    same = lab.heads.with_zeros(model)
    engine_config(same)  # the explorer knows it
    np.testing.assert_array_equal(same.forward(IDS)[0], model.forward(IDS)[0])
    assert model.config.num_heads == same.config.num_heads == 2


def test_the_pictures_name_their_axes_and_have_a_scale():
    losses, scores = {2: [[3.0] * 20], 1: [[3.0] * 20]}, {0: (0.1, 0.1), 10: (0.1, 0.9)}
    lab.heads.show_cliff(losses, scores)
    lab.heads.show_looks([np.full((1, 1, 3, 3), 0.3)] * 2, "abc")
    lab.heads.show_read(np.zeros((3, 2)), "abc")
    lab.heads.show_patches(np.ones((2, 3)), np.ones((2, 3)), "abc")
    for number in plt.get_fignums():
        figure = plt.figure(number)
        assert all(axes.get_ylabel() for axes in (figure.axes[0], figure.axes[-1]))
        assert figure.axes[0].get_xlabel()
