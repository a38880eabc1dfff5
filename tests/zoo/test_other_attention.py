"""The Transformer with other attention; its decoding and padding:
tests/library/models/test_every_model.py.
"""

import numpy as np
import pytest

from minitransformer.data.special import BOS, EOS, PAD
from minitransformer.models import Transformer, TransformerConfig
from tests.helpers.models import OTHER_ATTENTION, V, make_model, random_ids


@pytest.mark.parametrize("name", OTHER_ATTENTION)
def test_the_weights_of_attention_are_shown(name):
    """Rows of sum 1; nothing on padding, and nothing further away than the radius."""
    model = make_model("transformer", **OTHER_ATTENTION[name])
    found = model.attention_weights(np.array([[3, 4, 5, 6, EOS, PAD]]), np.array([[BOS, 5, 7, 8]]))
    assert found.keys() == {"encoder", "decoder", "cross"}
    for layers in found.values():
        assert len(layers) == 2
        for weights in layers:
            np.testing.assert_allclose(
                weights[..., :5, :].sum(axis=-1), 1
            )  # a sixth query is padding
            assert weights.shape[-1] == 4 or not weights[..., 5].any()
    if name == "restricted":
        distance = np.arange(6) - np.arange(6)[:, None]
        assert not found["encoder"][0][..., abs(distance) > 2].any()
        assert not found["decoder"][0][..., (abs(distance) > 2)[:4, :4]].any()


def test_the_language_model_and_the_classifier_take_it():
    for kind in ("language-model", "classifier"):
        model = make_model(kind, attention="restricted", radius=1)
        ids = random_ids(np.random.default_rng(0), 2, 5)
        (weights,) = {
            name: layers[0] for name, layers in model.attention_weights(ids).items()
        }.values()
        assert (
            weights[..., 2, 1].all()
            and weights[..., 2, 3].all() == (kind == "classifier")
            and not weights[..., 2, 0].any()
        )


def test_the_seed_makes_the_same_weights_for_each_attention_without_its_own():
    """What differs in a comparison is the attention."""
    scaled, unscaled, restricted = (
        Transformer(
            TransformerConfig.named(
                "toy", V, attention=kind, radius=3 if kind == "restricted" else None
            )
        ).flat.data
        for kind in ("scaled", "unscaled", "restricted")
    )
    np.testing.assert_array_equal(scaled, unscaled)
    np.testing.assert_array_equal(scaled, restricted)
