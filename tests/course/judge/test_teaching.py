"""lab.teaching: the questions about words, the detours of a model, and the texts that it draws."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from minitransformer import Adam
from minitransformer.layers.layer import Layer
from minitransformer.layers.parameter import Parameter
from minitransformer_course import lab
from minitransformer_course.lab import chat_model, teaching


class Detour(Layer):
    """As the page has it, with nothing to learn from."""

    stepwise = True

    def __init__(self, linear, rank, rng):
        self.weight = linear.weight
        self.A = Parameter(np.ones((linear.weight.shape[0], rank), "float32"))
        self.B = Parameter(np.zeros((rank, linear.weight.shape[1]), "float32"))

    def forward(self, x):
        return x @ self.weight.data, x


def test_the_fool_says_how_long_the_word_is_and_the_prompt_ends_before():
    vocabulary = lab.text.shakespeare()[0]
    texts, n = teaching.examples(["cat", "kingdom"])
    assert [vocabulary.decode(text[:k]) for text, k in zip(texts, n)] == [
        "KING:\ncat\n\nFOOL:\n",
        "KING:\nkingdom\n\nFOOL:\n",
    ]
    assert vocabulary.decode(texts[0][n[0] : n[0] + 6]) == "three\n"
    assert (texts[0][n[0] + 6 :] == 0).all() and texts.shape[1] == n[1] + len("seven\n")


def test_no_word_is_both_learned_and_unseen():
    to_learn, unseen = teaching.words()
    assert len(unseen) == 200 and len(to_learn) > 2000 and not {*to_learn} & {*unseen}
    assert {len(word) for word in to_learn} == {3, 4, 5, 6, 7}


def test_only_a_and_b_learn():
    model = chat_model.small().model
    before = {name: one.data.copy() for name, one in model.parameters().items()}
    learner = teaching.with_detours(model, Detour, 1, None)
    assert learner.num_parameters() == 2240 and len(teaching.detours(model)) == 4 * 4
    learner.flat.grad[...] = 1
    Adam(learner).step(0.1)
    after = model.parameters()
    assert all(np.array_equal(after[name].data, one) for name, one in before.items())
    assert all((one.B.data != 0).all() for one in teaching.detours(model))


def test_texts_are_drawn_as_likely_as_the_model_says():
    model = chat_model.small().model
    prompt = lab.text.shakespeare()[0].encode("KING:\nWhat ")
    ids = teaching.draw(model, prompt, 500, 1, np.random.default_rng(0))
    assert ids.shape == (500, len(prompt) + 1) and (ids[:, :-1] == prompt).all()
    logits = model.forward(ids[:1, :-1])[0][:, -1:]  # (1, 1, V)
    p = np.exp(teaching.log_p(np.repeat(logits, 65, axis=0), np.arange(65)[:, None]))
    assert p.sum() == pytest.approx(1, abs=1e-5)
    found = np.bincount(ids[:, -1], minlength=65) / 500
    assert np.abs(found - p).max() < 4 * np.sqrt(0.25 / 500)


def test_the_log_probability_of_a_text_is_a_sum():
    logits = np.log([[[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]]])
    found = teaching.log_p(logits, np.array([[1, 2]]))
    np.testing.assert_allclose(found, [np.log(0.25 * 0.8)])


def test_the_pictures_name_their_axes(capsys):
    plt.close("all")
    teaching.show_taught({"detours": [{0: (0.0, 1.9), 50: (0.4, 2.1)}] * 3})
    teaching.show_estimates(
        np.ones((2, 3)), {"R": [np.ones((2, 3))], "R - mean": [np.zeros((2, 3))]}
    )
    teaching.show_practice({"R alone": [np.ones((2, 9))]})
    assert len(plt.get_fignums()) == 3
    for number in plt.get_fignums():
        assert all(axes.get_xlabel() and axes.get_ylabel() for axes in plt.figure(number).axes)
    said = capsys.readouterr().out
    assert "right: 40%, 40%, 40%" in said and "bits: 2.10, 2.10, 2.10" in said
    assert "off by 0.000" in said and "off by 2.449" in said
