"""The language model: no position sees a later one, and writing token by token is what `forward` computes."""

import numpy as np
import pytest

from minitransformer import InputError
from tests.library.models.makers import make_model


def test_an_earlier_token_moves_every_later_position():
    model = make_model("language-model")
    ids = np.array([[3, 4, 5, 6]])
    moved = np.abs(model.forward(np.array([[7, 4, 5, 6]]))[0] - model.forward(ids)[0]).max(axis=-1)
    assert (moved > 1e-4).all()


@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_the_limit_is_what_the_positions_leave(positions):
    """A prompt of three tokens ends at position 2; eight positions leave five more, and no others were trained."""
    state = make_model("language-model", positions=positions, max_length=8).start(np.array([[3, 4, 5]] * 2))
    assert state.limit.tolist() == [8 - 3] * 2


@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_a_prompt_may_fill_all_positions_but_no_more(positions):
    model = make_model("language-model", positions=positions, max_length=4)
    assert model.start(np.ones((1, 4), int)).limit.tolist() == [0]
    with pytest.raises(InputError, match="the prompt has 5 tokens, but the model has 4 positions"):
        model.start(np.ones((1, 5), int))


def test_the_output_has_the_embeddings_weight():
    model = make_model("language-model")
    assert model.output.weight is model.embedding.weight is model.loss.weight
    assert next(iter(model.parameters())) == "embedding.weight"
    assert model.num_parameters() == sum(p.data.size for p in {id(p): p for p in model.parameters().values()}.values())


def test_attention_looks_back_only():
    weights = make_model("language-model").attention_weights(np.array([[3, 4, 5]]))
    assert weights.keys() == {"decoder"} and [w.shape for w in weights["decoder"]] == [(1, 3, 3, 3)] * 2
    for layer in weights["decoder"]:
        assert (np.triu(layer, 1) == 0).all() and (np.tril(layer) > 0).sum() == 3 * 6
