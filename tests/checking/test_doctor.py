"""The doctor names planted mistakes, and nothing where there is none."""

import json

import numpy as np
import pytest

from minitransformer import functional as F
from minitransformer import gradcheck
from minitransformer import layers as L
from minitransformer.checking import diagnose
from minitransformer.checking.blocks import blocks
from minitransformer.checking.doctor import UNKNOWN
from tests.checking.held_out import HELD_OUT
from tests.checking.planted import D, PLANTED, Shuffled, rng, x


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_caught_and_named(name):
    block, inputs, words = PLANTED[name]
    report = gradcheck(block, inputs, name="it", methods=("complex",))
    assert not report.passed
    assert words in report.diagnoses["it"]


def test_enough_mistakes_are_planted():
    assert len(PLANTED) >= 25


def test_the_rate_on_mistakes_it_was_not_tuned_on():
    """5 of 10 are named; of the others it says that it does not know. None is named wrongly."""
    named = 0
    for block, inputs, words in HELD_OUT.values():
        assert not gradcheck(block, inputs, methods=("complex",)).passed
        sentence = diagnose(block, inputs)
        assert words in sentence or sentence == UNKNOWN
        named += words in sentence
    assert named == 5


@pytest.mark.parametrize("name", blocks())
def test_silent_on_right_gradients(name):
    block, inputs = blocks(seed=2)[name]
    assert diagnose(block, inputs) == UNKNOWN


@pytest.mark.parametrize("name", ["linear", "layer-norm", "self-attention", "cross-attention", "residual", "feed-forward",
                                  "encoder-layer", "learned-positions"])
def test_noise_is_no_mistake(name):
    """Right gradients with noise of 1 in 1,000 fail the check, and are given no name."""
    block, inputs = blocks(seed=2)[name]

    class Noisy(type(block)):
        def backward(self, dy, cache):
            noise = np.random.default_rng(0)
            gradients = super().backward(dy, cache)
            for parameter in self.parameters().values():
                parameter.grad *= 1 + 1e-3 * noise.standard_normal(parameter.shape)
            several = gradients if isinstance(gradients, tuple) else (gradients,)
            several = tuple(g * (1 + 1e-3 * noise.standard_normal(g.shape)) for g in several)
            return several if isinstance(gradients, tuple) else several[0]

    block.__class__ = Noisy
    assert not gradcheck(block, inputs, methods=("complex",)).passed
    assert diagnose(block, inputs) == UNKNOWN


def test_a_forward_for_real_numbers_only():
    def forward(x):
        return np.cbrt(x), x

    report = gradcheck((forward, lambda dy, x: -dy / (3 * np.cbrt(x) ** 2)), [x], name="it", methods=("central",))
    assert report.diagnoses == {"it": UNKNOWN}


def test_inputs_by_name_are_examined_too():
    wrong = (F.dropout_forward, lambda dy, cache: dy)
    assert "mask" in diagnose(wrong, {"x": x, "rate": 0.4}) or "scale" in diagnose(wrong, {"x": x, "rate": 0.4})
    shared = PLANTED["= instead of +="][0]
    assert "assigned (=)" in diagnose(shared, {"x": x})


def test_where_the_sentence_is_seen(capsys):
    report = gradcheck(Shuffled("sign", 4), [x], name="mine")
    sentence = "wrong sign: the gradient of x is the negative of the true one"
    assert str(report).splitlines()[-1] == f"mine: likely mistake: {sentence}"
    assert json.loads(json.dumps(report.as_dict()))["diagnoses"] == {"mine": sentence}
    with pytest.raises(AssertionError, match=sentence):
        report.raise_if_failed()
    passed = gradcheck(L.Linear(D, 4, rng), [x])
    passed.raise_if_failed()
    assert not passed.diagnoses and "diagnoses" not in passed.as_dict()
    assert (report + passed).diagnoses == report.diagnoses


def test_a_gradient_of_the_wrong_shape_is_told_to_be_summed():
    def without_sum(dy, cache):
        dx, dgamma, dbeta = F.layer_norm_backward(dy, cache)
        return dx, dy * cache.normed, dbeta

    with pytest.raises(ValueError, match="gamma has shape .* sum it over the axes along which it was broadcast"):
        gradcheck((F.layer_norm_forward, without_sum), (x, np.ones(D), np.ones(D)))
