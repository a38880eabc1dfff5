"""Several models as one. test_beam.py and test_sampling.py check that decoding agrees with its `forward`."""

import numpy as np
import pytest

from minitransformer import Ensemble, InputError, beam_search
from tests.library.decoding.reference import random_model

SOURCE, TARGET = np.array([[3, 5, 4, 2], [6, 2, 0, 0]]), np.array([[1, 4, 4], [1, 7, 3]])


def logits(model):
    return model.forward(SOURCE, TARGET)[0]


def test_its_logits_are_the_mean_of_its_models():
    models = [random_model(0), random_model(1, d_model=16, num_layers=2), random_model(2, positions="learned")]
    np.testing.assert_allclose(logits(Ensemble(models)), np.mean([logits(model) for model in models], axis=0), atol=1e-12)


@pytest.mark.parametrize("models, words", [
    ([], "at least one model"),
    ([random_model(0), random_model(0, vocab_size=8)], r"sizes \(8, 8\) and \(9, 9\), expected the same"),
])
def test_models_that_do_not_belong_together_are_explained(models, words):
    with pytest.raises(InputError, match=words):
        Ensemble(models)


def test_outputs_end_at_the_fewest_learned_positions():
    models = [random_model(0), random_model(1, positions="learned", max_length=9),
              random_model(2, positions="learned", max_length=6)]
    for found in beam_search(Ensemble(models), SOURCE, 2, min_length=20):
        assert {len(hypothesis.ids) for hypothesis in found} == {5}    # and EOS
